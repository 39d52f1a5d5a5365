"""Ranks the passages of a corpus in a cluster by meaning: the server finds candidates, exact cosines rank them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.engines.cluster_client import Search
from shortlist.index.engines.cluster_reader import Condition, PassageReader
from shortlist.index.engines.cluster_rows import direction
from shortlist.index.engines.cluster_schema import WINDOW
from shortlist.index.lexical.lexical_ranker import top
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Floats, Positions, Vectors

# Up to this number of passages all vectors are compared, as in the embedded engine; beyond, a graph finds the nearest.
COMPARED_UP_TO = 10_000


class VectorQuery:
    """Ranks by meaning."""

    def __init__(self, reader: PassageReader, embedder: Embedder) -> None:
        self._reader = reader
        self._encode = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, size: int, allowed: Condition | None, only_ranks: bool) -> Ranking:
        """The k nearest of `size` passages, and those that tie with the last; with `only_ranks` as the server ranks."""
        vector = self._encode(query)
        if not vector.any():
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        is_complete = size <= COMPARED_UP_TO
        depth = _depth(k, only_ranks)
        while True:
            hits = self._reader.hits(self._search(vector, depth, allowed, is_complete, only_ranks))
            positions = self._reader.note(hits)
            if only_ranks:
                return Ranking(positions, np.array([hit["_score"] for hit in hits], dtype=np.float64))
            scores = self._products(vector, positions)
            best = top(scores, k)
            all_seen = len(positions) < depth or depth >= WINDOW
            if all_seen or not is_complete or (k < depth and scores[best[k - 1]] > scores.min()):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def foresee(self, query: str, k: int, size: int, allowed: Condition | None, only_ranks: bool) -> list[Search]:
        """The first search of `rank`."""
        vector = self._encode(query)
        if not vector.any():
            return []
        return [self._search(vector, _depth(k, only_ranks), allowed, size <= COMPARED_UP_TO, only_ranks)]

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self._encode(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reader.fetch(positions)
        return self._products(vector, positions)

    def _search(
        self, vector: Vectors, depth: int, allowed: Condition | None, is_complete: bool, only_ranks: bool
    ) -> Search:
        dialect, wanted = self._reader.cluster.dialect, direction(vector)
        condition = None if allowed is None else allowed.query
        body = (
            {"query": dialect.compared(wanted, condition), "size": depth}
            if is_complete
            else dialect.nearest(wanted, depth, condition)
        )
        return Search(self._reader.select(body, scored=not only_ranks))

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [(at, self._reader.vectors.get(position)) for at, position in enumerate(positions.tolist())]
        there = [(at, unit) for at, unit in known if unit is not None]
        if there:
            scores[[at for at, _ in there]] = np.array([unit for _, unit in there]) @ vector
        return scores


def _depth(k: int, only_ranks: bool) -> int:
    return min(k if only_ranks else k + max(10, k // 10), WINDOW)
