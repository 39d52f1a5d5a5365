"""The dense ranker: cosines of the unit vectors of live passages.

With many vectors, a copy rounded to bytes, a quarter of the size, bounds every product with a query. How far rounding
moved each vector is stored with it, so each product has an upper and a lower bound, and only vectors that may be among
the nearest are compared exactly: some dozens for ten hits.

With very many vectors, one bit per dimension estimates every product first, and only vectors that are likely among the
nearest are bounded: some hundreds for ten hits. Unless a search asks for all, about one of a hundred may be missing.
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

# With at least this many vectors, of at least this many dimensions, products are estimated from signs. With fewer, all
# bounds take at most 3 ms (256 dimensions).
SIGNS_FROM, LEAST_SIGNS = 100_000, 64


class Wanted(NamedTuple):
    """The k nearest vectors or, if something is `added`, the k highest sums of it and `factor` times the product.

    Unless `exact`, about one of a hundred may be missing where there are many.
    """

    vector: Vectors
    k: int
    alive: Mask | None = None  # where it may be, of those that are searched
    added: Floats | None = None
    factor: float = 1.0
    exact: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RoundedVectors:
    """Vectors in bytes and, for each, the value of one step, how far it was moved, and its length.

    Of many vectors, it also has the signs after a rotation, in blocks, and for each a factor: they estimate products.
    """

    codes: NDArray[np.int8]
    facts: NDArray[np.float32]
    signs: NDArray[np.uint8] | None = None
    factors: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        freeze(*self.arrays().values())

    @classmethod
    def of(cls, vectors: Vectors) -> RoundedVectors:
        vectors = np.ascontiguousarray(vectors)
        has_signs = len(vectors) >= SIGNS_FROM and vectors.shape[1] >= LEAST_SIGNS
        signs, factors = vector_loops.take_signs(vectors) if has_signs else (None, None)
        return cls(*vector_loops.round_vectors(vectors), signs, factors)

    def nearest(self, vectors: Vectors, wanted: Wanted) -> tuple[Positions, Floats]:
        """Places that include those wanted and all that tie with the last, and their exact products.

        `vectors` are those that were rounded. See `vector_loops.nearest` for sums.
        """
        query, k, alive, added, factor, exact = wanted
        signs, factors = (None, None) if exact else (self.signs, self.factors)
        query = np.ascontiguousarray(query)
        return vector_loops.nearest(self.codes, self.facts, vectors, query, k, alive, added, factor, signs, factors)

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.facts).all() and (self.factors is None or np.isfinite(self.factors).all()))

    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {name: getattr(self, name) for name in ("codes", "facts", "signs", "factors")}
        return {f"rounded.{name}": array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RoundedVectors | None:
        if "rounded.codes" not in arrays:
            return None
        codes, facts = arrays["rounded.codes"], arrays["rounded.facts"]
        if "rounded.signs" not in arrays:
            return cls(codes, facts)
        return cls(codes, facts, arrays["rounded.signs"], arrays["rounded.factors"])


class VectorPart(NamedTuple):
    """Vectors in a snapshot: which of their passages are deleted, and where they start among all positions."""

    vectors: Vectors
    dead: Mask | None = None
    offset: int = 0
    rounded: RoundedVectors | None = None

    def nearest(self, wanted: Wanted) -> tuple[Positions, Floats]:
        """Places that include those wanted, and their exact products."""
        if self.rounded is not None and wanted.k * ROUNDED_FOR_EACH < len(self.vectors):
            return self.rounded.nearest(self.vectors, wanted)
        products = vector_loops.multiply(self.vectors, wanted.vector)
        places = np.arange(len(products)) if wanted.alive is None else np.flatnonzero(wanted.alive)
        return places, products[places]


class Dense:
    """Ranks by the similarity of vectors."""

    def __init__(self, parts: Sequence[VectorPart], embedder: Embedder) -> None:
        self.parts, self.embedder = parts, embedder
        self.size = sum(len(part.vectors) for part in parts)
        self.encode = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, allowed: Mask | None = None, *, exact: bool = False) -> Ranking:
        """The k nearest, and all that tie with the last. Unless `exact`, some may be missing where there are many."""
        vector = self.encode(query)
        if not vector.any():
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        found = self._nearest(Wanted(vector, k, allowed, exact=exact))
        best = top(found.scores, k)
        return Ranking(found.positions[best], found.scores[best])

    def rank_sums(self, query: str, k: int, added: Floats, factor: float, allowed: Mask | None = None) -> Ranking:
        """Positions in order, with their cosines, that include those of the k highest sums, with all ties.

        A sum is the number `added` at a position and `factor` times its cosine. The nearest position and all that tie
        with it are also included.
        """
        found = self._nearest(Wanted(self.encode(query), k, allowed, added, factor, exact=True))
        order = np.argsort(found.positions)
        return Ranking(found.positions[order], found.scores[order])

    def _nearest(self, wanted: Wanted) -> Ranking:
        positions, scores = [np.zeros(0, np.int64)], [np.zeros(0)]
        for part in self.parts:
            here = slice(part.offset, part.offset + len(part.vectors))
            alive = mask_live(part.dead, None if wanted.alive is None else wanted.alive[here])
            added = None if wanted.added is None else wanted.added[here]
            places, products = part.nearest(wanted._replace(alive=alive, added=added))
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
