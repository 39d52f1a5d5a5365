"""One decision over the units of all passages: which of them answers a question, or none.

A first score, from features or by words alone, picks the units that a cross-encoder reads. The sum of its log odds and
the first score, both weighed, gives each of them, and *none*, a share; a share becomes a calibrated probability.
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
from shortlist.index.text.analyzers import Analyzer

if TYPE_CHECKING:
    from shortlist.results import Vectors

# The probability that each of these texts, given with its context, answers a question.
RateAnswers = Callable[[str, Sequence[tuple[str, str]]], Sequence[float]]

DESCRIBED = 24  # units of the highest worth that are looked at
LEAST_SHARE = 1e-6

READ = 8  # of these, those that the cross-encoder reads

# Left out in folds, 13 % of the questions that people wrote about documentation get a wrong answer then, and 28 % a
# right one.
READ_FROM = 0.48

# With the reader of all languages. On everyday files in 16 languages that it was not trained on, 39 % of the questions
# get a right answer then and 13 % a wrong one, and of those that no file answers 59 % get none.
READ_OTHER, READ_FROM_OTHER = 8, 0.3

WEIGHTS = Path(__file__).with_name("unit_choice.json")
OTHER_WEIGHTS = Path(__file__).with_name("unit_choice_other.json")


@dataclass(frozen=True, slots=True)
class ChoiceWeights:
    """The weights of both parts of the sum, the score of *none*, the calibration, and the weights of the features.

    Without the last ones, the first score of a unit is its worth.
    """

    of_model: float
    of_first: float
    none: float
    calibration: tuple[float, float, float]
    first: Vectors | None = None

    def score(self, candidates: Sequence[AnswerCandidate], analyzer: Analyzer) -> Vectors:
        """The first score of each unit."""
        if self.first is None:
            return np.array([one.worth for one in candidates], np.float32)
        return features.describe_units(candidates[0].question, candidates, analyzer) @ self.first

    def rate(self, first: Vectors, judged: Sequence[float]) -> list[float]:
        """The probability of each unit that it answers, from its first score and what the cross-encoder says."""
        scores = self.of_model * np.array([*map(log_odds, judged)]) + self.of_first * first
        shares = np.exp(np.append(scores, self.none) - max(scores.max(), self.none))
        shares /= shares.sum()
        of_share, of_any, constant = self.calibration
        answerable = of_any * log_odds(1 - float(shares[-1])) + constant
        return [1 / (1 + math.exp(-of_share * log_odds(float(share)) - answerable)) for share in shares[:-1]]


@cache
def load_weights(file: Path = WEIGHTS) -> ChoiceWeights:
    """The shipped weights."""
    data = json.loads(file.read_text("utf-8"))
    of_features = data.get("first")
    first = np.array([of_features[name] for name in features.UNIT_FEATURES], np.float32) if of_features else None
    of_share, of_any, constant = data["calibration"]
    return ChoiceWeights(data["of_model"], data["of_first"], data["none"], (of_share, of_any, constant), first)


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """A cross-encoder, the decision that is made of what it says, and how many units it reads."""

    rate: RateAnswers
    weights: ChoiceWeights
    most: int
    answer_from: float  # the least probability of an answer

    def read(self, candidates: Sequence[AnswerCandidate], analyzer: Analyzer) -> list[AnswerCandidate]:
        """The candidates that were read, with the probability that they answer, best first; `candidates` are by worth.

        If the question and the first one are in English, only those in English are read.
        """
        question = candidates[0].question
        if question.is_english:
            candidates = [one for one in candidates if one.question.is_english]
        candidates = candidates[:DESCRIBED]
        first = self.weights.score(candidates, analyzer)
        picked = pick(first, self.most)
        judged = self.rate(question.text, [text_for_judge(candidates[at]) for at in picked])
        chances = self.weights.rate(first[picked], judged)
        rated = [replace(candidates[at], probability=chance) for at, chance in zip(picked, chances, strict=True)]
        return sorted(rated, key=lambda one: -one.probability)


def pick(first: Vectors, most: int = READ) -> list[int]:
    """The units with the highest first scores, best first."""
    return [int(at) for at in np.argsort(-first, kind="stable")[:most]]


def log_odds(probability: float) -> float:
    """The log odds of a probability, within limits."""
    return math.log(max(probability, LEAST_SHARE) / max(1 - probability, LEAST_SHARE))
