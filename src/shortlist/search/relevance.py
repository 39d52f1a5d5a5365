"""The relevance of a hit: weights that were fitted for each embedder.

`python -m bench.fit_trust` fits them and shows each set with itself left out; docs/explanation/ranking.md keeps the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.results import Floats

# Below this relevance nothing fits, unless a floor was calibrated for the corpus.
FLOOR = 0.3

# What the log odds of a relevance are multiplied by and what is added to them, where nothing was calibrated.
UNCHANGED = (1.0, 0.0)


class Relevance(NamedTuple):
    """A logistic regression: how likely a hit is what was asked for, by what it shares with the query."""

    bias: float
    covered: float  # the share of the query's words that it holds, each word weighed by how rare it is
    dense: float  # the cosine
    named: float  # whether its name stands in the query

    def odds(self, signals: Mapping[str, Floats]) -> Floats:
        """The log odds of each hit; a cosine below 0 says no more than one of 0."""
        odds = self.bias + self.covered * signals["covered"] + self.named * signals["named"]
        return odds + self.dense * np.maximum(signals["dense"], 0.0) if self.dense else odds


class Trust(NamedTuple):
    """What an embedder's cosines are worth beside the words."""

    lexical_share: float  # of the blend
    relevance: Relevance


BY_WORDS = Relevance(bias=-0.91, covered=2.54, dense=0.0, named=0.95)
_STATIC = Trust(0.8, Relevance(bias=-2.78, covered=1.09, dense=6.0, named=0.42))
# Fitted to vectors of models that never saw the set that they are of; the shipped one has seen them all.
_TOOLS = Trust(0.7, Relevance(bias=-3.05, covered=0.95, dense=6.34, named=0.3))
TRUSTED = {"wordllama": _STATIC, "tools": _TOOLS}


def trust_in(embedder: str) -> Trust:
    """The numbers of an embedder by its name; of one that none were fitted for, words alone tell what is relevant."""
    return next((trust for name, trust in TRUSTED.items() if embedder.startswith(name)), Trust(0.8, BY_WORDS))


def calibration_of(config: Config, mode: str) -> tuple[float, float]:
    """What the cases of a corpus made of the log odds in a mode."""
    slope, shift = config.calibrations.get(mode, {}).get("relevance", UNCHANGED)
    return slope, shift


def probability(odds: Floats) -> Floats:
    """Of log odds, kept from the ends where a float could say no more."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
