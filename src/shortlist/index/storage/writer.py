"""Changes to a corpus: rows and segments, in one transaction, at the cost of what changed."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.documents import Document, Problem, Stamp
from shortlist.index.config import Config
from shortlist.index.embedders import vector_cache
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.postings import Fields
from shortlist.index.storage.database import Store
from shortlist.index.storage.records import (
    DOCUMENT_COLUMNS,
    PAUSE,
    Record,
    Rows,
    batched,
    passage_checksum,
    to_document,
)
from shortlist.index.storage.segment import Segment, SegmentDamaged, merge, with_tables
from shortlist.index.storage.sql_tables import (
    SegmentRow,
    has_stamps,
    has_tombstones,
    read_dead,
    read_last_numbers,
    read_segments,
    write_stamps,
)
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import split
from shortlist.protocols import Embedder, track

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from shortlist.protocols import Progress
    from shortlist.results import Mask, Vectors

# Passages gathered in memory before a second thread makes a segment of them, while the first goes on with rows.
FLUSH_PASSAGES = 65_536
FLUSH_CHARACTERS = 32 << 20

# Passages gathered before a dear embedder encodes them.
ENCODED_AT_ONCE = 128


# Rows gathered before they are written.
FLUSH_ROWS = 1_000

# A tail of segments is merged once the one before it is at most this many times as large: at most a few segments for
# each power of four, and each passage is rewritten a few times for each.
MERGE_FACTOR = 4

# The tiniest segments, of fewer passages than this, are merged so many at a time: most small changes merge nothing.
TINY = 4

# The most passages that a small change may rewrite; a large one may rewrite this many for each of its own.
MERGE_BUDGET = 16_384
MERGE_SHARE = 64


class Unindexed(NamedTuple):
    """A passage with its number, not yet in a segment."""

    number: int
    document: int
    ordinal: int
    id: str
    title: str
    keywords: Sequence[str]
    text: str
    context: str

    @property
    def fields(self) -> Fields:
        return Fields(self.title, self._words_beside, self.text, self._names)

    @property
    def to_embed(self) -> str:
        return "\n".join(part for part in (self.title, ", ".join(self._words_beside), self.text) if part)

    @property
    def _names(self) -> Sequence[str]:
        if self.ordinal:
            return ()
        if not self.title or self.id == self.title:
            return (self.id,)
        is_name = not self.id.isdecimal() and any(map(str.isalpha, self.id))
        return (self.title, self.id) if is_name else (self.title,)

    @property
    def _words_beside(self) -> Sequence[str]:
        return [*self.keywords, self.context] if self.context else self.keywords


def make_segment(passages: Sequence[Unindexed], config: Config, embedder: Embedder | None, store: Store) -> Segment:
    """Postings and vectors of passages, in the order of their numbers."""
    vectors = None if embedder is None else _encode(passages, embedder, store)
    return with_tables(_segment(passages, vectors, config), config.scoring)


def _encode(passages: Sequence[Unindexed], embedder: Embedder, store: Store) -> Vectors:
    return vector_cache.encode(embedder, [passage.to_embed for passage in passages], store.folder)


def _segment(passages: Sequence[Unindexed], vectors: Vectors | None, config: Config) -> Segment:
    return Segment(
        passages=np.array([passage.number for passage in passages], dtype=np.int64),
        documents=np.array([passage.document for passage in passages], dtype=np.int64),
        postings=build((passage.fields for passage in passages), get_analyzer(config.analyzer)),
        vectors=vectors,
    )


def read_passages(connection: sqlite3.Connection, first: int, last: int) -> list[Unindexed]:
    """The live passages of a range, as they were when first indexed."""
    rows = connection.execute(
        "SELECT p.num, p.document, p.ordinal, d.id, d.title, d.keywords, coalesce(p.text, d.content), p.context "
        "FROM passages p JOIN documents d ON d.num = p.document WHERE p.num BETWEEN ? AND ? ORDER BY p.num",
        (first, last),
    )
    return [
        Unindexed(number, document, ordinal, id, title, json.loads(keywords), text, context)
        for number, document, ordinal, id, title, keywords, text, context in rows
    ]


def merge_from(sizes: Sequence[int], budget: int) -> int:
    """Where the tail of segments begins that should become one; the last index means that nothing should."""
    start = max(len(sizes) - 1, 0)
    if 0 < sum(size < TINY for size in sizes[-TINY:]) < TINY:
        return start
    total = sum(sizes[start:])
    while start > 0 and sizes[start - 1] <= MERGE_FACTOR * total and total + sizes[start - 1] <= budget:
        start -= 1
        total += sizes[start]
    return start


def _insert(connection: sqlite3.Connection, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Many rows with one statement: between any two, SQLite lets other threads run, and they may run for long."""
    if not rows:
        return
    most = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // len(rows[0])
    for batch in batched(rows, min(most, FLUSH_ROWS)):
        values = f"({','.join('?' * len(batch[0]))})"
        statement = f"INSERT INTO {columns} VALUES {','.join([values] * len(batch))}"
        connection.execute(statement, list(itertools.chain.from_iterable(batch)))


