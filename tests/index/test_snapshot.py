"""A snapshot: its filters, vectors and passages stay those of one state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shortlist
from tests.embedded import inside
from tests.index.samples import WORDS, doc, memory, results


def test_an_open_corpus_follows_another_one_on_the_same_folder(tmp_path: Path) -> None:
    with (
        shortlist.create_corpus(path=tmp_path / "c", embedder="none") as writer,
        shortlist.open_corpus(tmp_path / "c") as reader,
    ):
        assert results(reader, "cat") == []
        writer.add([doc("a", "a cat")])
        assert [id for id, _ in results(reader, "cat")] == ["a"]
        with reader.snapshot() as snapshot:
            writer.add([doc("a", "a dog"), doc("b", "a cat")])
            ranking = snapshot.lexical.rank("cat", 10)
            assert [passage.text for passage in snapshot.passages(ranking.positions)] == ["a cat"]
            assert snapshot.match("kind", "$eq", "text", lambda kind: kind == "text").tolist() == [True]
        assert [id for id, _ in results(reader, "cat")] == ["b"]


def test_an_older_snapshot_filters_by_what_it_saw(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc("a", "x", metadata={"n": 1}), doc("b", "x", metadata={"n": 1})])
        with corpus.snapshot() as older:
            corpus.remove("a")
            with corpus.snapshot() as newer:
                alive = ~inside(newer).view.loaded[0].part.dead  # type: ignore[operator]
                assert (newer.match("n", "$eq", 1, lambda n: n == 1) & alive).tolist() == [False, True]
            assert older.match("n", "$eq", 1, lambda n: n == 1).tolist() == [True, True]


def test_vectors_are_unit_and_in_step_with_the_passages(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync([doc(str(number), f"text {WORDS[number]}") for number in range(5)])
        with corpus.snapshot() as snapshot:
            vectors = inside(snapshot).view.loaded[0].segment.vectors
            assert vectors is not None
            assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5))


@pytest.mark.parametrize("paragraphs", [1, 2, 40])
def test_the_siblings_of_a_document_are_its_own_passages(paragraphs: int) -> None:
    corpus = memory()
    for name in ("first", "second", "third"):  # each in a segment of its own, or merged
        corpus.add([doc(name, "\n\n".join(f"{name} word{at} " * 120 for at in range(paragraphs)), name, kind="file")])
    with corpus.snapshot() as state:
        for name in ("first", "second", "third"):
            (own,) = state.siblings(np.array([*state.lexical.named(name)]))
            assert state.passages(own) == [passage for passage in state.walk() if passage.document_id == name]
            assert len(own) >= paragraphs
