"""The relevance of a hit: how likely its document is what the query asks for, from 0 to 1.

The log odds are those of the best document of the query, less how far the hit is behind it. So within a query the order
is that of the blend, corrected by names and by what was learned, and between queries relevances are comparable.

`python -m bench.fit_trust` fits the weights; docs/explanation/ranking.md has the results with each data set left out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from shortlist.index.config import Config

# The built-in threshold: `discover` abstains below this relevance unless the corpus has a calibrated threshold.
THRESHOLD = 0.26

# The same for the passages that `ask` reads. It is lower, since what reads them decides whether one answers: with the
# default embedder, below it are fewer than 1 % of the passages that answer the questions of squad2 and selqa_dev, and
# half of the questions about something else find nothing above it.
EVIDENCE_THRESHOLD = 0.14

# Between these two relevances a match is uncertain.
UNLIKELY = 0.15
CLEAR = 0.4

# Added to the log odds if the query names a service that no document mentions.
OTHER_SERVICE = -1.2

# Added to the blend of a document whose name the query states: it counts as a perfect match.
NAMED = 1.0

# A query with more terms counts as one with this number.
MOST_TERMS = 20

# Slope and shift of the log odds without calibration, and where a calibration stores them.
STORED = "log_odds"
UNCHANGED = (1.0, 0.0)


class Relevance(NamedTuple):
    """Weights of the log odds. The first four are fitted to the best document of each query."""

    bias: float
    best: float  # weight of the highest blend
    dense: float  # weight of the cosine of the document with the highest blend
    terms: float  # weight of the number of query terms, as a share of MOST_TERMS
    scale: float  # weight of what a hit's blend is behind the highest one


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


BY_WORDS = Relevance(bias=-2.2, best=4.0, dense=0.0, terms=2.0, scale=9.0)
_STATIC = EmbedderWeights(Share(0.62, 0.01, 0.9), Relevance(bias=-3.71, best=4.49, dense=2.8, terms=2.31, scale=9.0))
_TOOLS = EmbedderWeights(Share(0.3, 0.02, 0.8), Relevance(bias=-3.71, best=4.49, dense=2.8, terms=2.31, scale=9.0))
FITTED_WEIGHTS = {"wordllama": _STATIC, "tools": _TOOLS}


@lru_cache(maxsize=16)
def weights_for(embedder: str) -> EmbedderWeights:
    """The weights for an embedder. For unknown embedders, relevance uses keywords only."""
    return next(
        (weights for name, weights in FITTED_WEIGHTS.items() if embedder.startswith(name)),
        EmbedderWeights(_STATIC.lexical_share, BY_WORDS),
    )


class QueryRelevance(NamedTuple):
    """The relevance of the hits of one query in one corpus."""

    weights: Relevance
    best: float  # the highest blend, without names and what was learned
    dense: float  # the cosine of the document with the highest blend
    terms: int
    names_other_service: bool
    slope: float  # of the log odds, from calibration
    shift: float

    def of(self, blend: float) -> float:
        """The relevance of a hit with this blend, in which its name and what was learned are included."""
        weights = self.weights
        behind = weights.scale * (blend - self.best)
        return probability(self.slope * (sum(self._level.values()) + behind) + self.shift)

    @property
    def _level(self) -> dict[str, float]:
        """The log odds of the best document, by what they are made of."""
        weights = self.weights
        return {
            "bias": weights.bias,
            "best": weights.best * self.best,
            "dense": weights.dense * max(self.dense, 0.0),
            "terms": weights.terms * min(self.terms, MOST_TERMS) / MOST_TERMS,
            "other_service": OTHER_SERVICE * self.names_other_service,
        }

    def explain(self, blend: float, named: float, learned: float) -> dict[str, float]:
        """The log odds of a hit by what they are made of, without calibration."""
        scale = self.weights.scale
        parts = {"behind": scale * (blend - self.best), "named": scale * NAMED * named, "learned": scale * learned}
        return {name: value for name, value in (self._level | parts).items() if value}


def calibration_of(config: Config, mode: str) -> tuple[float, float]:
    """Slope and shift that calibration stored for a mode. Those of an earlier version, for other odds, do not count."""
    slope, shift = config.calibrations.get(mode, {}).get(STORED, UNCHANGED)
    return slope, shift


def probability(odds: float) -> float:
    """Log odds as a probability, clipped where floats saturate."""
    return 1.0 / (1.0 + math.exp(-min(max(odds, -30.0), 30.0)))


def log_odds(relevance: float) -> float:
    """The inverse of `probability`."""
    relevance = min(max(relevance, probability(-30.0)), probability(30.0))
    return math.log(relevance / (1 - relevance))
