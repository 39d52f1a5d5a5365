"""One committed state of a local corpus: its segments, its deleted passages, and the rows behind every position.

A position is an index into all segments together, deleted passages included; it is valid in one snapshot only.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shortlist.documents import Document, Passage, Stamp
from shortlist.index.config import Config
from shortlist.index.dense.dense_ranker import Dense, VectorPart
from shortlist.index.engine import BUILT_IN, MISSING, Drift, require_embedder
from shortlist.index.query_scores import AllScores, BestScores, Request, Scores, only_found
from shortlist.index.storage.records import (
    DOCUMENT_COLUMNS,
    batched,
    find_stamped,
    passage_checksum,
    read_document,
    to_document,
)
from shortlist.index.storage.segment_set import Column, Loaded, View
from shortlist.index.storage.sql_tables import read_last_numbers, read_segments
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Floats, Mask, Positions, Ranking

Found = TypeVar("Found")

# Below this number of passages it is faster to score all of them than to look for the best.
ALL_SCORES_BELOW = 50_000

_AT_ONCE = 500  # parameters in one statement


class Snapshot:
    """A view with the open transaction that it was read in."""

    def __init__(
        self, view: View, connection: sqlite3.Connection, embedder: Callable[[Config], Embedder | None]
    ) -> None:
        self.view = view
        self.lexical = view.lexical
        self._connection = connection
        self._embedder = embedder

    @property
    def size(self) -> int:
        """The number of positions, deleted passages included."""
        return self.view.size

    @property
    def generation(self) -> int:
        return self.view.generation

    @property
    def config(self) -> Config:
        return self.view.config

    @property
    def has_vectors(self) -> bool:
        return self.view.config.dim > 0

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder(self.view.config) if self.has_vectors else None

    @cached_property
    def dense(self) -> Dense:
        embedder = require_embedder(self._embedder(self.view.config))
        parts = [
            VectorPart(item.segment.vectors, item.part.dead, item.part.offset, item.segment.rounded)
            for item in self.view.loaded
            if item.segment.vectors is not None
        ]
        return Dense(parts, embedder)

    def score(self, request: Request) -> dict[str, Scores]:
        query, terms, words, meaning, allowed, _ = request
        ways: dict[str, tuple[Callable[[int], Ranking], Callable[[Positions], Floats], Callable[[], Floats]]] = {}
        if words:
            lexical, wanted = self.lexical, terms if isinstance(terms, Mapping) else query
            ways["lexical"] = (
                lambda k: lexical.rank(wanted, k, allowed),
                lambda positions: only_found(lexical.scores_at(terms, positions)),
                lambda: only_found(lexical.scores(terms, allowed)),
            )
        if meaning:
            dense = self.dense
            ways["dense"] = (
                lambda k: dense.rank(query, k, allowed),
                lambda positions: dense.scores_at(query, positions),
                lambda: dense.scores(query, allowed),
            )
        if self.size < ALL_SCORES_BELOW:
            return {name: AllScores(score_all()) for name, (_, _, score_all) in ways.items()}
        return {name: BestScores(*way) for name, way in ways.items()}

    def documents(self, positions: Positions) -> Positions:
        return self.view.documents(positions)

    def ids(self, positions: Positions) -> list[str]:
        numbers = self.documents(positions).tolist()
        found = dict(self._select("SELECT num, id FROM documents WHERE num IN ({})", numbers))
        return _each(found, numbers)

    def stored(self, positions: Positions) -> list[Document]:
        numbers = self.documents(positions).tolist()
        rows = self._select(f"SELECT num, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num IN ({{}})", numbers)
        return _each({number: to_document(row) for number, *row in rows}, numbers)

    def passages(self, positions: Positions) -> list[Passage]:
        return self._passages(self.view.passages(positions).tolist())

    def siblings(self, positions: Positions) -> list[Positions]:
        numbers = self.documents(positions).tolist()
        query = "SELECT document, count(*) FROM passages WHERE document IN ({}) GROUP BY document"
        counts = _each(dict(self._select(query, numbers)), numbers)
        return [np.arange(at, at + count) for at, count in zip(positions.tolist(), counts, strict=True)]

    def sources(self, allowed: Mask | None = None) -> set[str]:
        if allowed is None:
            rows = self._connection.execute("SELECT DISTINCT iif(source = '', id, source) FROM documents")
            return {source for (source,) in rows}
        permitted = self._ids_allowed(allowed)
        return {source or id for id, source, _ in self.places() if id in permitted}

    def permits(self, id: str, allowed: Mask) -> bool:
        return id in self._ids_allowed(allowed)

    def _ids_allowed(self, allowed: Mask) -> set[str]:
        return set(self.ids(np.flatnonzero(allowed & self.everything())))

    def ids_of_file(self, id: str, source: str) -> set[str]:
        return find_stamped(self._connection, Stamp(id, source, ""))

    def places(self) -> list[tuple[str, str, str]]:
        return self._connection.execute("SELECT id, source, locator FROM documents").fetchall()

    def walk(self, allowed: Mask | None = None) -> Iterator[Passage]:
        if allowed is not None:
            permitted = self._ids_allowed(allowed)
            yield from (passage for passage in self.walk() if passage.document_id in permitted)
            return
        last = 0
        while True:
            query = "SELECT num FROM passages WHERE num > ? ORDER BY num LIMIT ?"
            numbers = [number for (number,) in self._connection.execute(query, (last, _AT_ONCE))]
            if not numbers:
                return
            yield from self._passages(numbers)
            last = numbers[-1]

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        query = (
            "SELECT p.document, p.num FROM passages p JOIN documents d ON d.num = p.document WHERE iif(d.source = '', "
            "d.id, d.source) = ? AND (p.locator = ? OR d.locator = ?) ORDER BY p.locator != ?, p.num LIMIT 1"
        )
        found = self._connection.execute(query, (source, locator, locator, locator)).fetchone()
        if found is None:
            return []
        document, here = found
        rows = self._connection.execute("SELECT num FROM passages WHERE document = ? ORDER BY num", (document,))
        numbers = [number for (number,) in rows]
        at = numbers.index(here)
        return self._passages(numbers[max(0, at - before) : at + after + 1])

    def get(self, id: str) -> Document | None:
        return read_document(self._connection, id)

    def count(self) -> int:
        return count_documents(self._connection)

    def since(self, mark: dict[str, Any]) -> Drift:
        return drift_since(self._connection, mark)

    def _passages(self, numbers: Sequence[int]) -> list[Passage]:
        rows = self._select(
            "SELECT p.num, p.checksum, d.id, d.title, coalesce(p.text, d.content), d.kind, d.source, p.locator, "
            "d.metadata, p.context FROM passages p JOIN documents d ON d.num = p.document WHERE p.num IN ({})",
            numbers,
        )
        found = {}
        for number, checksum, *columns in rows:
            if passage_checksum(columns) != checksum:
                raise sqlite3.DatabaseError("a passage does not match its checksum")
            id, title, text, kind, source, locator, metadata, context = columns
            found[number] = Passage(id, title or id, text, kind, source, locator, json.loads(metadata), context)
        return _each(found, numbers)

    def everything(self) -> Mask:
        mask = np.ones(self.size, dtype=bool)
        for part in self.lexical.parts:
            if part.dead is not None:
                mask[part.offset : part.offset + len(part.dead)] = ~part.dead
        return mask

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Mask:
        """The positions whose document passes a test of one metadata value; MISSING stands for an absent one."""
        masks = [np.zeros(0, dtype=bool)]
        for item in self.view.loaded:
            column = item.columns.get(key)
            if column is None or column.generation > self.view.generation:
                column = item.columns[key] = self._column(item, key)
            masks.append(np.array([test(value) for value in column.values], dtype=bool)[column.codes])
        return np.concatenate(masks)

    def _column(self, item: Loaded, key: str) -> Column:
        values: list[Any] = [MISSING]
        codes: dict[str, int] = {}
        column = np.zeros(item.segment.size, dtype=np.int64)
        rows = self._connection.execute(
            "SELECT p.num, d.metadata, d.id, d.title, d.kind, d.source FROM passages p "
            "JOIN documents d ON d.num = p.document WHERE p.num BETWEEN ? AND ?",
            item.row[:2],
        )
        for number, metadata, *built_in in rows:
            value = _lookup(_parsed(metadata), key)
            if value is MISSING and key in BUILT_IN:
                value = built_in[BUILT_IN.index(key)]
            if value is not MISSING:
                written = json.dumps(value, sort_keys=True)
                code = codes.setdefault(written, len(values))
                if code == len(values):
                    values.append(value)
                column[np.searchsorted(item.segment.passages, number)] = code
        return Column(self.view.generation, column, values)

    def _select(self, query: str, numbers: Sequence[int]) -> list[Any]:
        rows: list[Any] = []
        for batch in batched(dict.fromkeys(numbers), _AT_ONCE):
            rows += self._connection.execute(query.format(",".join("?" * len(batch))), batch).fetchall()
        return rows


def count_documents(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def count_passages(connection: sqlite3.Connection) -> int:
    """The number of live passages, without a walk over all of them."""
    (dead,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return sum(row.size for row in read_segments(connection)) - int(dead)


def drift_since(connection: sqlite3.Connection, mark: dict[str, Any]) -> Drift:
    return Drift(read_last_numbers(connection)[1] - mark["last_passage"], count_passages(connection))


def _each(found: dict[int, Found], numbers: Sequence[int]) -> list[Found]:
    try:
        return [found[number] for number in numbers]
    except KeyError:
        raise sqlite3.DatabaseError("rows are missing") from None


def _parsed(metadata: str) -> Any:
    try:
        return json.loads(metadata)
    except ValueError as error:
        raise sqlite3.DatabaseError(f"metadata cannot be read: {error}") from None


def _lookup(metadata: dict[str, Any], key: str) -> Any:
    """A value by its key, or by a dotted path into nested mappings."""
    if key in metadata:
        return metadata[key]
    value: Any = metadata
    for step in key.split("."):
        if not isinstance(value, dict) or step not in value:
            return MISSING
        value = value[step]
    return value
