"""The dense ranker: exact cosine over the unit vectors of every live passage.

Where there are many, rounded ones tell which may be the nearest, and only those are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from shortlist.index.dense.quantized import Rounded
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.lexical.live_postings import among
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Floats, Mask, Positions, Vectors


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """For products as small as ours, waking a second thread takes longer than the product: 8 ms against 0.5."""
    return ThreadpoolController()


# Of fewer vectors for each that is wanted, all are compared.
ROUNDED_FOR_EACH = 20


class VectorPart(NamedTuple):
    """Vectors in a snapshot: which of their passages are dead, and where they begin among all positions."""

    vectors: Vectors
    dead: Mask | None = None
    offset: int = 0
    rounded: Rounded | None = None


class Dense:
    """Ranks by meaning."""

    def __init__(self, parts: Sequence[VectorPart], embedder: Embedder) -> None:
        self.parts = parts
        self.embedder = embedder
        self.size = sum(len(part.vectors) for part in parts)
        self._encoded = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        """The k nearest, and all that tie with the last."""
        vector = self._encoded(query)
        positions, scores = np.zeros(0, np.int64), np.zeros(0)
        if not vector.any():
            return Ranking(positions, scores)
        for part in self.parts:
            alive = None if allowed is None else allowed[part.offset : part.offset + len(part.vectors)]
            if part.dead is not None:
                alive = ~part.dead if alive is None else alive & ~part.dead
            places, products = _nearest(part, vector, k, alive)
            positions = np.concatenate([positions, places + part.offset])
            scores = np.concatenate([scores, products])
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def scores_at(self, query: str, positions: Positions) -> Floats:
        """The cosine of some positions that are alive; minus infinity where nothing of the query is known."""
        scores = np.full(len(positions), -np.inf)
        vector = self._encoded(query)
        if vector.any():
            for part in self.parts:
                here, places = among(positions, part.offset, len(part.vectors))
                scores[here] = part.vectors[places] @ vector
        return scores

    def scores(self, query: str, allowed: Mask | None = None) -> Floats:
        """The cosine of every position; minus infinity where nothing is alive, allowed or known of the query."""
        scores = np.full(self.size, -np.inf)
        vector = self._encoded(query)
        if not vector.any():
            return scores
        with _blas().limit(limits=1, user_api="blas"):
            for vectors, dead, offset, _ in self.parts:
                here = scores[offset : offset + len(vectors)]
                here[:] = vectors @ vector
                if dead is not None:
                    here[dead] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        return scores


def _nearest(part: VectorPart, vector: Vectors, k: int, alive: Mask | None) -> tuple[Positions, Floats]:
    """Places among which are those of a part that belong to the nearest k, in order, and their exact products."""
    if part.rounded is not None and k * ROUNDED_FOR_EACH < len(part.vectors):
        return part.rounded.nearest(part.vectors, vector, k, np.zeros(0, dtype=bool) if alive is None else alive)
    with _blas().limit(limits=1, user_api="blas"):
        products = part.vectors @ vector
    places = np.arange(len(products)) if alive is None else np.flatnonzero(alive)
    return places, products[places].astype(np.float64)
