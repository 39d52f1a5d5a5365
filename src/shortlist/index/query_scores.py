"""The scores that a state gives to the passages for one query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.text.query_terms import TermWeights
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Floats, Positions


class Request(NamedTuple):
    """One query. `lexical` and `dense` are the number of best passages that the caller reads; 0 for no such ranking.

    With `only_ranks` the caller adds up ranks, so an engine may approximate rankings; `Scores.at` is always exact. With
    `reads_all` the caller prefers the scores of all passages, where they are affordable. Unless `exact`, about one of a
    hundred of the nearest vectors may be missing where there are many. `wanted` is the number of hits that are wanted
    in the end, if it is known; to blend two rankings the caller reads more of each.
    """

    query: str
    terms: TermWeights
    lexical: int
    dense: int
    allowed: Any = None  # see engine.Allowed
    only_ranks: bool = False
    reads_all: bool = False
    exact: bool = False
    wanted: int = 0


class Scores(Protocol):
    """The scores of passages, minus infinity where there is no match. A ranking may be longer than k."""

    def ranking(self, k: int) -> Ranking: ...  # the k best positions and all that tie with the last of them, best first
    def at(self, positions: Positions) -> Floats: ...
    def every(self) -> Floats | None: ...  # of every position; None if the engine can compute only the best


class AllScores:
    """The score of every position."""

    def __init__(self, scores: Floats) -> None:
        self.scores = scores

    def ranking(self, k: int) -> Ranking:
        positions = top(self.scores, k)
        return Ranking(positions, self.scores[positions])

    def at(self, positions: Positions) -> Floats:
        return self.scores[positions]

    def every(self) -> Floats:
        return self.scores


class BestScores:
    """Scores that are computed only where they are needed."""

    def __init__(
        self,
        rank: Callable[[int], Ranking],
        at: Callable[[Positions], Floats],
        every: Callable[[], Floats | None] = lambda: None,
        *,
        is_exact: bool = True,
    ) -> None:
        self._rank, self._at, self.every, self._is_exact = rank, at, every, is_exact
        self._deepest: tuple[int, Ranking] | None = None
        self._known: dict[int, float] = {}
        self._ranked: list[Ranking] = []  # not yet in `_known`

    def ranking(self, k: int) -> Ranking:
        if self._deepest is None or k > self._deepest[0]:
            self._deepest = k, self._rank(k)
            if self._is_exact:
                self._ranked.append(self._deepest[1])
        return self._deepest[1].cut(k)

    def at(self, positions: Positions) -> Floats:
        while self._ranked:
            ranking = self._ranked.pop()
            self._known |= zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True)
        wanted = positions.tolist()
        unknown = [position for position in wanted if position not in self._known]
        if unknown:
            self._known |= zip(unknown, self._at(np.array(unknown, dtype=np.int64)).tolist(), strict=True)
        return np.array([self._known[position] for position in wanted], dtype=np.float64)


class CandidateScores(BestScores):
    """Scores of which a ranking has all candidates that were found: at least k, unless the engine expects fewer to be
    enough."""

    def ranking(self, k: int) -> Ranking:
        best = super().ranking(k)
        return best if self._deepest is None else self._deepest[1]


class NearScores(BestScores):
    """Scores of a part that can be added to others: the best sums are found in one pass, with the best scores."""

    def __init__(
        self,
        rank: Callable[[int], Ranking],
        at: Callable[[Positions], Floats],
        every: Callable[[], Floats | None],
        rank_sums: Callable[[Floats, float, int], Ranking],
    ) -> None:
        super().__init__(rank, at, every)
        self._rank_sums = rank_sums

    def ranking_of_sums(self, added: Floats, factor: float, k: int) -> Ranking:
        """Positions in order, with their scores, that include the k highest sums of `added` and `factor` x score."""
        found = self._rank_sums(added, factor, k)
        self._ranked.append(found)
        if self._deepest is None:
            best = top(found.scores, 1)
            self._deepest = 1, Ranking(found.positions[best], found.scores[best])
        return found


def only_found(scores: Floats) -> Floats:
    """The scores with minus infinity in place of 0, which means no match."""
    return np.where(scores > 0, scores, -np.inf)
