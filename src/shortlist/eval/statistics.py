"""Bootstrap intervals of means, and paired randomization tests; a seed makes them repeatable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from shortlist._plain import Plain
from shortlist.errors import InputError

if TYPE_CHECKING:
    from shortlist.results import Floats

CONFIDENCE = 0.95
RESAMPLES = 2000
PERMUTATIONS = 10_000
SEED = 0

# Up to so many differences every way to exchange them is tried.
EXACTLY_UP_TO = 12

_AT_ONCE = 500


class Estimate(float):
    """A mean that is a number, and knows the interval that it would fall into with other cases like these."""

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Estimate:
        made = super().__new__(cls, value)
        made.low, made.high = low, high
        return made

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]
        return float(self), self.low, self.high

    def __repr__(self) -> str:
        return f"{float(self):.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float]:
        return {"value": float(self), "low": self.low, "high": self.high}


def estimates(
    columns: Mapping[str, Sequence[float] | Floats],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Estimate]:
    """The mean of each column with its percentile bootstrap interval: cases are drawn anew, with replacement.

    Columns are of one length and drawn together; with no values at all there is no estimate.
    """
    if not 0 < confidence < 1 or resamples < 1:
        raise InputError(f"confidence is between 0 and 1 and resamples at least 1, not {confidence!r}, {resamples!r}.")
    values = np.array([list(column) for column in columns.values()], dtype=np.float64).T
    if not values.size:
        return {}
    random = np.random.default_rng(seed)
    size = len(values)
    means = np.empty((resamples, values.shape[1]))
    for at in range(resamples):
        means[at] = np.bincount(random.integers(0, size, size), minlength=size) @ values / size
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    found = zip(columns, values.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Estimate(mean, below, above) for name, mean, below, above in found}


@dataclass(frozen=True, slots=True)
class Paired(Plain):
    """One measure of two set-ups on the same cases; a positive difference speaks for the second."""

    first: float
    second: float
    difference: Estimate
    p_value: float
    wins: int  # cases that the second does better
    losses: int
    ties: int


def paired(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Paired:
    """The difference of means with its paired bootstrap interval, and how often chance alone would make one as large.

    The p-value is that of the two-sided randomisation test: the two values of each case are exchanged at random. Up to
    12 differing cases all exchanges are tried; beyond, `permutations`, and the one that was seen counts among them.
    """
    ours, theirs = np.asarray(second, dtype=np.float64), np.asarray(first, dtype=np.float64)
    if len(ours) != len(theirs) or not len(ours):
        raise InputError(f"Two set-ups are compared on the same cases, not on {len(theirs)} and {len(ours)}.")
    differences = ours - theirs
    found = estimates({"difference": differences}, confidence=confidence, resamples=resamples, seed=seed)["difference"]
    return Paired(
        float(theirs.mean()),
        float(ours.mean()),
        found,
        randomisation_p(differences, permutations, seed),
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
    )


def randomisation_p(differences: Floats, permutations: int = PERMUTATIONS, seed: int = SEED) -> float:
    """The share of sign changes whose sum is as far from zero as the one that was seen."""
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    seen = abs(moved.sum()) * (1 - 1e-12)
    if len(moved) <= EXACTLY_UP_TO:
        sums = np.array(list(product((-1.0, 1.0), repeat=len(moved)))) @ moved
        return float(np.mean(np.abs(sums) >= seen))
    random = np.random.default_rng(seed)
    as_far = 0
    for start in range(0, permutations, _AT_ONCE):
        signs = random.integers(0, 2, (min(_AT_ONCE, permutations - start), len(moved)), dtype=np.int8)
        as_far += int((np.abs((2.0 * signs - 1.0) @ moved) >= seen).sum())
    return (as_far + 1) / (permutations + 1)
