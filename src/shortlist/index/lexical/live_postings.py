"""Postings of one segment in a snapshot: without deleted passages, and with upper bounds of what each posting adds.

The bounds are every gain as a byte, and the largest ones of every block of passages. With them a query reads only the
few blocks that can contain one of its best passages. They are rounded up and depend a little on the average length;
what is found with them is scored again, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index import kernels
from shortlist.index.kernels import formulas
from shortlist.index.lexical.bm25 import FORMULAS, Scoring, norm, weighted_length
from shortlist.index.lexical.postings import Postings, freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

# A term in at least one of this many passages has bounds for every block; the postings of a rarer one are read.
FREQUENT = 64

# How far the average length may change before the bounds are too loose.
DRIFT = 1.1

# Deleted passages are searched for in a list of postings that is at least this many times as long as theirs.
SEARCHED = 8

# A query may contain hundreds of names. With this many names, most of them are ruled out before they are searched for.
FILTERED_FROM = 10_000
RANGES_PER_NAME = 16

ALL = np.zeros(0, dtype=bool)  # for the compiled loops: all passages are allowed


def locate(positions: Positions, offset: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the positions are in a part of that offset and size, and their places in the part."""
    here = np.flatnonzero((positions >= offset) & (positions < offset + size))
    return here, positions[here] - offset


def mask_live(dead: Mask | None, allowed: Mask | None) -> Mask | None:
    """Which passages are allowed and not deleted; None if all are."""
    if dead is None or allowed is None:
        return allowed if dead is None else ~dead
    return allowed & ~dead


def kernel_numbers(scoring: Scoring, average: float) -> tuple[Any, ...]:
    """The numbers of a formula: weights of fields, base and scale of the norm, code of the gain, k1 and delta."""
    formula = FORMULAS[scoring.formula]
    code = formulas.GAINS.index(formula.gain)
    return scoring.weights, *norm(scoring, average), code, scoring.k1, formula.delta


