"""The indices of a corpus: their names, and what is read from them on every engine."""

from __future__ import annotations

from typing import Any

from shortlist import Changes, Corpus, Document
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_corpus import StoredDocuments, base_name
from shortlist.index.storage.records import Record, to_record
from tests.index.engines.conftest import LIBRARY, MIXED, Make, Stamped, notes, on_servers, passages_of


def test_names_that_differ_have_indices_that_differ() -> None:
    address = Address.parse("opensearch+http://host/p")
    names = ["tea", "Tea", "tea!", "tee-a", "tee a", "docs:/a/b", "docs:/a-b", "日本", "茶", "-", "x" * 100, "x" * 99]
    bases = [base_name(address, name) for name in names]
    assert len(set(bases)) == len(names)
    assert bases[0] == "p-tea"
    for base in bases:
        assert base == base.lower()
        assert len(base) < 200
        assert not set(base) & set('\\/*?"<>| ,#:')


def test_stamps_are_stored_until_a_document_of_their_source_changes(shelf: Corpus) -> None:
    source = Stamped("1", Document("f", "", "tea", source="f.txt"), Document("f#2", "", "more tea", source="f.txt"))
    assert shelf.sync(source) == Changes(added=2)
    assert shelf.stamps() == {"f": source.stamp}
    assert shelf.sync(source) == Changes(unchanged=2)
    shelf.add([Document("f", "", "milk", source="f.txt")])
    assert shelf.stamps() == {}
    assert shelf.sync(source) == Changes(changed=1, unchanged=1)


def test_large_batch_is_stored_and_paged_in_order(shelf: Corpus) -> None:
    documents = notes(*range(1100))
    progress: list[int] = []
    assert shelf.sync(iter(documents), progress=lambda done, _: progress.append(done)) == Changes(added=1100)
    assert (progress, len(shelf), list(shelf)) == ([*range(100, 1101, 100)], 1100, documents)
    assert [passage.document_id for passage in passages_of(shelf)] == shelf.ids()
    assert shelf.browse("", 1050, 100) == (documents[1050:], 1100)
    assert shelf.sync(documents[:1]) == Changes(unchanged=1, removed=1099)


def test_documents_are_returned_unchanged(library: Corpus) -> None:
    assert [library.get(document.id) for document in MIXED] == MIXED
    assert library.get("unknown") is None
    assert ("empty" in library, "unknown" in library, 5 in library) == (True, False, False)


def test_iteration_and_ids_are_in_the_order_of_addition(library: Corpus) -> None:
    assert list(library) == LIBRARY
    assert library.ids() == [document.id for document in LIBRARY]
    assert len(library) == library.info()["documents"] == len(LIBRARY)


def test_kinds_are_counted_most_frequent_first(library: Corpus) -> None:
    assert list(library.kinds().items()) == [("file", 240), ("text", 8), ("page", 2), ("tool", 2)]


def test_browse_finds_substrings_ignoring_case(library: Corpus) -> None:
    assert library.browse("GRÖSSE") == ([MIXED[2]], 1)
    assert library.browse("Mail", 1, 5) == ([MIXED[1]], 2)
    assert library.browse("", 240, 2) == (MIXED[:2], len(LIBRARY))
    assert library.browse("no such text") == ([], 0)


@on_servers
def test_hashes_are_read_without_the_documents(make: Make) -> None:
    corpus = make("shelf")
    documents = notes(*range(30))
    corpus.sync(documents)
    engine: Any = corpus._engine
    rows = StoredDocuments(engine.cluster, engine.base)
    records = [to_record(document) for document in documents]
    expected = {one.document.id: (one.document.id, one.hash) for one in records if isinstance(one, Record)}
    ids = [document.id for document in documents]
    assert rows.stored([*ids, "missing"]) == expected
    assert rows.find(["n3", "missing"]) == rows.read(["n3"])
    assert (rows.count(), {row for row, *_ in rows.everything()}) == (30, set(ids))
