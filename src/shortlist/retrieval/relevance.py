"""The relevance of a hit: how likely its document is what the query asks for, from 0 to 1.

The log odds are those of the best document of the query, less how far the hit is behind it. So within a query the order
is that of the blend, corrected by names and by what was learned, and between queries relevances are comparable.

`python -m bench.fit_trust` fits the weights; docs/explanation/ranking.md has the results with each data set left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from shortlist.index.text.languages import ENGLISH

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.results import Confidence

# The built-in threshold: `min_relevance="auto"` abstains below this, unless the corpus has a calibrated threshold.
THRESHOLD = 0.26

# The same for the passages that `ask` reads. It is lower, since what reads them decides whether one answers.
EVIDENCE_THRESHOLD = 0.15

# What one passage must reach in a corpus without vectors before `ask` reads any: about a quarter of a perfect match by
# keywords. A word or two in common is a coincidence among many passages.
KEYWORD_EVIDENCE_THRESHOLD = 0.55

# A match is clear from the one relevance on, and an abstention below the other; between them `discover` is not sure.
CLEAR = 0.5
UNLIKELY = 0.15

# The weight of keywords if the query is in a language that no document has, and if the embedder does not know it.
FOREIGN_SHARE = 0.15
UNKNOWN_LANGUAGE_SHARE = 0.9

# Added to the log odds if the query names a service that no document mentions.
OTHER_SERVICE = -1.2

# Slope and shift of the log odds without calibration, and where a calibration stores them.
STORED = "log_odds"
UNCHANGED = (1.0, 0.0)


class Relevance(NamedTuple):
    """Weights of the log odds. The first three are fitted to whether the best document of a query is right."""

    bias: float
    best: float  # weight of the highest blend
    dense: float  # weight of the highest cosine
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
    knows_languages: bool | None = None  # whether it knows more than English, if that is known

    def share_of(self, terms: int, language: str, *, is_foreign: bool) -> float:
        """The weight of the keywords of a query: few are shared with documents in another language, and most is known
        by keywords if the vectors do not know the language."""
        if is_foreign:
            return FOREIGN_SHARE
        if self.knows_languages is False and language != ENGLISH:
            return UNKNOWN_LANGUAGE_SHARE
        return self.lexical_share.of(terms)


# Not fitted: how often the best document is right hardly depends on its keywords. The threshold is at 6 % of a perfect
# match, where as few questions are lost as with static vectors.
BY_WORDS = Relevance(bias=-1.4, best=6.0, dense=0.0, scale=10.0)
# Chosen, not fitted: any mix of both parts separates equally well, and words matter for documents. The threshold loses
# one question of ten.
_STATIC = EmbedderWeights(
    Share(0.62, 0.01, 0.9), Relevance(bias=-2.67, best=4.0, dense=4.0, scale=9.0), knows_languages=False
)
# The highest cosine says more than everything else: the model was trained to tell what nothing serves.
_TOOLS = EmbedderWeights(
    Share(0.3, 0.02, 0.8), Relevance(bias=-4.8, best=0.0, dense=11.18, scale=9.0), knows_languages=True
)
FITTED_WEIGHTS = {"wordllama": _STATIC, "wordllama-256": _STATIC, "tools": _TOOLS}
# How near a cosine of another embedder is, is not known: its part is taken out of the blend, about a third of it.
_OTHERS = EmbedderWeights(_STATIC.lexical_share, BY_WORDS._replace(dense=-1.0))


@lru_cache(maxsize=16)
def weights_for(embedder: str) -> EmbedderWeights:
    """The weights for one of our embedders, or that which another one is used like (`CosineScale.like`).

    The name must be one of ours up to its hash: an embedder of the user's may be called `tools-of-mine`.
    """
    return FITTED_WEIGHTS.get(embedder.partition("#")[0], _OTHERS)


@dataclass(frozen=True)
class QueryRelevance:
    """The relevance of the hits of one query in one corpus."""

    weights: Relevance
    best: float  # the highest blend, without what was learned
    dense: float  # the highest cosine
    names_other_service: bool
    noise: float | None = None  # the cosine that is reached by coincidence, if no document has a term of the query
    slope: float = UNCHANGED[0]  # of the log odds, from calibration
    shift: float = UNCHANGED[1]

    def level(self) -> dict[str, float]:
        """The log odds of the document with the highest blend, by what they are made of."""
        return self._level_of(self.best, max(self.dense, 0.0))

    def total(self, blend: float, *, is_named: bool) -> float:
        """What hits are sorted by: the blend with what was learned; if the query identifies one, a perfect match."""
        if not is_named:
            return blend
        lead = sum(self._level_of(1.0, 1.0).values()) - self._odds_of_best
        return max(blend, self.best) + max(lead, 0.0) / self.weights.scale

    def of(self, total: float) -> float:
        """The relevance of a hit with this total."""
        return self.of_all([total])[0]

    def of_all(self, totals: Iterable[float]) -> list[float]:
        """The relevances of hits with these totals."""
        first, scale, best, slope, shift = self._odds_of_best, self.weights.scale, self.best, self.slope, self.shift
        return [probability(slope * (first + scale * (total - best)) + shift) for total in totals]

    def explain(self, blend: float, learned: float, *, is_named: bool) -> dict[str, float]:
        """The log odds of a hit, by what they are made of."""
        scale, total = self.weights.scale, self.total(blend + learned, is_named=is_named)
        parts = {
            "behind": scale * (blend - self.best),
            "learned": scale * learned,
            "named": scale * (total - blend - learned),
        }
        made_of = self.level() | parts
        odds = sum(made_of.values())
        made_of["calibration"] = self.slope * odds + self.shift - odds
        return {name: value for name, value in made_of.items() if abs(value) > 1e-9}

    @cached_property
    def _odds_of_best(self) -> float:
        """The sum of `level`, which every hit needs."""
        return sum(self.level().values())

    def _level_of(self, best: float, dense: float) -> dict[str, float]:
        weights = self.weights
        return {
            "bias": weights.bias,
            "best": weights.best * best,
            "dense": weights.dense * dense,
            "other_service": OTHER_SERVICE * self.names_other_service,
            "unknown_terms": self._doubt_unknown(weights.bias + weights.best * best),
        }

    def _doubt_unknown(self, level: float) -> float:
        """What a query without a known term loses, so that a cosine by coincidence does not reach the threshold."""
        if self.noise is None:
            return 0.0
        return min(log_odds(THRESHOLD) - (level + self.weights.dense * max(self.noise, 0.0)), 0.0)


def calibration_of(config: Config, mode: str) -> tuple[float, float]:
    """Slope and shift that calibration stored for a mode. Those of an earlier version, for other odds, do not count."""
    slope, shift = config.calibrations.get(mode, {}).get(STORED, UNCHANGED)
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
    odds = -30.0 if odds < -30.0 else min(odds, 30.0)
    return 1.0 / (1.0 + math.exp(-odds))


def log_odds(relevance: float) -> float:
    """The inverse of `probability`."""
    relevance = min(max(relevance, probability(-30.0)), probability(30.0))
    return math.log(relevance / (1 - relevance))
