"""Changes to a corpus: rows and segments, in one transaction, at the cost of what changed."""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from shortlist.documents import Document, Problem, Stamp
from shortlist.errors import CorpusError
from shortlist.index.config import Config
from shortlist.index.embedders import vector_cache
from shortlist.index.kernels.mapped_files import count_faults
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.postings import Fields
from shortlist.index.storage.columns import Columns
from shortlist.index.storage.database import Store
from shortlist.index.storage.records import (
    PAUSE,
    Record,
    Rows,
    batched,
    checksum_passage,
    parse_keywords,
    parse_metadata,
    scan,
)
from shortlist.index.storage.segment import Segment, SegmentDamaged, add_tables, merge
from shortlist.index.storage.sql_tables import (
    SegmentRow,
    is_empty,
    read_config,
    read_dead,
    read_last_numbers,
    read_segments,
)
from shortlist.index.storage.stored_text import TextConnection
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import split
from shortlist.index.text.languages import find_declared_language
from shortlist.protocols import Embedder, report_phase, track

T = TypeVar("T")

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from shortlist.protocols import Progress
    from shortlist.results import Mask, Vectors

# Passages collected in memory before a second thread builds a segment of them, while the first continues with rows.
FLUSH_PASSAGES = 32_768
FLUSH_CHARACTERS = 32 << 20

# Passages collected before they are encoded, by a slow embedder and by others: so the time for each document includes
# the time to encode it, and a progress bar can tell how much is left. A slow embedder encodes fewer at once if that
# takes several seconds, and more if it takes less than two.
FEWEST_ENCODED, ENCODED_AT_ONCE = 8, 128
SHORT_SECONDS, LONG_SECONDS = 2.0, 6.0
ENCODED_FAST = 1_024
FLUSH_ROWS = 1_000  # rows collected before they are written
LEARN_FROM = 256 << 10  # characters in these rows that are worth a dictionary, if there is none yet

# The last segments are merged while the one before them is at most this many times as large: there are at most a few
# segments for each power of four, and each passage is rewritten a few times for each.
MERGE_FACTOR = 4

# Segments of fewer passages than this are merged only when there are this many: most small changes merge nothing.
TINY = 4

# The number of passages that a small change may rewrite, and that a large one may rewrite for each of its own.
MERGE_BUDGET = 16_384
MERGE_SHARE = 64

# Passages in a merged segment at most, since a merge holds them in memory: 1.5 GB with vectors of 256 dimensions.
MOST_MERGED = 1 << 20

_DOCUMENTS = ("num", "id", "hash", "kind", "title", "content", "keywords", "metadata", "source", "locator", "payload")
_REPLACE = f"ON CONFLICT(num) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _DOCUMENTS[2:])}"
_PASSAGES = ("num", "document", "ordinal", "locator", "text", "checksum", "context")
_TEXTS = {"content", "payload", "text"}  # the columns whose values may be compressed


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
    language: str = ""  # that its document declares
    metadata: str = "{}"  # of its document, as the kind and the source
    kind: str = ""
    source: str = ""

    @property
    def fields(self) -> Fields:
        return Fields(self.title, self._terms_beside, self.text, self._names, self.language)

    @property
    def to_embed(self) -> str:
        return "\n".join(part for part in (self.title, ", ".join(self._terms_beside), self.text) if part)

    @property
    def _names(self) -> Sequence[str]:
        return () if self.ordinal else list_names(self.id, self.title)

    @property
    def _terms_beside(self) -> Sequence[str]:
        return [*self.keywords, self.context] if self.context else self.keywords


def list_names(id: str, title: str) -> Sequence[str]:
    """The names of a document."""
    if not title or id == title:
        return (id,)
    is_name = not id.isdecimal() and any(map(str.isalpha, id))
    return (title, id) if is_name else (title,)