class Change:
    """One write transaction on its way."""

    def __init__(self, store: Store, connection: sqlite3.Connection, config: Config, embedder: Embedder | None) -> None:
        self.store = store
        self.connection = connection
        self.config = config
        self.embedder = embedder
        self._is_dear = embedder is not None and vector_cache.is_cached(embedder)
        self._written = 0
        self._flushed = 0  # segments made so far
        self._worker: ThreadPoolExecutor | None = None
        self._under_way: Future[SegmentRow] | None = None
        self._pending: list[Unindexed] = []
        self._vectors: list[Vectors] = []  # of the first of what is pending
        self._characters = 0
        self._documents: list[tuple[Any, ...]] = []  # rows not yet written
        self._passages: list[tuple[Any, ...]] = []
        self._last_document, self._last_passage = read_last_numbers(connection)
        self.began_empty = not self._last_document  # nothing was ever stored
        self._has_stamps = has_stamps(connection)

    def put(self, record: Record, number: int | None) -> None:
        """Store a document, in place of the one with that number if there is one."""
        document = record.document
        self._forget_stamps(document.source, number)
        row = (
            record.hash, document.kind, document.title, document.content, record.keywords, record.metadata,
            document.source, document.locator, document.payload, document.id,
        )  # fmt: skip
        if number is None:
            self._last_document += 1
            number = self._last_document
            self._documents.append((*row, number))
        else:
            self._bury(number)
            self.connection.execute(
                "UPDATE documents SET hash = ?, kind = ?, title = ?, content = ?, keywords = ?, metadata = ?, "
                "source = ?, locator = ?, payload = ? WHERE id = ?",
                row,
            )
        self._add_passages(document, number, record.metadata)

    def _add_passages(self, document: Document, number: int, metadata: str) -> None:
        for ordinal, piece in enumerate(split(document, self.config.chunk_size, self.config.chunk_overlap)):
            text = document.content if piece.text is None else piece.text
            id, title, context = document.id, document.title, piece.context
            shown = (id, title, text, document.kind, document.source, piece.locator, metadata, context)
            self._last_passage += 1
            passage = self._last_passage
            self._passages.append(
                (passage, number, ordinal, piece.locator, piece.text, passage_checksum(shown), context)
            )
            self._pending.append(Unindexed(passage, number, ordinal, id, title, document.keywords, text, context))
            self._characters += len(text)
        if len(self._passages) >= FLUSH_ROWS:
            self._write_rows()
        if self._is_dear and len(self._pending) - self._encoded >= ENCODED_AT_ONCE:
            self._encode()
        if len(self._pending) >= FLUSH_PASSAGES or self._characters >= FLUSH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        """Let a second thread make and save a segment of what is gathered; it is merged with its like at the end.

        The one before is waited for, so memory holds two at most. Vectors are made here: an embedder may be anything.
        """
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # slow to import, and only for large changes

        vectors = self._encode()
        self._collect()
        self._worker = self._worker or ThreadPoolExecutor(1)
        passages, config = self._pending, self.config
        self._under_way = self._worker.submit(lambda: self.store.save(_segment(passages, vectors, config)))
        self._written += len(self._pending)
        self._pending, self._vectors, self._characters = [], [], 0

    @property
    def _encoded(self) -> int:
        return sum(map(len, self._vectors))

    def _encode(self) -> Vectors | None:
        """The vectors of all that is gathered; those of a dear embedder are made on the way, so that work is seen."""
        if self.embedder is None:
            return None
        if rest := self._pending[self._encoded :]:
            self._vectors.append(_encode(rest, self.embedder, self.store))
        return self._vectors[0] if len(self._vectors) == 1 else np.concatenate(self._vectors)

    def _collect(self) -> None:
        """Name the segment that the second thread has made."""
        if self._under_way is not None:
            row = self._under_way.result()
            self.store.name(self.connection, row, (row.first, row.last))
            self._under_way = None
            self._flushed += 1

    def close(self) -> None:
        """Leave nothing under way."""
        if self._worker is not None:
            self._worker.shutdown()

    def _write_rows(self) -> None:
        _insert(
            self.connection,
            "documents(hash, kind, title, content, keywords, metadata, source, locator, payload, id, num)",
            self._documents,
        )
        _insert(self.connection, "passages(num, document, ordinal, locator, text, checksum, context)", self._passages)
        self._documents, self._passages = [], []

    def remove(self, number: int) -> None:
        self._forget_stamps(None, number)
        self._bury(number)
        self.connection.execute("DELETE FROM documents WHERE num = ?", (number,))

    @property
    def kept(self) -> Rows:
        """What is stored as this change sees it."""
        return Rows(self.connection)

    def settle(self) -> Sequence[Problem]:
        """What was put and not taken: nothing, here."""
        return ()

    def keep_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
        write_stamps(self.connection, stamps, gone)

    def finish(self) -> None:
        """Write what is gathered, and merge segments that have become too many or too dead."""
        self._write_rows()
        fresh = self._make_segment()
        self._collect()
        budget = max(MERGE_BUDGET, MERGE_SHARE * self._written)
        rows = read_segments(self.connection)
        if has_tombstones(self.connection):
            for row in rows:
                dead = self._count_dead(row)
                if dead == row.size or (dead > row.size / 2 and row.size <= budget):
                    self._merge([row])
            rows = read_segments(self.connection)
        sizes = [row.size for row in rows] + ([fresh.size] if fresh else [])
        start = merge_from(sizes, budget)
        old, ours = sizes[: len(rows) - self._flushed], sum(sizes[len(rows) - self._flushed :])
        if self._flushed and ours <= budget:
            start = min(start, merge_from([*old, ours], budget))
        if fresh or self._flushed or start < len(rows) - 1:
            self._merge(rows[start:], fresh)

    def reindex(self, progress: Progress | None) -> None:
        """Split and index every stored document again."""
        for row in read_segments(self.connection):
            self.store.name(self.connection, None, (row.first, row.last))
        self.connection.execute("DELETE FROM passages")
        (total,) = self.connection.execute("SELECT count(*) FROM documents").fetchone()
        for number, metadata, *columns in track(self._stored(), progress, total, PAUSE):
            self._add_passages(to_document(columns), number, metadata)

    def _stored(self) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT num, metadata, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num > ? ORDER BY num LIMIT 1000"
        last = 0
        while rows := self.connection.execute(query, (last,)).fetchall():
            yield from rows
            last = rows[-1][0]

    def compact(self) -> None:
        """Make one segment of all."""
        rows = read_segments(self.connection)
        if len(rows) > 1 or any(self._count_dead(row) for row in rows):
            self._merge(rows)

    def _make_segment(self) -> Segment | None:
        """A segment of what is gathered, not yet written."""
        if not self._pending:
            return None
        self._written += len(self._pending)
        segment = with_tables(_segment(self._pending, self._encode(), self.config), self.config.scoring)
        self._pending, self._vectors, self._characters = [], [], 0
        return segment

    def _forget_stamps(self, source: str | None, number: int | None) -> None:
        """A stamp stands for the documents of a source as they were stored: it ends with any change of one of them."""
        if self._has_stamps:
            self.connection.execute(
                "DELETE FROM stamps WHERE source IN (?, (SELECT source FROM documents WHERE num = ?))", (source, number)
            )

    def _bury(self, document: int) -> None:
        self._write_rows()
        rows = self.connection.execute("SELECT num FROM passages WHERE document = ?", (document,)).fetchall()
        self.connection.executemany("INSERT INTO tombstones(passage) VALUES (?)", rows)
        self.connection.execute("DELETE FROM passages WHERE document = ?", (document,))

    def _count_dead(self, row: SegmentRow) -> int:
        query = "SELECT count(*) FROM tombstones WHERE passage BETWEEN ? AND ?"
        return int(self.connection.execute(query, (row.first, row.last)).fetchone()[0])

    def _merge(self, rows: Sequence[SegmentRow], fresh: Segment | None = None) -> None:
        """Put one segment in the place of those that follow each other and of a fresh one after them."""
        try:
            parts = [self._load(row) for row in rows]
        except SegmentDamaged:  # left to a reader, who makes it again and says so
            if fresh is None:
                return
            rows, parts = [], []
        if fresh is not None:
            parts.append((fresh, None))
        first = rows[0].first if rows else int(parts[0][0].passages[0])
        last = rows[-1].last if fresh is None else int(fresh.passages[-1])
        merged = merge(parts) if len(parts) > 1 or parts[0][1] is not None else parts[0][0]
        row = self.store.save(with_tables(merged, self.config.scoring)) if merged.size else None
        self.store.name(self.connection, row, (first, last))

    def _load(self, row: SegmentRow) -> tuple[Segment, Mask | None]:
        """A segment, and which of its passages are dead."""
        segment, dead = self.store.load(row), read_dead(self.connection, row)
        if not len(dead):
            return segment, None
        mask = np.zeros(segment.size, dtype=bool)
        mask[segment.places_of(dead)] = True
        return segment, mask
