"""Which passages of a corpus in a cluster mean the same? Found by the engine's vectors, compared exactly here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.engines.cluster_client import Search
from shortlist.index.engines.cluster_rows import direction
from shortlist.index.engines.dialects import WINDOW
from shortlist.index.lexical.lexical_ranker import top
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.index.engines.cluster_snapshot import Condition, Reading
    from shortlist.results import Floats, Positions, Vectors

Query = dict[str, Any]

# Up to so many passages all vectors are compared, as the embedded engine does; beyond, the graph finds the nearest.
COMPARED_UP_TO = 10_000

# The nearest so many come with their counts, since their words are looked at, too.
WITH_COUNTS = 300


class ReadMeaning:
    """Ranks by meaning."""

    def __init__(self, reading: Reading, embedder: Embedder) -> None:
        self._reading = reading
        self.embedder = embedder
        self._encoded = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, allowed: Condition | None = None, roughly: bool = False) -> Ranking:
        """The k nearest, and those that tie with the last of them; roughly means as the engine compares them."""
        vector = self._encoded(query)
        if not vector.any() or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        compared = self._reading.size <= COMPARED_UP_TO
        depth = _depth(k, roughly)
        while True:
            (hits,) = self._reading.hits([self._search(vector, depth, allowed, compared, roughly)])
            positions = self._reading.note(hits)
            if roughly:
                return Ranking(positions, np.array([hit["_score"] for hit in hits], dtype=np.float64))
            scores = self._products(vector, positions)
            best = top(scores, k)
            all_seen = len(positions) < depth or depth >= WINDOW
            if all_seen or not compared or (k < depth and scores[best[k - 1]] > scores.min()):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def foreseen(self, query: str, k: int, allowed: Condition | None, roughly: bool, about: int) -> list[Search]:
        """What `rank` will ask, if there are about so many passages."""
        vector = self._encoded(query)
        if not vector.any() or not k:
            return []
        return [self._search(vector, _depth(k, roughly), allowed, about <= COMPARED_UP_TO, roughly)]

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self._encoded(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reading.fetch(positions, self._reading.vectors, "unit")
        return self._products(vector, positions)

    def _search(self, vector: Vectors, depth: int, allowed: Condition | None, compared: bool, roughly: bool) -> Search:
        dialect, asked = self._reading.cluster.dialect, direction(vector)
        condition = None if allowed is None else allowed.query
        if compared:
            body: Query = {"query": dialect.compared(asked, condition), "size": depth}
        else:
            body = dialect.nearest(asked, depth, condition)
        fields = ("counts", "unit") if depth <= WITH_COUNTS else ("unit",)
        return Search(self._reading.fetching(body, () if roughly else fields))

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [(at, self._reading.vectors.get(position)) for at, position in enumerate(positions.tolist())]
        there = [(at, unit) for at, unit in known if unit is not None]
        if there:
            scores[[at for at, _ in there]] = np.array([unit for _, unit in there]) @ vector
        return scores


def _depth(k: int, roughly: bool) -> int:
    return min(k if roughly else k + max(10, k // 10), WINDOW)
