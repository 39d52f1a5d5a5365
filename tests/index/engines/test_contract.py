"""The engine contract: what every engine promises to the code above it.

Each test runs on every engine to which it applies. `library` holds the same documents on each engine and is only read;
`shelf` is emptied before each test. Tests that compare engines take an in-memory corpus as the reference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import httpx2
import numpy as np
import pytest

import shortlist
from shortlist import (
    Changes,
    Corpus,
    CorpusDamaged,
    CorpusError,
    CorpusMismatch,
    CorpusNotFound,
    Document,
    InputError,
    Problem,
)
from shortlist.documents import Passage, Stamp, Stamps
from shortlist.errors import EmbedderError, SourceError
from shortlist.index.engine import State
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_corpus import base_name
from shortlist.index.query_scores import Request
from shortlist.results import Hit, Hits, Mode, Ranking
from shortlist.retrieval import agent_actions
from shortlist.retrieval.corpus_hits import retrieve
from shortlist.retrieval.filters import allowed
from shortlist.retrieval.merging import merge
from shortlist.retrieval.search import open_query
from tests.index.engines.conftest import Place, long_document, persistent, teas

CHUNKS: dict[str, Any] = {"chunk_size": 200, "chunk_overlap": 20}
QUERIES = ("a cup of oolong in the garden", "sencha tea 7", "tax and trade", "send_email", "größe 日本語")
MODES = get_args(Mode)

MIXED = [
    Document("send_email", "send_email", "Send a message to a person.", ["mail", "smtp"], {"access": "write", "n": 1},
             kind="tool", payload='{"name": "send_email"}'),
    Document("read_email", "read_email", "Read the newest message.", ["mail"], {"access": "read", "n": 2},
             kind="tool", payload='{"name": "read_email"}'),
    Document("id/with #?", "Größe ü", "Zeile\n\ttwo \0 日本語 🫖 Ωμέγα", ["a b", "ü"],
             {"n": 1.5, "deep": {"list": [1, 2.5, None, True]}}, source="s/x y.md", locator="row=3"),
    Document("flags", "Flags", "True is not 1.", metadata={"n": True, "tags": ["red", "green"], "deep": {"list": []}}),
    *(Document(f"book.pdf#{page}", "Book", f"Page {page} about kettles. " * 30, source="/shelf/book.pdf",
               locator=f"page={page}", kind="page") for page in (1, 2)),
    *(Document(f"twin{at}", "Twins", "The very same words.") for at in range(4)),
    Document("blank", " ", "\n"),
    Document("empty", "", ""),
]  # fmt: skip
LIBRARY = [*teas(240), *MIXED]


@pytest.fixture(scope="module")
def library(place: Place) -> Iterator[Corpus]:
    """Many documents, with vectors. For reading only."""
    with place.create(embedder="light", **CHUNKS) as corpus:
        assert corpus.sync(LIBRARY) == Changes(added=len(LIBRARY))
        yield corpus


@pytest.fixture(scope="module")
def reference() -> Iterator[Corpus]:
    """The same documents in memory, for comparing engines."""
    with shortlist.create_corpus(in_memory=True, embedder="light", **CHUNKS) as corpus:
        corpus.sync(LIBRARY)
        yield corpus


@pytest.fixture(scope="module")
def shared_shelf(place: Place) -> Iterator[Corpus]:
    with place.create(**CHUNKS) as corpus:
        yield corpus


@pytest.fixture
def shelf(shared_shelf: Corpus) -> Corpus:
    """An empty corpus without vectors."""
    shared_shelf.sync([])
    assert (len(shared_shelf), shared_shelf.stamps()) == (0, {})
    return shared_shelf


def notes(*numbers: int, word: str = "tea") -> list[Document]:
    return [Document(f"n{number}", "", f"{word} number {number}") for number in numbers]


def passages_of(corpus: Corpus) -> list[Passage]:
    with corpus.snapshot() as state:
        return list(state.walk())


def ids_of(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def assert_same_hits(found: list[Hit], expected: list[Hit], tolerance: float = 1e-6) -> None:
    assert [hit.passage for hit in found] == [hit.passage for hit in expected]
    for hit, other in zip(found, expected, strict=True):
        assert hit.score == pytest.approx(other.score, abs=tolerance)
        assert hit.signals == pytest.approx(other.signals, abs=1e-6)
        assert hit.relevance == pytest.approx(other.relevance, abs=1e-6)


def scores_of(state: State, ranking: Ranking) -> dict[tuple[str, str], float]:
    """The score of each passage in a ranking. The order of passages with equal scores is up to the engine."""
    assert np.all(np.diff(ranking.scores) <= 0)
    passages = state.passages(ranking.positions)
    keys = [(passage.document_id, passage.locator) for passage in passages]
    return dict(zip(keys, ranking.scores.tolist(), strict=True))


# Create, open, delete


@persistent
def test_reopened_corpus_has_documents_and_config(place: Place) -> None:
    with place.create("reopened", embedder="light", **CHUNKS) as corpus:
        corpus.sync(MIXED)
        config, found = corpus.config, shortlist.search(corpus, "newest message")
    with place.open("reopened") as again:
        assert (again.config, again.ids(), list(again)) == (config, [document.id for document in MIXED], MIXED)
        assert again.info()["embedder"] == config.embedder_name
        assert_same_hits(shortlist.search(again, "newest message"), found)


@persistent
def test_open_missing_corpus_raises(place: Place) -> None:
    with pytest.raises(CorpusNotFound, match="nothing"):
        place.open("nothing")


@persistent
def test_create_with_other_options_raises_and_names_the_option(place: Place) -> None:
    place.create("configured", chunk_size=300).close()
    with pytest.raises(CorpusMismatch, match="chunk_size=300, not 400"):
        place.create("configured", chunk_size=400)
    with pytest.raises(CorpusMismatch, match="analyzer"):
        place.create("configured", analyzer="words-1")
    with pytest.raises(CorpusMismatch, match="'none'"):
        place.open("configured", "light")
    place.create("configured", chunk_size=300).close()


@persistent
def test_delete_removes_only_this_corpus(place: Place) -> None:
    for name in ("doomed", "doomed-2"):
        with place.create(name) as corpus:
            corpus.add(notes(1))
    shortlist.delete_corpus(place.folder / "doomed")
    with pytest.raises(CorpusNotFound):
        place.open("doomed")
    with place.open("doomed-2") as other:
        assert other.ids() == ["n1"]
    with place.create("doomed") as fresh:
        assert fresh.is_empty


def damage(place: Place, name: str) -> None:
    """Overwrite the database of an embedded corpus, or delete the passages of one in a cluster."""
    if not place.is_cluster:
        (place.folder / name / "corpus.db").write_bytes(b"not a database" * 1000)
        return
    address = Address.parse(place.address)
    with httpx2.Client(trust_env=False, timeout=30, base_url=address.urls[0]) as client:
        (index,) = client.get(f"/_alias/{base_name(address, name)}-passages").json()
        client.delete(f"/{index}").raise_for_status()


@persistent
def test_damaged_corpus_cannot_be_opened(place: Place) -> None:
    with place.create("damaged") as corpus:
        corpus.add(notes(1))
    damage(place, "damaged")
    with pytest.raises(CorpusDamaged, match="damaged"):
        place.open("damaged")


@persistent
def test_damaged_corpus_is_not_created_over(place: Place) -> None:
    with place.create("overwritten") as corpus:
        corpus.add(notes(1))
    damage(place, "overwritten")
    with pytest.raises(CorpusDamaged, match="overwritten"):
        place.create("overwritten").close()


def test_closed_corpus_raises(place: Place) -> None:
    corpus = place.create()
    corpus.close()
    corpus.close()  # closing twice is allowed
    with pytest.raises(CorpusError, match="closed"):
        corpus.ids()


@persistent
def test_corpora_of_one_place_do_not_share_documents(place: Place, shelf: Corpus) -> None:
    shelf.add(notes(1))
    with place.create() as other:
        other.add(notes(2))
        assert (shelf.ids(), other.ids()) == (["n1"], ["n2"])
        assert ids_of(shortlist.search([shelf, other], "tea")) == ["n1", "n2"]


# Embedders


class Lengths:
    """An embedder of this program that counts the texts it encodes."""

    name, dim = "lengths", 2

    def __init__(self) -> None:
        self.encoded = 0

    def encode_query(self, text: str) -> Any:
        return self.encode_documents([text])[0]

    def encode_documents(self, texts: Any) -> Any:
        self.encoded += len(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)


@persistent
def test_embedder_of_the_program_must_be_passed_again(place: Place) -> None:
    with place.create("own-embedder", embedder=Lengths()) as corpus:
        corpus.add(notes(1, 200))
        before = shortlist.search(corpus, "tea", "dense")
    with place.open("own-embedder") as corpus:
        assert corpus.config.embedder_name == "lengths"
        with pytest.raises(EmbedderError, match="embedder="):
            shortlist.search(corpus, "tea", "dense")
    with place.open("own-embedder", Lengths()) as corpus:
        assert_same_hits(shortlist.search(corpus, "tea", "dense"), before)


def test_unchanged_documents_are_not_encoded_again(place: Place) -> None:
    embedder = Lengths()
    with place.create(embedder=embedder) as corpus:
        corpus.sync(notes(1, 2, 3))
        embedder.encoded = 0
        assert corpus.sync(notes(1, 2, 3)) == Changes(unchanged=3)
        assert embedder.encoded == 0
        assert corpus.sync([*notes(1, 2), *notes(3, word="milk")]) == Changes(unchanged=2, changed=1)
        assert embedder.encoded == 1


def test_corpus_without_vectors_refuses_dense_search(shelf: Corpus) -> None:
    shelf.add(notes(1))
    with pytest.raises(InputError, match="mode='lexical'"):
        shortlist.search(shelf, "tea", "dense")
    assert ids_of(shortlist.search(shelf, "tea", "auto")) == ["n1"]


def test_reindex_changes_the_embedder_and_keeps_documents_and_stamps(place: Place) -> None:
    progress: list[tuple[int, int | None]] = []
    with place.create() as corpus:
        corpus.sync(Stamped("1", Document("f", "", "green tea", source="f.txt")))
        corpus.add(notes(*range(20), word="milk"))
        corpus.set_threshold("auto", 0.5)
        ids, stamps = corpus.ids(), corpus.stamps()
        corpus.reindex("light", progress=lambda done, total: progress.append((done, total)))
        assert progress == [(21, 21)]
        assert (corpus.ids(), corpus.stamps()) == (ids, stamps)
        assert (corpus.config.embedder_name, corpus.config.floors) == ("light", {})
        assert shortlist.search(corpus, "tea", "dense")[0].id == "f"
        assert corpus.add(notes(99)) == Changes(added=1)


# Sync, add, remove


def test_sync_makes_the_corpus_equal_to_the_source(shelf: Corpus) -> None:
    shelf.sync(notes(0, 1, 2, 3, 4))
    source = [*notes(1), *notes(2, word="new"), *notes(9)]
    expected = Changes(added=1, changed=1, unchanged=1, removed=3)
    assert shelf.compare(source) == expected
    assert shelf.ids() == ["n0", "n1", "n2", "n3", "n4"]
    assert shelf.sync(source) == expected
    assert shelf.ids() == ["n1", "n2", "n9"]
    assert shelf.sync(source) == Changes(unchanged=3)


def test_add_replaces_by_id_and_keeps_the_rest(shelf: Corpus) -> None:
    shelf.add(notes(1, 2, 3))
    changes = shelf.add([*notes(2, word="coffee"), *notes(4)])
    assert (changes, changes.changed_ids) == (Changes(added=1, changed=1), ("n2",))
    assert ids_of(shortlist.search(shelf, "coffee")) == ["n2"]
    assert ids_of(shortlist.search(shelf, "tea")) == ["n1", "n3", "n4"]
    assert shelf.ids() == ["n1", "n2", "n3", "n4"]  # a changed document keeps its position


def test_removed_documents_are_not_found(shelf: Corpus) -> None:
    shelf.add(notes(1, 2, 3))
    assert shelf.remove(["n1", "n3", "unknown"]) == 2
    assert shelf.remove("n1") == 0
    assert (shelf.ids(), len(shelf), shelf.get("n1"), "n1" in shelf) == (["n2"], 1, None, False)
    assert ids_of(shortlist.search(shelf, "tea")) == ["n2"]
    with shelf.snapshot() as state:
        assert (state.size, state.lexical.live, state.lexical.frequency(["tea"])) == (1, 1, {"tea": 1})


def test_shorter_document_leaves_no_passages_behind(shelf: Corpus) -> None:
    shelf.add([long_document("a", "tea", 6)])
    before = len(passages_of(shelf))
    shelf.add([long_document("a", "milk", 1)])
    after = passages_of(shelf)
    assert 0 < len(after) == shelf.info()["passages"] < before
    assert all(passage.text.startswith("milk") for passage in after)


def test_failed_documents_are_reported_and_others_stored(shelf: Corpus) -> None:
    wrong: Any = Document("b", "", 5)  # type: ignore[arg-type]
    changes = shelf.sync([*notes(1), wrong, *notes(1, word="twice")])
    assert (changes.added, [problem.id for problem in changes.failed]) == (1, ["b", "n1"])
    assert shelf.ids() == ["n1"]


def test_strict_sync_stores_all_documents_or_none(shelf: Corpus) -> None:
    wrong: Any = Document("b", "", 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'b'"):
        shelf.sync([*notes(1), wrong], strict=True)
    assert shelf.is_empty
    assert shelf.sync(notes(1), strict=True) == Changes(added=1)


def test_documents_of_an_unreadable_file_are_not_removed(shelf: Corpus) -> None:
    pages = [Document(f"book#{page}", "", f"page {page}", source="/book.pdf") for page in (1, 2)]
    shelf.sync([*pages, *notes(1)])
    changes = shelf.sync([Problem("book", "It is encrypted.", source="/book.pdf")])
    assert (changes.removed, len(changes.failed)) == (1, 1)
    assert shelf.ids() == ["book#1", "book#2"]


def test_source_that_fails_removes_nothing_and_sync_can_be_repeated(shelf: Corpus) -> None:
    shelf.sync(notes(1))

    def failing() -> Iterator[Document]:
        yield from notes(*range(10, 700))
        raise SourceError("disk unplugged")

    with pytest.raises(SourceError, match="disk unplugged"):
        shelf.sync(failing())
    assert shelf.get("n1") is not None
    changes = shelf.sync(notes(*range(10, 700)))
    assert (changes.added + changes.unchanged, changes.removed, len(shelf)) == (690, 1, 690)
    assert len(passages_of(shelf)) == 690


class Stamped(list[Document]):
    """A source with one file, and a stamp that tells whether the file has changed."""

    def __init__(self, value: str, *documents: Document) -> None:
        super().__init__(documents)
        self.stamp = Stamp("f", "f.txt", value)

    def since(self, known: Stamps) -> list[Any]:
        return [self.stamp] if known.get("f") == self.stamp else [*self, self.stamp]


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


def test_compact_changes_no_answer(shelf: Corpus) -> None:
    for start in range(0, 60, 10):
        shelf.add(notes(*range(start, start + 10)))
    shelf.remove([f"n{at}" for at in range(0, 60, 3)])
    before = shortlist.search(shelf, "tea number 7", k=50)
    shelf.compact()
    assert_same_hits(shortlist.search(shelf, "tea number 7", k=50), before)
    assert len(shelf) == 40


# Several readers and writers


@persistent
def test_changes_are_visible_to_other_readers_when_the_call_returns(place: Place) -> None:
    with place.create("followed") as writer, place.open("followed") as reader:
        assert ids_of(shortlist.search(reader, "tea")) == []
        writer.add(notes(1))
        assert ids_of(shortlist.search(reader, "tea")) == ["n1"]
        writer.remove("n1")
        assert (ids_of(shortlist.search(reader, "tea")), reader.ids()) == ([], [])


@persistent
def test_two_writers_lose_no_document(place: Place) -> None:
    place.create("contended", **CHUNKS).close()
    own = {word: [f"{word}{at}" for at in range(20)] for word in ("tea", "milk")}
    together = threading.Barrier(2)

    def write(word: str) -> Changes:
        with place.open("contended") as corpus:
            together.wait(30)
            return corpus.add([long_document(id, word, 3) for id in ("both", *own[word])])

    with ThreadPoolExecutor(2) as pool:
        changes = list(pool.map(write, own))
    assert sum(one.added for one in changes) >= 41
    with place.open("contended") as corpus:
        assert sorted(corpus.ids()) == sorted(["both", *own["tea"], *own["milk"]])
        both = corpus.get("both")
        assert both is not None
        words = {passage.text[:3] for passage in passages_of(corpus) if passage.document_id == "both"}
        assert words == {both.content[:3]}  # all passages are of the same version


@persistent
def test_open_snapshot_during_a_change(place: Place, shelf: Corpus) -> None:
    """The embedded engine keeps the snapshot. A cluster shows the new version, and no text of a removed passage."""
    shelf.add(notes(1, 2))
    with shelf.snapshot() as state:
        positions = state.lexical.rank("tea", 10).positions
        shelf.sync(notes(1, word="coffee"))
        texts = {passage.document_id: passage.text for passage in state.passages(positions)}
    if place.is_cluster:
        assert texts == {"n1": "coffee number 1", "n2": ""}
    else:
        assert texts == {"n1": "tea number 1", "n2": "tea number 2"}
    assert ids_of(shortlist.search(shelf, "tea coffee")) == ["n1"]


# Thresholds


@persistent
def test_threshold_is_stored_and_can_be_forgotten(place: Place) -> None:
    with place.create("threshold") as corpus:
        corpus.set_threshold("auto", 0.5, cases=3)
        corpus.set_threshold("lexical", 0.4)
        corpus.set_threshold("lexical", None)
    with place.open("threshold") as corpus:
        assert (corpus.threshold("auto"), corpus.threshold("lexical")) == ((0.5, ""), (None, ""))
        assert corpus.info()["floors"] == {"auto": 0.5}
        assert corpus.config.calibrations["auto"]["cases"] == 3


def test_threshold_is_doubted_when_much_has_changed(shelf: Corpus) -> None:
    shelf.add(notes(*range(10)))
    shelf.set_threshold("auto", 0.5)
    assert shelf.threshold("auto") == (0.5, "")
    threading.Event().wait(0.002)  # a cluster counts changes from the next millisecond on
    shelf.add(notes(20, 21, 22))
    assert "10 documents, and 30%" in shelf.threshold("auto").doubt
    shelf.set_threshold("auto", None)


# Documents as they are stored


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


def test_empty_and_blank_documents_share_no_words(library: Corpus) -> None:
    ids = ids_of(shortlist.search(library, "very same words", "lexical", k=len(LIBRARY)))
    assert ids == ["twin0", "twin1", "twin2", "twin3"]
    assert (library.get("empty"), library.get("blank")) == (MIXED[-1], MIXED[-2])


# Passages


@persistent
def test_passages_and_their_offsets_are_those_of_the_reference(library: Corpus, reference: Corpus) -> None:
    expected = passages_of(reference)
    assert passages_of(library) == expected
    assert library.info()["passages"] == reference.info()["passages"] == len(expected) > len(LIBRARY)
    assert any(";offset=" in passage.locator for passage in expected)


def test_neighbors_stay_within_one_document(library: Corpus) -> None:
    with library.snapshot() as state:
        pages = [passage for passage in state.walk() if passage.document_id == "book.pdf#2"]
        assert len(pages) > 3
        assert state.neighbors("/shelf/book.pdf", pages[1].locator, 1, 1) == pages[:3]
        assert state.neighbors("/shelf/book.pdf", "page=2", 5, 2) == pages[:3]
        assert state.neighbors("/shelf/book.pdf", "page=9", 1, 1) == []
        assert [passage.document_id for passage in state.neighbors("flags", "whole", 3, 3)] == ["flags"]


def test_sources_places_and_files(library: Corpus) -> None:
    with library.snapshot() as state:
        tools = allowed(state, {"kind": {"$in": ["tool", "page"]}})
        assert state.sources(tools) == {"/shelf/book.pdf", "send_email", "read_email"}
        assert state.sources() == {document.source or document.id for document in LIBRARY}
        assert state.ids_of_file("book.pdf", "/shelf/book.pdf") == {"book.pdf#1", "book.pdf#2"}
        assert state.places() == [(document.id, document.source, document.locator) for document in LIBRARY]


def test_siblings_are_all_passages_of_a_document(library: Corpus) -> None:
    with library.snapshot() as state:
        first = state.lexical.named("tea 7")
        for id, positions in zip(state.ids(first), state.siblings(first), strict=True):
            assert state.passages(positions) == [passage for passage in state.walk() if passage.document_id == id]
            assert len(positions) > 1
            assert len(set(state.documents(positions).tolist())) == 1
        assert sorted(state.ids(first)) == ["d157", "d7"]


# Ranking


@persistent
def test_documents_are_found_by_id_with_their_passages_and_hash(library: Corpus, reference: Corpus) -> None:
    ids = ["send_email", "id/with #?", "book.pdf#1", "missing"]
    hashes = []
    for corpus in (library, reference):
        with corpus.snapshot() as state:
            found = state.find_documents(ids)
            assert set(found) == set(ids[:3])
            for id, (positions, _) in found.items():
                assert set(state.ids(positions)) == {id}
                assert len(positions) == len([one for one in passages_of(corpus) if one.document_id == id])
            hashes.append({id: one.hash for id, one in found.items()})
    assert hashes[0] == hashes[1]


def test_use_changes_the_ranking_as_in_the_reference(library: Corpus, reference: Corpus) -> None:
    queries = ("write to my boss", "write a note to the boss", "a cup of oolong in the garden")
    before = [shortlist.search(library, query, k=8) for query in queries]
    for corpus in (library, reference):
        corpus.learn("write to the boss", "send_email")
        corpus.learn("a book on kettles", "book.pdf#2")
    try:
        for query in queries:
            found = [(hit.id, hit.score, hit.relevance) for hit in shortlist.search(library, query, k=8)]
            wanted = [(hit.id, hit.score, hit.relevance) for hit in shortlist.search(reference, query, k=8)]
            assert [row[0] for row in found] == [row[0] for row in wanted]
            assert [row[1:] for row in found] == [pytest.approx(row[1:], abs=1e-3) for row in wanted]
        assert shortlist.search(library, queries[0], k=8)[0].id == "send_email"
    finally:
        for corpus in (library, reference):
            corpus.usage.forget()
    assert [shortlist.search(library, query, k=8) for query in queries] == before


def test_term_statistics_are_those_of_the_reference(library: Corpus, reference: Corpus) -> None:
    with library.snapshot() as state, reference.snapshot() as expected:
        terms = [term for query in QUERIES for term in expected.lexical.analyzer.terms(query)]
        assert state.lexical.live == expected.lexical.live
        assert state.lexical.frequency(terms) == expected.lexical.frequency(terms)
        assert state.lexical.ideal(terms) == pytest.approx(expected.lexical.ideal(terms))
        assert [state.lexical.knows([term]) for term in ("tea", "xqzvw")] == [True, False]


def rank(state: State, part: str, query: str, allowed: Any) -> Ranking:
    terms = state.lexical.analyzer.terms(query)
    lexical, dense = (20, 0) if part == "lexical" else (0, 20)
    return state.score(Request(query, terms, lexical, dense, allowed))[part].ranking(20)


@persistent
@pytest.mark.parametrize("part", ["lexical", "dense"])
def test_passage_ranking_is_that_of_the_reference(library: Corpus, reference: Corpus, part: str) -> None:
    with library.snapshot() as state, reference.snapshot() as expected:
        for query in QUERIES:
            for condition in ({}, {"kind": "file"}):
                found, wanted = (
                    scores_of(one, rank(one, part, query, allowed(one, condition))) for one in (state, expected)
                )
                assert found == pytest.approx(wanted, abs=1e-6), query


@persistent
@pytest.mark.parametrize("mode", MODES)
def test_search_is_that_of_the_reference(library: Corpus, reference: Corpus, mode: Mode) -> None:
    # Hybrid search adds up ranks. A cluster may rank vectors with the same cosine one after the other.
    tolerance = 1 / 61 - 1 / 62 if mode == "hybrid" else 1e-6
    for query in QUERIES:
        found, expected = (shortlist.search(one, query, mode) for one in (library, reference))
        assert_same_hits(found, expected, tolerance)
    few = {"n": {"$exists": False}}
    found, expected = (shortlist.search(one, "kettle", mode, 5, few) for one in (library, reference))
    assert_same_hits(found, expected, tolerance)
    found, expected = (search_passages(one, "kettle", mode, 5, few) for one in (library, reference))
    assert_same_hits(found, expected, tolerance)


def search_passages(corpus: Corpus, query: str, mode: Mode, k: int, filter: dict[str, Any]) -> Hits:
    with open_query(corpus, query, mode, k) as states:
        return merge(retrieve(states, query, mode, k, filter, whole=False), query, mode, k)


def test_documents_with_equal_scores_are_in_the_order_of_their_ids(library: Corpus) -> None:
    hits = shortlist.search(library, "the very same words", k=4)
    assert ids_of(hits) == ["twin0", "twin1", "twin2", "twin3"]
    assert len({hit.score for hit in hits}) == 1


def test_document_named_in_the_query_is_among_the_hits(library: Corpus) -> None:
    assert "read_email" in ids_of(shortlist.search(library, "garden river leaf with read_email", k=2))


def test_query_without_known_words_finds_nothing(library: Corpus) -> None:
    for query in ("", "?!", "the of", "xqzvw blorfnik", "\0"):
        for mode in MODES:
            assert shortlist.discover(library, query, mode=mode).results == [], (query, mode)


def test_k_may_be_zero_or_more_than_there_are(library: Corpus) -> None:
    assert shortlist.search(library, "tea", k=0) == []
    assert len(shortlist.search(library, "same words", "lexical", k=5000)) == 4


def test_empty_corpus_finds_nothing(shelf: Corpus) -> None:
    assert shortlist.search(shelf, "tea") == []
    assert (list(shelf), shelf.kinds(), shelf.browse(), passages_of(shelf)) == ([], {}, ([], 0), [])
    with shelf.snapshot() as state:
        assert (state.size, state.sources(), state.lexical.frequency(["tea"])) == (0, set(), {"tea": 0})


# Filters

FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "plain value": ({"access": "read"}, {"read_email"}),
    "boolean": ({"n": True}, {"flags"}),
    "item of a list": ({"tags": "green"}, {"flags"}),
    "whole list": ({"tags": ["red", "green"]}, {"flags"}),
    "dotted key": ({"deep.list": 2.5}, {"id/with #?"}),
    "source": ({"source": "/shelf/book.pdf"}, {"book.pdf#1", "book.pdf#2"}),
    "$eq": ({"n": {"$eq": 1}}, {"send_email"}),
    "$ne, $exists": ({"n": {"$exists": True, "$ne": 1}}, {"read_email", "id/with #?", "flags"}),
    "$gt": ({"n": {"$gt": 1}}, {"read_email", "id/with #?"}),
    "$gte, $lt": ({"n": {"$gte": 1, "$lt": 2}}, {"send_email", "id/with #?"}),
    "$lte of a string": ({"access": {"$lte": "read"}}, {"read_email"}),
    "$in": ({"access": {"$in": ["read", "write"]}}, {"read_email", "send_email"}),
    "$nin": ({"n": {"$exists": True, "$nin": [1, 2]}}, {"id/with #?", "flags"}),
    "$and, $not": ({"$and": [{"kind": "tool"}, {"$not": {"access": "read"}}]}, {"send_email"}),
    "$or": ({"$or": [{"id": "twin1"}, {"title": "Flags"}]}, {"twin1", "flags"}),
    "no match": ({"access": "none"}, set()),
}
SHARED_BY_MIXED = "message page same true zeile"  # each document with metadata contains one of these words


@pytest.mark.parametrize("name", FILTERS)
def test_filter(library: Corpus, name: str) -> None:
    condition, expected = FILTERS[name]
    with library.snapshot() as state:
        mask = allowed(state, condition)
        assert {passage.document_id for passage in state.walk(mask)} == expected
        assert {document.id for document in MIXED if state.permits(document.id, mask)} == expected
        ranking = state.lexical.rank(SHARED_BY_MIXED, 200)
        ids = state.ids(ranking.positions)
        assert mask[ranking.positions].tolist() == [id in expected for id in ids]
    assert set(ids_of(shortlist.search(library, SHARED_BY_MIXED, filter=condition, k=50))) == expected


# The stages above the index


@persistent
def test_discover_is_that_of_the_reference(library: Corpus, reference: Corpus) -> None:
    for query in ("write a message to a person", "oolong in winter", "who won the football game?"):
        found, expected = (shortlist.discover(one, query, level="body") for one in (library, reference))
        assert (found.abstained, found.reason) == (expected.abstained, expected.reason)
        assert [(item.id, item.body) for item in found.results] == [(item.id, item.body) for item in expected.results]
        assert_same_hits(found.candidates, expected.candidates)


@persistent
def test_answers_are_those_of_the_reference(library: Corpus, reference: Corpus) -> None:
    for question in ("What is the page about kettles?", "Which enzyme splits lactose?"):
        found, expected = (shortlist.ask(one, question) for one in (library, reference))
        assert (found.text, found.refused) == (expected.text, expected.refused)


def test_agent_actions(library: Corpus) -> None:
    assert agent_actions.list_sources(library, filter={"kind": "tool"}) == {
        "sources": ["read_email", "send_email"],
        "total": 2,
    }
    matches = agent_actions.keyword_search(library, "NEWEST mess")
    assert ([one["id"] for one in matches["passages"]], matches["complete"]) == (["read_email"], True)
    assert agent_actions.read(library, "flags")["text"] == "True is not 1."
