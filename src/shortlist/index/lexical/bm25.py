"""What is a match worth? The weighting formulas, each with its source.

A score is the sum over the terms that query and passage share of `idf * gain`. Every gain works on a number and on an
array alike, so the numpy path and the compiled loops run the same lines.

BM25 variants as compared by Kamphuis et al., "Which BM25 do you mean?", ECIR 2020; BM25L and BM25+ by Lv and Zhai,
2011, summed over shared terms as in their papers. Fields are weighted before saturation (Robertson, Zaragoza and
Taylor, 2004): a word in a title of weight 2 counts, in tf and in length, as two words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from shortlist.errors import InputError

FIELDS = ("title", "keywords", "content")


def idf_lucene(documents: int, df: int) -> float:
    return math.log(1.0 + (documents - df + 0.5) / (df + 0.5))


def idf_robertson(documents: int, df: int) -> float:
    """Never below zero: a word in more than half of the documents says nothing rather than something wrong."""
    return max(0.0, math.log((documents - df + 0.5) / (df + 0.5)))


def idf_atire(documents: int, df: int) -> float:
    return math.log(documents / max(df, 0.5))  # a word that no passage holds still weighs in what is ideal


def idf_bm25plus(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / max(df, 0.5))


def idf_bm25l(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / (df + 0.5))


def idf_smooth(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / (df + 1.0)) + 1.0


# tf and norm are numbers in the compiled loops and arrays in the numpy path; norm = 1 - b + b * length / average.


def gain_saturated(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return tf / (tf + k1 * norm)


def gain_scaled(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return (k1 + 1.0) * tf / (tf + k1 * norm)


def gain_bm25plus(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return delta + (k1 + 1.0) * tf / (tf + k1 * norm)


def gain_bm25l(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    c = tf / norm + delta
    return (k1 + 1.0) * c / (k1 + c)


def gain_linear(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """For cosine: norm is the length of the document's vector, not a share of the average."""
    return tf / norm


class Formula(NamedTuple):
    idf: Callable[[int, int], float]
    gain: Callable[[Any, Any, float, float], Any]
    delta: float = 0.0

    def ceiling(self, k1: float) -> float:
        """The gain that no number of occurrences exceeds; for cosine the sum is at most 1 already."""
        return math.inf if self.gain is gain_linear else float(self.gain(1e18, 1.0, k1, self.delta))


FORMULAS = {
    "lucene": Formula(idf_lucene, gain_saturated),
    "robertson": Formula(idf_robertson, gain_saturated),
    "okapi": Formula(idf_lucene, gain_scaled),  # Robertson's, with the 1 that keeps frequent words above zero
    "atire": Formula(idf_atire, gain_scaled),
    "bm25+": Formula(idf_bm25plus, gain_bm25plus, delta=1.0),
    "bm25l": Formula(idf_bm25l, gain_bm25l, delta=0.5),
    "tfidf": Formula(idf_smooth, gain_linear),
}


@dataclass(frozen=True, slots=True)
class Scoring:
    """A formula with its numbers; `weights` are those of title, keywords and content."""

    formula: str = "lucene"
    k1: float = 1.5
    b: float = 0.75
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Scoring:
        return cls(**{**values, "weights": tuple(values["weights"])})

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            raise InputError(f"There is no formula {self.formula!r}; the known ones are {', '.join(FORMULAS)}.")
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise InputError(f"k1 must be 0 or more and b between 0 and 1, not k1={self.k1}, b={self.b}.")
        if len(self.weights) != len(FIELDS) or min(self.weights) < 0 or not any(self.weights):
            raise InputError(f"weights are three numbers, for {', '.join(FIELDS)}, 0 or more, not {self.weights!r}.")
