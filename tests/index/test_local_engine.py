"""Damaged or missing segment files are rebuilt, on disk or in memory."""

from __future__ import annotations

import contextlib
import errno
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import CorpusError, Document
from shortlist.index.storage import segment, writer
from tests.index import soak
from tests.index.damages import PATIENCE, Answers, Make, each, files_of, flip_a_byte
from tests.index.soak import expected, found, rebuilt, version

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    messages = [record.getMessage() for record in caplog.records if record.name == "shortlist"]
    caplog.clear()
    return messages


@contextlib.contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a writer."""
    other = sqlite3.connect(path / "corpus.db", isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def without_waiting(job: Callable[[], Any]) -> Any:
    """What a job gives, which must not wait for the lock."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(job())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(PATIENCE)


def flip_a_byte_of_the_header(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[50] ^= 0xFF
    file.write_bytes(data)


def cut_to_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def replace_by_a_folder(file: Path) -> None:
    """As with any other error of the system, it exists and cannot be read."""
    file.unlink()
    file.mkdir()


def cut_to_nothing(file: Path) -> None:
    file.write_bytes(b"")


def delete_the_folder(path: Path) -> None:
    shutil.rmtree(path / "segments")


def swap(path: Path) -> None:
    """Give every segment the file of the next one."""
    files = files_of(path)
    whole = [file.read_bytes() for file in files]
    for file, data in zip(files, whole[1:] + whole[:1], strict=True):
        file.write_bytes(data)


DAMAGES = {
    "a byte is flipped": each(flip_a_byte),
    "a byte of the header is flipped": each(flip_a_byte_of_the_header),
    "cut to half": each(cut_to_half),
    "cut to nothing": each(cut_to_nothing),
    "deleted": each(Path.unlink),
    "unreadable": each(replace_by_a_folder),
    "the folder is deleted": delete_the_folder,
    "swapped": swap,
}


@pytest.fixture(params=["none", "light"])
def embedder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["read", "mapped"])
def mapped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether segment files are mapped rather than read."""
    if request.param:
        monkeypatch.setattr(segment, "MAPPED_FROM", 1)
    return bool(request.param)


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_segments_are_rebuilt_with_one_warning_each(
    damage: Callable[[Path], None], embedder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    make(embedder)
    with shortlist.open_corpus(tmp_path) as corpus:
        before = Answers(corpus)
        segments = corpus.info()["segments"]
    damage(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus:
        assert Answers(corpus) == before
        assert len(warnings_of(caplog)) == segments
        assert Answers(corpus) == before
    with shortlist.open_corpus(tmp_path) as corpus:
        assert Answers(corpus) == before
        assert warnings_of(caplog) == []
        corpus.sync(version("A"))
        assert found(corpus) == expected("A")
        assert warnings_of(caplog) == []


def test_one_damaged_segment_of_several_is_the_only_one_rebuilt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    make()
    whole = files_of(tmp_path)
    damaged = whole[1]
    flip_a_byte(damaged)
    with shortlist.open_corpus(tmp_path) as corpus:
        assert found(corpus) == expected("B")
    (message,) = warnings_of(caplog)
    assert damaged.name in message
    assert set(whole) - set(files_of(tmp_path)) == {damaged}


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_segments_are_rebuilt_in_memory_while_another_one_writes(
    damage: Callable[[Path], None], embedder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    make(embedder)
    with shortlist.open_corpus(tmp_path) as corpus:
        before = Answers(corpus)
        segments = corpus.info()["segments"]
    damage(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus:
        with write_lock(tmp_path):
            assert without_waiting(lambda: Answers(corpus)) == before
            assert len(warnings_of(caplog)) == segments
            assert without_waiting(lambda: Answers(corpus)) == before
            assert warnings_of(caplog) == []
        assert Answers(corpus) == before
        assert warnings_of(caplog) == []
        corpus.sync(version("A"))
        assert found(corpus) == expected("A")


def test_segments_that_were_rebuilt_in_memory_are_forgotten_with_the_state_that_had_them(
    tmp_path: Path, make: Make
) -> None:
    make()
    with shortlist.open_corpus(tmp_path) as corpus, shortlist.open_corpus(tmp_path) as other:
        for _ in range(5):
            each(flip_a_byte)(tmp_path)
            with write_lock(tmp_path):
                found(corpus)
            other.reindex()
        engine: Any = corpus._engine
        assert len(engine._rebuilt) <= corpus.info()["segments"]


def test_a_damaged_segment_without_living_passages_does_not_stop_a_reader(tmp_path: Path, make: Make) -> None:
    make()
    file = files_of(tmp_path)[0]
    file.unlink()
    database = sqlite3.connect(tmp_path / "corpus.db")
    with contextlib.closing(database):
        gone = database.execute(
            "SELECT DISTINCT d.id FROM segments s JOIN passages p ON p.num BETWEEN s.first AND s.last "
            "JOIN documents d ON d.num = p.document WHERE s.file = ?",
            [file.name],
        ).fetchall()
    left = [document for document in version("B") if (document.id,) not in gone]
    with shortlist.open_corpus(tmp_path) as corpus:
        corpus.remove([id for (id,) in gone])
    with shortlist.open_corpus(tmp_path) as corpus, write_lock(tmp_path):
        assert without_waiting(lambda: found(corpus)) == found(rebuilt(left))
    with shortlist.open_corpus(tmp_path) as corpus:
        assert found(corpus) == found(rebuilt(left))


@pytest.mark.parametrize("action", ["sync", "add", "remove", "compact", "reindex"])
@pytest.mark.parametrize("damage", ["deleted", "a byte is flipped"])
def test_a_writer_gets_by_with_damaged_segments(
    action: str, damage: str, embedder: str, tmp_path: Path, make: Make
) -> None:
    make(embedder)
    DAMAGES[damage](tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus:
        if action == "sync":
            corpus.sync(version("A"))
        elif action == "add":
            corpus.add(version("A"))
        elif action == "remove":
            corpus.remove([f"d{number}" for number in range(0, 80, 3)])
        else:
            getattr(corpus, action)()
        documents = list(corpus)
        assert Answers(corpus) == Answers(rebuilt(documents, embedder))
    with shortlist.open_corpus(tmp_path) as corpus:
        assert Answers(corpus) == Answers(rebuilt(documents, embedder))
        corpus.compact()
        assert corpus.info()["segments"] == 1
        assert Answers(corpus) == Answers(rebuilt(documents, embedder))


def test_the_segment_of_another_corpus_with_the_same_numbers_is_not_trusted(tmp_path: Path) -> None:
    """As when a folder was put together from two backups."""
    apples, pears = [Document("a", "", "apple")], [Document("a", "", "pear")]
    for name, documents in (("apples", apples), ("pears", pears)):
        shortlist.build(documents, path=tmp_path / name, embedder="none").close()
    shutil.copy(files_of(tmp_path / "pears")[0], files_of(tmp_path / "apples")[0])
    with shortlist.open_corpus(tmp_path / "apples") as corpus:
        assert [hit.id for hit in shortlist.search(corpus, "pear")] == []
        assert [hit.id for hit in shortlist.search(corpus, "apple")] == ["a"]


def test_a_segment_that_cannot_be_written_is_rebuilt_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, make: Make
) -> None:
    make()
    each(flip_a_byte)(tmp_path)
    segments = len(files_of(tmp_path))
    monkeypatch.setattr(segment, "write", _fail_for_want_of_space)
    with shortlist.open_corpus(tmp_path) as corpus:
        assert found(corpus) == expected("B")
        assert len(warnings_of(caplog)) == segments
        assert found(corpus) == expected("B")
        assert warnings_of(caplog) == []


def test_a_sync_without_space_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    make()
    files = files_of(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus, monkeypatch.context() as full:
        full.setattr(segment, "write", _fail_for_want_of_space)
        with pytest.raises(CorpusError, match=r"\.seg cannot be written: No space left"):
            corpus.sync(version("A"))
        assert found(corpus) == expected("B")
        assert files_of(tmp_path) == files
    with shortlist.open_corpus(tmp_path) as corpus:
        corpus.sync(version("A"))
        assert found(corpus) == expected("A")


def test_a_segment_that_the_second_thread_cannot_save_ends_the_sync_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    make()
    files = files_of(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus, monkeypatch.context() as full:
        full.setattr(writer, "FLUSH_PASSAGES", 8)
        full.setattr(segment, "write", _fail_for_want_of_space)
        with pytest.raises(CorpusError, match=r"\.seg cannot be written: No space left"):
            corpus.sync([Document(f"new{number}", "", f"text {number}") for number in range(40)])
        assert found(corpus) == expected("B")
        assert files_of(tmp_path) == files


def _fail_for_want_of_space(_: object, path: str) -> None:
    Path(path).write_bytes(b"a beginning")
    raise OSError(errno.ENOSPC, "No space left on device", path)
