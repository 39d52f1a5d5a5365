"""The live segments, loaded once, shared by all readers of a state, and made again if they are damaged."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import CorpusError
from shortlist.index.config import Config
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.storage.database import Store
from shortlist.index.storage.segment import Segment, SegmentDamaged
from shortlist.index.storage.sql_tables import SegmentRow, read_config, read_dead, read_generation, read_segments
from shortlist.index.storage.writer import make_segment, read_passages
from shortlist.index.text.analyzers import get_analyzer
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Positions

log = logging.getLogger("shortlist")


class Column(NamedTuple):
    """One metadata key over a segment: a code for each position, the distinct values that the codes stand for.

    What is dead at `generation` is missing from it, so it serves that generation and all later ones.
    """

    generation: int
    codes: NDArray[np.int64]
    values: list[Any]


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

    @cached_property
    def size(self) -> int:
        return sum(item.segment.size for item in self.loaded)

    @cached_property
    def lexical(self) -> Lexical:
        return Lexical([item.part for item in self.loaded], get_analyzer(self.config.analyzer), self.config.scoring)

    def documents(self, positions: Positions) -> Positions:
        """The document's number at each position."""
        return self._gather(positions, lambda segment: segment.documents)

    def passages(self, positions: Positions) -> Positions:
        """The passage's number at each position."""
        return self._gather(positions, lambda segment: segment.passages)

    def _gather(self, positions: Positions, column: Callable[[Segment], Positions]) -> Positions:
        found = np.empty(len(positions), dtype=np.int64)
        for item in self.loaded:
            here, places = item.part.locate(positions)
            if len(here):
                found[here] = column(item.segment)[places]
        return found


class Views:
    """The latest view of a corpus, brought up to date at the cost of what changed since."""

    def __init__(self, store: Store, corpus: str, embedder: Callable[[Config], Embedder | None]) -> None:
        self._store = store
        self._corpus = corpus
        self._embedder = embedder
        self._latest: View | None = None
        self._rebuilt: dict[SegmentRow, Segment] = {}

    def current(self, connection: sqlite3.Connection) -> View:
        """The state that the connection sees. Raises SegmentDamaged when a file of it is not there any more."""
        previous = self._latest
        generation = read_generation(connection)
        if previous is not None and previous.generation == generation:
            return previous
        if previous is not None and previous.generation > generation:
            previous = None  # another thread has seen a later state; its dead may still be alive in this one
        known = {item.row: item for item in previous.loaded} if previous else {}
        since = previous.last_tombstone if previous else 0
        query = "SELECT num, passage FROM tombstones WHERE num > ? ORDER BY num"
        recent = connection.execute(query, (since,)).fetchall()
        fresh_dead = np.array([passage for _, passage in recent], dtype=np.int64)
        loaded: list[Loaded] = []
        offset = 0
        for row in read_segments(connection):
            item = known.get(row)
            gone = fresh_dead[(fresh_dead >= row.first) & (fresh_dead <= row.last)]
            if item is None:
                segment = self._rebuilt.get(row) or self._load(row, generation)
                item = Loaded(row, segment, Part(segment.postings, offset, segment.impacts))
                gone = read_dead(connection, row)
            if len(gone) or item.part.offset != offset:
                part = item.part.without(item.segment.places_of(gone), offset)
                item = Loaded(row, item.segment, part, item.columns)
            loaded.append(item)
            offset += item.segment.size
        last_tombstone = recent[-1][0] if recent else since
        view = View(generation, last_tombstone, read_config(connection), tuple(loaded))
        if self._latest is None or self._latest.generation < generation:
            self._latest = view
        return view

    def mend(self, damage: SegmentDamaged) -> None:
        """Make a damaged segment again, on disk or, if that cannot be written to now, for this process alone."""
        row = damage.row
        reason = f"{row.file} {damage}"
        try:
            with self._store.writing(wait=0) as connection:
                if row not in read_segments(connection):
                    return
                segment = self._remake(connection, row)
                fresh = self._store.save(segment) if segment.size else None
                self._store.name(connection, fresh, (row.first, row.last))
        except (CorpusError, OSError):
            with self._store.reading() as connection:
                if row not in read_segments(connection):
                    return
                self._rebuilt[row] = self._remake(connection, row)
        log.warning(
            "The index of corpus %r was damaged (%s); it was made again from its documents.", self._corpus, reason
        )

    def _load(self, row: SegmentRow, generation: int) -> Segment:
        try:
            return self._store.load(row)
        except SegmentDamaged as damage:
            damage.row, damage.generation = row, generation
            raise

    def _remake(self, connection: sqlite3.Connection, row: SegmentRow) -> Segment:
        config = read_config(connection)
        passages = read_passages(connection, row.first, row.last)
        return make_segment(passages, config, self._embedder(config), self._store)
