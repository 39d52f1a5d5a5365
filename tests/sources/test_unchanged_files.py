"""A file that has not changed since it was stored is not opened again; one that may have changed always is."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, Corpus, CorpusSource, Document, Problem, build, open_corpus, search
from shortlist.documents import Stamp
from shortlist.index.corpus_paths import DATABASE
from shortlist.sources import document_formats
from shortlist.sources import folder as files_module
from shortlist.sources.decoding import File
from tests.sources.samples import docx, pdf, write, xlsx

LONG_AGO = 1_600_000_000


def age(root: Path, seconds: float = 0) -> None:
    """Set every file's time to long ago, so that it counts as settled."""
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (LONG_AGO + seconds, LONG_AGO + seconds))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the files that were read, in order."""
    ids: list[str] = []
    read = files_module._read

    def note_and_read(file: File, *more: Any) -> Iterator[Document | Problem | Stamp]:
        ids.append(file.id)
        return read(file, *more)

    monkeypatch.setattr(files_module, "_read", note_and_read)
    return ids


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = write(tmp_path / "root", {"a.txt": "apple", "b.csv": "fruit\npear\nplum\n", "c.bin": b"\0"})
    age(root)
    return root


@pytest.fixture
def corpus(folder: Path, opened: list[str]) -> Iterator[Corpus]:
    with build(CorpusSource.from_files(folder), name="c", embedder="none") as corpus:
        assert corpus.changes == Changes(added=3, skipped=1)
        opened.clear()
        yield corpus


def test_a_second_build_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, str | bytes] = {f"{number}.txt": f"Text number {number}." for number in range(280)}
    files |= {f"{number}.bin": b"\0" for number in range(17)}
    write(tmp_path, files | {"a.pdf": pdf(["One.", "Two."]), "a.docx": docx(["x"]), "a.xlsx": xlsx({"S": ["a", "b"]})})
    age(tmp_path)
    source = CorpusSource.from_files(tmp_path)
    with build(source, name="c", embedder="none") as corpus:
        assert corpus.changes == Changes(added=284, skipped=17)
    kept = corpus.path

    def refuse(self: Path, *_: object, **__: object) -> None:
        if self.name in (".gitignore", "engine.json"):  # which say what to read, and where a corpus is kept
            raise FileNotFoundError
        raise AssertionError(f"{self} was opened")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with build(source, name="c", embedder="none") as corpus:
        assert corpus.changes == Changes(unchanged=284, skipped=17)
        assert (corpus.path, len(corpus)) == (kept, 284)


def test_an_unchanged_folder_changes_nothing_on_disk(folder: Path, corpus: Corpus, opened: list[str]) -> None:
    def generation() -> str:
        assert corpus.path
        with contextlib.closing(sqlite3.connect(corpus.path / DATABASE, isolation_level=None)) as connection:
            return str(connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0])

    before = generation()
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=3, skipped=1)
    assert (opened, generation()) == ([], before)


def test_a_touched_file_is_read_again_and_found_unchanged(folder: Path, corpus: Corpus, opened: list[str]) -> None:
    os.utime(folder / "b.csv", (LONG_AGO + 1, LONG_AGO + 1))
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=3, skipped=1)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=3, skipped=1)
    assert opened == ["b.csv"]


def test_a_changed_file_is_replaced(folder: Path, corpus: Corpus, opened: list[str]) -> None:
    write(folder, {"b.csv": "fruit\npear\n", "a.txt": "quince"})
    age(folder, 1)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(changed=1, unchanged=1, removed=1, skipped=1)
    assert search(corpus, "quince")
    assert not search(corpus, "plum")
    opened.clear()
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=2, skipped=1)
    assert opened == []


def test_a_change_that_keeps_size_and_time_is_seen(folder: Path, corpus: Corpus) -> None:
    write(folder, {"a.txt": "melon"})
    age(folder)
    assert corpus.sync(CorpusSource.from_files(folder)).changed == 1


def test_a_deleted_file_is_removed_and_forgotten(folder: Path, corpus: Corpus, opened: list[str]) -> None:
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(removed=3)
    write(folder, whole)
    age(folder)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(added=3, skipped=1)
    assert opened == ["a.txt", "b.csv", "c.bin"]


def test_a_file_that_is_excluded_and_wanted_again_comes_back(folder: Path, corpus: Corpus) -> None:
    assert corpus.sync(CorpusSource.from_files(folder, exclude="csv$")) == Changes(unchanged=1, removed=2, skipped=1)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(added=2, unchanged=1, skipped=1)


def test_a_file_that_was_just_written_is_read_again(tmp_path: Path, opened: list[str]) -> None:
    write(tmp_path, {"a.txt": "apple"})
    source = CorpusSource.from_files(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.sync(source) == Changes(unchanged=1)
    assert opened == ["a.txt", "a.txt"]


def test_a_file_that_failed_is_tried_again(tmp_path: Path, opened: list[str]) -> None:
    write(tmp_path, {"a.pdf": b"broken", "b.jsonl": '{"a": 1}\n{"a"\n'})
    age(tmp_path)
    source = CorpusSource.from_files(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    first = corpus.changes
    assert [problem.id for problem in first.failed] == ["a.pdf", "b.jsonl#row=2"]
    assert corpus.sync(source) == Changes(unchanged=1, failed=first.failed)
    assert opened == ["a.pdf", "b.jsonl"] * 2


def test_a_file_with_a_document_that_could_not_be_stored_is_tried_again(tmp_path: Path, opened: list[str]) -> None:
    write(tmp_path, {"a.csv": "fruit\napple\n", "a.csv#row=1": "The same id.", "b.md": "---\nodd: .nan\n---\n"})
    age(tmp_path)
    source = CorpusSource.from_md_reports(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    failed = corpus.changes.failed
    assert [problem.id for problem in failed] == ["b.md"]
    assert corpus.sync(source) == Changes(failed=failed)
    source = CorpusSource.from_files(tmp_path, exclude="md$")
    first = corpus.sync(source)
    assert [problem.id for problem in first.failed] == ["a.csv#row=1"]
    assert corpus.sync(source) == Changes(unchanged=1, failed=first.failed)


def test_a_new_version_of_the_loaders_reads_everything_again(
    folder: Path, corpus: Corpus, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "VERSION", document_formats.VERSION + 1)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=3, skipped=1)
    assert opened == ["a.txt", "b.csv", "c.bin"]


@pytest.mark.parametrize("id", ["a.txt", "b.csv#row=2"])
def test_a_document_that_was_removed_by_hand_comes_back(folder: Path, corpus: Corpus, id: str) -> None:
    corpus.remove(id)
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(added=1, unchanged=2, skipped=1)


def test_a_document_that_was_replaced_by_hand_is_put_right(folder: Path, corpus: Corpus) -> None:
    corpus.add([Document("b.csv#row=1", "", "mine now")])
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(changed=1, unchanged=2, skipped=1)


def test_a_document_that_was_added_by_hand_under_the_name_of_a_file_is_pruned(folder: Path, corpus: Corpus) -> None:
    corpus.add([Document("b.csv#row=9", "", "mine", source=str(folder / "b.csv"))])
    assert corpus.sync(CorpusSource.from_files(folder)) == Changes(unchanged=3, removed=1, skipped=1)


def test_a_file_that_is_only_named_like_a_part_of_another_is_its_own(folder: Path, corpus: Corpus) -> None:
    write(folder, {"b.csv#notes.txt": "quince"})
    age(folder)
    source = CorpusSource.from_files(folder)
    assert corpus.sync(source).added == 1
    (folder / "b.csv#notes.txt").unlink()
    assert corpus.sync(source).removed == 1


def test_two_names_of_one_file_are_two_documents(folder: Path, corpus: Corpus) -> None:
    (folder / "link.txt").symlink_to(folder / "a.txt")
    source = CorpusSource.from_files(folder)
    assert corpus.sync(source) == Changes(added=1, unchanged=3, skipped=1)
    assert corpus.sync(source) == Changes(unchanged=4, skipped=1)
    (folder / "link.txt").unlink()
    assert corpus.sync(source) == Changes(unchanged=3, removed=1, skipped=1)


def test_folders_that_overlap_do_not_take_each_others_files_for_read(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.txt": "apple"})
    age(tmp_path)
    outer, inner = CorpusSource.from_files(tmp_path), CorpusSource.from_files(tmp_path / "sub")
    corpus = build(outer, in_memory=True, embedder="none")
    assert corpus.add(inner) == Changes(added=1)
    assert (corpus.ids(), corpus.add(outer)) == (["sub/a.txt", "a.txt"], Changes(unchanged=1))
    assert corpus.sync(inner) == Changes(unchanged=1, removed=1)


def test_folders_with_files_of_one_name_do_not_take_each_others_for_read(tmp_path: Path) -> None:
    write(tmp_path, {"one/a.txt": "apple", "two/a.txt": "melon", "one/x.bin": b"\0", "two/x.bin": b"\0"})
    age(tmp_path)
    one, two = (CorpusSource.from_files(tmp_path / name) for name in ("one", "two"))
    corpus = build(one, in_memory=True, embedder="none")
    for source in (two, one, two):
        assert corpus.sync(source) == Changes(changed=1, skipped=1)


@pytest.mark.parametrize("seed", range(15))
def test_any_history_ends_in_what_the_folder_holds(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    source = CorpusSource.from_files(tmp_path)
    corpus = build(source, in_memory=True, embedder="none")
    for step in range(30):
        name = draw.choice(["a.txt", "b.csv", "c.jsonl", "sub/a.txt", "a.txt#b.csv"])
        path = write(tmp_path, {"sub/keep": "x"}) / name
        act = draw.choice(["write", "write", "touch", "delete", "link", "remove", "add", "sync", "add folder"])
        if act == "write" or (act == "touch" and not path.exists()):
            path.unlink(missing_ok=True)
            path.write_text(
                "\n".join(f'"{draw.choice("pq")}"' for _ in range(draw.randrange(4))) + draw.choice(["", "\0"])
            )
            os.utime(path, (LONG_AGO, LONG_AGO))
        elif act == "touch":
            os.utime(path, (LONG_AGO + step, LONG_AGO + step))
        elif act == "delete":
            path.unlink(missing_ok=True)
        elif act == "link" and not path.exists():
            path.symlink_to(tmp_path / "sub" / "keep")
        elif act == "remove":
            corpus.remove(draw.sample(corpus.ids(), min(2, len(corpus))))
        elif act == "add":
            corpus.add([Document(f"{name}#row=1", "", "by hand", source=draw.choice(["", str(path)]))])
        elif act == "add folder":
            corpus.add(CorpusSource.from_files(tmp_path / "sub"))
        elif act == "sync":
            corpus.sync(source)
    failed = corpus.sync(source).failed
    fresh = build(source, in_memory=True, embedder="none")
    ids, sources = {problem.id for problem in failed}, {problem.source for problem in failed} - {""}

    def readable(corpus: Corpus) -> dict[str, Document]:
        return {item.id: item for item in corpus if item.id not in ids and item.source not in sources}

    assert readable(corpus) == readable(fresh)
    assert failed == fresh.changes.failed
    again = corpus.sync(source)
    assert (again.added, again.changed, again.removed, again.failed) == (0, 0, 0, failed)


def test_a_corpus_of_the_first_format_is_brought_up_to_date(folder: Path, corpus: Corpus) -> None:
    write(folder, {"long.md": "# Guide\n\n" + "Some words here. " * 100})
    corpus.sync(CorpusSource.from_files(folder, exclude="long.md"))
    assert corpus.path
    with contextlib.closing(sqlite3.connect(corpus.path / DATABASE, isolation_level=None)) as connection:
        connection.execute("DROP TABLE stamps")
        connection.execute("ALTER TABLE passages DROP COLUMN context")
        connection.execute("PRAGMA user_version = 1")
    with open_corpus("c") as old:
        assert [hit.id for hit in search(old, "plum")] == ["b.csv#row=2"]
        assert old.sync(CorpusSource.from_files(folder)) == Changes(added=1, unchanged=3, skipped=1)
        assert search(old, "words")[0].context == "Guide"
        assert old.sync(CorpusSource.from_files(folder)) == Changes(unchanged=4, skipped=1)
