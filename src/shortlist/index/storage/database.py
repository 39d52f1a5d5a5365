"""The storage of a corpus: SQLite is the truth; segment files are derived from it and can always be made again.

A corpus is a folder: `corpus.db` with documents, passages, configuration and the list of live segments, `segments/`
with their files. A segment covers a range of passage numbers. Its file is written first and becomes live in the
transaction that names it; a file that no row names is swept. Passages that were removed leave a tombstone until the
segment that still holds them is merged.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from shortlist.errors import CorpusBusy, CorpusDamaged, CorpusError, CorpusMismatch, CorpusNotFound
from shortlist.index.config import Config
from shortlist.index.embedders.vector_cache import FILE as VECTORS
from shortlist.index.storage import segment as segments
from shortlist.index.storage.segment import Segment, SegmentDamaged
from shortlist.index.storage.sql_tables import SegmentRow, check, initialise

DATABASE = "corpus.db"
SEGMENTS = "segments"
RECENT_SEGMENTS = 16

# How long files without a row may lie about before they are looked for again.
SWEEP_SECONDS = 10.0

# What a connection may keep of the database in memory, so that a large change is not written page by page.
CACHE_KILOBYTES = 65_536

# How long a writer waits for another one to finish.
WAIT_SECONDS = 60.0


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
            initialise(connection, config)
            store._idle.append(connection)
            return store
        # Drafted where orphans are swept, then linked: complete or not there at all, and never over an existing one.
        draft = folder / SEGMENTS / f"{uuid.uuid4().hex}.draft"
        draft.parent.mkdir(parents=True, exist_ok=True)
        connection = store._connect(str(draft))
        try:
            with contextlib.closing(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                initialise(connection, config)
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
                check(connection, path)
            except BaseException:
                connection.close()
                raise
            store._idle.append(connection)
        return store

    @classmethod
    def delete(cls, folder: Path) -> None:
        """Delete a store: moved away at once, so that no one finds half of it, then removed."""
        others = {path.name for path in folder.iterdir()} - {SEGMENTS, *_files(DATABASE), *_files(VECTORS)}
        if others:
            raise CorpusError(f"{folder} holds more than a corpus ({min(others)}). Delete it by hand.")
        cls._check_no_writer(folder)
        away = folder.with_name(f"{folder.name}.deleted-{uuid.uuid4().hex[:8]}")
        os.rename(folder, away)
        shutil.rmtree(away)

    @classmethod
    def empty(cls, folder: Path) -> None:
        """Delete a store out of a folder that stays in use; not while another process writes."""
        cls._check_no_writer(folder)
        for name in _files(DATABASE):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / SEGMENTS, ignore_errors=True)

    @classmethod
    def delete_rest(cls, folder: Path) -> None:
        """Delete a folder without a database, in which nothing is left but cached vectors."""
        for name in _files(VECTORS):
            (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()

    @classmethod
    def _check_no_writer(cls, folder: Path) -> None:
        with (
            contextlib.suppress(CorpusDamaged, CorpusMismatch),
            contextlib.closing(cls.open(folder)) as store,
            store.writing(wait=0),
        ):
            pass

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
        if (recent := self._recent.get(row.file)) is not None:
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
        """Delete files that no row names, left by a process that died; not now if another writer is at work."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        with self.reading() as connection:
            has_orphans = bool(self._orphans(connection))
        if has_orphans:
            with contextlib.suppress(CorpusBusy), self.writing(wait=0) as connection:
                for file in self._orphans(connection):
                    self.discard(file)

    def discard(self, file: str) -> None:
        if self.folder is None:
            self._in_memory.pop(file, None)
        else:
            self._recent.pop(file, None)
            with contextlib.suppress(OSError):  # a system that cannot delete a mapped file leaves it to a later sweep
                os.unlink(f"{self.folder}/{SEGMENTS}/{file}")

    def _orphans(self, connection: sqlite3.Connection) -> set[str]:
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


def _files(name: str) -> list[str]:
    """The files of a SQLite database."""
    return [name + end for end in ("", "-wal", "-shm")]


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
