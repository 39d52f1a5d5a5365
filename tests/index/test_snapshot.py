"""A snapshot: its filters, vectors and passages stay those of one state."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import shortlist
from shortlist import Document
from shortlist.index import snapshot
from shortlist.index.snapshot import Snapshot
from shortlist.index.storage.columns import Columns
from shortlist.index.text.query_terms import analyze
from shortlist.retrieval.filters import allowed
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
        with reader.snapshot() as state:
            writer.add([doc("a", "a dog"), doc("b", "a cat")])
            ranking = state.lexical.rank("cat", 10)
            assert [passage.text for passage in state.passages(ranking.positions)] == ["a cat"]
            assert state.match("kind", "$eq", "text", lambda kind: kind == "text").tolist() == [True]
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


def test_a_filter_by_columns_allows_what_one_by_rows_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conditions: list[dict[str, Any]] = [
        {"n": {"$lt": 3}}, {"$not": {"n": 2}}, {"deep.n": 1}, {"kind": "skill"}, {"source": "s1"}, {"title": "a title"},
        {"absent": {"$exists": False}}, {"tags": "x"},
    ]  # fmt: skip
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        for start in range(0, 60, 20):  # three segments, with changed and removed documents
            corpus.add(
                Document(
                    f"d{number}",
                    "a title" if number % 5 else "",
                    WORDS[number % len(WORDS)],
                    metadata={"n": number % 7, "deep": {"n": number % 2}, "tags": ["x", "y"][: number % 3]},
                    kind="skill" if number % 4 else "text",
                    source=f"s{number % 3}",
                )
                for number in range(start, start + 25)
            )
        corpus.remove(["d3", "d30"])

        def masks() -> list[list[bool]]:
            with shortlist.open_corpus(tmp_path / "c") as reader, reader.snapshot() as state:
                return [(allowed(state, one) & state.everything()).tolist() for one in conditions]

        by_columns = masks()
        monkeypatch.setattr(Columns, "find", lambda *_: None)
        assert by_columns == masks()
        assert all(any(mask) and not all(mask) for mask in by_columns)


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
            (named,) = state.lexical.named([analyze(state.lexical.analyzer, name)])
            (own,) = state.siblings(np.array([*named]))
            assert state.passages(own) == [passage for passage in state.walk() if passage.document_id == name]
            assert len(own) >= paragraphs


def test_passages_that_were_read_lately_are_read_again_only_in_another_state(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    read_passages = Snapshot._read_passages

    def count(state: Snapshot, numbers: list[int]) -> Any:
        read.extend(numbers)
        return read_passages(state, numbers)

    monkeypatch.setattr(Snapshot, "_read_passages", count)
    corpus = memory()
    corpus.add([doc(f"d{number}", "x" * 40, metadata={"n": number}) for number in range(4)])

    def show(*positions: int) -> list[int]:
        """The documents at these positions, which someone changes."""
        with corpus.snapshot() as state:
            passages = state.passages(np.array(positions))
        shown = [cast("dict[str, int]", passage.metadata).pop("n") for passage in passages]
        assert [passage.document_id for passage in passages] == [f"d{number}" for number in shown]
        return shown

    assert show(0, 1, 0) + show(1, 2) == [0, 1, 0, 1, 2]
    assert read == [1, 2, 1, 3]
    monkeypatch.setattr(snapshot, "RECENT_CHARACTERS", 200)
    assert show(3) + show(3) == [3, 3]
    assert read[4:] == [4, 4]  # the first time there was no room, so all were forgotten
    corpus.add([doc("d5", "x", metadata={"n": 5})])
    assert show(3) == [3]
    assert read[6:] == [4]
    assert corpus.verify()["passages"] == 5
    assert read[7:] == [1, 2, 3, 4, 5]  # each time