def _encode(passages: Sequence[Unindexed], embedder: Embedder, store: Store) -> Vectors:
    """The vectors of passages; those of documents that are shared have a cache of their own."""
    texts = [passage.to_embed for passage in passages]
    folder, is_shared = store.shared_vectors or (None, None)
    places = [at for at, passage in enumerate(passages) if is_shared and is_shared(passage.id)]
    if not places:
        return vector_cache.encode(embedder, texts, store.derived)
    shared = vector_cache.encode(embedder, [texts[at] for at in places], folder)
    if len(places) == len(texts):
        return shared
    others = np.setdiff1d(np.arange(len(texts)), places)
    vectors = np.empty((len(texts), shared.shape[1]), dtype=np.float32)
    vectors[places] = shared
    vectors[others] = vector_cache.encode(embedder, [texts[at] for at in others.tolist()], store.derived)
    return vectors


def _build_segment(passages: Sequence[Unindexed], vectors: Vectors | None, config: Config) -> Segment:
    return Segment(
        passages=np.array([passage.number for passage in passages], dtype=np.int64),
        documents=np.array([passage.document for passage in passages], dtype=np.int64),
        postings=build((passage.fields for passage in passages), get_analyzer(config.analyzer)),
        vectors=vectors,
        columns=Columns.of([(passage.metadata, passage.kind, passage.source) for passage in passages]),
    )


def rebuild_segment(
    connection: TextConnection, row: SegmentRow, embedder: Callable[[Config], Embedder | None], store: Store
) -> Segment:
    """A segment from the live passages of its range, as they were when first indexed."""
    rows = connection.execute(
        "SELECT p.num, p.document, p.ordinal, d.id, d.title, d.keywords, coalesce(p.text, d.content), p.context, "
        "d.metadata, d.kind, d.source FROM passages p JOIN documents d ON d.num = p.document "
        "WHERE p.num BETWEEN ? AND ? ORDER BY p.num",
        row[:2],
    )
    config = read_config(connection)
    passages = [
        Unindexed(
            number,
            document,
            ordinal,
            id,
            title,
            parse_keywords(keywords),
            connection.plain(text),
            context,
            find_declared_language(parse_metadata(metadata)) or config.passage_language,
            metadata,
            kind,
            source,
        )
        for number, document, ordinal, id, title, keywords, text, context, metadata, kind, source in rows
    ]
    model = embedder(config)
    vectors = None if model is None else _encode(passages, model, store)
    return add_tables(_build_segment(passages, vectors, config), config.scoring)


def find_merge_start(sizes: Sequence[int], budget: int) -> int:
    """The index from which on all segments should become one; the last index if nothing should be merged."""
    start = max(len(sizes) - 1, 0)
    if 0 < sum(size < TINY for size in sizes[-TINY:]) < TINY:
        return start
    total = sum(sizes[start:])
    while start > 0 and sizes[start - 1] <= MERGE_FACTOR * total and total + sizes[start - 1] <= budget:
        start -= 1
        total += sizes[start]
    return start


def _is_worth_merging(row: SegmentRow, dead: int, budget: int) -> bool:
    """Whether a segment should be written again without its deleted passages, of which there are `dead`."""
    return dead == row.size or (dead > row.size / 2 and row.size <= budget)


def _group(rows: Sequence[SegmentRow], most: int) -> list[list[SegmentRow]]:
    """Consecutive segments in groups with at most that many passages; without segments, an empty group."""
    groups: list[list[SegmentRow]] = [[]]
    for row in rows:
        if groups[-1] and sum(other.size for other in groups[-1]) + row.size > most:
            groups.append([])
        groups[-1].append(row)
    return groups


def _insert(
    connection: TextConnection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], conflict: str = ""
) -> None:
    """Insert many rows with one statement: between any two, SQLite lets other threads run, perhaps for long."""
    most = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // len(columns)
    places = f"({','.join('?' * len(columns))})"
    for batch in batched(rows, min(most, FLUSH_ROWS)):
        statement = f"INSERT INTO {table}({','.join(columns)}) VALUES {','.join([places] * len(batch))} {conflict}"
        values = list(itertools.chain.from_iterable(batch))
        for column in _TEXTS.intersection(columns):
            of_column = slice(columns.index(column), None, len(columns))
            values[of_column] = connection.pack(values[of_column])
        connection.execute(statement, values)


