"""The relevance of a hit: a logistic regression with weights fitted per embedder.

`python -m bench.fit_trust` fits the weights; docs/explanation/ranking.md has the results with each data set left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.results import Confidence

# The built-in threshold: `min_relevance="auto"` abstains below this, unless the corpus has a calibrated threshold.
THRESHOLD = 0.26

# A match is clear from the one relevance on, and an abstention below the other; between them `discover` is not sure.
CLEAR = 0.5
UNLIKELY = 0.12

# Added to the log odds if the query names a service that no document mentions.
OTHER_SERVICE = -1.2

# Added to the log odds if use has changed the score by 1.
LEARNED = 10.0

# Slope and shift of the log odds without calibration.
UNCHANGED = (1.0, 0.0)


class Relevance(NamedTuple):
    """A logistic regression: the probability that a hit is what the query asks for."""

    bias: float
    covered: float  # weight of the share of query terms in the hit, rare terms counting more
    dense: float  # weight of the cosine
    named: float  # weight of the name being in the query

    def odds(self, signals: Mapping[str, float]) -> float:
        """The log odds of a hit. A negative cosine counts as 0."""
        odds = self.bias + self.covered * signals["covered"] + self.named * signals["named"]
        return odds + self.dense * max(signals.get("dense", 0.0), 0.0) + LEARNED * signals.get("learned", 0.0)


class Share(NamedTuple):
    """The weight of the keyword score in the blend: the more terms a query has, the more its keywords tell."""

    least: float
    per_term: float
    most: float

    def of(self, terms: int) -> float:
        return min(self.least + self.per_term * terms, self.most)


class EmbedderWeights(NamedTuple):
    """Weights of an embedder: in the blend, and for relevance."""

    lexical_share: Share
    relevance: Relevance


# Fitted with a bias of -0.91, with which a hit without any query term would reach the threshold.
BY_WORDS = Relevance(bias=-1.11, covered=2.54, dense=0.0, named=0.95)
# Fitted with a bias of -2.71; shifted so that the same threshold abstains often enough.
_STATIC = EmbedderWeights(Share(0.62, 0.01, 0.9), Relevance(bias=-2.91, covered=1.11, dense=5.82, named=0.41))
# Fitted on vectors of models that were trained without the data set in question.
_TOOLS = EmbedderWeights(Share(0.3, 0.02, 0.8), Relevance(bias=-3.08, covered=1.09, dense=6.3, named=0.43))
FITTED_WEIGHTS = {"wordllama": _STATIC, "tools": _TOOLS}


@lru_cache(maxsize=16)
def weights_for(embedder: str) -> EmbedderWeights:
    """The weights for an embedder. For unknown embedders, relevance uses keywords only."""
    return next(
        (weights for name, weights in FITTED_WEIGHTS.items() if embedder.startswith(name)),
        EmbedderWeights(_STATIC.lexical_share, BY_WORDS),
    )


def calibration_of(config: Config, mode: str) -> tuple[float, float]:
    """Slope and shift that calibration stored for a mode."""
    slope, shift = config.calibrations.get(mode, {}).get("relevance", UNCHANGED)
    return slope, shift


def describe_confidence(
    name: str, best: float | None, *, abstained: bool, threshold: float | None
) -> tuple[Confidence, str]:
    """How sure a discovery is, and why: `best` is the highest relevance, that of `name`.

    A threshold of the caller may return what is unlikely, and refuse what is clear; neither is sure.
    """
    if abstained and best is None:
        return "high", "No document matches."
    if best is None:
        return "low", "The relevance of the results is not known."
    if abstained and best < UNLIKELY:
        return "high", f"The highest relevance, {best:.2f}, is below {UNLIKELY:g}, so a match is unlikely."
    if abstained:
        near = "" if threshold is None else f", near the threshold of {threshold:g}"
        return "low", f"{name} may fit: its relevance is {best:.2f}{near}."
    if best < CLEAR:
        fits = "may fit" if best >= UNLIKELY else "probably does not fit"
        return "low", f"{name} {fits}: its relevance is {best:.2f}, and a match is clear from {CLEAR:g} on."
    return "high", f"The relevance of {name} is {best:.2f}, and a match is clear from {CLEAR:g} on."


def probability(odds: float) -> float:
    """Log odds as a probability, clipped where floats saturate."""
    return 1.0 / (1.0 + math.exp(-min(max(odds, -30.0), 30.0)))
