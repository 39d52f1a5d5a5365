"""One decision over the units of all passages: which of them answers a question, or none.

A first score from features alone picks the units that the cross-encoder reads. The sum of its log odds and the first
score, both weighed, gives each of them, and *none*, a share; a share becomes a calibrated probability.
`python -m training.judge.reader` fits the weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shortlist.answer.extractive import features
from shortlist.answer.extractive.candidates import AnswerCandidate, text_for_judge
from shortlist.answer.extractive.signals import Question
from shortlist.index.text.analyzers import Analyzer

if TYPE_CHECKING:
    from shortlist.results import Vectors

# The probability that each of these texts, given with its context, answers a question.
RateAnswers = Callable[[str, Sequence[tuple[str, str]]], Sequence[float]]

DESCRIBED = 24  # units of the highest worth that are looked at
READ = 8  # of these, those that the cross-encoder reads
LEAST_SHARE = 1e-6

WEIGHTS = Path(__file__).with_name("unit_choice.json")


@dataclass(frozen=True, slots=True)
class ChoiceWeights:
    """The weights of the features and of both parts of the sum, the score of *none*, and the calibration."""

    first: Vectors
    of_model: float
    of_first: float
    none: float
    calibration: tuple[float, float, float]

    def pick(self, described: Vectors, most: int = READ) -> list[int]:
        """The units that the cross-encoder reads, best first."""
        return [int(at) for at in np.argsort(-(described @ self.first), kind="stable")[:most]]

    def rate(self, described: Vectors, judged: Sequence[float]) -> list[float]:
        """The probability of each unit that it answers, from its features and what the cross-encoder says."""
        scores = self.of_model * np.array([*map(log_odds, judged)]) + self.of_first * (described @ self.first)
        shares = np.exp(np.append(scores, self.none) - max(scores.max(), self.none))
        shares /= shares.sum()
        of_share, of_any, constant = self.calibration
        answerable = of_any * log_odds(1 - float(shares[-1])) + constant
        return [1 / (1 + math.exp(-of_share * log_odds(float(share)) - answerable)) for share in shares[:-1]]


@cache
def load_weights() -> ChoiceWeights:
    """The shipped weights."""
    data = json.loads(WEIGHTS.read_text("utf-8"))
    first = np.array([data["first"][name] for name in features.UNIT_FEATURES], np.float32)
    of_share, of_any, constant = data["calibration"]
    return ChoiceWeights(first, data["of_model"], data["of_first"], data["none"], (of_share, of_any, constant))


def read_candidates(
    question: Question,
    candidates: Sequence[AnswerCandidate],
    analyzer: Analyzer,
    rate: RateAnswers,
) -> list[AnswerCandidate]:
    """The candidates that were read, with the probability that they answer, best first; `candidates` are by worth."""
    weights = load_weights()
    candidates = candidates[:DESCRIBED]
    described = features.describe_units(question, candidates, analyzer)
    picked = weights.pick(described)
    chances = weights.rate(described[picked], rate(question.text, [text_for_judge(candidates[at]) for at in picked]))
    rated = [replace(candidates[at], probability=chance) for at, chance in zip(picked, chances, strict=True)]
    return sorted(rated, key=lambda one: -one.probability)


def log_odds(probability: float) -> float:
    """The log odds of a probability, within limits."""
    return math.log(max(probability, LEAST_SHARE) / max(1 - probability, LEAST_SHARE))