class Change:
    """One write transaction in progress."""

    def __init__(
        self,
        store: Store,
        connection: TextConnection,
        config: Config,
        embedder: Embedder | None,
        progress: Progress | None = None,
    ) -> None:
        self._progress = progress
        self._store = store
        self._own_connection = connection
        self._config = config
        self._embedder = embedder
        self._is_slow = embedder is not None and vector_cache.is_cached(embedder)
        self._encodes_at = FEWEST_ENCODED if self._is_slow else ENCODED_FAST
        self._written = 0  # passages
        self._flushed = 0  # segments
        self._workers: ThreadPoolExecutor | None = None
        self._segment: Future[SegmentRow] | None = None  # that a worker builds
        self._writing: Future[None] | None = None  # rows that a worker writes
        self._pending: list[Unindexed] = []
        self._vectors: list[Vectors] = []  # of the first pending passages
        self._encoded = 0  # pending passages that have vectors
        self._characters = 0
        self._documents: list[tuple[Any, ...]] = []  # rows not yet written
        self._passages: list[tuple[Any, ...]] = []
        self._last_document, self._last_passage = read_last_numbers(connection)
        self.began_empty = not self._last_document  # nothing was ever stored
        self._has_stamps = not is_empty(connection, "stamps")

    @property
    def _connection(self) -> TextConnection:
        """The connection, once no worker uses it."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()
        return self._own_connection

    @property
    def rows(self) -> Rows:
        """The rows as this change sees them, without those that are not yet written."""
        return Rows(self._connection)

    def put(self, record: Record, number: int | None) -> None:
        """Store a document, in place of the one with that number if there is one."""
        document = record.document
        if self._has_stamps:
            self._forget_stamps(document.source, number)
        if number is None:
            self._last_document += 1
            number = self._last_document
        else:
            self._bury(number)
        row = (
            number, document.id, record.hash, document.kind, document.title, document.content, record.keywords,
            record.metadata, document.source, document.locator, document.payload,
        )  # fmt: skip
        self._documents.append(row)
        self._add_passages(document, number, record.metadata)

    def _add_passages(self, document: Document, number: int, metadata: str) -> None:
        language = find_declared_language(document.metadata) or self._config.passage_language
        id, title, keywords, kind, source = (
            document.id, document.title, document.keywords or (), document.kind, document.source,
        )  # fmt: skip
        for ordinal, piece in enumerate(split(document, self._config.chunk_size, self._config.chunk_overlap)):
            text, context = document.content if piece.text is None else piece.text, piece.context
            shown = (id, title, text, kind, source, piece.locator, metadata, context)
            self._last_passage += 1
            passage = self._last_passage
            self._passages.append(
                (passage, number, ordinal, piece.locator, piece.text, checksum_passage(shown), context)
            )
            self._pending.append(
                Unindexed(
                    passage, number, ordinal, id, title, keywords, text, context, language, metadata, kind, source
                )
            )
            self._characters += len(text)
        if len(self._passages) >= FLUSH_ROWS:
            self._write_rows()
        if len(self._pending) - self._encoded >= self._encodes_at:
            self._encode_pending()
        if len(self._pending) >= FLUSH_PASSAGES or self._characters >= FLUSH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        """Let a worker build and save a segment of what is pending; `finish` merges it with others.

        The previous one is waited for, so memory holds at most two. Vectors are computed in this thread, because an
        embedder may not be thread-safe.
        """
        passages, vectors = self._take_pending()
        self._collect()
        config = self._config
        self._segment = self._submit(lambda: self._store.save(_build_segment(passages, vectors, config)))

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # slow to import, and only for large changes

        self._workers = self._workers or ThreadPoolExecutor(2)
        return self._workers.submit(work)

    def _encode_pending(self) -> None:
        if self._embedder is None:
            return
        while batch := self._pending[self._encoded : self._encoded + self._encodes_at]:
            total = self._written + len(self._pending)
            report_phase(self._progress, "embedding", self._written + self._encoded, total)
            began = time.monotonic()
            self._vectors.append(_encode(batch, self._embedder, self._store))
            self._encoded += len(batch)
            if self._is_slow and len(batch) == self._encodes_at:
                seconds = time.monotonic() - began
                faster, slower = min(2 * len(batch), ENCODED_AT_ONCE), max(len(batch) // 2, FEWEST_ENCODED)
                self._encodes_at = (
                    faster if seconds < SHORT_SECONDS else slower if seconds > LONG_SECONDS else len(batch)
                )
            report_phase(self._progress, "embedding", self._written + self._encoded, total)

    def _take_pending(self) -> tuple[list[Unindexed], Vectors | None]:
        self._encode_pending()
        vectors = np.concatenate(self._vectors) if len(self._vectors) > 1 else next(iter(self._vectors), None)
        passages = self._pending
        self._written += len(passages)
        self._pending, self._vectors, self._encoded, self._characters = [], [], 0, 0
        return passages, vectors

    def _collect(self) -> None:
        """Make the segment live that a worker has saved."""
        if self._segment is not None:
            row = self._segment.result()
            self._store.replace(self._connection, row[:2], row)
            self._segment = None
            self._flushed += 1

    def close(self) -> None:
        """Wait for the workers."""
        if self._workers is not None:
            self._workers.shutdown()

    def _write_rows(self) -> None:
        """Write the rows that were collected; a worker does it if nothing is compared with stored rows meanwhile."""
        connection, documents, passages = self._connection, self._documents, self._passages
        self._documents, self._passages = [], []

        def write() -> None:
            if self._store.folder is not None:
                texts = [row[_DOCUMENTS.index("content")] for row in documents]
                if sum(map(len, texts)) >= LEARN_FROM:
                    connection.learn(texts)
            _insert(connection, "documents", _DOCUMENTS, documents, _REPLACE)
            _insert(connection, "passages", _PASSAGES, passages)

        if self.began_empty and len(passages) >= FLUSH_ROWS:
            self._writing = self._submit(write)
        else:
            write()

    def remove(self, number: int) -> None:
        if self._has_stamps:
            self._forget_stamps(None, number)
        self._bury(number)
        self._connection.execute("DELETE FROM documents WHERE num = ?", (number,))

    def settle(self) -> Sequence[Problem]:
        return ()

    def store_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
        old = [(stamp.source, stamp.id) for stamp in gone]
        self._connection.executemany("DELETE FROM stamps WHERE source = ? AND id = ?", old)
        rows = [(stamp.source, stamp.id, stamp.value, stamp.skipped) for stamp in stamps]
        self._connection.executemany("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?)", rows)

    def finish(self) -> None:
        """Write what is pending, and merge segments if there are too many of them or of deleted passages in them."""
        self._write_rows()
        passages, vectors = self._take_pending()
        report_phase(self._progress, "indexing")
        fresh = _build_segment(passages, vectors, self._config) if passages else None
        self._collect()
        budget = min(max(MERGE_BUDGET, MERGE_SHARE * self._written), MOST_MERGED)
        rows = read_segments(self._connection)
        *full, last = _group(rows[len(rows) - self._flushed :], MOST_MERGED - (fresh.size if fresh else 0))
        steps = len(full) + 1
        for at, group in enumerate(full):
            report_phase(self._progress, "indexing", at, steps)
            self._merge(group)
        self._flushed = len(last)
        rows = read_segments(self._connection) if full else rows
        dead = self._count_dead()
        emptied = [row for row in rows if _is_worth_merging(row, dead.get(row.first, 0), budget)]
        for row in emptied:
            self._merge([row])
        rows = read_segments(self._connection) if emptied else rows
        sizes = [row.size for row in rows] + ([fresh.size] if fresh else [])
        start = find_merge_start(sizes, budget)
        old, ours = sizes[: len(rows) - self._flushed], sum(sizes[len(rows) - self._flushed :])
        if self._flushed and ours <= budget:
            start = min(start, find_merge_start([*old, ours], budget))
        if fresh or self._flushed or start < len(rows) - 1:
            report_phase(self._progress, "indexing", len(full), steps)
            self._merge(rows[start:], fresh)

    def reindex(self, progress: Progress | None) -> None:
        """Split and index every stored document again."""
        for row in read_segments(self._connection):
            self._store.replace(self._connection, row[:2], None)
        self._connection.execute("DELETE FROM passages")
        for number, document, metadata in track(scan(self.rows.after), progress, self.rows.count(), PAUSE):
            self._add_passages(document, number, metadata)

    def compact(self) -> None:
        """Merge all segments into as few as possible."""
        dead = self._count_dead()
        for group in _group(read_segments(self._connection), MOST_MERGED):
            if len(group) > 1 or any(row.first in dead for row in group):
                self._merge(group)

    def _forget_stamps(self, source: str | None, number: int | None) -> None:
        """Delete the stamps of a source: they cover its documents as they were stored, so any change ends them."""
        query = "DELETE FROM stamps WHERE source IN (?, (SELECT source FROM documents WHERE num = ?))"
        self._connection.execute(query, (source, number))

    def _bury(self, document: int) -> None:
        """Delete the passages of a document, and leave tombstones for them."""
        query = "INSERT INTO tombstones(passage) SELECT num FROM passages WHERE document = ? ORDER BY num"
        self._connection.execute(query, (document,))
        self._connection.execute("DELETE FROM passages WHERE document = ?", (document,))

    def _count_dead(self) -> dict[int, int]:
        """The number of deleted passages by the first number of their segment."""
        tables = "segments CROSS JOIN tombstones ON passage BETWEEN first AND last"
        return dict(self._connection.execute(f"SELECT first, count(*) FROM {tables} GROUP BY first").fetchall())

    def _merge(self, rows: Sequence[SegmentRow], fresh: Segment | None = None) -> None:
        """Replace consecutive segments, and a fresh one after them, by one."""
        faults = count_faults()
        try:
            parts = [self._load(row) for row in rows]
        except SegmentDamaged:  # left to a reader, which rebuilds it and logs that
            if fresh is None:
                return
            rows, parts = [], []
        if fresh is not None:
            parts.append((fresh, None))
        first = rows[0].first if rows else int(parts[0][0].passages[0])
        last = rows[-1].last if fresh is None else int(fresh.passages[-1])
        merged = merge(parts) if len(parts) > 1 or parts[0][1] is not None else parts[0][0]
        row = self._store.save(add_tables(merged, self._config.scoring)) if merged.size else None
        if faults != count_faults():
            raise CorpusError(
                "A file of the index was truncated while it was merged, or its disk fails. Nothing was changed. "
                "Try again."
            )
        self._store.replace(self._connection, (first, last), row)

    def _load(self, row: SegmentRow) -> tuple[Segment, Mask | None]:
        """A segment, and which of its passages are deleted."""
        segment, dead = self._store.load(row, self._connection), read_dead(self._connection, row)
        if self._store.is_mapped(row):
            self._store.check(row)  # else a merge would give damage a valid checksum
        if segment.dim != self._config.dim:
            raise SegmentDamaged(row, f"has vectors of {segment.dim} dimensions, not {self._config.dim}")
        if not len(dead):
            return segment, None
        mask = np.zeros(segment.size, dtype=bool)
        mask[segment.places_of(dead)] = True
        return segment, mask
