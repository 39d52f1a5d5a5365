"""What is kept on disk? SQLite is the truth; segment files are derived from it and can always be made again.

A corpus is a folder: `corpus.db` with documents, passages, configuration and the list of live segments, `segments/`
with their files. A segment covers a range of passage numbers. Its file is written first and becomes live in the
transaction that names it; a file that no row names is swept. Passages that were removed leave a tombstone until the
segment that still holds them is merged.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np

from shortlist.errors import CorpusBusy, CorpusDamaged, CorpusError, CorpusMismatch, CorpusNotFound
from shortlist.index import segment as segments
from shortlist.index import split
from shortlist.index.cache import FILE as VECTORS
from shortlist.index.formulas import Scoring
from shortlist.index.places import DATABASE as DATABASE
from shortlist.index.segment import Segment, SegmentDamaged
from shortlist.index.tokens import DEFAULT as DEFAULT_ANALYZER
from shortlist.types import Stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEGMENTS = "segments"
APPLICATION_ID = 0x53484C54
FORMAT = 2

RECENT_SEGMENTS = 16

# How long files without a row may lie about before they are looked for again.
SWEEP_SECONDS = 10.0

# What a connection may keep of the database in memory, so that a large change is not written page by page.
CACHE_KILOBYTES = 65_536

# How long a writer waits for another one to finish.
WAIT_SECONDS = 60.0

# A tool's name says more than its prose: nDCG@10 rises on 7 of 10 sets and falls on one against weights of 1. With a k1
# of 1.2 instead of 1.5 long questions over many passages gain .007, tools lose .003 at most.
CORPUS_SCORING = Scoring(k1=1.2, weights=(2.0, 1.5, 1.0))

_STAMPS = (
    "CREATE TABLE stamps(source TEXT, id TEXT, value TEXT NOT NULL, skipped INTEGER NOT NULL, "
    "PRIMARY KEY (source, id)) WITHOUT ROWID"
)
_SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
    num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, kind TEXT NOT NULL,
    title TEXT NOT NULL, content TEXT NOT NULL, keywords TEXT NOT NULL, metadata TEXT NOT NULL,
    source TEXT NOT NULL, locator TEXT NOT NULL, payload TEXT);
CREATE TABLE passages(
    num INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    locator TEXT NOT NULL, text TEXT, checksum INTEGER NOT NULL, context TEXT NOT NULL DEFAULT '');
CREATE INDEX passages_of_document ON passages(document);
CREATE TABLE segments(
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, size INTEGER NOT NULL, file TEXT NOT NULL,
    bytes INTEGER NOT NULL, written INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE tombstones(num INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL UNIQUE);
{_STAMPS};
"""

# What makes a corpus of a format one of the next.
_UPGRADES = {1: ("ALTER TABLE passages ADD COLUMN context TEXT NOT NULL DEFAULT ''", _STAMPS)}


@dataclass(frozen=True, slots=True)
class Config:
    """What a corpus was built with, and must be read with."""

    analyzer: str = DEFAULT_ANALYZER
    embedder: str = "none"  # what to load
    embedder_name: str = "none"  # what it called itself when the corpus was made
    dim: int = 0
    scoring: Scoring = CORPUS_SCORING
    chunk_size: int = split.CHUNK_SIZE
    chunk_overlap: int = split.CHUNK_OVERLAP
    floors: dict[str, float] = field(default_factory=dict)
    calibrations: dict[str, dict[str, Any]] = field(default_factory=dict)  # what each floor was set for

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    @functools.lru_cache(maxsize=64)  # read anew in every transaction, and nearly always the same
    def from_json(cls, text: str) -> Config:
        values = json.loads(text)
        return cls(**{**values, "scoring": Scoring.from_dict(values["scoring"])})


class SegmentRow(NamedTuple):
    """A live segment: its range of passage numbers, how many it holds, and its file as it was when written."""

    first: int
    last: int
    size: int
    file: str
    bytes: int
    written: int
    checksum: int


