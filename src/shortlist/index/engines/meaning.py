"""Which passages of a corpus in a cluster mean the same? Found by the engine's vectors, compared exactly here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.engines.cluster import Search
from shortlist.index.engines.dialects import WINDOW
from shortlist.index.engines.rows import direction
from shortlist.index.lexical import top
from shortlist.types import Embedder, Ranking

if TYPE_CHECKING:
    from shortlist.index.engines.reading import Condition, Reading
    from shortlist.types import Floats, Positions, Vectors

Query = dict[str, Any]

# Up to so many passages all vectors are compared, as the embedded engine does; beyond, the graph finds the nearest.
COMPARED_UP_TO = 10_000

# The nearest so many come with their counts, since their words are looked at, too.
WITH_COUNTS = 200


class ReadMeaning:
    """Ranks by meaning."""

    def __init__(self, reading: Reading, embedder: Embedder) -> None:
        self._reading = reading
        self.embedder = embedder
        self._encoded: dict[str, Vectors] = {}

    def rank(self, query: str, k: int, allowed: Condition | None = None, exactly: int | None = None) -> Ranking:
        """The k nearest, and those that tie with the last of them; beyond `exactly` as the engine compares them."""
        vector = self._vector(query)
        if not vector.any() or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        sure = k if exactly is None else min(k, exactly)
        depth = _depth(sure)
        compared = self._reading.size <= COMPARED_UP_TO
        searches = self._searches(vector, k, sure, allowed, compared)
        while True:
            hits, *further = self._reading.hits(searches)
            positions = self._reading.note(hits)
            scores = self._products(vector, positions)
            best = top(scores, sure)
            all_seen = len(positions) < depth or depth >= WINDOW
            if all_seen or not compared or (sure < depth and scores[best[sure - 1]] > scores.min()):
                break
            depth = min(4 * depth, WINDOW)
            searches[0] = self._search(vector, depth, allowed, compared)
        best = best[np.lexsort((positions[best], -scores[best]))]
        ranking = Ranking(positions[best], scores[best])
        return self._reading.followed(ranking, further[0]) if further else ranking

    def foreseen(self, query: str, k: int, allowed: Condition | None, exactly: int | None, about: int) -> list[Search]:
        """What `rank` will ask, if there are about so many passages."""
        vector = self._vector(query)
        sure = k if exactly is None else min(k, exactly)
        return self._searches(vector, k, sure, allowed, about <= COMPARED_UP_TO) if vector.any() and k else []

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self._vector(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reading.fetch(positions, self._reading.vectors, "unit")
        return self._products(vector, positions)

    def _vector(self, query: str) -> Vectors:
        if query not in self._encoded:
            self._encoded = {query: self.embedder.encode_query(query)}
        return self._encoded[query]

    def _searches(self, vector: Vectors, k: int, sure: int, allowed: Condition | None, compared: bool) -> list[Search]:
        """The search for those that are compared exactly, and one for the others."""
        searches = [self._search(vector, _depth(sure), allowed, compared)]
        if k > sure:
            searches.append(self._search(vector, min(k, WINDOW), allowed, compared, exactly=False))
        return searches

    def _search(
        self, vector: Vectors, depth: int, allowed: Condition | None, compared: bool, exactly: bool = True
    ) -> Search:
        dialect, asked = self._reading.cluster.dialect, direction(vector)
        condition = None if allowed is None else allowed.query
        if compared:
            body: Query = {"query": dialect.compared(asked, condition), "size": depth}
        else:
            body = dialect.nearest(asked, depth, condition)
        fields = ("counts", "unit") if depth <= _depth(WITH_COUNTS) else ("unit",)
        return Search(self._reading.fetching(body, fields if exactly else ()))

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [(at, self._reading.vectors.get(position)) for at, position in enumerate(positions.tolist())]
        there = [(at, unit) for at, unit in known if unit is not None]
        if there:
            scores[[at for at, _ in there]] = np.array([unit for _, unit in there]) @ vector
        return scores


def _depth(k: int) -> int:
    return min(k + max(10, k // 10), WINDOW)
