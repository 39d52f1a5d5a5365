"""One decision over the units of all passages: which of them answers a question, or none.

A first score from features alone picks the units that the cross-encoder reads. With its logits, a second one gives
each of them, and *none*, a share; a share becomes a calibrated probability. `python -m training.judge.reader` fits the
weights. A model that was trained to choose among units, with a number for *none*, needs no second score: its file says
so (`ListwiseChoice`).
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
    """The weights of the features, for the first and the second score, and of what makes a share a probability."""

    first: Vectors
    units: Vectors
    none: Vectors
    calibration: tuple[float, float, float]

    def pick(self, described: Vectors, most: int = READ) -> list[int]:
        """The units that the cross-encoder reads, best first."""
        return [int(at) for at in np.argsort(-(described @ self.first), kind="stable")[:most]]

    def rate(self, described: Vectors, judged: Vectors, question: Vectors) -> list[float]:
        """The probability of each unit that it answers."""
        about = np.append(question, features.describe_best(judged))
        scores = np.append(np.hstack([described, judged]) @ self.units, about @ self.none)
        return _calibrate(scores, self.calibration)


@dataclass(frozen=True, slots=True)
class ListwiseChoice:
    """What the file of a model that chooses among units says: the score of *none*, and how many units to read."""

    none: float
    calibration: tuple[float, float, float]
    read: int = READ

    def rate(self, judged: Sequence[float]) -> list[float]:
        """The probability of each unit that it answers, from those that the model gives it alone."""
        return _calibrate(np.array([*map(log_odds, judged), self.none]), self.calibration)


def _calibrate(scores: Vectors, calibration: tuple[float, float, float]) -> list[float]:
    """The probability of each unit that it answers; the last score is that of *none*."""
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    of_share, of_any, constant = calibration
    answerable = of_any * log_odds(1 - float(shares[-1])) + constant
    return [1 / (1 + math.exp(-of_share * log_odds(float(share)) - answerable)) for share in shares[:-1]]


@cache
def load_weights() -> ChoiceWeights:
    """The shipped weights."""
    data = json.loads(WEIGHTS.read_text("utf-8"))

    def read(name: str, *names: str) -> Vectors:
        return np.array([data[name][one] for one in names], np.float32)

    units = (*features.UNIT_FEATURES, *features.JUDGE_FEATURES)
    none = (*features.NONE_FEATURES, *features.NONE_JUDGE_FEATURES)
    first, second = read("first", *features.UNIT_FEATURES), read("units", *units)
    of_share, of_any, constant = data["calibration"]
    return ChoiceWeights(first, second, read("none", *none), (of_share, of_any, constant))


def read_candidates(
    question: Question,
    candidates: Sequence[AnswerCandidate],
    analyzer: Analyzer,
    rate: RateAnswers,
    listwise: ListwiseChoice | None = None,
) -> list[AnswerCandidate]:
    """The candidates that were read, with the probability that they answer, best first; `candidates` are by worth."""
    weights = load_weights()
    candidates = candidates[:DESCRIBED]
    described = features.describe_units(question, candidates, analyzer)
    picked = weights.pick(described, listwise.read if listwise else READ)
    judged = rate(question.text, [text_for_judge(candidates[at]) for at in picked])
    if listwise:
        chances = listwise.rate(judged)
    else:
        about = features.describe_question(question, candidates, described)
        chances = weights.rate(described[picked], features.describe_judged(judged), about)
    rated = [replace(candidates[at], probability=chance) for at, chance in zip(picked, chances, strict=True)]
    return sorted(rated, key=lambda one: -one.probability)


def log_odds(probability: float) -> float:
    """The log odds of a probability, within limits."""
    return math.log(max(probability, LEAST_SHARE) / max(1 - probability, LEAST_SHARE))
