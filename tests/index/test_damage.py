"""Damaged files of a corpus: segments are rebuilt; a damaged database is reported and never changed."""

from __future__ import annotations

import contextlib
import errno
import logging
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any

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
    ShortlistError,
)
from shortlist.index.storage import segment, writer
from tests.index import soak
from tests.index.copies import copy_own
from tests.index.soak import expected, found, rebuilt, scores, version

pytestmark = pytest.mark.process

PATIENCE = 30  # seconds: less than a writer waits for another one


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)


Make = Callable[..., None]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Corpora of version B, by embedder, with several segments and deleted passages in them."""

    @cache
    def build(embedder: str) -> Path:
        path = tmp_path_factory.mktemp(embedder) / "corpus"
        with shortlist.build(version("A"), path=path, embedder=embedder) as corpus:
            corpus.sync(version("B"))
            assert corpus.info()["segments"] > 3
        return path

    return build


@pytest.fixture
def make(templates: Callable[[str], Path], tmp_path: Path) -> Make:
    def copy(embedder: str = "none") -> None:
        copy_own(templates(embedder), tmp_path)

    return copy


def files_of(path: Path) -> list[Path]:
    return sorted((path / "segments").iterdir())


class Answers:
    """What a corpus finds: compared exactly for words, to the sixth digit for vectors, whose sums vary."""

    def __init__(self, corpus: Corpus) -> None:
        self.lexical = found(corpus)
        self.dense = scores(corpus, "dense") if corpus.config.dim else {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers) and self.lexical == other.lexical and self.dense == pytest.approx(other.dense)


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


# Segments


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


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


def each(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage_all(path: Path) -> None:
        for file in files_of(path):
            damage(file)

    return damage_all


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


# The database


def garbage(size: int, seed: object = 0) -> bytes:
    return random.Random(f"{seed}").randbytes(size)


def foreign_database() -> bytes:
    database = sqlite3.connect(":memory:")
    with contextlib.closing(database):
        database.executescript("CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES ('not a corpus')")
        return database.serialize()


DATABASE_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage for a header": lambda data: garbage(100) + data[100:],
    "garbage for a first page": lambda data: garbage(4096) + data[4096:],
    "a schema that is not UTF-8": lambda data: data.replace(b"CREATE TABLE documents", b"CREATE \xa3ABLE documents"),
    "a header and garbage": lambda data: data[:100] + garbage(len(data) - 100),
    "cut to half": lambda data: data[: len(data) // 2],
    "cut to a header": lambda data: data[:100],
    "cut to a page": lambda data: data[:4096],
    "empty": lambda data: b"",
    "a text": lambda data: b"These are my notes, not a database.\n" * 500,
    "another program's database": lambda data: foreign_database(),
}


@pytest.mark.parametrize("damage", DATABASE_DAMAGES.values(), ids=DATABASE_DAMAGES)
def test_a_damaged_database_is_named_and_never_touched(
    damage: Callable[[bytes], bytes], tmp_path: Path, make: Make
) -> None:
    make()
    file = tmp_path / "corpus.db"
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    attempts: list[Callable[[], object]] = [
        lambda: shortlist.open_corpus(tmp_path),
        lambda: shortlist.create_corpus(path=tmp_path, embedder="none"),
        lambda: shortlist.create_corpus(path=tmp_path, embedder="none", rebuild=True),
        lambda: shortlist.build(version("A"), path=tmp_path, embedder="none"),
        lambda: shortlist.build(version("A"), path=tmp_path, embedder="light", rebuild=True),
        lambda: shortlist.search(tmp_path, "word1"),
    ]
    segments = {file.name: file.read_bytes() for file in files_of(tmp_path)}
    for attempt in attempts:
        with pytest.raises(CorpusDamaged) as caught:
            attempt()
        assert str(file) in str(caught.value)
        assert file.read_bytes() == damaged
    assert {file.name: file.read_bytes() for file in files_of(tmp_path)} == segments


def test_a_database_that_is_damaged_while_open_is_named(tmp_path: Path, make: Make) -> None:
    make()
    with shortlist.open_corpus(tmp_path) as corpus:
        (tmp_path / "corpus.db").write_bytes(garbage(100_000))
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            list(corpus)
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            corpus.sync(version("A"))
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            found(corpus)


PAGE = 4096
PAGE_DAMAGES = {"noise": garbage(PAGE), "zeros": bytes(PAGE), "ones": b"\xff" * PAGE, "text": b"garbage " * (PAGE // 8)}


@pytest.mark.parametrize("kind", PAGE_DAMAGES)
def test_garbage_over_a_page_is_noticed_or_harmless(kind: str, tmp_path: Path) -> None:
    """Short rows and long ones, which go on over several pages."""
    long = [Document(f"l{n}", "", f"word{n} " * 900, [], {"even": 1}, payload=f"pay{n} " * 1000) for n in range(3)]
    documents = [*version("B")[::3], *long]
    shortlist.build(documents, path=tmp_path / "whole", embedder="none").close()
    pages = (tmp_path / "whole" / "corpus.db").stat().st_size // PAGE
    whole, other = rebuilt(documents), rebuilt(version("A"))
    by_id = {document.id: document for document in documents}
    answers, texts, passages = found(whole), _texts(whole), whole.info()["passages"]
    answers_after = found(other)
    checks: list[Callable[[Corpus], tuple[object, object]]] = [
        lambda corpus: (found(corpus), answers),
        lambda corpus: (_texts(corpus), texts),
        lambda corpus: ({document.id: document for document in corpus}, by_id),
        lambda corpus: ({id: corpus.get(id) for id in by_id}, by_id),
        lambda corpus: (corpus.ids(), list(by_id)),
        lambda corpus: (len(corpus), len(by_id)),
        lambda corpus: (corpus.info()["passages"], passages),
        lambda corpus: (corpus.sync(documents), Changes(unchanged=len(documents))),
        lambda corpus: (corpus.sync(version("A")).to_dict() and found(corpus), answers_after),
    ]
    noticed = Counter[bool]()
    for page in range(1, pages):
        path = tmp_path / str(page)
        copy_own(tmp_path / "whole", path)
        with (path / "corpus.db").open("r+b") as file:
            file.seek(page * PAGE)
            file.write(PAGE_DAMAGES[kind])
        # what is done nevertheless must be right
        messages = [message for check in checks if (message := _find_damage(path, check))]
        assert all(str(path) in message for message in messages)
        noticed[bool(messages)] += 1
    assert noticed.total() == pages - 1
    assert noticed[True] > noticed[False]


def _find_damage(path: Path, check: Callable[[Corpus], tuple[object, object]]) -> str:
    try:
        with shortlist.open_corpus(path) as corpus:
            given, right = check(corpus)
            assert given == right
    except CorpusDamaged as error:
        return str(error)
    return ""


def _texts(corpus: Corpus) -> list[str]:
    return [hit.text for hit in shortlist.search(corpus, "word1 word2", k=100, filter={"even": 1})]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = substr(value, 9) WHERE key = 'config'",
        "UPDATE meta SET value = 'g' WHERE key = 'generation'",
        "DELETE FROM meta",
    ],
)
def test_a_database_without_its_configuration_is_damaged(damage: str, tmp_path: Path, make: Make) -> None:
    make()
    database = sqlite3.connect(tmp_path / "corpus.db", isolation_level=None)
    with contextlib.closing(database):
        database.execute(damage)
    with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
        shortlist.search(tmp_path, "word1")
    with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
        shortlist.build(version("A"), path=tmp_path, embedder="none")


def test_another_format_is_a_mismatch(tmp_path: Path, make: Make) -> None:
    make()
    database = sqlite3.connect(tmp_path / "corpus.db")
    with contextlib.closing(database):
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(CorpusMismatch, match="format 99") as caught:
        shortlist.open_corpus(tmp_path)
    assert str(tmp_path / "corpus.db") in str(caught.value)
    with pytest.raises(CorpusMismatch, match="format 99"):
        shortlist.build(version("A"), path=tmp_path, embedder="none")


def test_a_missing_path_is_not_found_and_not_made(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(CorpusNotFound) as caught:
            shortlist.open_corpus(path)
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_that_cannot_be_created_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CorpusError, match=r"corpus\.db cannot be created: (Not a directory|File exists)"):
        shortlist.build(version("A"), path=tmp_path / "file" / "corpus", embedder="none")


READ_ONLY = """
import sys, shortlist
with shortlist.open_corpus(sys.argv[1]) as corpus:
    for _ in range(2):
        print([hit.id for hit in shortlist.search(corpus, "pear")])
    try:
        corpus.add([shortlist.Document("b", "", "plum")])
    except shortlist.CorpusError as error:
        print(error)