class Store:
    """The connections to one corpus: any number of readers, one writer at a time, across threads and processes."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._idle: list[sqlite3.Connection] = []
        self._process = os.getpid()
        self._one_writer = threading.Lock()
        self._fresh: list[str] = []  # files of the transaction under way
        self._retired: list[str] = []  # files that it replaces
        self._in_memory: dict[str, Segment] = {}
        self._recent: dict[str, Segment] = {}  # small ones that this process wrote, since they are merged soon
        self._memory_lock = threading.RLock()
        self._memory_readers = 0
        self._next_sweep = 0.0

    @classmethod
    def create(cls, folder: Path | None, config: Config) -> Store:
        """A new store, or the one that another process was quicker to make; the caller compares its config."""
        store = cls(folder)
        if folder is None:
            connection = store._connect(":memory:")
            _initialise(connection, config)
            store._idle.append(connection)
            return store
        # Drafted where orphans are swept, then linked: complete or not there at all, and never over an existing one.
        draft = folder / SEGMENTS / f"{uuid.uuid4().hex}.draft"
        draft.parent.mkdir(parents=True, exist_ok=True)
        connection = store._connect(str(draft))
        try:
            with contextlib.closing(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                _initialise(connection, config)
            os.link(draft, folder / DATABASE)
        except (OSError, sqlite3.Error) as error:  # no links here, or another process was quicker and swept the draft
            if not (folder / DATABASE).exists():
                if isinstance(error, sqlite3.Error):
                    raise CorpusError(f"{folder / DATABASE} cannot be made: {error}.") from error
                os.replace(draft, folder / DATABASE)
        draft.unlink(missing_ok=True)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        path = folder / DATABASE
        if not path.exists():
            raise CorpusNotFound(f"There is no corpus at {folder}. Build one with shortlist.build(source, path=...).")
        store = cls(folder)
        with store._translated():
            connection = store._connect_existing(path)
            try:
                _check(connection, path)
            except BaseException:
                connection.close()
                raise
            store._idle.append(connection)
        return store

    @classmethod
    def delete(cls, folder: Path) -> None:
        """Delete a store: moved away at once, so that nobody finds half of it, then removed."""
        import shutil  # noqa: PLC0415  # slow to import, rarely needed

        ours = {SEGMENTS, *(name + end for name in (DATABASE, VECTORS) for end in ("", "-wal", "-shm"))}
        others = {path.name for path in folder.iterdir()} - ours
        if others:
            raise CorpusError(f"{folder} holds more than a corpus ({min(others)}). Delete it by hand.")
        with contextlib.suppress(CorpusDamaged, CorpusMismatch):
            store = cls.open(folder)
            with contextlib.closing(store), store.writing(wait=0):
                pass  # nobody else is writing
        away = folder.with_name(f"{folder.name}.deleted-{uuid.uuid4().hex[:8]}")
        os.rename(folder, away)
        shutil.rmtree(away)

    @classmethod
    def empty(cls, folder: Path) -> None:
        """Delete a store out of a folder that goes on to mean something; not while somebody writes."""
        import shutil  # noqa: PLC0415  # slow to import, rarely needed

        with contextlib.suppress(CorpusDamaged, CorpusMismatch):
            store = cls.open(folder)
            with contextlib.closing(store), store.writing(wait=0):
                pass
        for end in ("", "-wal", "-shm"):
            (folder / f"{DATABASE}{end}").unlink(missing_ok=True)
        shutil.rmtree(folder / SEGMENTS, ignore_errors=True)

    @classmethod
    def delete_rest(cls, folder: Path) -> None:
        """Delete a folder without a database, in which nothing is left but vectors that were remembered."""
        for end in ("", "-wal", "-shm"):
            (folder / f"{VECTORS}{end}").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: everything read through it is one committed state."""
        with self._translated(), self._connection() as connection:
            if self.folder is None:  # one connection, and its lock is held
                self._memory_readers += 1
                try:
                    yield connection
                finally:
                    self._memory_readers -= 1
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self, wait: float = WAIT_SECONDS) -> Iterator[sqlite3.Connection]:
        """A connection inside the only write transaction; committed at the end, rolled back on any error."""
        if not self._one_writer.acquire(timeout=wait):
            raise CorpusBusy(self._busy())
        try:
            with self._translated(), self._connection() as connection:
                if self._memory_readers:
                    raise CorpusBusy("This thread is still reading from the corpus in memory: finish that first.")
                with _waiting(connection, wait):
                    connection.execute("BEGIN IMMEDIATE")
                try:
                    before = connection.total_changes
                    yield connection
                    if connection.total_changes != before:
                        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                    connection.execute("COMMIT")
                    useless = self._retired
                except BaseException:
                    useless = self._fresh
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    for file in useless:
                        self.discard(file)
                    self._fresh, self._retired = [], []
        finally:
            self._one_writer.release()

    def save(self, segment: Segment) -> SegmentRow:
        """Write a segment's file. It is not live until its row is."""
        first, last = int(segment.passages[0]), int(segment.passages[-1])
        file = f"{first}-{last}-{uuid.uuid4().hex[:8]}.seg"
        self._fresh.append(file)
        if self.folder is None:
            self._in_memory[file] = segment
            return SegmentRow(first, last, segment.size, file, 0, 0, 0)
        path = f"{self.folder}/{SEGMENTS}/{file}"
        try:
            checksum = segments.write(segment, path)
        except FileNotFoundError:
            (self.folder / SEGMENTS).mkdir()
            checksum = segments.write(segment, path)
        status = os.stat(path)
        if status.st_size < segments.MAPPED_FROM:
            self._recent[file] = segment
            while len(self._recent) > RECENT_SEGMENTS:
                del self._recent[next(iter(self._recent))]
        return SegmentRow(first, last, segment.size, file, status.st_size, status.st_mtime_ns, checksum)

    def name(self, connection: sqlite3.Connection, row: SegmentRow | None, replaces: tuple[int, int]) -> None:
        """Make a saved segment live in place of all in a range, whose tombstones it heeded; None leaves a gap."""
        old = connection.execute("SELECT file FROM segments WHERE first BETWEEN ? AND ?", replaces).fetchall()
        if old:
            self._retired += [file for (file,) in old]
            connection.execute("DELETE FROM segments WHERE first BETWEEN ? AND ?", replaces)
            connection.execute("DELETE FROM tombstones WHERE passage BETWEEN ? AND ?", replaces)
        if row is not None:
            connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def load(self, row: SegmentRow) -> Segment:
        if self.folder is None:
            return self._in_memory[row.file]
        recent = self._recent.get(row.file)
        if recent is not None:
            return recent
        path = self.folder / SEGMENTS / row.file
        try:
            status = path.stat()
        except FileNotFoundError:
            raise SegmentDamaged("is missing") from None
        trusted = (status.st_size, status.st_mtime_ns) == (row.bytes, row.written)
        return segments.read(path, row.checksum, trusted=trusted)

    @property
    def writes_here(self) -> bool:
        """Whether this thread is in the middle of a change to a corpus in memory, which has no second connection."""
        if self.folder is not None:
            return False
        with self._memory_lock:
            return bool(self._idle) and self._idle[0].in_transaction

    def sweep(self) -> None:
        """Delete files that no row names, left by a process that died; not now if a writer is at work on its own."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        if self._unnamed():
            with contextlib.suppress(CorpusBusy), self.writing(wait=0) as connection:
                for file in self._unnamed(connection):
                    self.discard(file)

    def discard(self, file: str) -> None:
        if self.folder is None:
            self._in_memory.pop(file, None)
        else:
            self._recent.pop(file, None)
            with contextlib.suppress(OSError):  # a system that cannot delete a mapped file leaves it to a later sweep
                os.unlink(f"{self.folder}/{SEGMENTS}/{file}")

    def _unnamed(self, connection: sqlite3.Connection | None = None) -> set[str]:
        if connection is None:
            with self.reading() as connection:
                return self._unnamed(connection)
        files = set(self._in_memory)
        if self.folder is not None:
            with contextlib.suppress(FileNotFoundError):
                files = set(os.listdir(self.folder / SEGMENTS))
        return files - {file for (file,) in connection.execute("SELECT file FROM segments")}

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self.folder is None:
            with self._memory_lock:
                if not self._idle:
                    raise CorpusError("The corpus in memory was closed, and with that it is gone.")
                yield self._idle[0]
            return
        if self._process != os.getpid():  # connections do not survive a fork
            self._idle, self._process = [], os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect_existing(self.folder / DATABASE)
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _connect_existing(self, path: Path) -> sqlite3.Connection:
        """Never makes a file, which plain connecting would."""
        if not path.exists():
            raise CorpusNotFound(f"{path} is no longer there.")
        return self._connect(f"file:{quote(os.fsencode(path.absolute()))}?mode=rw", uri=True)

    def _connect(self, path: str, *, uri: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=uri)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors as ours, naming the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise CorpusBusy(self._busy()) from error
            if "no such table" in str(error) or "decode" in str(error):
                raise CorpusDamaged(self._damaged(error)) from error
            raise CorpusError(f"{self._path()} cannot be used: {error}.") from error
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.DatabaseError as error:
            raise CorpusDamaged(self._damaged(error)) from error

    def _path(self) -> str:
        return str(self.folder / DATABASE) if self.folder else "the corpus in memory"

    def _busy(self) -> str:
        return f"{self._path()} has been locked by another writer for {WAIT_SECONDS:.0f} seconds. Try again later."

    def _damaged(self, error: Exception) -> str:
        return (
            f"{self._path()} is damaged ({error}). Nothing was overwritten. Restore the file from a backup, or move "
            f"its folder away and build the corpus again from its source."
        )


@contextlib.contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait so long for a lock, and not as long as always."""
    if seconds == WAIT_SECONDS:
        yield
        return
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")


