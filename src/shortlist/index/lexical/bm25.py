"""The weighting formulas by name, and their parameters.

A score is the sum over the terms that query and passage share of `idf * gain`.

BM25 variants as compared by Kamphuis et al., "Which BM25 do you mean?", ECIR 2020; BM25L and BM25+ by Lv and Zhai,
2011, summed over shared terms as in their papers. Fields are weighted before saturation (Robertson, Zaragoza and
Taylor, 2004): a word in a title of weight 2 counts, in tf and in length, as two words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shortlist.errors import InputError
from shortlist.index.kernels import formulas

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIELDS = ("title", "keywords", "content")


class Formula(NamedTuple):
    idf: Callable[[int, int], float]
    gain: Callable[[Any, Any, float, float], Any]
    delta: float = 0.0

    @property
    def is_cosine(self) -> bool:
        return self.gain is formulas.gain_linear

    def ceiling(self, k1: float) -> float:
        """The upper limit of the gain; infinite for cosine, whose sum is at most 1 already."""
        return math.inf if self.is_cosine else float(self.gain(1e18, 1.0, k1, self.delta))


FORMULAS = {
    "lucene": Formula(formulas.idf_lucene, formulas.gain_saturated),
    "robertson": Formula(formulas.idf_robertson, formulas.gain_saturated),
    "okapi": Formula(formulas.idf_lucene, formulas.gain_scaled),  # Robertson's, with the 1 that makes idf positive
    "atire": Formula(formulas.idf_atire, formulas.gain_scaled),
    "bm25+": Formula(formulas.idf_bm25plus, formulas.gain_scaled, delta=1.0),
    "bm25l": Formula(formulas.idf_bm25l, formulas.gain_bm25l, delta=0.5),
    "tfidf": Formula(formulas.idf_smooth, formulas.gain_linear),
}


@dataclass(frozen=True, slots=True)
class Scoring:
    """A formula with its parameters; `weights` are those of title, keywords and content.

    The defaults are those of bm25s and most papers, for who wants to compare. A corpus uses CORPUS_SCORING.
    """

    formula: str = "lucene"
    k1: float = 1.5
    b: float = 0.75
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Scoring:
        return cls(**{**values, "weights": tuple(values["weights"])})

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            raise InputError(f"{self.formula!r} is not a formula. Use one of {', '.join(FORMULAS)}.")
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise InputError(f"k1 must be 0 or more and b between 0 and 1, not k1={self.k1}, b={self.b}.")
        if len(self.weights) != len(FIELDS) or min(self.weights) < 0 or not any(self.weights):
            raise InputError(f"weights must be 0 or more, one each for {', '.join(FIELDS)}, not {self.weights!r}.")


# What a corpus uses, unless it is created with another scoring. A tool's name says more than its prose: nDCG@10 rises
# on 7 of 10 sets and falls on one against weights of 1. With a k1 of 1.2 instead of 1.5 long questions over many
# passages gain .007, tools lose .003 at most.
CORPUS_SCORING = Scoring(k1=1.2, weights=(2.0, 1.5, 1.0))


def norm(scoring: Scoring, average: float) -> tuple[float, float]:
    """The summand and the factor of a length when it normalizes a count."""
    if FORMULAS[scoring.formula].is_cosine:
        return 0.0, 1.0
    return 1.0 - scoring.b, scoring.b / (average or 1.0)


def weighted_length(lengths: NDArray[np.int32], weights: tuple[float, float, float]) -> NDArray[np.float64]:
    """The lengths of passages, weighted by field; added in the order of the compiled loops, so that all are equal."""
    weighted: NDArray[np.float64] = weights[0] * lengths[:, 0] + weights[1] * lengths[:, 1] + weights[2] * lengths[:, 2]
    return weighted