@dataclass(frozen=True, slots=True, eq=False)
class Impacts:
    """Gains of postings rounded up to bytes, for a scoring and an average length."""

    scoring: Scoring
    scale: float
    values: NDArray[np.uint8]
    frequent: NDArray[np.int64]  # places of the frequent terms among all
    maxima: NDArray[np.uint8]  # frequent terms x blocks
    skips: NDArray[np.uint32]  # frequent terms x stretches, and an end
    packed: NDArray[np.uint16]

    def __post_init__(self) -> None:
        freeze(*self.arrays().values())

    @classmethod
    def of(cls, postings: Postings, scoring: Scoring, average: float) -> Impacts:
        loops, numbers = kernels.ranking_loops, kernel_numbers(scoring, average)
        ceiling = FORMULAS[scoring.formula].ceiling(scoring.k1)
        values = loops.quantize(postings.docs, postings.tfs, postings.lengths, numbers, ceiling)
        frequent = np.flatnonzero(np.diff(postings.starts) * FREQUENT >= postings.size)
        tables = loops.tabulate(postings.docs, values, postings.starts, frequent, postings.size)
        return cls(scoring, numbers[2], values, frequent, *tables)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"impacts.{name}": getattr(self, name) for name in self.__slots__[2:]}

    def describe(self) -> dict[str, Any]:
        return {"scoring": asdict(self.scoring), "scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], described: dict[str, Any]) -> Impacts:
        scoring = Scoring.from_dict(described["scoring"])
        return cls(scoring, described["scale"], *(arrays[f"impacts.{name}"] for name in cls.__slots__[2:]))


class Terms(NamedTuple):
    """Terms in a part: their places among its keys, and where their postings start and end."""

    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class NameFilter(NamedTuple):
    """A bit for each range of keys, set if there is one: it rules out most keys that no name has."""

    bits: NDArray[np.uint8]
    shift: int

    @classmethod
    def of(cls, keys: NDArray[np.uint64]) -> NameFilter:
        shift = 64 - (RANGES_PER_NAME * len(keys)).bit_length()
        is_used = np.zeros(1 << (64 - shift), dtype=bool)
        is_used[keys >> shift] = True
        return cls(np.packbits(is_used, bitorder="little"), shift)

    def select(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        ranges = keys >> self.shift
        is_used: Mask = (self.bits[ranges >> 3] >> (ranges & 7).astype(np.uint8) & 1).astype(bool)
        return keys[is_used]


class Part:
    """Postings in a snapshot: which of their passages are deleted, and where they start among all positions."""

    def __init__(self, postings: Postings, offset: int = 0, impacts: Impacts | None = None) -> None:
        self.postings, self.offset = postings, offset
        self.live, self.length_sums = postings.size, postings.length_sums
        self.dead: Mask | None = None
        self._dead_places: NDArray[np.int64] = np.zeros(0, np.int64)
        self._lengths: dict[tuple[float, ...], Floats] = {}
        self._impacts = impacts
        self._name_filter: NameFilter | None = None
        self.workspaces: list[tuple[NDArray[Any], ...]] = []

    def without(self, gone: NDArray[np.int64], offset: int | None = None) -> Part:
        """A copy with more of its passages deleted, at the cost of those."""
        part = copy(self)
        part.offset = self.offset if offset is None else offset
        if len(gone):
            part.dead = np.zeros(self.postings.size, dtype=bool) if self.dead is None else self.dead.copy()
            gone = gone[~part.dead[gone]]
            part.dead[gone] = True
            part._dead_places = np.union1d(self._dead_places, gone)
            part.live = self.live - len(gone)
            part.length_sums = self.length_sums - self.postings.lengths[gone].sum(axis=0, dtype=np.int64)
        return part

    @property
    def span(self) -> slice:
        return slice(self.offset, self.offset + self.postings.size)

    @property
    def lists(self) -> tuple[NDArray[Any], ...]:
        """Passages, counts and lengths, as the compiled loops take them."""
        return self.postings.docs, self.postings.tfs, self.postings.lengths

    def locate(self, positions: Positions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the positions are in this part, and their places in it."""
        return locate(positions, self.offset, self.postings.size)

    def find(self, keys: NDArray[np.uint64]) -> Terms:
        """Where the postings of each key are; those of a missing key are empty."""
        postings = self.postings
        if not len(postings.keys):
            return Terms(*np.zeros((3, len(keys)), np.int64))
        at = np.minimum(np.searchsorted(postings.keys, keys), len(postings.keys) - 1)
        starts = postings.starts[at]
        return Terms(at, starts, np.where(postings.keys[at] == keys, postings.starts[at + 1], starts))

    def find_names(self, keys: NDArray[np.uint64]) -> list[int]:
        """The live passages, in order, that have a name with one of these keys."""
        names, docs = self.postings.name_keys, self.postings.name_docs
        if len(names) >= FILTERED_FROM:
            if self._name_filter is None:
                self._name_filter = NameFilter.of(names)
            keys = self._name_filter.select(keys)
        found: set[int] = set()
        for first, last in zip(names.searchsorted(keys), names.searchsorted(keys, side="right"), strict=True):
            found.update(docs[first:last].tolist())
        return [doc for doc in sorted(found) if self.dead is None or not self.dead[doc]]

    def live_df(self, terms: Terms) -> NDArray[np.int64]:
        df = terms.ends - terms.starts
        if self.dead is not None:
            for at, (start, end) in enumerate(zip(terms.starts, terms.ends, strict=True)):
                df[at] -= self._count_dead(self.dead, self.postings.docs[start:end])
        return df

    def _count_dead(self, dead: Mask, docs: NDArray[np.int32]) -> int:
        """The number of deleted passages among these, which are in ascending order."""
        if not len(docs) or len(docs) < SEARCHED * len(self._dead_places):
            return int(dead[docs].sum())
        at = np.minimum(np.searchsorted(docs, self._dead_places), len(docs) - 1)
        return int((docs[at] == self._dead_places).sum())

    def weighted_lengths(self, scoring: Scoring) -> Floats:
        if scoring.weights not in self._lengths:
            self._lengths[scoring.weights] = weighted_length(self.postings.lengths, scoring.weights)
        return self._lengths[scoring.weights]

    def impacts(self, scoring: Scoring, average: float) -> Impacts:
        """The impacts of the postings; computed again only if the average length has changed a lot."""
        scale, known = norm(scoring, average)[1], self._impacts
        if known is None or known.scoring != scoring or not scale / DRIFT <= known.scale <= scale * DRIFT:
            known = self._impacts = Impacts.of(self.postings, scoring, average)
        return known

    def borrow_workspace(self) -> tuple[NDArray[Any], ...]:
        """Arrays for `ranking_loops.best` to work in; append them to `workspaces` afterwards for later queries.

        Bounds of frequent and of all terms, slots, live blocks, blocks in order; for passages scores, the places found
        and their scores.
        """
        try:
            return self.workspaces.pop()
        except IndexError:
            loops = kernels.ranking_loops
            blocks = -(-self.postings.size // loops.BLOCK)
            sizes = (blocks, blocks, blocks, blocks + 1, blocks, *[blocks * loops.BLOCK] * 3)
            kinds = ("i4", "i4", "u4", "u4", "u4", "i4", "u4", "i4")
            workspace = tuple(np.empty(size, kind) for size, kind in zip(sizes, kinds, strict=True))
            workspace[2][:] = loops.NOWHERE
            return workspace
