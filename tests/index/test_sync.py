"""A sync: what it adds, changes, removes, and reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Changes, Document, InputError, Problem
from shortlist.errors import SourceError
from shortlist.sources import CorpusSource
from tests.index.samples import doc, memory, segment_files


def test_a_sync_counts_what_it_did() -> None:
    corpus = memory()
    assert corpus.sync([doc("a", "one"), doc("b", "two"), doc("c", "three")]) == Changes(added=3)
    assert corpus.sync([doc("a", "one"), doc("b", "two!"), doc("d", "four")]) == Changes(
        added=1, changed=1, unchanged=1, removed=1
    )
    assert corpus.ids() == ["a", "b", "d"]
    assert corpus.get("b") == doc("b", "two!")
    assert corpus.get("c") is None


def test_a_sync_without_prune_keeps_what_did_not_come() -> None:
    corpus = memory()
    corpus.sync([doc("a"), doc("b")])
    assert corpus.sync([doc("c")], prune=False) == Changes(added=1)
    assert corpus.add([doc("a", "changed")]) == Changes(changed=1)
    assert corpus.remove("a") == 1
    assert corpus.remove(["a", "b", "zebra"]) == 1
    assert corpus.ids() == ["c"]


def test_a_bad_document_is_reported_and_the_others_go_in() -> None:
    corpus = memory()
    corpus.sync([doc("kept", "old"), doc("other", "old")])
    stream: list[Any] = [
        doc("good", "new"),
        "a string",
        doc(""),
        doc("nan", metadata={"score": float("nan")}),
        doc("object", metadata={"thing": object()}),
        doc("keywords", keywords=[1]),
        Document("number", "", 7),  # type: ignore[arg-type]
        Problem("kept", "Its file cannot be read.", source="somewhere"),
        doc("good", "again"),
    ]
    changes = corpus.sync(stream)
    assert (changes.added, changes.removed) == (1, 1)
    assert corpus.ids() == ["kept", "good"]
    assert [problem.id for problem in changes.failed] == [
        "", "", "nan", "object", "keywords", "number", "kept", "good",
    ]  # fmt: skip
    assert changes.failed[0].reason == "str is not a Document."
    assert "came twice" in changes.failed[-1].reason
    assert json.loads(json.dumps(changes.to_dict()))["failed"][3]["id"] == "object"


def test_what_a_problem_speaks_of_is_not_pruned() -> None:
    corpus = memory()
    pages = [doc(f"book#{page}", source="/book.pdf", locator=f"page={page}", kind="page") for page in (1, 2)]
    corpus.sync([*pages, doc("other")])
    assert corpus.sync([Problem("book", "It is encrypted.", source="/book.pdf")]).removed == 1
    assert corpus.ids() == ["book#1", "book#2"]


def test_a_source_that_breaks_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        for number in range(2000):
            yield doc(f"new{number}", "text")
        raise SourceError("the disk was pulled out")

    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc("a", "one")])
        before = segment_files(corpus)
        with pytest.raises(SourceError):
            corpus.sync(broken())
        assert corpus.ids() == ["a"]
        assert segment_files(corpus) == before


def test_progress_tells_how_far_it_is() -> None:
    calls: list[tuple[int, int | None]] = []
    corpus = memory()
    corpus.sync([doc(str(number)) for number in range(1200)], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 1200) for done in range(100, 1201, 100)]
    calls.clear()
    corpus.sync((doc(str(number)) for number in range(3)), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(3, None)]


def test_strictly_one_document_that_cannot_be_taken_stops_them_all() -> None:
    with shortlist.create_corpus(in_memory=True, embedder="none") as corpus:
        corpus.add([doc("a", "text")])
        broken = Document("b", "", "", metadata={"what": object()})
        with pytest.raises(InputError, match="The document 'b' cannot be stored"):
            corpus.sync([doc("c", "text"), broken], strict=True)
        assert corpus.ids() == ["a"]
        assert corpus.add([doc("c", "text"), broken]).failed[0].id == "b"
        assert corpus.ids() == ["a", "c"]


class RecordedBar:
    """A bar that records what is reported."""

    def __init__(self) -> None:
        self.counts: list[tuple[float, int | None, str]] = []
        self.phases: list[str] = []

    def __call__(self, done: int, total: int | None) -> None:
        self.count(done, total)

    def count(self, done: float, total: int | None, unit: str = "") -> None:
        self.counts.append((done, total, unit))

    def phase(self, name: str, done: int = 0, total: int | None = None) -> None:
        self.phases.append(name)


def test_a_bar_counts_the_files_of_a_folder_before_they_are_read(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.md").write_text(f"text {number}")
    (tmp_path / "empty.md").write_text("")
    corpus, bar = memory(), RecordedBar()
    corpus.sync(CorpusSource.from_files(tmp_path), progress=bar)
    assert bar.counts[0] == (0, 31, "files")
    assert bar.counts[-1] == (31, 31, "files")
    assert bar.counts == sorted(bar.counts, key=lambda count: count[0])
    assert bar.phases[:2] == ["counting", "reading"]
    assert bar.phases[-1] == "indexing"


def test_a_bar_counts_the_rows_of_a_table_in_one_file(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("name,size\n" + "".join(f"n{number},{number}\n" for number in range(40)))
    corpus, bar = memory(), RecordedBar()
    corpus.sync(CorpusSource.from_files(table), progress=bar)
    assert {(total, unit) for _, total, unit in bar.counts} == {(40, "rows")}
    assert bar.counts[-1][0] == len(corpus) == 40


def test_a_batch_ends_early_while_a_bar_waits_for_a_slow_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.index.sync.READING_SECONDS", -1.0)
    bar = RecordedBar()
    memory().sync((doc(str(number)) for number in range(5)), progress=bar)
    assert [done for done, _, _ in bar.counts] == [0, 1, 2, 3, 4, 5, 5]
