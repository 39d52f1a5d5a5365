"""One committed state of a local corpus: its segments, shared by all its readers, and the rows behind every position.

A position is an index into all segments together, deleted passages included; it is valid in one snapshot only.
"""

from __future__ import annotations

import contextlib
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._plain import get_maker
from shortlist.documents import Document, Passage, Stamp
from shortlist.errors import EmbedderError
from shortlist.index.config import Config
from shortlist.index.dense.dense_ranker import Dense, VectorPart
from shortlist.index.engine import BUILT_IN, MISSING, Located, require_embedder
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.query_scores import AllScores, BestScores, NearScores, Request, Scores, only_found
from shortlist.index.storage.columns import Column, encode, look_up
from shortlist.index.storage.records import (
    DOCUMENT_COLUMNS,
    Rows,
    batched,
    checksum_passage,
    parse_metadata,
    to_document,
)
from shortlist.index.storage.segment import Segment
from shortlist.index.storage.sql_tables import SegmentRow, read_config, read_dead, read_generation, read_segments
from shortlist.index.storage.stored_text import TextConnection
from shortlist.index.text.analyzers import get_analyzer
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions, Ranking, Vectors

# With fewer passages it is faster to compare all vectors than to search for the best: at 10,000 both take 2.5 ms, at
# 40,000 it is 6.7 and 3.5. A caller that needs all scores gets them up to five times this number.
ALL_SCORES_BELOW = 10_000

# With fewer passages a blend is ranked in one pass: the scores by keywords are added to the bounds of the products.
ONE_PASS_BELOW = 30_000

FEW = 100  # positions that are looked up one by one, if there are several segments
FEW_IDS = 16  # whose passages are read instead

_AT_ONCE = 500  # parameters in one statement

# A list of values is joined in its order, and in less time than rows are found with IN.
_PASSAGES = (
    "WITH wanted(num) AS (VALUES {}) SELECT p.num, p.checksum, d.id, d.title, coalesce(p.text, d.content), d.kind, "
    "d.source, p.locator, d.metadata, p.context FROM wanted CROSS JOIN passages p ON p.num = wanted.num "
    "CROSS JOIN documents d ON d.num = p.document"
)


# Characters of the passages of a state that were read lately, and need not be read, decoded and compared again.
RECENT_CHARACTERS = 1 << 22

# What is shown of a passage: id, title, text, kind, source, locator, metadata and context.
_Columns = tuple[str, str, str, str, str, str, str, str]


class RecentPassages(dict[int, _Columns]):
    """Passages of one state by number. When they are too many, all are forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self._characters = 0

    def add(self, passages: Mapping[int, _Columns]) -> None:
        self._characters += sum(sum(map(len, columns)) for columns in passages.values())
        if self._characters > RECENT_CHARACTERS:
            self._characters = 0
            self.clear()
        else:
            self.update(passages)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A segment as one state sees it."""

    row: SegmentRow
    segment: Segment
    part: Part
    columns: dict[str, Column] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class View:
    """The segments of one committed state, shared by all its snapshots."""

    generation: int
    last_tombstone: int
    config: Config
    loaded: tuple[Loaded, ...]
    counted: list[int] = field(default_factory=list)  # the number of documents, once a snapshot has counted them
    recent: RecentPassages = field(default_factory=RecentPassages)

    @cached_property
    def size(self) -> int:
        return sum(item.segment.size for item in self.loaded)

    @cached_property
    def lexical(self) -> Lexical:
        return Lexical([item.part for item in self.loaded], get_analyzer(self.config.analyzer), self.config.scoring)

    def numbers(self, of: str, positions: Positions) -> Positions:
        """The numbers of the "documents" or "passages" at these positions."""
        if len(self.loaded) == 1:
            found: Positions = getattr(self.loaded[0].segment, of)[positions]
            return found
        if len(positions) <= FEW:
            columns = self._columns[of]
            places = ((bisect_right(self._offsets, at) - 1, at) for at in positions.tolist())
            return np.array([columns[part][at - self._offsets[part]] for part, at in places], dtype=np.int64)
        found = np.empty(len(positions), dtype=np.int64)
        for item in self.loaded:
            here, places_here = item.part.locate(positions)
            if len(here):
                found[here] = getattr(item.segment, of)[places_here]
        return found

    @cached_property
    def _offsets(self) -> list[int]:
        return [item.part.offset for item in self.loaded]

    @cached_property
    def _columns(self) -> dict[str, list[NDArray[np.int64]]]:
        return {of: [getattr(item.segment, of) for item in self.loaded] for of in ("documents", "passages")}

    def position(self, number: int) -> int:
        """The position of the passage with this number."""
        item = next((item for item in self.loaded if item.row.first <= number <= item.row.last), None)
        if item is None:
            raise sqlite3.DatabaseError("a passage is in no segment")
        return item.part.offset + int(np.searchsorted(item.segment.passages, number))


