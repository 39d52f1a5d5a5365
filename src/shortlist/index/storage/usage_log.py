"""The log of use of a corpus: what was searched for, what was shown, and what was then called or read.

It is a database of its own, readable by its owner only, and never part of what is searched, disclosed or served.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from shortlist._paths import make_folder
from shortlist._redact import redact_query
from shortlist._text import clean
from shortlist.errors import CorpusDamaged, CorpusError
from shortlist.index.corpus_paths import USAGE
from shortlist.index.storage.records import batched
from shortlist.index.storage.sql_tables import Connection

if TYPE_CHECKING:
    from shortlist.results import Vectors

FILE = USAGE
FORMAT = 1
MOST_SEARCHES = 20_000  # the oldest are deleted
LONGEST_QUERY = 500  # characters
MOST_SHOWN = 10
PRUNED_EVERY = 100  # searches
MOST_VALUES = 500  # of one statement
WAIT_SECONDS = 5.0
FORGOTTEN = 1 << 40  # added to the version when something is forgotten

# off: nothing is stored or used. log: searches and their outcomes are stored. on: they also change the ranking.
Learning = Literal["off", "log", "on"]
# What became of a document: it was called, or read, and that was right; the call failed; a user reported that it was
# wrong for the query; or the query found nothing, and the document was used after another one.
Outcome = Literal["called", "read", "failed", "wrong", "reworded"]

_TABLES = f"""
PRAGMA user_version = {FORMAT};
CREATE TABLE searches(num INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, session TEXT, query TEXT, shown TEXT);
CREATE INDEX searches_query ON searches(query);
CREATE TABLE uses(num INTEGER PRIMARY KEY, search INTEGER, id TEXT, hash BLOB, outcome TEXT);
CREATE INDEX uses_search ON uses(search);
CREATE TABLE vectors(query TEXT, model TEXT, vector BLOB, PRIMARY KEY (query, model)) WITHOUT ROWID;
CREATE TABLE version(number INTEGER);
INSERT INTO version VALUES (1);
"""


class Use(NamedTuple):
    """What became of one document after a search. `hash` is that of the document at that time."""

    id: str
    hash: bytes
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Search:
    """A search, the documents that it showed with their relevance, and what was then used."""

    at: float
    session: str
    query: str
    shown: dict[str, float | None]
    uses: list[Use]


class UsageLog:
    """The log of one corpus, in a file or in memory. It is created when something is first stored."""

    def __init__(self, path: Path | None, others: Path | None = None) -> None:
        """`others` is the folder of further logs, from which the same is forgotten."""
        self.path, self._others = path, others
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._inode = 0  # of the file that is open

    def add(
        self,
        query: str,
        shown: Sequence[tuple[str, float | None]] = (),
        uses: Sequence[Use] = (),
        session: str = "",
        at: float | None = None,
    ) -> int:
        """Store a search; return its number. Secrets in the query are hidden."""
        listed = json.dumps([[id, relevance and round(relevance, 3)] for id, relevance in shown[:MOST_SHOWN]])
        with self._writing() as database:
            row = (time.time() if at is None else at, clean(session), normalize(query), listed)
            cursor = database.execute("INSERT INTO searches(at, session, query, shown) VALUES (?, ?, ?, ?)", row)
            number = int(cursor.lastrowid or 0)
            self._add_uses(database, number, uses)
            if number % PRUNED_EVERY == 0:
                self._delete(database, f"num <= {number - MOST_SEARCHES}")
        return number

    def add_use(self, search: int, use: Use) -> None:
        """Store what became of a document that a search showed."""
        with self._writing() as database:
            self._add_uses(database, search, [use])

    def _add_uses(self, database: sqlite3.Connection, search: int, uses: Sequence[Use]) -> None:
        if uses:
            query = "INSERT INTO uses(search, id, hash, outcome) SELECT num, ?, ?, ? FROM searches WHERE num = ?"
            database.executemany(query, [(*use, search) for use in uses])  # nothing if the search was forgotten
            database.execute("UPDATE version SET number = number + 1")

    def version(self) -> int:
        """Changes with every use that is stored or forgotten; 0 without a log."""
        with self._reading() as database:
            return int(database.execute("SELECT number FROM version").fetchone()[0]) if database else 0

    def __iter__(self) -> Iterator[Search]:
        """All searches, the oldest first."""
        searches: dict[int, Search] = {}
        with self._reading() as database:
            if database:
                for number, at, session, query, shown in database.execute("SELECT * FROM searches ORDER BY num"):
                    searches[number] = Search(at, session, query, dict(json.loads(shown)), [])
                for search, *use in database.execute("SELECT search, id, hash, outcome FROM uses ORDER BY num"):
                    if search in searches:
                        searches[search].uses.append(Use(*use))
        return iter(searches.values())

    def find_search(self, number: int) -> Search | None:
        """The search of a number, without what was shown and used; None if it was forgotten."""
        with self._reading() as database:
            query = "SELECT at, session, query FROM searches WHERE num = ?"
            row = database.execute(query, (number,)).fetchone() if database else None
        return Search(row[0], row[1], row[2], {}, []) if row else None

    def list_queries(self) -> set[str]:
        """The queries of all searches."""
        with self._reading() as database:
            return {query for (query,) in database.execute("SELECT query FROM searches")} if database else set()

    def vectors(
        self, queries: Sequence[str], model: str, encode: Callable[[str], Vectors], seconds: float
    ) -> dict[str, Vectors]:
        """The vectors of queries, stored with the log, since a good model takes milliseconds for each.

        New ones are encoded until the `seconds` are over; the others are missing.
        """
        with self._reading() as database:
            rows = database.execute("SELECT query, vector FROM vectors WHERE model = ?", (model,)) if database else ()
            known = {query: np.frombuffer(vector, np.float32) for query, vector in rows}
        ends, new = time.monotonic() + seconds, dict[str, Any]()
        for query in queries:
            if query not in known and time.monotonic() < ends:
                new[query] = np.asarray(encode(query), np.float32)
        if new:
            with contextlib.suppress(CorpusError), self._writing() as database:  # it may be on a disk that is full
                rows = [(query, model, vector.tobytes()) for query, vector in new.items()]
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        known |= new
        return {query: known[query] for query in queries if query in known}

    def withdraw(self, query: str, id: str, session: str = "") -> int:
        """Delete the reports of a session that a query led to a document, or that it was wrong; return their number.

        A report is a search with only this use. What an agent has searched for and used is not a report. Reports
        without a session may be of anybody: only the latest is deleted.
        """
        condition = (
            "query = ? AND session = ? AND num IN (SELECT search FROM uses WHERE id = ?) "
            "AND num NOT IN (SELECT search FROM uses WHERE id != ?)"
        )
        if not session:
            condition = f"num = (SELECT max(num) FROM searches WHERE {condition})"
        return self._forget(condition, [normalize(query), clean(session), id, id])

    def forget(self, id: str | None = None, query: str | None = None) -> int:
        """Delete the searches after which a document was used, or those with a query, or all; return their number."""
        conditions, values = ["1"], []
        if id is not None:
            conditions.append("num IN (SELECT search FROM uses WHERE id = ?)")
            values.append(id)
        if query is not None:
            conditions.append("query = ?")
            values.append(normalize(query))
        return self._forget(" AND ".join(conditions), values)

    def forget_times(self, times: Sequence[float]) -> None:
        """Delete the searches of these times."""
        for some in batched(times, MOST_VALUES):
            self._forget(f"at IN ({','.join('?' * len(some))})", some)

    def _forget(self, condition: str, values: Sequence[Any]) -> int:
        others = [UsageLog(path) for path in self._others.glob("*.db")] if self._others else []
        return self._forget_here(condition, values) + sum(log._forget_and_close(condition, values) for log in others)

    def _forget_and_close(self, condition: str, values: Sequence[Any]) -> int:
        with contextlib.closing(self):
            return self._forget_here(condition, values)

    def _forget_here(self, condition: str, values: Sequence[Any]) -> int:
        with self._writing(create=False) as database:
            if database is None:
                return 0
            count = self._delete(database, condition, values)
            database.execute(f"UPDATE version SET number = number + {FORGOTTEN}")
        with self._reading() as database:  # so that nothing of it is left in the files
            if database is not None:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def _delete(self, database: sqlite3.Connection, condition: str, values: Sequence[Any] = ()) -> int:
        count = database.execute(f"DELETE FROM searches WHERE {condition}", values).rowcount
        if count:
            database.execute("DELETE FROM uses WHERE search NOT IN (SELECT num FROM searches)")
            database.execute("DELETE FROM vectors WHERE query NOT IN (SELECT query FROM searches)")
        return count

    def facts(self) -> dict[str, Any]:
        """Counts, the documents that were used, the time of the first search, and the size of the log."""
        counts: tuple[Any, ...] = (0, None, 0, 0)
        size = 0
        with self._reading() as database:
            if database is not None:
                counts = database.execute(
                    "SELECT count(*), min(at), (SELECT count(*) FROM uses), (SELECT count(DISTINCT id) FROM uses "
                    "WHERE outcome NOT IN ('failed', 'wrong')) FROM searches"
                ).fetchone()
                size = os.path.getsize(self.path) if self.path else 0
        return dict(zip(("searches", "since", "uses", "documents", "bytes"), (*counts, size), strict=True))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _writing(self, *, create: bool = True) -> Iterator[Any]:
        with self._opened(create=create) as database:
            if database is None:
                yield None
                return
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            finally:
                if database.in_transaction:
                    database.execute("ROLLBACK")

    def _reading(self) -> contextlib.AbstractContextManager[Any]:
        return self._opened(create=False)

    @contextlib.contextmanager
    def _opened(self, *, create: bool) -> Iterator[sqlite3.Connection | None]:
        """The connection; None if there is no log and it is not to be created."""
        try:
            with self._lock:
                if self._process != os.getpid():  # a connection does not survive a fork
                    self._connection, self._process = None, os.getpid()
                if self._connection is not None and self._read_inode() != self._inode:  # it was deleted or replaced
                    self.close()
                if self._connection is None:
                    self._connection = self._connect(create)
                    self._inode = self._read_inode()
                yield self._connection
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.OperationalError | OSError):
                raise CorpusError(f"The log of use {self.path} cannot be used: {error}.") from error
            self.close()
            raise CorpusDamaged(
                f"The log of use {self.path} is damaged ({error}). Searches work without it. Delete the file to start "
                f"a new one."
            ) from error

    def _read_inode(self) -> int:
        try:
            return os.stat(self.path).st_ino if self.path else 0
        except FileNotFoundError:
            return 0

    def _connect(self, create: bool) -> sqlite3.Connection | None:
        if self.path is None or not os.path.exists(self.path):
            if not create:
                return None
            if self.path is not None:
                make_folder(self.path.parent)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        database = Connection(self.path or ":memory:", WAIT_SECONDS)
        try:
            database.executescript("PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            if (found := _read_format(database)) not in (0, FORMAT):
                raise CorpusError(f"The log of use {self.path} has the format {found}. Update shortlist to read it.")
            if not _has_tables(database):
                if not create:
                    database.close()
                    return None
                database.execute("BEGIN EXCLUSIVE")
                if not _has_tables(database):  # another process may have been faster
                    for statement in _TABLES.strip().split(";")[:-1]:
                        database.execute(statement)
                database.execute("COMMIT")
        except BaseException:
            database.close()
            raise
        return database


def _read_format(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _has_tables(database: sqlite3.Connection) -> bool:
    return _read_format(database) == FORMAT


def was_forgotten(before: int, now: int) -> bool:
    """Whether something was forgotten between two versions of a log."""
    return before // FORGOTTEN != now // FORGOTTEN


def normalize(query: str) -> str:
    """A query as it is stored and compared: in one line, without secrets, and not too long."""
    text, most = " ".join(clean(query[: 8 * LONGEST_QUERY]).split()), 4 * LONGEST_QUERY
    if len(text) > most:  # cut between words, so that no half of a secret is left
        text = text[:most].rpartition(" ")[0] or text[:most]
    return redact_query(text)[:LONGEST_QUERY]
