"""Postings of one segment, minus deleted passages."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index import kernels
from shortlist.index.lexical.bm25 import norm, weighted_length
from shortlist.index.lexical.bounds import Impacts
from shortlist.index.lexical.postings import Postings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.index.lexical.bm25 import Scoring
    from shortlist.results import Floats, Mask, Positions

# A dead passage is looked up among postings that are so many times as many; fewer are gone through.
LOOKED_UP = 8

# All passages are allowed.
ALL = np.zeros(0, dtype=bool)


def among(positions: Positions, offset: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of some positions lie in a part of so many that begins at the offset, and at which of its places."""
    here = np.flatnonzero((positions >= offset) & (positions < offset + size))
    return here, positions[here] - offset


class Terms(NamedTuple):
    """Terms in a part: their places among its keys, and where their postings start and end."""

    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class Part:
    """Postings in a snapshot: which of their passages are dead, and where they begin among all positions."""

    def __init__(self, postings: Postings, offset: int = 0, impacts: Impacts | None = None) -> None:
        self.postings = postings
        self.offset = offset
        self.dead: Mask | None = None
        self.dead_places: NDArray[np.int64] = np.zeros(0, np.int64)
        self.live = postings.size
        self.length_sums = postings.length_sums
        self._weighted: dict[tuple[float, ...], Floats] = {}
        self._impacts = impacts
        self._rooms: list[tuple[NDArray[Any], ...]] = []

    def without(self, gone: NDArray[np.int64], offset: int | None = None) -> Part:
        """The same part with more of its passages dead, at the cost of those."""
        part = copy(self)
        part.offset = self.offset if offset is None else offset
        if len(gone):
            part.dead = np.zeros(self.postings.size, dtype=bool) if self.dead is None else self.dead.copy()
            gone = gone[~part.dead[gone]]
            part.dead[gone] = True
            part.dead_places = np.union1d(self.dead_places, gone)
            part.live = self.live - len(gone)
            part.length_sums = self.length_sums - self.postings.lengths[gone].sum(axis=0, dtype=np.int64)
        return part

    def find(self, keys: NDArray[np.uint64]) -> Terms:
        """Where the postings of each key are; an absent key's are empty."""
        postings = self.postings
        if not len(postings.keys):
            nothing = np.zeros(len(keys), np.int64)
            return Terms(nothing, nothing, nothing)
        at = np.minimum(np.searchsorted(postings.keys, keys), len(postings.keys) - 1)
        known = postings.keys[at] == keys
        starts = postings.starts[at]
        return Terms(at, starts, np.where(known, postings.starts[at + 1], starts))

    def live_df(self, terms: Terms) -> NDArray[np.int64]:
        df = terms.ends - terms.starts
        if self.dead is None:
            return df
        docs = self.postings.docs
        gone = [self._count_dead(docs[start:end]) for start, end in zip(terms.starts, terms.ends, strict=True)]
        return df - np.array(gone, dtype=np.int64)

    def _count_dead(self, docs: NDArray[np.int32]) -> int:
        """How many of these ascending passages are dead."""
        if self.dead is None or not len(docs):
            return 0
        if len(docs) < LOOKED_UP * len(self.dead_places):
            return int(self.dead[docs].sum())
        at = np.minimum(np.searchsorted(docs, self.dead_places), len(docs) - 1)
        return int((docs[at] == self.dead_places).sum())

    def weighted_lengths(self, scoring: Scoring) -> Floats:
        if scoring.weights not in self._weighted:
            self._weighted[scoring.weights] = weighted_length(self.postings.lengths, scoring.weights)
        return self._weighted[scoring.weights]

    @property
    def lists(self) -> tuple[NDArray[Any], ...]:
        """Passages, counts and lengths, as the compiled loops take them."""
        return self.postings.docs, self.postings.tfs, self.postings.lengths

    def among(self, positions: Positions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of some positions lie in this part, and at which of its places."""
        return among(positions, self.offset, self.postings.size)

    def alive(self, allowed: Mask | None) -> Mask:
        """Which passages may be found; empty if all may."""
        if self.dead is None:
            return ALL if allowed is None else allowed
        return ~self.dead if allowed is None else allowed & ~self.dead

    def impacts(self, scoring: Scoring, average: float) -> Impacts:
        """Coarse gains of the postings; the same ones until the average length has changed much."""
        if self._impacts is None or not self._impacts.suits(scoring, norm(scoring, average)[1]):
            self._impacts = Impacts.of(self.postings, scoring, average)
        return self._impacts

    def borrow_room(self) -> tuple[NDArray[Any], ...]:
        """Arrays for `ranking_loops.best` to work in; returned, they serve later queries."""
        try:
            return self._rooms.pop()
        except IndexError:
            return _make_room(self.postings.size)

    def return_room(self, room: tuple[NDArray[Any], ...]) -> None:
        self._rooms.append(room)


def _make_room(size: int) -> tuple[NDArray[Any], ...]:
    """Bounds of frequent and of all terms, slots, live blocks, blocks in order; for passages scores, the places found
    and their scores."""
    loops = kernels.ranking_loops
    blocks = -(-size // loops.BLOCK)
    passages = blocks * loops.BLOCK
    return (
        np.empty(blocks, np.int32),
        np.empty(blocks, np.int32),
        np.full(blocks, loops.NOWHERE),
        np.empty(blocks + 1, np.uint32),
        np.empty(blocks, np.uint32),
        np.empty(passages, np.int32),
        np.empty(passages, np.uint32),
        np.empty(passages, np.int32),
    )
