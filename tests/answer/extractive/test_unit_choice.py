"""The decision among units: shares of scores, with a class for no answer, as calibrated probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.answer.extractive import features
from shortlist.answer.extractive.unit_choice import READ, ChoiceWeights, ListwiseChoice, load_weights

UNITS, JUDGED = len(features.UNIT_FEATURES), len(features.JUDGE_FEATURES)
ABOUT = len(features.NONE_FEATURES) + len(features.NONE_JUDGE_FEATURES)


def make_weights(*, of_judge: float = 1.0, of_none: float = 0.0) -> ChoiceWeights:
    """A reader of which only the log odds of the cross-encoder and the constant of *none* have a weight."""
    units, none = np.zeros(UNITS + JUDGED, np.float32), np.zeros(ABOUT, np.float32)
    units[UNITS + features.JUDGE_FEATURES.index("judge")] = of_judge
    none[features.NONE_FEATURES.index("constant")] = of_none
    first = np.zeros(UNITS, np.float32)
    first[features.UNIT_FEATURES.index("covered")] = 1
    return ChoiceWeights(first, units, none, (1.0, 0.0, 0.0))


def describe_nothing() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    about = np.zeros(len(features.NONE_FEATURES), np.float32)
    about[features.NONE_FEATURES.index("constant")] = 1
    return about


def test_probabilities_are_shares_of_the_exponents_of_the_scores() -> None:
    judged = features.describe_judged([0.5, math.exp(4) / (1 + math.exp(4))])  # log odds 0 and 4, of which a fourth
    found = make_weights().rate(np.zeros((2, UNITS), np.float32), judged, describe_nothing())
    total = 1 + math.e + 1
    assert found == pytest.approx([1 / total, math.e / total], rel=1e-3)


def test_a_high_score_of_none_lowers_every_probability() -> None:
    units, judged = np.zeros((2, UNITS), np.float32), features.describe_judged([0.5, 0.9])
    low, high = (make_weights(of_none=score).rate(units, judged, describe_nothing()) for score in (0.0, 3.0))
    assert all(one > other for one, other in zip(low, high, strict=True))


def test_the_cross_encoder_reads_the_units_with_the_highest_first_score() -> None:
    described = np.zeros((READ + 3, UNITS), np.float32)
    described[:, features.UNIT_FEATURES.index("covered")] = np.arange(READ + 3)
    assert make_weights().pick(described) == list(range(READ + 2, 2, -1))


def test_the_shipped_weights_are_those_of_the_features() -> None:
    reader = load_weights()
    assert (len(reader.first), len(reader.units), len(reader.none)) == (UNITS, UNITS + JUDGED, ABOUT)
    assert reader.calibration[0] > 0


def test_a_listwise_model_decides_by_its_scores_and_that_of_none() -> None:
    judged = [0.5, math.exp(2) / (1 + math.exp(2))]  # scores 0 and 2
    found = ListwiseChoice(none=1.0, calibration=(1.0, 0.0, 0.0)).rate(judged)
    total = 1 + math.exp(2) + math.e
    assert found == pytest.approx([1 / total, math.exp(2) / total], rel=1e-3)
