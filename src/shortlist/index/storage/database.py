"""The storage of a corpus: SQLite is the truth; segment files are derived from it and can always be rebuilt.

A corpus is a folder: `corpus.db` with documents, passages, configuration and the list of live segments, `segments/`
with their files. A segment covers a range of passage numbers. Its file is written first and becomes live in the
transaction that names it; a file that no row names is deleted later. A passage that was removed leaves a tombstone
until the segment that contains it is merged.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from shortlist._files import is_read_only, stamp_of
from shortlist._paths import describe_os_error, make_folder
from shortlist.errors import CorpusBusy, CorpusDamaged, CorpusError, CorpusMismatch, CorpusNotFound
from shortlist.index import foreign
from shortlist.index.config import Config
from shortlist.index.corpus_paths import DATABASE, FILES_MARK, GROUPS_USAGE, SEGMENTS, USAGE, VECTORS
from shortlist.index.storage import foreign_rows
from shortlist.index.storage import segment as segments
from shortlist.index.storage.segment import Segment
from shortlist.index.storage.sql_tables import (
    SegmentRow,
    check_format,
    initialize,
    raise_format,
    read_id,
)
from shortlist.index.storage.stored_text import TextConnection

RECENT_SEGMENTS = 16
SWEEP_SECONDS = 10.0  # between two searches for files that no row names
CACHE_KILOBYTES = 65_536  # of the database in memory, so that a large change is not written page by page
MOST_MAPPED = 1 << 40  # bytes of the database that are read without copying; SQLite takes what it can
WAIT_SECONDS = 60.0  # for another writer to finish
SYNCHRONOUS = "FULL"  # a commit has reached the disk when it returns
LARGEST_LOG = 16 << 20  # bytes of the write-ahead log that stay on disk


class Store:
    """The connections to one corpus: any number of readers, one writer at a time, across threads and processes."""

    def __init__(self, folder: Path | None, *, is_own: bool = True) -> None:
        self.folder = folder
        self.is_own = is_own  # else it may be from someone else: see `foreign`
        self.derived = foreign.cache_folder(folder) if folder and not is_own else folder
        # Another folder for cached vectors, and which documents have theirs there, by id.
        self.shared_vectors: tuple[Path, Callable[[str], bool]] | None = None
        self._path = str(folder / DATABASE) if folder else "the in-memory corpus"
        self._idle: list[TextConnection] = []
        self._checked: tuple[int, ...] = ()  # the stamp of a foreign database whose rows were checked
        self._process = os.getpid()
        self._one_writer = threading.Lock()
        self._fresh: list[str] = []  # files of the current transaction
        self._retired: list[str] = []  # files that it replaces
        self._in_memory: dict[str, Segment] = {}
        self._recent: dict[str, Segment] = {}  # small ones that this process wrote, because they are merged soon
        self._memory_lock = threading.RLock()
        self._is_changing = False
        self._next_sweep = 0.0

    @classmethod
    def create(cls, folder: Path | None, config: Config) -> Store:
        """A new store, or the one that another process has created meanwhile; the caller compares its config."""
        store = cls(folder)
        if folder is None:
            connection = store._connect(":memory:")
            initialize(connection, config)
            store._idle.append(connection)
            return store
        foreign.check_files(folder)
        others = foreign.list_databases(folder)
        if others and not (folder / DATABASE).exists() and others[0].startswith(DATABASE):
            raise CorpusError(f"{folder / others[0]} belongs to no database, and a new one would use it. Delete it.")
        # Created as a draft where orphans are swept, then linked: complete or absent, and never over an existing one.
        draft = folder / SEGMENTS / f"{uuid.uuid4().hex}.draft"
        try:
            make_folder(draft.parent)
            connection = store._connect(str(draft))
            with contextlib.closing(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                initialize(connection, config)
                id = read_id(connection)
            if not others:
                foreign.record_created(folder, id, draft)
            os.link(draft, folder / DATABASE)
        except (OSError, sqlite3.Error) as error:  # no links here, or another process was faster and swept the draft
            if not (folder / DATABASE).exists():
                if isinstance(error, sqlite3.Error) or not draft.exists():
                    reason = describe_os_error(error) if isinstance(error, OSError) else f"{error}."
                    raise CorpusError(f"{folder / DATABASE} cannot be created: {reason}") from error
                os.replace(draft, folder / DATABASE)
        draft.unlink(missing_ok=True)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        path = folder / DATABASE
        if not path.exists():
            raise CorpusNotFound(f"{folder} contains no corpus. Build one with shortlist.build(source, path=...).")
        store = cls(folder, is_own=foreign.is_own(folder))
        try:
            with store._connection() as connection:
                check_format(connection, path)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def delete(cls, folder: Path) -> None:
        """Delete a store: moved away at once, so that no one finds half of it, then removed."""
        known = {SEGMENTS, GROUPS_USAGE, FILES_MARK, *_files(DATABASE), *_files(VECTORS), *_files(USAGE)}
        foreign.check_segments(folder)
        others = {path.name for path in folder.iterdir()} - known
        others |= {name for name in _list_segments(folder) if not foreign.is_segment_file(name)}
        if others:
            raise CorpusError(f"{folder} contains more than a corpus ({min(others)}). Delete it by hand.")
        cls.check_no_writer(folder)
        away = folder.with_name(f"{folder.name}.deleted-{uuid.uuid4().hex[:8]}")
        with _deleting(folder):
            os.rename(folder, away)
            shutil.rmtree(away)

    @classmethod
    def empty(cls, folder: Path) -> None:
        """Delete the store from a folder that stays in use; an error while another process writes."""
        cls.check_no_writer(folder)
        with _deleting(folder):
            for name in _files(DATABASE):
                (folder / name).unlink(missing_ok=True)
            for name in filter(foreign.is_segment_file, _list_segments(folder)):
                (folder / SEGMENTS / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it contains other files
            (folder / SEGMENTS).rmdir()

    @classmethod
    def delete_rest(cls, folder: Path) -> None:
        """Delete what is beside the database of a folder that has none, and the folder if it is empty then."""
        for name in (FILES_MARK, *_files(VECTORS), *_files(USAGE)):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / GROUPS_USAGE, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()

    @classmethod
    def check_no_writer(cls, folder: Path, wait: float = 0) -> None:
        """Raise CorpusBusy if another process still writes after a wait."""
        with (
            contextlib.suppress(CorpusDamaged, CorpusMismatch),
            contextlib.closing(cls.open(folder)) as store,
            store.writing(wait),
        ):
            pass

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[TextConnection]:
        """A connection inside a read transaction: everything read through it is one committed state."""
        with self._connection() as connection:
            is_outermost = not connection.in_transaction  # in memory, this thread may be reading or writing already
            if is_outermost:
                connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if is_outermost and connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self, wait: float = WAIT_SECONDS) -> Iterator[TextConnection]:
        """A connection inside the only write transaction; committed at the end, rolled back on any error."""
        if not self._one_writer.acquire(timeout=wait):
            raise CorpusBusy(f"{self._path} is locked by another writer. Try again later.")
        try:
            with self._connection(writes=True) as connection:
                if connection.in_transaction:
                    raise CorpusBusy("This thread is still reading from the in-memory corpus. Finish that first.")
                with _waiting(connection, wait):
                    connection.execute("BEGIN IMMEDIATE")
                self._is_changing = True
                try:
                    before = connection.total_changes
                    yield connection
                    if connection.total_changes != before:
                        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                    connection.execute("COMMIT")
                    useless = self._retired
                except BaseException:
                    useless = self._fresh
                    connection.forget()
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    for file in useless:
                        self._discard(file)
                    self._fresh, self._retired, self._is_changing = [], [], False
                self._shorten_log(connection)
        finally:
            self._one_writer.release()

    def _shorten_log(self, connection: TextConnection) -> None:
        """Truncate a large write-ahead log, unless a reader needs it; then a later commit does it."""
        with contextlib.suppress(OSError, sqlite3.OperationalError):  # the change is committed in any case
            if self.folder is not None and os.stat(f"{self._path}-wal").st_size > LARGEST_LOG:
                with _waiting(connection, 0):
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def save(self, segment: Segment) -> SegmentRow:
        """Write the file of a segment. It is not live until `replace` names it."""
        first, last = int(segment.passages[0]), int(segment.passages[-1])
        file = f"{first}-{last}-{os.urandom(4).hex()}.seg"
        self._fresh.append(file)
        if self.folder is None:
            self._in_memory[file] = segment
            return SegmentRow(first, last, segment.size, file, 0, 0, 0)
        path = f"{self.folder}/{SEGMENTS}/{file}"
        try:
            foreign.check_segments(self.folder)
            with contextlib.suppress(FileExistsError):
                os.mkdir(f"{self.folder}/{SEGMENTS}")
            checksum = segments.write(segment, path)
            status = os.stat(path)
        except OSError as error:  # the disk is full or read-only
            raise CorpusError(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from error
        if status.st_size < segments.MAPPED_FROM:
            self._recent[file] = segment
            while len(self._recent) > RECENT_SEGMENTS:
                del self._recent[next(iter(self._recent))]
        return SegmentRow(first, last, segment.size, file, status.st_size, status.st_mtime_ns, checksum)

    def replace(self, connection: sqlite3.Connection, numbers: tuple[int, int], row: SegmentRow | None) -> None:
        """Replace all segments in a range of passage numbers, and their tombstones, by a saved one or by nothing."""
        old = connection.execute("SELECT file FROM segments WHERE first BETWEEN ? AND ?", numbers).fetchall()
        if old:
            self._retired += [file for (file,) in old]
            connection.execute("DELETE FROM segments WHERE first BETWEEN ? AND ?", numbers)
            connection.execute("DELETE FROM tombstones WHERE passage BETWEEN ? AND ?", numbers)
        if row is not None:
            connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            raise_format(connection)

    def load(self, row: SegmentRow, connection: sqlite3.Connection) -> Segment:
        if self.folder is None:
            return self._in_memory[row.file]
        if known := self._recent.get(row.file):
            return known
        segment = segments.read(self._find_file(self.folder, row), row, is_trusted=self.is_own)
        if self.is_own:
            return segment
        foreign_rows.check_segment(connection, row, segment)
        return replace(segment, columns=None)  # nothing compares them with the rows

    @staticmethod
    def _find_file(folder: Path, row: SegmentRow) -> Path:
        """The file of a segment, which must be a regular one in a real folder."""
        foreign.check_segments(folder)
        path = folder / SEGMENTS / row.file
        if not foreign.is_regular(path):
            raise segments.SegmentDamaged(row, "is not a regular file")
        return path

    def check(self, row: SegmentRow) -> None:
        """Raise SegmentDamaged if a file is not what was written, or contains what no segment can contain."""
        if self.folder is not None and row.file not in self._fresh:  # which this transaction wrote
            segments.read(self._find_file(self.folder, row), row, is_trusted=False)

    def check_databases(self) -> dict[str, str]:
        """What SQLite finds in each database of the folder; "ok" if there is nothing."""
        found: dict[str, str] = {}
        for name in (DATABASE, *((VECTORS, USAGE) if self.is_own else ())) if self.folder is not None else ():
            path = Path(self._path).with_name(name)
            if not path.exists():
                continue
            try:
                with contextlib.closing(self._open_file(path, can_write=self.is_own)) as connection:
                    rows = connection.execute("PRAGMA integrity_check").fetchall()
                found[name] = "; ".join(str(row[0]) for row in rows)
            except sqlite3.DatabaseError as error:
                found[name] = str(error)
        return found

    def is_mapped(self, row: SegmentRow) -> bool:
        return self.folder is not None and row.bytes >= segments.MAPPED_FROM

    def compare(self, row: SegmentRow, pause: Callable[[float], object] | None = None) -> None:
        """Raise SegmentDamaged if a mapped file is not what was written."""
        if self.is_mapped(row) and self.folder is not None:
            segments.compare(self._find_file(self.folder, row), row, pause)

    @property
    def is_changing_memory(self) -> bool:
        """Whether this thread is changing a corpus in memory, which has no second connection to read from."""
        with self._memory_lock:
            return self.folder is None and self._is_changing

    def sweep(self) -> None:
        """Delete files that no row names, left by a process that died; not now if another writer is at work."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + SWEEP_SECONDS
        with self.reading() as connection:
            has_orphans = bool(self._find_orphans(connection))
        if has_orphans:
            with contextlib.suppress(CorpusBusy), self.writing(wait=0) as connection:
                for file in self._find_orphans(connection):
                    self._discard(file)

    def _find_orphans(self, connection: sqlite3.Connection) -> set[str]:
        files = set(_list_segments(self.folder) if self.folder else self._in_memory)
        return set(filter(foreign.is_segment_file, files)) - {
            file for (file,) in connection.execute("SELECT file FROM segments")
        }

    def _discard(self, file: str) -> None:
        self._in_memory.pop(file, None)
        self._recent.pop(file, None)
        if self.folder is not None and foreign.is_segment_file(file):
            foreign.check_segments(self.folder)
            with contextlib.suppress(OSError):  # a system that cannot delete a mapped file leaves it to a later sweep
                os.unlink(f"{self.folder}/{SEGMENTS}/{file}")

    @contextlib.contextmanager
    def _connection(self, *, writes: bool = False) -> Iterator[TextConnection]:
        """A connection that no other thread uses. SQLite's errors are raised as ours, which name the file."""
        try:
            if self.folder is None:
                with self._memory_lock:
                    if not self._idle:
                        raise CorpusError("The in-memory corpus was closed, so its documents are gone.")
                    yield self._idle[0]
                return
            if self._process != os.getpid():  # connections do not survive a fork
                self._idle, self._process = [], os.getpid()
            can_write = writes or self.is_own
            idle = self._take_idle() if self.is_own or not writes else None
            connection = idle or self._open_file(self.folder / DATABASE, can_write=can_write)
            try:
                yield connection
            finally:
                if connection.in_transaction or not connection.is_kept:  # it could not be rolled back
                    connection.close()
                else:
                    self._idle.append(connection)
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.DatabaseError as error:
            raise self._translate(error) from error

    def _take_idle(self) -> TextConnection | None:
        with contextlib.suppress(IndexError):
            connection = self._idle.pop()
            if connection.stamp is None or connection.stamp == self._stamp():
                return connection
            connection.close()
        return None

    def _stamp(self) -> tuple[int, ...]:
        return stamp_of(Path(self._path), Path(f"{self._path}-wal"))

    def _open_file(self, path: Path, *, can_write: bool) -> TextConnection:
        """A new connection. On a read-only file system without a log, SQLite could not create the one that it needs."""
        if not path.exists():
            raise CorpusNotFound(f"{path} was deleted. Build the corpus again from its source.")
        foreign.check_files(path.parent)
        is_frozen = is_read_only(path.parent) and not os.path.exists(f"{path}-wal")
        stamp = self._stamp()
        if is_frozen or not can_write:
            uri = foreign.make_read_only_uri(path)
        else:  # mode=rw: unlike plain connecting, it never creates a file
            uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=rw"
        connection = self._connect(uri, uri=True)
        if is_frozen or not can_write:  # it may be written elsewhere, for example if it is mounted there
            connection.stamp = stamp
        # a connection to the log of a foreign database would block its writer, or leave the log behind
        connection.is_kept = self.is_own or "immutable" in uri
        if not self.is_own:
            try:
                self._check(connection, stamp)
            except BaseException:
                connection.close()
                raise
        return connection

    def _check(self, connection: TextConnection, stamp: tuple[int, ...]) -> None:
        """Check a foreign database: its tables always, its rows once in each of its states."""
        if os.path.exists(f"{self._path}-journal"):  # SQLite would apply it, and delete the file that it names
            raise sqlite3.DatabaseError(f"{DATABASE}-journal is not a file of a corpus")
        foreign.harden(connection)
        foreign_rows.check_tables(connection)
        if stamp != self._checked:
            foreign_rows.check_types(connection)
            self._checked = stamp

    def _connect(self, path: str, *, uri: bool = False) -> TextConnection:
        connection = TextConnection(path, WAIT_SECONDS, uri=uri)
        try:
            _execute_first(connection, f"PRAGMA synchronous = {SYNCHRONOUS}")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
            connection.execute(f"PRAGMA mmap_size = {MOST_MAPPED}")
            connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
        except BaseException as error:
            connection.close()
            if isinstance(error, UnicodeDecodeError):  # a message of SQLite that quotes a damaged schema
                raise sqlite3.DatabaseError("its schema cannot be read") from error
            raise
        return connection

    def _translate(self, error: sqlite3.DatabaseError) -> CorpusError:
        reason = str(error)
        if isinstance(error, sqlite3.OperationalError):
            if "locked" in reason or "busy" in reason or "locking protocol" in reason:
                return CorpusBusy(f"{self._path} is locked by another writer. Try again later.")
            if "readonly" in reason and not self.is_own:
                return CorpusBusy(f"{self._path} is being read in this process. Try again later.")
            if "no such table" not in reason and "decode" not in reason:
                return CorpusError(f"{self._path} cannot be used: {reason}.")
        return CorpusDamaged(
            f"{self._path} is damaged, or its disk fails ({reason}). Nothing was overwritten. Check the disk. Then "
            f"restore the file from a backup, or move its folder away and build the corpus again from its source."
        )


def _execute_first(connection: TextConnection, statement: str) -> None:
    """Execute the first statement of a connection, which opens the log: again if SQLite lost a hundred races for it."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_PROTOCOL:
            raise
        connection.execute(statement)


@contextlib.contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait this long for other connections, not as long as usual."""
    if seconds == WAIT_SECONDS:
        yield
        return
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")


def _list_segments(folder: Path) -> list[str]:
    """The names in the folder of segments, which must be a real one."""
    foreign.check_segments(folder)
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(folder / SEGMENTS)
    return []


@contextlib.contextmanager
def _deleting(folder: Path) -> Iterator[None]:
    """Report what Windows does not delete: the files that a process has open."""
    try:
        yield
    except PermissionError as error:
        raise CorpusBusy(f"{folder} cannot be deleted while it is in use: {error}.") from error


def _files(name: str) -> list[str]:
    """The files of a SQLite database; the log first, because without its database it must not be found by a new one."""
    return [name + end for end in ("-wal", "-shm", "")]
