"""Scores of one query: rankings with ties, and scores that are computed only where they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shortlist.index.query_scores import AllScores, BestScores, only_found
from shortlist.results import Ranking

SCORES = np.array([0.5, 2.0, 0.0, 1.0, 2.0, 1.0])


def test_a_ranking_has_the_best_and_all_that_tie_with_the_last() -> None:
    scores = AllScores(only_found(SCORES))
    assert scores.ranking(1).positions.tolist() == [1, 4]
    assert scores.ranking(3).positions.tolist() == [1, 4, 3, 5]
    assert scores.ranking(3).scores.tolist() == [2.0, 2.0, 1.0, 1.0]
    assert scores.ranking(0).positions.tolist() == []


def test_a_score_of_zero_is_no_match() -> None:
    scores = AllScores(only_found(SCORES))
    assert 2 not in scores.ranking(100).positions
    assert scores.at(np.array([2, 0])).tolist() == [-np.inf, 0.5]


class Counted:
    """Scores that are read from an array, and the positions that were asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def rank(self, k: int) -> Ranking:
        return AllScores(SCORES).ranking(k)

    def at(self, positions: Any) -> Any:
        self.asked.append(positions.tolist())
        return SCORES[positions]


@pytest.mark.parametrize(("is_exact", "asked"), [(True, [[0]]), (False, [[1, 0]])])
def test_scores_of_an_exact_ranking_are_not_computed_again(is_exact: bool, asked: list[list[int]]) -> None:
    source = Counted()
    scores = BestScores(source.rank, source.at, is_exact=is_exact)
    assert scores.ranking(1).positions.tolist() == [1, 4]
    for _ in range(2):
        assert scores.at(np.array([1, 0])).tolist() == [2.0, 0.5]
    assert source.asked == asked
    assert scores.every() is None
