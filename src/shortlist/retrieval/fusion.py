"""Fusion of rankings. Each is an array with a score per candidate, minus infinity where it has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shortlist.results import Floats

# Cormack, Clarke and Büttcher, 2009.
RRF_K = 60


def ranks(scores: Floats) -> Floats:
    """Ranks from 1. Equal scores share the better rank; minus infinity ranks as infinity."""
    _, inverse, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    better = np.cumsum(counts) - counts
    ranked: Floats = np.where(scores == -np.inf, np.inf, better[inverse] + 1.0)
    return ranked


def reciprocal_rank(rankings: Sequence[Floats], k: int = RRF_K) -> Floats:
    """The sum of 1 / (k + rank) over the rankings; minus infinity for candidates in none of them."""
    total: Floats = np.sum([1.0 / (k + ranks(scores)) for scores in rankings], axis=0)
    return np.where(total > 0, total, -np.inf)


def blend(lexical: Floats, dense: Floats, ideal: float, share: float) -> Floats:
    """`share` times the lexical score relative to a perfect match, plus (1 - `share`) times the cosine.

    Both parts keep their absolute scale, so scores of different queries are comparable.
    """
    words = np.maximum(lexical, 0.0) / ideal if ideal > 0 else np.zeros_like(lexical)
    meaning = np.where(dense > -np.inf, dense, 0.0)
    found = (lexical > -np.inf) | (dense > -np.inf)
    return np.where(found, share * words + (1.0 - share) * meaning, -np.inf)
