"""Which passages mean the same? Exact cosine over the unit vectors of every live passage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from shortlist.index.lexical import top
from shortlist.types import Embedder, Ranking

if TYPE_CHECKING:
    from shortlist.types import Floats, Mask, Vectors


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """For products as small as ours, waking a second thread takes longer than the product: 8 ms against 0.5."""
    return ThreadpoolController()


class VectorPart(NamedTuple):
    """Vectors in a snapshot: which of their passages are dead, and where they begin among all positions."""

    vectors: Vectors
    dead: Mask | None = None
    offset: int = 0


class Dense:
    """Ranks by meaning."""

    def __init__(self, parts: Sequence[VectorPart], embedder: Embedder) -> None:
        self.parts = parts
        self.embedder = embedder
        self.size = sum(len(part.vectors) for part in parts)

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        scores = self.scores(query, allowed)
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def scores(self, query: str, allowed: Mask | None = None) -> Floats:
        """The cosine of every position; minus infinity where nothing is alive, allowed or known of the query."""
        scores = np.full(self.size, -np.inf)
        vector = self.embedder.encode_query(query)
        if not vector.any():
            return scores
        with _blas().limit(limits=1, user_api="blas"):
            for vectors, dead, offset in self.parts:
                here = scores[offset : offset + len(vectors)]
                here[:] = vectors @ vector
                if dead is not None:
                    here[dead] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        return scores