def read_view(connection: sqlite3.Connection, load: Callable[[SegmentRow], Segment], previous: View | None) -> View:
    """The state that the connection sees, at the cost of what changed since the previous one.

    `load` raises SegmentDamaged if a file cannot be read.
    """
    generation = read_generation(connection)
    if previous is not None and previous.generation == generation:
        return previous
    if previous is not None and previous.generation > generation:
        previous = None  # of a later state, seen by another thread: passages that it lacks may be alive in this one
    known = {item.row: item for item in previous.loaded} if previous else {}
    last_tombstone = previous.last_tombstone if previous else 0
    query = "SELECT num, passage FROM tombstones WHERE num > ? ORDER BY num"
    recent = np.array(connection.execute(query, (last_tombstone,)).fetchall(), dtype=np.int64).reshape(-1, 2)
    loaded: list[Loaded] = []
    offset = 0
    for row in read_segments(connection):
        item = known.get(row)
        if item is None:
            segment = load(row)
            item = Loaded(row, segment, Part(segment.postings, offset, segment.impacts))
            dead = read_dead(connection, row)
        else:
            dead = recent[(recent[:, 1] >= row.first) & (recent[:, 1] <= row.last), 1]
        if len(dead) or item.part.offset != offset:
            part = item.part.without(item.segment.places_of(dead), offset)
            item = Loaded(row, item.segment, part, item.columns)
        loaded.append(item)
        offset += item.segment.size
    if len(recent):
        last_tombstone = int(recent[-1, 0])
    return View(generation, last_tombstone, read_config(connection), tuple(loaded))