"""


@pytest.mark.process
def test_a_corpus_on_a_read_only_file_system_is_searched(tmp_path: Path) -> None:
    """As in a container. SQLite alone cannot open such a database, since it has no log and cannot create one."""
    folder = tmp_path / "disk"
    shortlist.build([Document("a", "", "pear")], path=folder / "corpus", embedder="none").close()
    mount = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec "
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*command, f"{mount} true"], capture_output=True).returncode:
        pytest.skip("File systems cannot be mounted here.")
    program = f"{mount} {sys.executable} -W error -c '{READ_ONLY}' {folder / 'corpus'}"
    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=PATIENCE, check=False)
    first, second, refused = done.stdout.splitlines()
    assert (first, second, done.stderr) == ("['a']", "['a']", "")
    assert refused.endswith("corpus.db cannot be used: attempt to write a readonly database.")


# The cache of vectors


class CountingEmbedder:
    """Counts what it encodes."""

    name = "counting"

    def __init__(self, dim: int = 64) -> None:
        self.dim_given = dim
        self.seen: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.seen.update(texts)
        return [list(np.random.default_rng(len(text)).normal(size=self.dim_given)) for text in texts]

    def encoded(self) -> Counter[str]:
        """How often each document was encoded, since asked last."""
        documents = Counter({text: count for text, count in self.seen.items() if "\n" in text})
        self.seen.clear()
        return documents


def test_nothing_is_encoded_twice(tmp_path: Path) -> None:
    count = CountingEmbedder()
    documents = version("A")
    passages = rebuilt(documents).info()["passages"]
    with shortlist.build(documents, path=tmp_path, embedder=count) as corpus:
        first = count.encoded()
        assert len(first) == passages
        assert set(first.values()) == {1}
        before = Answers(corpus)

        corpus.sync(documents)
        marked = [Document(d.id, d.title, d.content, d.keywords, {"new": True}, kind=d.kind) for d in documents]
        assert corpus.sync(marked).changed == 60
        assert Answers(corpus) == before
        corpus.remove(corpus.ids())
        corpus.sync(documents)
        corpus.compact()
        corpus.reindex()
        each(flip_a_byte)(tmp_path)
        assert Answers(corpus) == before
        assert count.encoded() == {}
    with shortlist.open_corpus(tmp_path, embedder=count) as corpus:
        assert Answers(corpus) == before
        assert count.encoded() == {}
        corpus.add([Document("new", "title", "new")])
        assert count.encoded() == {"title\nnew": 1}


CACHE_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    **{name: DATABASE_DAMAGES[name] for name in ("garbage for a header", "cut to half", "empty", "a text")},
    "garbage in the middle": lambda data: data[:PAGE] + garbage(len(data) - PAGE),
    "another program's database": lambda data: foreign_database(),
}


@pytest.mark.parametrize("damage", CACHE_DAMAGES.values(), ids=CACHE_DAMAGES)
def test_a_damaged_cache_of_vectors_is_replaced_and_nothing_is_lost(
    damage: Callable[[bytes], bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = CountingEmbedder()
    shortlist.build(version("A"), path=tmp_path, embedder=count).close()
    file = tmp_path / "vectors.db"
    file.write_bytes(damage(file.read_bytes()))
    each(Path.unlink)(tmp_path)
    with shortlist.open_corpus(tmp_path, embedder=count) as corpus:
        again = rebuilt(version("A"), CountingEmbedder())
        assert Answers(corpus) == Answers(again)
        count.encoded()
        corpus.sync(version("B"))
        assert Answers(corpus) == Answers(rebuilt(version("B"), CountingEmbedder()))
        corpus.sync(version("A"))
        corpus.reindex()
        assert Answers(corpus) == Answers(again)
        assert set(count.encoded().values()) == {1}
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_damage_is_repaired_from_the_cache_where_the_embedder_is_not_given(tmp_path: Path) -> None:
    """It says itself that such a corpus can be searched with mode="lexical"."""
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder()).close()
    each(flip_a_byte)(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus:
        assert found(corpus) == expected("A")
    with shortlist.open_corpus(tmp_path, embedder=CountingEmbedder()) as corpus:
        assert Answers(corpus) == Answers(rebuilt(version("A"), CountingEmbedder()))


def test_documents_are_removed_where_the_embedder_is_not_given(tmp_path: Path) -> None:
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder()).close()
    with shortlist.open_corpus(tmp_path) as corpus:
        assert corpus.remove([document.id for document in version("A")[1:]]) == 59
        assert corpus.ids() == ["d0"]


def test_cached_vectors_of_another_length_are_not_used(tmp_path: Path) -> None:
    """A function of the same name whose model was changed."""
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder(64)).close()
    with shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder(32), rebuild=True) as corpus:
        assert Answers(corpus) == Answers(rebuilt(version("A"), CountingEmbedder(32)))


def test_a_cache_that_another_process_writes_to_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def connect_without_patience(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if str(path).endswith("vectors.db"):
            options["timeout"] = 0.1
        connection: sqlite3.Connection = connect(path, *arguments, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_without_patience)
    count = CountingEmbedder()
    with shortlist.build(version("A"), path=tmp_path, embedder=count) as corpus:
        count.encoded()
        with contextlib.closing(connect(tmp_path / "vectors.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with contextlib.suppress(ShortlistError):  # to be refused is fine
                corpus.add([Document("new", "title", "new")])
            other.execute("ROLLBACK")
        corpus.add([Document("new", "title", "new")])
        corpus.reindex()
        assert count.encoded().keys() == {"title\nnew"}
