"""Final passage scores for a query: lexical and dense scores, blended or fused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import AllScores, Request, Scores
from shortlist.index.text.query_terms import Asked
from shortlist.results import Mode, Ranking
from shortlist.search.fusion import blend, reciprocal_rank

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.results import Floats, Positions

# Depth of each ranking in a reciprocal rank fusion; a rank beyond it adds less than a thousandth.
FUSED_DEPTH = 1000

# First depth of the lexical and dense rankings when looking for the best of their blend.
BLENDED_DEPTH = 100


class _Blend:
    """A blend of lexical and dense scores that reads only the top of both rankings (Fagin's threshold algorithm).

    A position in neither ranking scores at most the blend of their last scores, so it cannot beat a k-th best above it.
    """

    def __init__(self, lexical: Scores, dense: Scores, mix: Callable[[Floats, Floats], Floats]) -> None:
        self._lexical, self._dense, self._mix = lexical, dense, mix

    def ranking(self, k: int) -> Ranking:
        for depth in (_first_depth(k), 4 * _first_depth(k)):
            lexical, dense = self._lexical.ranking(depth), self._dense.ranking(depth)
            positions = np.union1d(lexical.positions, dense.positions)
            scores = self.at(positions)
            best = top(scores, k)
            last = lexical.scores[-1:] if len(lexical) >= depth else np.zeros(1)
            least = self._mix(last, dense.scores[-1:])[0] if len(dense) >= depth else -np.inf
            if least == -np.inf or (len(best) >= k and scores[best[k - 1]] > least):
                break
        else:
            if (everything := self.every()) is not None:
                return AllScores(everything).ranking(k)
        return Ranking(positions[best], scores[best])

    def at(self, positions: Positions) -> Floats:
        return self._mix(self._lexical.at(positions), self._dense.at(positions))

    def every(self) -> Floats | None:
        lexical, dense = self._lexical.every(), self._dense.every()
        return None if lexical is None or dense is None else self._mix(lexical, dense)


def _first_depth(k: int) -> int:
    return max(BLENDED_DEPTH, 2 * k)


def score(
    state: State, query: str, terms: Asked, mode: Mode, k: int, mask: Allowed | None, lexical_share: float
) -> tuple[dict[str, Scores], Scores]:
    """Compute the lexical and dense scores that the mode needs, and the final scores."""
    is_dense = mode in ("dense", "hybrid") or (mode == "auto" and state.has_vectors)
    depth = max(k, 1)
    if is_dense and mode != "dense":
        depth = FUSED_DEPTH if mode == "hybrid" else _first_depth(k)
    lexical, dense = 0 if mode == "dense" else depth, depth if is_dense else 0
    parts = state.score(Request(query, terms, lexical, dense, mask, only_ranks=mode == "hybrid"))
    if mode == "hybrid":
        return parts, _fuse(state, parts)
    if mode != "auto" or not is_dense:
        return parts, next(iter(parts.values()))
    mix = partial(blend, ideal=state.lexical.ideal(terms), share=lexical_share)
    by_words, by_meaning = parts["lexical"], parts["dense"]
    if isinstance(by_words, AllScores) and isinstance(by_meaning, AllScores):
        return parts, AllScores(mix(by_words.scores, by_meaning.scores))
    return parts, _Blend(by_words, by_meaning, mix)


class _Few:
    """Scores of a few positions; all others score minus infinity."""

    def __init__(self, positions: Positions, scores: Floats) -> None:
        self._positions, self._scores = positions, scores
        self._known = dict(zip(positions.tolist(), scores.tolist(), strict=True))

    def ranking(self, k: int) -> Ranking:
        best = top(self._scores, k)
        return Ranking(self._positions[best], self._scores[best])

    def at(self, positions: Positions) -> Floats:
        return np.array([self._known.get(position, -np.inf) for position in positions.tolist()], dtype=np.float64)

    def every(self) -> None:
        return None


def _fuse(state: State, parts: dict[str, Scores]) -> Scores:
    """Fuse by reciprocal ranks of documents, each at its best lexical passage, or else its best dense one."""
    best = {name: best_passages(state, part.ranking, FUSED_DEPTH) for name, part in parts.items()}
    documents = {name: state.documents(ranking.positions).tolist() for name, ranking in best.items()}
    place: dict[int, int] = {}
    for name, ranking in reversed(best.items()):
        place |= zip(documents[name], ranking.positions.tolist(), strict=True)
    rankings = []
    for name, ranking in best.items():
        found = dict(zip(documents[name], ranking.scores.tolist(), strict=True))
        rankings.append(np.array([found.get(document, -np.inf) for document in place]))
    positions = np.array(list(place.values()), dtype=np.int64)
    order = np.argsort(positions)
    scores = reciprocal_rank(rankings) if place else np.zeros(0)
    return _Few(positions[order], scores[order])


def best_passages(state: State, rank: Callable[[int], Ranking], k: int) -> Ranking:
    """The best position of each of the k best documents and of those tied with the last, best first."""
    wanted = k
    while True:
        ranking = rank(wanted)
        _, first = np.unique(state.documents(ranking.positions), return_index=True)
        if len(first) >= k or len(ranking) < wanted:
            first.sort()
            return Ranking(ranking.positions[first], ranking.scores[first])
        wanted *= 4