def _initialise(connection: sqlite3.Connection, config: Config) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.executescript(_SCHEMA)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("config", config.to_json()), ("generation", "0")])


def _check(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise CorpusDamaged(
            f"{path} is not the database of a corpus, or has lost its beginning. Nothing was overwritten. "
            f"Restore it from a backup, or move it away and build the corpus again from its source."
        )
    if version != FORMAT and version not in _UPGRADES:
        raise CorpusMismatch(
            f"{path} has format {version}; this version of shortlist reads format {FORMAT}. "
            f"Build the corpus again from its source."
        )
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size < pages * page_size and not Path(f"{path}-wal").exists():
        raise sqlite3.DatabaseError("the file is cut short")
    if "documents" not in {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}:
        raise sqlite3.DatabaseError("its tables are missing")
    if version != FORMAT:
        _upgrade(connection)


def _upgrade(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been quicker
        for older in range(version, FORMAT):
            for statement in _UPGRADES[older]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def read_config(connection: sqlite3.Connection) -> Config:
    try:
        return Config.from_json(_read_meta(connection, "config"))
    except (ValueError, KeyError, TypeError) as error:
        raise sqlite3.DatabaseError(f"its configuration cannot be read: {error}") from error


def _read_meta(connection: sqlite3.Connection, key: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"its {key} is missing")
    return str(row[0])


def write_config(connection: sqlite3.Connection, config: Config) -> None:
    connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (config.to_json(),))


def read_generation(connection: sqlite3.Connection) -> int:
    try:
        return int(_read_meta(connection, "generation"))
    except ValueError as error:
        raise sqlite3.DatabaseError("its generation is no number") from error


def read_dead(connection: sqlite3.Connection, row: SegmentRow) -> NDArray[np.int64]:
    """The numbers of the passages that a segment still holds although they were removed."""
    query = "SELECT passage FROM tombstones WHERE passage BETWEEN ? AND ? ORDER BY passage"
    return np.array([passage for (passage,) in connection.execute(query, (row.first, row.last))], dtype=np.int64)


def read_last_numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    """The highest numbers that a document and a passage ever had."""
    last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    return last.get("documents", 0), last.get("passages", 0)


def has_stamps(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM stamps LIMIT 1").fetchone() is not None


def read_stamps(connection: sqlite3.Connection) -> dict[str, Stamp]:
    rows = connection.execute("SELECT id, source, value, skipped FROM stamps")
    return {id: Stamp(id, source, value, bool(skipped)) for id, source, value, skipped in rows}


def write_stamps(connection: sqlite3.Connection, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
    connection.executemany("DELETE FROM stamps WHERE source = ? AND id = ?", [(item.source, item.id) for item in gone])
    rows = [(item.source, item.id, item.value, item.skipped) for item in stamps]
    connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?)", rows)


def has_tombstones(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone() is not None


def read_segments(connection: sqlite3.Connection) -> list[SegmentRow]:
    rows = connection.execute("SELECT first, last, size, file, bytes, written, checksum FROM segments ORDER BY first")
    return [SegmentRow(*row) for row in rows]
