"""Upper bounds of what a posting adds: every gain as a byte, and the largest ones of every block of passages.

With these a query looks closely at the few blocks that can hold one of its best passages, and at no others. They are
rounded up and depend a little on the average length; what is found through them is scored again, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index import kernels
from shortlist.index.kernels import formulas
from shortlist.index.lexical.bm25 import FORMULAS, Scoring, norm
from shortlist.index.lexical.postings import Postings, freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A term in one of so many passages has bounds for every block; the postings of a rarer one are looked at themselves.
FREQUENT = 64

# How far the average length may move before the bounds are too loose.
DRIFT = 1.1

ARRAYS = ("values", "frequent", "maxima", "skips", "packed")


@dataclass(frozen=True, slots=True, eq=False)
class Impacts:
    """Coarse gains of postings under a scoring, at an average length."""

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
        numbers = kernel_numbers(scoring, average)
        values = kernels.ranking_loops.quantize(
            postings.docs, postings.tfs, postings.lengths, numbers, FORMULAS[scoring.formula].ceiling(scoring.k1)
        )
        df = np.diff(postings.starts)
        frequent = np.flatnonzero(df * FREQUENT >= postings.size)
        tables = kernels.ranking_loops.tabulate(postings.docs, values, postings.starts, frequent, postings.size)
        return cls(scoring, numbers[2], values, frequent, *tables)

    def suits(self, scoring: Scoring, scale: float) -> bool:
        return self.scoring == scoring and scale / DRIFT <= self.scale <= scale * DRIFT

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"impacts.{name}": getattr(self, name) for name in ARRAYS}

    def described(self) -> dict[str, Any]:
        return {"scoring": asdict(self.scoring), "scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], described: dict[str, Any]) -> Impacts:
        scoring = Scoring.from_dict(described["scoring"])
        return cls(scoring, described["scale"], *(arrays[f"impacts.{name}"] for name in ARRAYS))


def kernel_numbers(scoring: Scoring, average: float) -> tuple[Any, ...]:
    """The numbers of a formula: weights of fields, base and scale of the norm, code of the gain, k1 and delta."""
    formula = FORMULAS[scoring.formula]
    code = formulas.GAINS.index(formula.gain)
    return scoring.weights, *norm(scoring, average), code, scoring.k1, formula.delta
