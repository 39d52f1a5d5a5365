"""The weighting formulas, and how the counts of a posting are packed.

Every function works on numbers and on arrays, so numpy and the compiled loops run the same code.
"""

from __future__ import annotations

import math
from typing import Any

# A posting's counts in one number: 8 bits for the title, 8 for the keywords, 16 for the content, each saturating.
SHIFTS = (24, 16, 0)
LIMITS = (0xFF, 0xFF, 0xFFFF)


def weighted_tf(tfs: Any, weights: tuple[float, float, float]) -> Any:
    """The counts of packed postings, weighted by field."""
    return weights[0] * (tfs >> 24) + weights[1] * ((tfs >> 16) & 0xFF) + weights[2] * (tfs & 0xFFFF)


def idf_lucene(documents: int, df: int) -> float:
    return math.log(1.0 + (documents - df + 0.5) / (df + 0.5))


def idf_robertson(documents: int, df: int) -> float:
    """Never below zero: a word in more than half of the documents counts nothing rather than against them."""
    return max(0.0, math.log((documents - df + 0.5) / (df + 0.5)))


def idf_atire(documents: int, df: int) -> float:
    return math.log(documents / max(df, 0.5))  # a word that is in no passage still counts in the ideal score


def idf_bm25plus(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / max(df, 0.5))


def idf_bm25l(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / (df + 0.5))


def idf_smooth(documents: int, df: int) -> float:
    return math.log((documents + 1.0) / (df + 1.0)) + 1.0


# norm = 1 - b + b * length / average


def gain_saturated(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return tf / (tf + k1 * norm)


def gain_scaled(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return delta + (k1 + 1.0) * tf / (tf + k1 * norm)


def gain_bm25l(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    c = tf / norm + delta
    return (k1 + 1.0) * c / (k1 + c)


def gain_linear(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """For cosine: norm is the length of the document's vector, not relative to the average."""
    return tf / norm


GAINS = (gain_saturated, gain_scaled, gain_bm25l, gain_linear)  # the last one has no compiled version
IDFS = (idf_lucene, idf_robertson, idf_atire, idf_bm25plus, idf_bm25l)
