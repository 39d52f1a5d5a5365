"""Two rankings become one: the arithmetic of ranks, reciprocal ranks and the blend."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.retrieval.scores import RRF_K, blend, ranks, reciprocal_rank

NOTHING = -math.inf


def test_the_constant_is_the_one_that_was_published() -> None:
    assert RRF_K == 60


def test_the_best_score_has_rank_one() -> None:
    assert ranks(np.array([0.1, 0.9, 0.5])).tolist() == [3.0, 1.0, 2.0]


def test_equal_scores_share_the_better_rank_and_the_next_rank_is_skipped() -> None:
    assert ranks(np.array([5.0, 7.0, 5.0, 1.0])).tolist() == [2.0, 1.0, 2.0, 4.0]


def test_what_was_not_found_has_no_rank() -> None:
    assert ranks(np.array([NOTHING, 2.0, NOTHING])).tolist() == [math.inf, 1.0, math.inf]


def test_negative_scores_are_ranked_too() -> None:
    assert ranks(np.array([-0.5, -0.1, 0.0])).tolist() == [3.0, 2.0, 1.0]


def test_no_scores_have_no_ranks() -> None:
    assert ranks(np.zeros(0)).tolist() == []


def test_reciprocal_ranks_are_summed() -> None:
    fused = reciprocal_rank([np.array([9.0, 5.0, 1.0]), np.array([0.2, 0.9, 0.5])])
    assert fused.tolist() == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62], abs=1e-15)


def test_what_one_ranking_missed_gets_only_the_others_share() -> None:
    fused = reciprocal_rank([np.array([9.0, NOTHING]), np.array([0.2, 0.9])])
    assert fused.tolist() == pytest.approx([1 / 61 + 1 / 62, 1 / 61], abs=1e-15)


def test_what_no_ranking_found_stays_not_found() -> None:
    assert reciprocal_rank([np.array([NOTHING, 1.0]), np.array([NOTHING, 1.0])]).tolist() == [NOTHING, 2 / 61]


def test_another_k_can_be_given() -> None:
    assert reciprocal_rank([np.array([1.0])], k=0).tolist() == [1.0]


def test_a_blend_is_the_share_of_the_ideal_and_the_cosine() -> None:
    blended = blend(np.array([3.0, 6.0]), np.array([0.5, -0.25]), ideal=12.0, share=0.8)
    assert blended.tolist() == pytest.approx([0.8 * 3 / 12 + 0.2 * 0.5, 0.8 * 6 / 12 + 0.2 * -0.25], abs=1e-15)


def test_a_blend_takes_what_is_missing_as_zero_and_leaves_out_what_neither_found() -> None:
    lexical, dense = np.array([3.0, NOTHING, NOTHING]), np.array([NOTHING, 0.5, NOTHING])
    assert blend(lexical, dense, ideal=12.0, share=0.8).tolist() == pytest.approx(
        [0.8 * 3 / 12, 0.2 * 0.5, NOTHING], abs=1e-15
    )


def test_a_blend_without_any_ideal_is_the_meaning_alone() -> None:
    assert blend(np.array([NOTHING]), np.array([0.5]), ideal=0.0, share=0.8).tolist() == pytest.approx([0.1], abs=1e-15)


def test_a_blend_can_be_weighed_otherwise() -> None:
    assert blend(np.array([2.0]), np.array([0.5]), ideal=4.0, share=0.5).tolist() == [0.5 * 0.5 + 0.5 * 0.5]


scores = st.lists(st.sampled_from([NOTHING, -1.0, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=8)


@given(scores)
def test_a_rank_is_one_more_than_the_number_of_better_scores(values: list[float]) -> None:
    expected = [math.inf if v == NOTHING else 1.0 + sum(other > v for other in values) for v in values]
    assert ranks(np.array(values)).tolist() == expected


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=2)))
def test_fusion_does_not_depend_on_the_order_of_the_rankings(rankings: list[list[float]]) -> None:
    arrays = [np.array(ranking) for ranking in rankings]
    assert reciprocal_rank(arrays).tolist() == pytest.approx(reciprocal_rank(arrays[::-1]).tolist(), abs=1e-12)
