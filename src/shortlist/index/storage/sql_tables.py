"""The tables of a corpus: their schema, its check and upgrade, and single facts. Documents are in `records.py`."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import CorpusDamaged, CorpusMismatch
from shortlist.index.config import Config
from shortlist.index.foreign import SEGMENT_NAME

if TYPE_CHECKING:
    from numpy.typing import NDArray

APPLICATION_ID = 0x53484C54
FORMAT = 3  # as format 2, in which every text was plain, and segments had counts of four bytes

SCHEMA = Path(__file__).with_name("schema.sql")


class Connection(sqlite3.Connection):
    """A connection for all threads, closed when it is no longer used: nothing else ends a corpus in memory."""

    def __init__(self, path: Path | str, timeout: float, *, uri: bool = False) -> None:
        super().__init__(path, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)
        self._one_reader = threading.Lock()

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query. From Python 3.12 on, threads that `execute` the same one at once share its statement."""
        with self._one_reader:
            return self.execute(query, parameters).fetchall()

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # it was never opened
            self.close()


class SegmentRow(NamedTuple):
    """A live segment: its range of passage numbers, its number of passages, and its file as it was written."""

    first: int
    last: int
    size: int
    file: str
    bytes: int
    written: int
    checksum: int


def initialize(connection: sqlite3.Connection, config: Config) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.executescript(SCHEMA.read_text("utf-8"))
    meta = [("config", config.to_json()), ("generation", "0"), ("id", uuid.uuid4().hex)]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is damaged or not ours; upgrade one of an older format."""
    application, version, pages, page_size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version", "page_count", "page_size")
    )
    if application != APPLICATION_ID:
        raise CorpusDamaged(
            f"{path} is not the database of a corpus, or its header is damaged. Nothing was overwritten. "
            f"Restore it from a backup, or move it away and build the corpus again from its source."
        )
    if version not in (1, 2, FORMAT):
        raise CorpusMismatch(
            f"{path} has format {version}, and this version of shortlist reads up to {FORMAT}. Update shortlist, or "
            f"delete the corpus (shortlist rm NAME --data) and build it again from its source."
        )
    if path.stat().st_size < pages * page_size and not Path(f"{path}-wal").exists():
        raise sqlite3.DatabaseError("the file is truncated")
    if "documents" not in {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}:
        raise sqlite3.DatabaseError("its tables are missing")
    if version == 1:
        _upgrade(connection)


def _upgrade(connection: sqlite3.Connection) -> None:
    """Format 2 added the context of passages, and stamps."""
    with connection:  # commits at the end, rolls back on any error
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 1:  # else another process was faster
            connection.execute("ALTER TABLE passages ADD COLUMN context TEXT NOT NULL DEFAULT ''")
            schema = SCHEMA.read_text("utf-8")
            connection.execute(schema[schema.index("CREATE TABLE stamps") :])
            connection.execute("PRAGMA user_version = 2")


def _read_meta(connection: sqlite3.Connection, key: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"its {key} is missing")
    return str(row[0])


def read_config(connection: sqlite3.Connection) -> Config:
    try:
        return Config.from_json(_read_meta(connection, "config"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"its configuration cannot be read: {error}") from error


def write_config(connection: sqlite3.Connection, config: Config) -> None:
    connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (config.to_json(),))


def read_generation(connection: sqlite3.Connection) -> int:
    try:
        return int(_read_meta(connection, "generation"))
    except ValueError as error:
        raise sqlite3.DatabaseError("its generation is not a number") from error


def read_id(connection: sqlite3.Connection) -> str:
    """The random id of a corpus: no other one has it, except a copy."""
    return _read_meta(connection, "id")


def read_segments(connection: sqlite3.Connection) -> list[SegmentRow]:
    """The live segments. Their names are used as paths, so no other names than those that we write are accepted."""
    query = "SELECT first, last, size, file, bytes, written, checksum FROM segments ORDER BY first"
    rows = [SegmentRow(*row) for row in connection.execute(query)]
    for row in rows:
        if not isinstance(row.file, str) or not SEGMENT_NAME.fullmatch(row.file):
            raise sqlite3.DatabaseError(f"{row.file!r:.80} is not the name of a segment")
        if not all(isinstance(value, int) for value in (*row[:3], *row[4:])):
            raise sqlite3.DatabaseError(f"the segment {row.file} has a value that is not a number")
        if not 0 < row.size <= row.last - row.first + 1:
            raise sqlite3.DatabaseError(f"the segment {row.file} has an impossible range")
    if any(row.last >= following.first for row, following in itertools.pairwise(rows)):
        raise sqlite3.DatabaseError("its segments overlap")
    return rows


def read_dead(connection: sqlite3.Connection, row: SegmentRow) -> NDArray[np.int64]:
    """The numbers of the deleted passages that are still in a segment."""
    query = "SELECT passage FROM tombstones WHERE passage BETWEEN ? AND ? ORDER BY passage"
    return np.array([passage for (passage,) in connection.execute(query, row[:2])], dtype=np.int64)


def raise_format(connection: sqlite3.Connection) -> None:
    """Note in this transaction that it writes what older versions cannot read, so that they refuse the database."""
    if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def read_last_numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    """The highest numbers that a document and a passage ever had."""
    last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    return last.get("documents", 0), last.get("passages", 0)


def is_empty(connection: sqlite3.Connection, table: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None
