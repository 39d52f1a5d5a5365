"""The weighting formulas: packed counts, weights that are never negative, and gains that saturate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shortlist.index.kernels import formulas


def test_counts_of_each_field_are_weighted_apart() -> None:
    packed = np.array([3 << 24 | 2 << 16 | 5, 0xFF << 24, 0xFFFF], dtype=np.uint32)
    assert formulas.weighted_tf(packed, (2.0, 1.5, 1.0)).tolist() == [14.0, 510.0, 65_535.0]


@pytest.mark.parametrize("idf", formulas.IDFS)
def test_a_rarer_word_counts_more_and_none_counts_against_a_passage(idf: Any) -> None:
    weights = [idf(1000, df) for df in (1, 10, 100, 999, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[2] > 0
    assert weights[-1] >= 0
    assert math.isfinite(idf(1000, 0))


def test_a_word_in_more_than_half_of_the_passages_counts_nothing_by_robertson() -> None:
    assert formulas.idf_robertson(10, 6) == 0.0
    assert formulas.idf_lucene(10, 6) > 0.0


@pytest.mark.parametrize("gain", formulas.GAINS)
def test_a_gain_grows_with_the_count_and_falls_with_the_length(gain: Any) -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0])
    gains = gain(counts, 1.0, 1.2, 0.5)
    assert np.all(np.diff(gains) > 0)
    assert np.all(gain(counts, 2.0, 1.2, 0.5) < gains)
    assert [gain(count, 1.0, 1.2, 0.5) for count in counts.tolist()] == pytest.approx(gains.tolist())


def test_a_saturated_gain_stays_below_one() -> None:
    assert formulas.gain_saturated(1e6, 1.0, 1.2, 0.0) < 1.0
    assert formulas.gain_scaled(1e9, 1.0, 1.2, 1.0) == pytest.approx(1.0 + 2.2)
