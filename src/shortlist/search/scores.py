"""Scores of the passages of one state for a query, computed for all of them or only for the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.snapshot import Snapshot
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

# Below this number of passages, scoring all of them is faster than looking for the best.
ALL_SCORES_BELOW = 50_000


class Scores:
    """The score of every position, minus infinity where nothing was found."""

    def __init__(self, scores: Floats) -> None:
        self._scores = scores

    def top(self, k: int) -> Positions:
        """The k best positions and all that tie with the last of them, best first."""
        return top(self._scores, k)

    def rank(self, k: int) -> Ranking:
        positions = self.top(k)
        return Ranking(positions, self.at(positions))

    def rank_roughly(self, k: int) -> Ranking:
        """As `rank`, with scores just good enough for their ranks to be added up."""
        return self.rank(k)

    def at(self, positions: Positions) -> Floats:
        return self._scores[positions]


class _LazyScores(Scores):
    """Scores that are computed only where they are needed."""

    def __init__(self, rank: Callable[..., Ranking], score_at: Callable[[Positions], Floats]) -> None:
        self._rank = rank
        self._score_at = score_at
        self._known: dict[int, float] = {}

    def top(self, k: int) -> Positions:
        ranking = self._rank(k)
        self._known |= zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True)
        return ranking.positions

    def rank_roughly(self, k: int) -> Ranking:
        return self._rank(k, roughly=True)

    def at(self, positions: Positions) -> Floats:
        wanted = positions.tolist()
        unknown = [position for position in wanted if position not in self._known]
        if unknown:
            self._known |= zip(unknown, self._score_at(np.array(unknown, dtype=np.int64)).tolist(), strict=True)
        return np.array([self._known[position] for position in wanted], dtype=np.float64)


class _Blend(Scores):
    """The blend of lexical and dense scores, from the best of both: Fagin's threshold algorithm.

    A position that is in neither ranking scores at most what the last of both would score together. Once the k-th best
    exceeds that, no other position can precede it.
    """

    def __init__(
        self,
        lexical: Scores,
        dense: Scores,
        mix: Callable[..., Floats],
        score_all: Callable[[], dict[str, Floats]] | None,
    ) -> None:
        self._lexical = lexical
        self._dense = dense
        self._mix = mix
        self._score_all = score_all

    def top(self, k: int) -> Positions:
        for depth in (first_depth(k), 4 * first_depth(k)):
            lexical, dense = self._lexical.top(depth), self._dense.top(depth)
            positions = np.union1d(lexical, dense)
            scores = self.at(positions)
            best = top(scores, k)
            last = self._lexical.at(lexical[-1:]) if len(lexical) >= depth else np.zeros(1)
            least = self._mix(last, self._dense.at(dense[-1:]))[0] if len(dense) >= depth else -np.inf
            if least == -np.inf or (len(best) >= k and scores[best[k - 1]] > least):
                return positions[best]
        return positions[best] if self._score_all is None else top(self._mix(*self._score_all().values()), k)

    def at(self, positions: Positions) -> Floats:
        return self._mix(self._lexical.at(positions), self._dense.at(positions))


def first_depth(k: int) -> int:
    return max(BLENDED_DEPTH, 2 * k)


def is_dense(state: State, mode: Mode) -> bool:
    return mode in ("dense", "hybrid") or (mode == "auto" and state.has_vectors)


def announce(state: State, query: str, terms: Asked, mode: Mode, k: int, mask: Allowed | None) -> None:
    """Tell the state how deep both rankings will be read."""
    depth = k
    if is_dense(state, mode) and mode != "dense":
        depth = FUSED_DEPTH if mode == "hybrid" else first_depth(k)
    lexical, dense = 0 if mode == "dense" else depth, depth if is_dense(state, mode) else 0
    state.expect(query, terms, lexical, dense, mask, roughly=mode == "hybrid")


def score(
    state: State, query: str, terms: Asked, mode: Mode, mask: Allowed | None, lexical_share: float
) -> tuple[dict[str, Scores], Scores]:
    """The lexical and dense scores that the mode uses, and the final scores made of them."""
    names = [name for name, is_used in (("lexical", mode != "dense"), ("dense", is_dense(state, mode))) if is_used]
    is_blend = mode == "auto" and len(names) > 1
    mix = partial(blend, ideal=state.lexical.ideal(terms) if is_blend else 0.0, share=lexical_share)
    parts: dict[str, Scores]
    if isinstance(state, Snapshot) and state.size < ALL_SCORES_BELOW:
        everything = _score_all(state, query, terms, mask, names)
        parts = {name: Scores(values) for name, values in everything.items()}
        final = Scores(mix(*everything.values())) if is_blend else parts[names[0]]
    else:
        parts = {name: _score_lazily(state, query, terms, mask, name) for name in names}
        score_all = None  # what a cluster cannot do
        if isinstance(state, Snapshot):
            score_all = partial(_score_all, state, query, terms, mask, names)
        final = _Blend(parts["lexical"], parts["dense"], mix, score_all) if is_blend else parts[names[0]]
    return parts, _fuse(state, parts) if mode == "hybrid" else final


def _score_all(state: Snapshot, query: str, terms: Asked, mask: Allowed | None, names: list[str]) -> dict[str, Floats]:
    lexical = {"lexical": _matches(state.lexical.scores(terms, mask))} if "lexical" in names else {}
    return lexical | ({"dense": state.dense.scores(query, mask)} if "dense" in names else {})


def _matches(scores: Floats) -> Floats:
    return np.where(scores > 0, scores, -np.inf)


def _score_lazily(state: State, query: str, terms: Asked, mask: Allowed | None, name: str) -> Scores:
    if name == "dense":
        return _LazyScores(partial(state.dense.rank, query, allowed=mask), partial(state.dense.scores_at, query))
    lexical = state.lexical
    rank = partial(lexical.rank, terms if isinstance(terms, Mapping) else query, allowed=mask)
    return _LazyScores(rank, lambda at: _matches(lexical.scores_at(terms, at)))


def _fuse(state: State, parts: dict[str, Scores]) -> Scores:
    """Reciprocal ranks of documents, each at the passage that ranks best lexically, else densely."""
    best = {name: best_passages(state, part.rank_roughly, FUSED_DEPTH) for name, part in parts.items()}
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
    positions, scores = positions[order], (reciprocal_rank(rankings) if place else np.zeros(0))[order]

    def rank(k: int) -> Ranking:
        chosen = top(scores, k)
        return Ranking(positions[chosen], scores[chosen])

    fused = _LazyScores(rank, lambda others: np.full(len(others), -np.inf))
    fused.top(len(positions))  # from here on all of their scores are known
    return fused


def best_passages(state: State, rank: Callable[[int], Ranking], k: int) -> Ranking:
    """The best position of each of the k best documents, and of all that tie with the last, best first."""
    wanted = k
    while True:
        ranking = rank(wanted)
        _, first = np.unique(state.documents(ranking.positions), return_index=True)
        if len(first) >= k or len(ranking) < wanted:
            first.sort()
            return Ranking(ranking.positions[first], ranking.scores[first])
        wanted *= 4
