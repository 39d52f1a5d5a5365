"""The engine contract: what every engine promises to the code above it.

Each test runs on every engine to which it applies. `library` holds the same documents on each engine and is only read;
`shelf` is emptied before each test. Tests that compare engines take an in-memory corpus as the reference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import Changes, Corpus, Document, InputError, Problem
from shortlist.errors import EmbedderError, SourceError
from shortlist.retrieval import agent_actions
from tests.index.engines.conftest import (
    CHUNKS,
    LIBRARY,
    MIXED,
    Place,
    assert_same_hits,
    ids_of,
    long_document,
    notes,
    passages_of,
    persistent,
)


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


def test_compact_changes_no_answer(shelf: Corpus) -> None:
    for start in range(0, 60, 10):
        shelf.add(notes(*range(start, start + 10)))
    shelf.remove([f"n{at}" for at in range(0, 60, 3)])
    before = shortlist.search(shelf, "tea number 7", k=50)
    shelf.compact()
    assert_same_hits(shortlist.search(shelf, "tea number 7", k=50), before)
    assert len(shelf) == 40


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


def test_empty_and_blank_documents_share_no_words(library: Corpus) -> None:
    ids = ids_of(shortlist.search(library, "very same words", "lexical", k=len(LIBRARY)))
    assert ids == ["twin0", "twin1", "twin2", "twin3"]
    assert (library.get("empty"), library.get("blank")) == (MIXED[-1], MIXED[-2])


def test_empty_corpus_finds_nothing(shelf: Corpus) -> None:
    assert shortlist.search(shelf, "tea") == []
    assert (list(shelf), shelf.kinds(), shelf.browse(), passages_of(shelf)) == ([], {}, ([], 0), [])
    with shelf.snapshot() as state:
        assert (state.size, state.sources(), state.lexical.frequency(["tea"])) == (0, set(), {"tea": 0})


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