class Snapshot:
    """A view with the open transaction that it was read in."""

    can_share_threads = True

    def __init__(self, view: View, connection: TextConnection, embedder: Callable[[Config], Embedder | None]) -> None:
        self.view = view
        self.size = view.size  # deleted passages included
        self.generation = view.generation
        self.config = view.config
        self.has_vectors = view.config.dim > 0
        self.lexical = view.lexical
        self.rows = rows = Rows(connection)
        self.get, self.since = rows.get, rows.since
        self._connection = connection
        self._embedder = embedder

    @contextlib.contextmanager
    def hiding(self, view: View, hidden: Set[int]) -> Iterator[Snapshot]:
        """The same state without some documents, by their numbers, which `view` does not have either."""
        connection = self._connection
        connection.create_function("is_hidden", 1, hidden.__contains__)
        for table, number in (("documents", "num"), ("passages", "document")):  # instead of the tables of these names
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE NOT is_hidden({number})")
        try:
            yield Snapshot(view, connection, self._embedder)
        finally:
            for table in ("documents", "passages"):
                connection.execute(f"DROP VIEW temp.{table}")

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder(self.config) if self.has_vectors else None

    def count(self) -> int:
        if not self.view.counted:
            self.view.counted.append(self.rows.count())
        return self.view.counted[0]

    @cached_property
    def dense(self) -> Dense:
        embedder = require_embedder(self._embedder(self.config))
        parts = [
            VectorPart(item.segment.vectors, item.part.dead, item.part.offset, item.segment.rounded)
            for item in self.view.loaded
            if item.segment.vectors is not None
        ]
        if len(parts) < len(self.view.loaded):
            raise EmbedderError("A part of this index has no vectors. Search it with mode='lexical', or open it again.")
        return Dense(parts, embedder)

    def score(self, request: Request) -> dict[str, Scores]:
        query, terms, lexical_k, dense_k, allowed, only_ranks, reads_all, exact, _ = request
        ways: dict[str, tuple[Callable[[int], Ranking], Callable[[Positions], Floats], Callable[[], Floats]]] = {}
        if lexical_k:
            lexical = self.lexical
            ways["lexical"] = (
                lambda k: lexical.rank(terms, k, allowed),
                lambda positions: only_found(np.array(lexical.scores_at(terms, positions))),
                lambda: only_found(lexical.scores(terms, allowed)),
            )
        if dense_k:
            dense = self.dense
            ways["dense"] = (
                lambda k: dense.rank(query, k, allowed, exact=exact),
                lambda positions: dense.scores_at(query, positions),
                lambda: dense.scores(query, allowed),
            )
        live = self.lexical.live
        if (live < ALL_SCORES_BELOW and dense_k) or (live < 5 * ALL_SCORES_BELOW and reads_all):
            return {name: AllScores(score_all()) for name, (_, _, score_all) in ways.items()}
        if lexical_k and dense_k and not only_ranks and self.size < ONE_PASS_BELOW and dense.encode(query).any():
            return {
                "lexical": AllScores(ways["lexical"][2]()),
                "dense": NearScores(
                    *ways["dense"], lambda added, factor, k: dense.rank_sums(query, k, added, factor, allowed)
                ),
            }
        return {name: BestScores(*way) for name, way in ways.items()}

    def documents(self, positions: Positions) -> Positions:
        return self.view.numbers("documents", positions)

    def ids(self, positions: Positions) -> list[str]:
        if len(positions) <= FEW_IDS:  # such as those of hits that tie: their passages are read then, or were lately
            return [passage.document_id for passage in self.passages(positions)]
        return self._of_documents("SELECT num, id FROM documents WHERE num IN ({})", positions)

    def stored(self, positions: Positions) -> list[Document]:
        query = f"SELECT num, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num IN ({{}})"
        return self._of_documents(query, positions, lambda *row: to_document(row, self._connection.plain))

    def siblings(self, positions: Positions) -> list[Positions]:
        own, after = self.documents(positions), self.documents(np.minimum(positions + 1, self.size - 1))
        has_more = ((own == after) & (positions + 1 < self.size)).tolist()
        alone = positions.reshape(-1, 1)
        return [
            self._run_of_document(first) if more else alone[at]
            for at, (first, more) in enumerate(zip(positions.tolist(), has_more, strict=True))
        ]

    def _run_of_document(self, first: int) -> Positions:
        """The positions of the document that starts at a position."""
        end, size = first + 1, 8
        while end < self.size:
            document, *following = self.documents(np.arange(end - 1, min(end + size, self.size))).tolist()
            others = next((at for at, other in enumerate(following) if other != document), len(following))
            end += others
            if others < len(following):
                break
            size *= 2
        return np.arange(first, end)

    def find_documents(self, ids: Sequence[str]) -> dict[str, Located]:
        query = (
            "SELECT d.id, d.hash, min(p.num), count(*) FROM documents d JOIN passages p ON p.document = d.num "
            "WHERE d.id IN ({}) GROUP BY d.num"
        )
        found: dict[str, Located] = {}
        for batch in batched(ids, _AT_ONCE):
            for id, hash, first, count in self._connection.rows(query.format(",".join("?" * len(batch))), batch):
                start = self.view.position(first)
                found[id] = Located(np.arange(start, start + count), hash)
        return found

    def encode(self, query: str) -> Vectors:
        return self.dense.encode(query)

    def passages(self, positions: Positions) -> list[Passage]:
        numbers = self.view.numbers("passages", positions).tolist()
        recent = self.view.recent
        known = {number: columns for number in numbers if (columns := recent.get(number))}
        if missing := [number for number in numbers if number not in known]:
            read = self._read_passages(missing)
            recent.add(read)
            known |= read
        return _make_passages(map(known.__getitem__, numbers))

    def sources(self, allowed: Mask | None = None) -> set[str]:
        if allowed is None:
            return set(self.rows.column("SELECT DISTINCT iif(source = '', id, source) FROM documents"))
        permitted = self._ids_allowed(allowed)
        return {source or id for id, source, _ in self.places() if id in permitted}

    def permits(self, id: str, allowed: Mask) -> bool:
        return id in self._ids_allowed(allowed)

    def _ids_allowed(self, allowed: Mask) -> set[str]:
        return set(self.ids(np.flatnonzero(allowed & self.everything())))

    def ids_of_file(self, id: str, source: str) -> set[str]:
        return self.rows.stamped(Stamp(id, source, ""))

    def places(self) -> list[tuple[str, str, str]]:
        return self._connection.rows("SELECT id, source, locator FROM documents")

    def walk(self, allowed: Mask | None = None) -> Iterator[Passage]:
        permitted = None if allowed is None else self._ids_allowed(allowed)
        query = "SELECT num FROM passages WHERE num > ? ORDER BY num LIMIT ?"
        last = 0
        while numbers := self.rows.column(query, (last, _AT_ONCE)):
            for passage in self._list_passages(numbers):
                if permitted is None or passage.document_id in permitted:
                    yield passage
            last = numbers[-1]

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        query = (
            "SELECT p.document, p.num FROM passages p JOIN documents d ON d.num = p.document WHERE iif(d.source = '', "
            "d.id, d.source) = ? AND (p.locator = ? OR d.locator = ?) ORDER BY p.locator != ?, p.num LIMIT 1"
        )
        for document, here in self._connection.rows(query, (source, locator, locator, locator)):
            numbers = self.rows.column("SELECT num FROM passages WHERE document = ? ORDER BY num", (document,))
            at = numbers.index(here)
            return self._list_passages(numbers[max(0, at - before) : at + after + 1])
        return []

    def everything(self) -> Mask:
        mask = np.ones(self.size, dtype=bool)
        for part in self.lexical.parts:
            if part.dead is not None:
                mask[part.offset : part.offset + len(part.dead)] = ~part.dead
        return mask

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Mask:
        """The positions whose document passes a test of one metadata value, which is MISSING if it has none."""
        masks = [np.zeros(0, dtype=bool)]
        for item in self.view.loaded:
            column = item.columns.get(key)
            if column is None or column.generation > self.generation:
                stored = item.segment.columns
                column = item.columns[key] = (stored and stored.find(key)) or self._read_column(item, key)
            masks.append(np.array([test(value) for value in column.values], dtype=bool)[column.codes])
        return np.concatenate(masks)

    def _read_column(self, item: Loaded, key: str) -> Column:
        start = f'"{key.partition(".")[0]}'

        @lru_cache(10_000)  # many documents have the same metadata
        def read(metadata: str, built_in: str | None) -> Any:
            has_key = start in metadata or "\\" in metadata
            return look_up(parse_metadata(metadata) if has_key else {}, key, MISSING if built_in is None else built_in)

        query = f"SELECT num, metadata, {key if key in BUILT_IN else 'NULL'} FROM documents WHERE num IN ({{}})"
        documents, of_document = np.unique(item.segment.documents, return_inverse=True)
        values = np.full(len(documents), MISSING)  # a deleted document has no value
        for batch in batched(documents.tolist(), _AT_ONCE):
            if rows := self._connection.rows(query.format(",".join("?" * len(batch))), batch):
                numbers, *fields = zip(*rows, strict=True)
                for place, value in zip(np.searchsorted(documents, numbers).tolist(), map(read, *fields), strict=True):
                    values[place] = value
        codes, distinct, _ = encode(values.tolist())
        return Column(codes[of_document], distinct, self.generation)

    def _list_passages(self, numbers: Sequence[int]) -> list[Passage]:
        return _make_passages(map(self._read_passages(numbers).__getitem__, numbers))

    def _read_passages(self, numbers: Sequence[int]) -> dict[int, _Columns]:
        found: dict[int, _Columns] = {}
        for batch in batched(sorted(set(numbers)), _AT_ONCE):  # in their order, neighbors are read together
            rows = self._connection.rows(_select_passages(len(batch)), batch)
            if [row[0] for row in rows] != batch:
                raise sqlite3.DatabaseError("rows are missing")
            texts = self._connection.plain_many([row[4] for row in rows])
            for row, text in zip(rows, texts, strict=True):
                number, checksum, id, title, _, kind, source, locator, metadata, context = row
                found[number] = columns = (id, title, text, kind, source, locator, metadata, context)
                if checksum_passage(columns) != checksum:
                    raise sqlite3.DatabaseError("a passage does not match its checksum")
        return found

    def _of_documents(self, query: str, positions: Positions, convert: Callable[..., Any] | None = None) -> list[Any]:
        return self._select(query, self.documents(positions).tolist(), convert)

    def _select(self, query: str, numbers: Sequence[int], convert: Callable[..., Any] | None) -> list[Any]:
        """What a query finds for each number, its first column: the second column, or all others converted."""
        found: dict[int, Any] = {}
        for batch in batched(dict.fromkeys(numbers), _AT_ONCE):
            rows = self._connection.rows(query.format(",".join("?" * len(batch))), batch)
            found.update(rows if convert is None else ((number, convert(*columns)) for number, *columns in rows))
        try:
            return [found[number] for number in numbers]
        except KeyError:
            raise sqlite3.DatabaseError("rows are missing") from None


def _make_passages(rows: Iterable[_Columns]) -> list[Passage]:
    make = get_maker(Passage)
    return [
        make(id, title or id, text, kind, source, locator, parse_metadata(metadata), context)
        for id, title, text, kind, source, locator, metadata, context in rows
    ]


@lru_cache(_AT_ONCE)
def _select_passages(count: int) -> str:
    return _PASSAGES.format(",".join(["(?)"] * count))
