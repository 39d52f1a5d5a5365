"""Final passage scores for a query: lexical and dense scores, blended or fused.

A ranking is an array with a score for each candidate, minus infinity where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.embedders.cosine_scale import CosineScale
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import AllScores, NearScores, Request, Scores
from shortlist.index.text.query_terms import TermWeights
from shortlist.results import Mode, Ranking

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.results import Floats, Positions

# Depth of each ranking in a reciprocal rank fusion; a rank beyond it adds less than a thousandth.
FUSED_DEPTH = 1000

# First depth of the lexical and dense rankings when looking for the best of their blend.
BLENDED_DEPTH = 100

# Cormack, Clarke and Büttcher, 2009.
RRF_K = 60


class _Blend:
    """A blend of lexical and dense scores that reads only the top of both rankings (Fagin's threshold algorithm).

    A position in neither ranking scores at most the blend of their last scores, so it cannot beat a k-th best above it.
    """

    def __init__(self, lexical: Scores, dense: Scores, mix: Callable[[Floats, Floats], Floats]) -> None:
        self._lexical, self._dense, self._mix = lexical, dense, mix

    def ranking(self, k: int) -> Ranking:
        for depth in (_first_depth(k), 4 * _first_depth(k)):
            lexical, dense = self._lexical.ranking(depth), self._dense.ranking(depth)
            positions = _unite(lexical.positions, dense.positions)
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


class _OnePassBlend:
    """A blend of all lexical scores with the dense scores that can be among the best with them."""

    def __init__(
        self,
        lexical: AllScores,
        dense: NearScores,
        mix: Callable[[Floats, Floats], Floats],
        added: Floats,
        factor: float,
    ) -> None:
        self._lexical, self._dense, self._mix, self._added, self._factor = lexical, dense, mix, added, factor
        self._deepest: tuple[int, Ranking] | None = None

    def ranking(self, k: int) -> Ranking:
        if self._deepest is None or k > self._deepest[0]:
            near = self._dense.ranking_of_sums(self._added, self._factor, k)
            scores = self._mix(self._lexical.at(near.positions), near.scores)
            best = top(scores, k)
            self._deepest = k, Ranking(near.positions[best], scores[best])
        return self._deepest[1].cut(k)

    def at(self, positions: Positions) -> Floats:
        return self._mix(self._lexical.at(positions), self._dense.at(positions))

    def every(self) -> Floats | None:
        dense = self._dense.every()
        return None if dense is None else self._mix(self._lexical.scores, dense)


def _unite(first: Positions, second: Positions) -> Positions:
    """The distinct positions in order. NumPy's own function loads masked arrays, which takes some milliseconds."""
    both = np.sort(np.concatenate((first, second)))
    return both[np.flatnonzero(np.diff(both, prepend=-1))]


def _first_depth(k: int) -> int:
    return max(BLENDED_DEPTH, 2 * k)


def score(
    state: State,
    query: str,
    terms: TermWeights,
    mode: Mode,
    k: int,
    mask: Allowed | None,
    lexical_share: float,
    scale: CosineScale,
    *,
    reads_all: bool = False,
    exact: bool = False,
) -> tuple[dict[str, Scores], Scores]:
    """Compute the lexical and dense scores that the mode needs, and the final scores."""
    is_dense = mode in ("dense", "hybrid") or (mode == "auto" and state.has_vectors)
    depth = max(k, 1)
    if is_dense and mode != "dense":
        depth = FUSED_DEPTH if mode == "hybrid" else _first_depth(k)
    lexical, dense = 0 if mode == "dense" else depth, depth if is_dense else 0
    parts = state.score(Request(query, terms, lexical, dense, mask, mode == "hybrid", reads_all, exact, k))
    if mode == "hybrid":
        return parts, _fuse(state, parts)
    if mode != "auto" or not is_dense:
        return parts, next(iter(parts.values()))
    ideal = state.lexical.ideal(terms)

    def mix(lexical: Floats, dense: Floats) -> Floats:
        return blend(lexical, scale.apply(dense), ideal, lexical_share)

    by_words, by_meaning = parts["lexical"], parts["dense"]
    if isinstance(by_words, AllScores) and isinstance(by_meaning, AllScores):
        return parts, AllScores(mix(by_words.scores, by_meaning.scores))
    if isinstance(by_words, AllScores) and isinstance(by_meaning, NearScores) and not scale.shift:
        added = np.maximum(by_words.scores, 0.0) * (lexical_share / ideal if ideal > 0 else 0.0)
        return parts, _OnePassBlend(by_words, by_meaning, mix, added, scale.slope * (1.0 - lexical_share))
    return parts, _Blend(by_words, by_meaning, mix)


class _Few:
    """Scores of a few positions, in order; all others score minus infinity."""

    def __init__(self, positions: Positions, scores: Floats) -> None:
        self._positions, self._scores = positions, scores

    def ranking(self, k: int) -> Ranking:
        best = top(self._scores, k)
        return Ranking(self._positions[best], self._scores[best])

    def at(self, positions: Positions) -> Floats:
        if not len(self._positions):
            return np.full(len(positions), -np.inf)
        at = np.minimum(self._positions.searchsorted(positions), len(self._positions) - 1)
        return np.where(self._positions[at] == positions, self._scores[at], -np.inf)

    def every(self) -> None:
        return None


def _fuse(state: State, parts: dict[str, Scores]) -> Scores:
    """Fuse by reciprocal ranks of documents, each at its best lexical passage, or else its best dense one."""
    best = [best_passages(state, part.ranking, FUSED_DEPTH) for part in parts.values()]
    positions = np.concatenate([ranking.positions for ranking in best])
    documents, first, number = np.unique(state.documents(positions), return_index=True, return_inverse=True)
    rankings, start = [], 0
    for ranking in best:
        scores = np.full(len(documents), -np.inf)
        scores[number[start : start + len(ranking)]] = ranking.scores
        rankings.append(scores)
        start += len(ranking)
    positions = positions[first]
    order = np.argsort(positions)
    return _Few(positions[order], reciprocal_rank(rankings)[order])


def best_passages(state: State, rank: Callable[[int], Ranking], k: int) -> Ranking:
    """The best position of each of the k best documents and of those tied with the last, best first."""
    wanted = k
    while True:
        ranking = rank(wanted)
        documents = state.documents(ranking.positions).tolist()
        distinct = len(set(documents))
        if distinct == len(documents):
            return ranking
        if distinct >= k or len(ranking) < wanted:
            first = sorted({document: at for at, document in reversed([*enumerate(documents)])}.values())
            return Ranking(ranking.positions[first], ranking.scores[first])
        wanted *= 4


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
