"""Changes to a corpus: any history gives the same index, and segments stay few."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist
from shortlist import Corpus, Document
from shortlist.index.corpus import share_vectors
from shortlist.index.storage import writer
from tests.index.samples import WORDS, doc, memory, results, segment_files

some_words = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


ids = st.sampled_from([f"d{number}" for number in range(8)])


def segment_sizes(corpus: Corpus) -> list[int]:
    assert corpus.path is not None
    with contextlib.closing(sqlite3.connect(corpus.path / "corpus.db")) as database:
        return [size for (size,) in database.execute("SELECT size FROM segments ORDER BY first")]


@pytest.mark.parametrize("kept", [True, False])
def test_a_slow_embedder_encodes_while_progress_is_reported_and_not_after(tmp_path: Path, kept: bool) -> None:
    encoded = 0

    def encode(texts: list[str]) -> list[list[float]]:
        nonlocal encoded
        encoded += sum(text.endswith(tuple("0123456789")) for text in texts)  # not those that measure its cosines
        return [[len(text), 1.0] for text in texts]

    reported: list[tuple[int, int]] = []
    where: dict[str, Any] = {"path": tmp_path / "c"} if kept else {"in_memory": True}
    with shortlist.create_corpus(embedder=encode, **where) as corpus:
        encoded = 0  # without the text that was encoded to count the dimensions
        documents = [doc(str(at), f"text {at}") for at in range(1000)]
        corpus.sync(documents, progress=lambda done, _: reported.append((done, encoded)))
        assert [done for done, _ in reported] == list(range(100, 1001, 100))
        assert all(done - writer.ENCODED_AT_ONCE < ready <= done for done, ready in reported)
        assert encoded == 1000
        assert [id for id, _ in results(corpus, "999")] == ["999"]


def test_embedding_is_a_phase_of_its_own_for_a_callback_that_has_phases(tmp_path: Path) -> None:
    phases: list[tuple[str, int, int | None]] = []

    class Phases:
        def __call__(self, done: int, total: int | None) -> None:
            self.phase("documents", done, total)

        def phase(self, name: str, done: int, total: int | None) -> None:
            phases.append((name, done, total))

    documents = [doc(str(number), f"text {number}") for number in range(5000)]
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync(documents, progress=Phases())
        encoded = [(done, total) for name, done, total in phases if name == "embedding"]
        sizes = [writer.ENCODED_FAST * at for at in range(1, 5)]
        assert encoded == [
            *((done, at * writer.ENCODED_FAST) for at in range(1, 5) for done in (sizes[at - 1] - 1024, sizes[at - 1])),
            (4096, 5000),
            (5000, 5000),
        ]
        counted = [(done, total) for name, done, total in phases if name == "documents"]
        assert counted == [(done, 5000) for done in range(100, 5001, 100)]
        assert [name for name, *_ in phases[-2:]] == ["indexing"] * 2
        phases.clear()
        corpus.reindex("light", analyzer="words-1", progress=Phases())
        assert [name for name, *_ in phases[-4:]] == ["embedding"] * 2 + ["indexing"] * 2


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(ids, some_words, some_words), min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.lists(ids, min_size=1, max_size=3)),
        st.tuples(st.just("compact"), st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(operations, some_words, st.integers(1, 6), st.integers(1, 12))
def test_any_history_ends_in_what_one_build_gives(history: Any, query: str, budget: int, most: int) -> None:
    before = writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED
    writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = budget, 2, most
    try:
        corpus, truth = memory(embedder="light"), dict[str, Document]()
        for verb, items in history:
            if verb == "add":
                fresh = {id: doc(id, content, title) for id, title, content in items}
                truth |= fresh
                corpus.add(fresh.values())
            elif verb == "remove":
                corpus.remove(items)
                truth = {id: document for id, document in truth.items() if id not in items}
            else:
                corpus.compact()
        writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = before
        rebuilt = memory(embedder="light")
        rebuilt.sync(sorted(truth.values(), key=lambda document: document.id))
        assert sorted(corpus.ids()) == sorted(truth)
        assert results(corpus, query) == results(rebuilt, query)
        for mode in ("dense", "hybrid", "auto"):
            assert dict(results(corpus, query, mode)) == pytest.approx(dict(results(rebuilt, query, mode)), abs=1e-6)
    finally:
        writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = before


def test_segments_stay_few_and_the_dead_are_dropped(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc(str(number), "text") for number in range(100)])
        for number in range(300):
            corpus.add([doc(str(number % 100), f"text {number}")])
        assert corpus.info()["segments"] <= 6
        assert len(segment_files(corpus)) == corpus.info()["segments"]
        corpus.compact()
        assert corpus.info()["segments"] == 1
        corpus.sync([])
        assert corpus.info()["segments"] == 0
        assert segment_files(corpus) == []
        assert results(corpus, "text") == []


def test_no_merge_makes_a_segment_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FLUSH_PASSAGES", 2)
    monkeypatch.setattr(writer, "MOST_MERGED", 7)
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc(f"d{n}", "text") for n in range(21)])
        assert segment_sizes(corpus) == [6, 6, 6, 3]
        corpus.remove(["d0", "d20"])
        corpus.compact()
        assert segment_sizes(corpus) == [5, 6, 6, 2]


def test_merging_keeps_to_its_budget() -> None:
    assert writer.find_merge_start([100, 20, 5], budget=1000) == 0
    assert writer.find_merge_start([100, 20, 5], budget=30) == 1
    assert writer.find_merge_start([100, 20, 4], budget=1000) == 2
    assert writer.find_merge_start([1000, 100, 1, 1, 1, 1], budget=1000) == 2
    assert writer.find_merge_start([1000, 100, 1, 1, 1], budget=1000) == 4
    assert writer.find_merge_start([1000, 16, 1, 1, 1, 1], budget=1000) == 1
    assert writer.find_merge_start([], budget=10) == 0


def test_shared_vectors_are_encoded_once_and_belong_to_their_passages(tmp_path: Path) -> None:
    encoded: list[str] = []

    def encode(texts: list[str]) -> list[list[float]]:
        encoded.extend(texts)
        return [[float(len(text)), 1.0, float(text.count("a"))] for text in texts]

    owners = ["own" if at % 3 else "project" for at in range(9)]
    documents = [doc(f"{owner}/{at}", f"{owner} text {at * 'a'}") for at, owner in enumerate(owners)]
    hits = []
    for name in ("first", "second", "alone"):
        with shortlist.create_corpus(path=tmp_path / name, embedder=encode) as corpus:
            if name != "alone":
                share_vectors(corpus, tmp_path / "shared", lambda id: id.startswith("own/"))
            encoded.clear()
            corpus.sync(documents)
            if name == "second":
                assert len(encoded) >= 3
                assert not [text for text in encoded if "own" in text]
            hits.append([(hit.id, hit.score) for hit in shortlist.search(corpus, "text aaaa", mode="dense")])
    assert hits[0] == hits[1] == hits[2]
    assert hits[0]
