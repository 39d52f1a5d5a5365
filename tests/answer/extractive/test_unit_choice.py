"""The decision among units: shares of scores, with a class for no answer, as calibrated probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.answer.extractive import features
from shortlist.answer.extractive.unit_choice import READ, ChoiceWeights, load_weights

UNITS = len(features.UNIT_FEATURES)
COVERED = features.UNIT_FEATURES.index("covered")
JUDGED = [0.5, math.exp(2) / (1 + math.exp(2))]  # log odds 0 and 2


def make_weights(*, of_first: float = 0.0, none: float = 0.0) -> ChoiceWeights:
    """A reader whose first score is what a unit covers."""
    first = np.zeros(UNITS, np.float32)
    first[COVERED] = 1
    return ChoiceWeights(first, 1.5, of_first, none, (1.0, 0.0, 0.0))


def describe(*covered: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    described = np.zeros((len(covered), UNITS), np.float32)
    described[:, COVERED] = covered
    return described


def test_probabilities_are_shares_of_the_exponents_of_the_sums() -> None:
    found = make_weights(of_first=0.5, none=1.0).rate(describe(4.0, 2.0), JUDGED)
    total = math.exp(2) + math.exp(4) + math.e
    assert found == pytest.approx([math.exp(2) / total, math.exp(4) / total], rel=1e-3)


def test_a_high_score_of_none_lowers_every_probability() -> None:
    low, high = (make_weights(none=score).rate(describe(0.0, 0.0), JUDGED) for score in (0.0, 3.0))
    assert all(one > other for one, other in zip(low, high, strict=True))


def test_the_cross_encoder_reads_the_units_with_the_highest_first_score() -> None:
    assert make_weights().pick(describe(*range(READ + 3))) == list(range(READ + 2, 2, -1))


def test_the_shipped_weights_are_those_of_the_features() -> None:
    reader = load_weights()
    assert len(reader.first) == UNITS
    assert min(reader.of_model, reader.of_first, reader.none, reader.calibration[0]) > 0
