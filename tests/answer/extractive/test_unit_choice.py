"""The decision among units: shares of scores, with a class for no answer, as calibrated probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.answer.extractive import features
from shortlist.answer.extractive.unit_choice import ChoiceWeights, load_weights, pick

JUDGED = [0.5, math.exp(2) / (1 + math.exp(2))]  # log odds 0 and 2


def make_weights(*, of_first: float = 0.0, none: float = 0.0) -> ChoiceWeights:
    return ChoiceWeights(1.5, of_first, none, (1.0, 0.0, 0.0))


def test_probabilities_are_shares_of_the_exponents_of_the_sums() -> None:
    found = make_weights(of_first=0.5, none=1.0).rate(np.array([4, 2], np.float32), JUDGED)
    total = math.exp(2) + math.exp(4) + math.e
    assert found == pytest.approx([math.exp(2) / total, math.exp(4) / total], rel=1e-3)


def test_a_high_score_of_none_lowers_every_probability() -> None:
    low, high = (make_weights(none=score).rate(np.zeros(2, np.float32), JUDGED) for score in (0.0, 3.0))
    assert all(one > other for one, other in zip(low, high, strict=True))


def test_the_cross_encoder_reads_the_units_with_the_highest_first_score() -> None:
    assert pick(np.array([2, 5, 3, 5], np.float32), 3) == [1, 3, 2]


def test_the_shipped_weights_are_those_of_the_features() -> None:
    reader = load_weights()
    assert reader.first is not None
    assert len(reader.first) == len(features.UNIT_FEATURES)
    assert min(reader.of_model, reader.of_first, reader.none, reader.calibration[0]) > 0
