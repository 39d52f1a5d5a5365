"""Postings of one segment in a snapshot: without deleted passages, and with upper bounds of what each posting adds.

The bounds are every gain as a byte, and the largest ones of every block of passages. With them a query reads only the
few blocks that can contain one of its best passages. They are rounded up and depend a little on the average length;
what is found with them is scored again, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.kernels import formulas
from shortlist.index.kernels.library import at
from shortlist.index.kernels.ranking_loops import STRETCH, Numbers, describe, quantize, tabulate
from shortlist.index.lexical.bm25 import FORMULAS, Scoring, norm
from shortlist.index.lexical.postings import Postings, freeze, is_ascending

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask, Positions

# A term in at least one of this many passages has bounds for every block; the postings of a rarer one are read.
FREQUENT = 64

_TYPES: tuple[type[np.generic], ...] = (np.uint8, np.int64, np.uint8, np.uint32, np.uint16)  # of the arrays of impacts

# How far the average length may change before the bounds are too loose.
DRIFT = 1.1


def locate(positions: Positions, offset: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the positions are in a part of that offset and size, and their places in the part."""
    here = np.flatnonzero((positions >= offset) & (positions < offset + size))
    return here, positions[here] - offset


def mask_live(dead: Mask | None, allowed: Mask | None) -> Mask | None:
    """Which passages are allowed and not deleted; None if all are."""
    if dead is None or allowed is None:
        return allowed if dead is None else ~dead
    return allowed & ~dead


def kernel_numbers(scoring: Scoring, average: float) -> Numbers:
    formula = FORMULAS[scoring.formula]
    code = formulas.GAINS.index(formula.gain)
    return Numbers(scoring.weights, *norm(scoring, average), code, scoring.k1, formula.delta)


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
    addresses: tuple[int, ...] = field(init=False)  # of the arrays, in their order

    def __post_init__(self) -> None:
        arrays = list(self.arrays().values())
        freeze(*arrays)
        object.__setattr__(self, "addresses", tuple(map(at, arrays, _TYPES)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have other addresses."""
        return Impacts, (self.scoring, self.scale, *self.arrays().values())

    @classmethod
    def of(cls, postings: Postings, scoring: Scoring, average: float) -> Impacts:
        numbers, ceiling = kernel_numbers(scoring, average), FORMULAS[scoring.formula].ceiling(scoring.k1)
        struct = describe(postings)
        values = quantize(struct, numbers, ceiling)
        frequent = np.flatnonzero(np.diff(postings.starts) * FREQUENT >= postings.size)
        sizes = postings.starts[frequent + 1] - postings.starts[frequent]
        return cls(scoring, numbers.scale, values, frequent, *tabulate(struct, values, frequent, int(sizes.sum())))

    def find_fault(self, postings: Postings) -> str:
        """What no impacts of these postings can contain; empty if there is nothing."""
        terms = self.frequent
        if not is_ascending(terms) or (len(terms) and (terms[0] < 0 or terms[-1] >= len(postings.keys))):
            return "has wrong frequent terms"
        steps = np.diff(self.skips.astype(np.int64), axis=1)
        if (steps < 0).any() or (steps > STRETCH).any() or (self.packed >> 8 >= STRETCH).any():
            return "has wrong places of frequent terms"
        ends = np.cumsum(postings.starts[terms + 1] - postings.starts[terms])
        if not np.array_equal(self.skips[:, -1], ends) or not np.array_equal(self.skips[1:, 0], ends[:-1]):
            return "has wrong places of frequent terms"
        if len(self.packed) != (ends[-1] if len(ends) else 0) or self.skips[:1, 0].any():
            return "has wrong places of frequent terms"
        return ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"impacts.{name}": getattr(self, name) for name in self.__slots__[2:-1]}

    def describe(self) -> dict[str, Any]:
        return {"scoring": asdict(self.scoring), "scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], described: dict[str, Any]) -> Impacts:
        scoring = Scoring.from_dict(described["scoring"])
        return cls(scoring, float(described["scale"]), *(arrays[f"impacts.{name}"] for name in cls.__slots__[2:-1]))


class Part:
    """Postings in a snapshot: which of their passages are deleted, and where they start among all positions."""

    def __init__(self, postings: Postings, offset: int = 0, impacts: Impacts | None = None) -> None:
        self.postings, self.offset = postings, offset
        self.live, self.length_sums = postings.size, postings.length_sums
        self.dead: Mask | None = None
        self.dead_places: NDArray[np.int64] = np.zeros(0, np.int64)
        # Of the compiled loops, shared by all copies: its description, a filter of its names, and memory to work in.
        self.struct: Any = None
        self.name_filter: NDArray[np.uint64] | None = None
        self.scratch: list[tuple[Any, int]] = []
        self._impacts = impacts

    def without(self, gone: NDArray[np.int64], offset: int | None = None) -> Part:
        """A copy with more of its passages deleted, at the cost of those."""
        part = copy(self)
        part.offset = self.offset if offset is None else offset
        if len(gone):
            part.dead = np.zeros(self.postings.size, dtype=bool) if self.dead is None else self.dead.copy()
            gone = gone[~part.dead[gone]]
            part.dead[gone] = True
            part.dead_places = np.sort(np.concatenate([self.dead_places, gone]))
            part.live = self.live - len(gone)
            part.length_sums = self.length_sums - self.postings.lengths[gone].sum(axis=0, dtype=np.int64)
        return part

    def detach(self) -> Part:
        """A copy without what the compiled loops have, which cannot leave this process."""
        part = copy(self)
        part.struct, part.name_filter, part.scratch = None, None, []
        return part

    @property
    def span(self) -> slice:
        return slice(self.offset, self.offset + self.postings.size)

    def locate(self, positions: Positions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the positions are in this part, and their places in it."""
        return locate(positions, self.offset, self.postings.size)

    def impacts(self, scoring: Scoring, average: float) -> Impacts:
        """The impacts of the postings; computed again only if the average length has changed a lot."""
        scale, known = norm(scoring, average)[1], self._impacts
        is_other = known is None or (known.scoring is not scoring and known.scoring != scoring)
        if known is None or is_other or not scale / DRIFT <= known.scale <= scale * DRIFT:
            known = self._impacts = Impacts.of(self.postings, scoring, average)
        return known
