"""The dense ranker: exact cosine over the unit vectors of every live passage.

With many vectors, a copy rounded to bytes, a quarter of the size, bounds every product with a query. How far rounding
moved each vector is stored with it, so each product has an upper and a lower bound, and only vectors that may be among
the nearest are compared exactly: some dozens for ten hits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.kernels import vector_loops
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.lexical.live_postings import locate, mask_live
from shortlist.index.lexical.postings import freeze
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions, Vectors

# With fewer vectors per wanted hit, all are compared.
ROUNDED_FOR_EACH = 20


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """The signs of vectors after a rotation, in blocks, and for each a factor: they estimate its products."""

    codes: NDArray[np.uint8]
    factors: NDArray[np.float32]

    def __post_init__(self) -> None:
        freeze(self.codes, self.factors)

    @classmethod
    def of(cls, vectors: Vectors) -> Sketches:
        return cls(*vector_loops.sketch(np.ascontiguousarray(vectors)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"sketches.codes": self.codes, "sketches.factors": self.factors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Sketches | None:
        return cls(arrays["sketches.codes"], arrays["sketches.factors"]) if "sketches.codes" in arrays else None


@dataclass(frozen=True, slots=True, eq=False)
class RoundedVectors:
    """Vectors in bytes and, for each, the value of one step, how far it was moved, and its length."""

    codes: NDArray[np.int8]
    facts: NDArray[np.float32]

    def __post_init__(self) -> None:
        freeze(self.codes, self.facts)

    @classmethod
    def of(cls, vectors: Vectors) -> RoundedVectors:
        return cls(*vector_loops.round_vectors(np.ascontiguousarray(vectors)))

    def nearest(
        self,
        vectors: Vectors,
        query: Vectors,
        k: int,
        alive: Mask | None,
        added: Floats | None = None,
        factor: float = 1.0,
        sketches: Sketches | None = None,
    ) -> tuple[Positions, Floats]:
        """Places that include the k nearest and all that tie with the last, and their exact products with the query.

        `vectors` are those that were rounded. See `vector_loops.nearest` for sums with what is `added`. With
        `sketches` about one in a hundred may be missing.
        """
        query = np.ascontiguousarray(query)
        estimates = None if sketches is None else (sketches.codes, sketches.factors)
        return vector_loops.nearest(self.codes, self.facts, vectors, query, k, alive, added, factor, estimates)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"rounded.codes": self.codes, "rounded.facts": self.facts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RoundedVectors | None:
        return cls(arrays["rounded.codes"], arrays["rounded.facts"]) if "rounded.codes" in arrays else None


class VectorPart(NamedTuple):
    """Vectors in a snapshot: which of their passages are deleted, and where they start among all positions."""

    vectors: Vectors
    dead: Mask | None = None
    offset: int = 0
    rounded: RoundedVectors | None = None

    def nearest(
        self, vector: Vectors, k: int, alive: Mask | None, added: Floats | None = None, factor: float = 1.0
    ) -> tuple[Positions, Floats]:
        """Places that include those of the nearest k, and their exact products."""
        if self.rounded is not None and k * ROUNDED_FOR_EACH < len(self.vectors):
            return self.rounded.nearest(self.vectors, vector, k, alive, added, factor)
        products = vector_loops.multiply(self.vectors, vector)
        places = np.arange(len(products)) if alive is None else np.flatnonzero(alive)
        return places, products[places]


class Dense:
    """Ranks by the similarity of vectors."""

    def __init__(self, parts: Sequence[VectorPart], embedder: Embedder) -> None:
        self.parts, self.embedder = parts, embedder
        self.size = sum(len(part.vectors) for part in parts)
        self.encode = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        """The k nearest, and all that tie with the last."""
        vector = self.encode(query)
        if not vector.any():
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        found = self._nearest(vector, k, allowed)
        best = top(found.scores, k)
        return Ranking(found.positions[best], found.scores[best])

    def rank_sums(self, query: str, k: int, added: Floats, factor: float, allowed: Mask | None = None) -> Ranking:
        """Positions in order, with their cosines, that include those of the k highest sums, with all ties.

        A sum is the number `added` at a position and `factor` times its cosine. The nearest position and all that tie
        with it are also included.
        """
        found = self._nearest(self.encode(query), k, allowed, added, factor)
        order = np.argsort(found.positions)
        return Ranking(found.positions[order], found.scores[order])

    def _nearest(
        self, vector: Vectors, k: int, allowed: Mask | None, added: Floats | None = None, factor: float = 1.0
    ) -> Ranking:
        positions, scores = [np.zeros(0, np.int64)], [np.zeros(0)]
        for part in self.parts:
            here = slice(part.offset, part.offset + len(part.vectors))
            alive = mask_live(part.dead, None if allowed is None else allowed[here])
            places, products = part.nearest(vector, k, alive, None if added is None else added[here], factor)
            positions.append(places + part.offset)
            scores.append(products)
        return Ranking(np.concatenate(positions), np.concatenate(scores))

    def scores_at(self, query: str, positions: Positions) -> Floats:
        """The cosine of some live positions; minus infinity if the query has no vector."""
        scores = np.full(len(positions), -np.inf)
        vector = self.encode(query)
        if vector.any():
            for part in self.parts:
                here, places = locate(positions, part.offset, len(part.vectors))
                scores[here] = vector_loops.multiply(part.vectors[places], vector)
        return scores

    def scores(self, query: str, allowed: Mask | None = None) -> Floats:
        """The cosine of every position; minus infinity if it is deleted or not allowed or the query has no vector."""
        scores = np.full(self.size, -np.inf)
        vector = self.encode(query)
        if not vector.any():
            return scores
        for vectors, dead, offset, _ in self.parts:
            here = scores[offset : offset + len(vectors)]
            here[:] = vector_loops.multiply(vectors, vector)
            if dead is not None:
                here[dead] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        return scores
