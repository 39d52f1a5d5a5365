"""Bootstrap intervals of means, paired randomization tests, and text tables; a seed makes results repeatable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._plain import Plain
from shortlist.display.html_tables import Html, bar, card, html, join, muted, table
from shortlist.errors import InputError

if TYPE_CHECKING:
    from shortlist.results import Floats

CONFIDENCE = 0.95
RESAMPLES = 2000
PERMUTATIONS = 10_000
SEED = 0
MOST_EXACT = 12  # differences up to which all sign changes are tried
_BATCH = 500  # permutations drawn at a time
_DRAWN = 1 << 16  # cases drawn at a time


class Estimate(float):
    """A mean and its confidence interval."""

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Estimate:
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high = low, high
        return estimate

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]
        return float(self), self.low, self.high

    def __repr__(self) -> str:
        return f"{float(self):.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float]:
        return {"value": float(self), "low": self.low, "high": self.high}


class Table(list[dict[str, Any]]):
    """Rows with the same keys; `str` aligns them as a text table."""

    def _repr_html_(self) -> str:
        names = list(self[0]) if self else []
        rows = ([draw_estimate(value) for value in row.values()] for row in self)
        return card("", [], table([name.replace("_", " ") for name in names], rows))

    def __str__(self) -> str:
        if not self:
            return ""
        rows = [list(self[0]), *([_format_cell(value) for value in row.values()] for row in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )


def draw_estimate(value: Any) -> Html:
    """A number; with a bar and its interval if it is an estimate of a share."""
    if isinstance(value, Estimate) and 0 <= value.low <= value.high <= 1:
        interval = muted(f"[{value.low:.3f}, {value.high:.3f}]")
        return join([bar(value, f"{value:.3f}", value.low, value.high), " ", interval])
    if isinstance(value, Estimate):
        return join([f"{value:.3f} ", muted(f"[{value.low:.3f}, {value.high:.3f}]")])
    return html(_format_cell(value))


def draw_estimates(values: Mapping[str, Any], *, confidence: float = CONFIDENCE) -> Html:
    """A table of measures with their confidence intervals."""
    rows = ((name.replace("_", " "), draw_estimate(value)) for name, value in values.items())
    return table(("Measure", f"Mean and {confidence:.0%} interval"), rows, width="auto")


def _format_cell(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def estimate_means(
    columns: Mapping[str, Sequence[float] | Floats],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Estimate]:
    """The mean of each column with its percentile bootstrap interval: cases are resampled with replacement.

    The columns have one length and are resampled together. Columns without values have no estimate.
    """
    if not 0 < confidence < 1 or resamples < 1:
        raise InputError(
            f"confidence must be between 0 and 1, and resamples at least 1, not {confidence!r} and {resamples!r}."
        )
    values = np.array([list(column) for column in columns.values()], dtype=np.float64).T
    if not values.size:
        return {}
    random = np.random.default_rng(seed)
    size = len(values)
    means = np.empty((resamples, values.shape[1]))
    step = max(1, _DRAWN // size)
    for start in range(0, resamples, step):
        batch = means[start : start + step]
        drawn = random.integers(0, size, (len(batch), size)) + size * np.arange(len(batch))[:, None]
        batch[:] = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape) @ values / size
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    rows = zip(values.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: Estimate(*row) for name, row in zip(columns, rows, strict=True)}


def estimate_mean(
    values: Sequence[float] | Floats,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate | None:
    """The mean of some values with its interval, or None without values."""
    return estimate_means({"": values}, confidence=confidence, resamples=resamples, seed=seed).get("")


@dataclass(frozen=True, slots=True)
class Paired(Plain):
    """One metric of two configurations on the same cases; a positive difference favors the second."""

    first: float
    second: float
    difference: Estimate
    p_value: float
    wins: int  # cases where the second is better
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
    """The difference of means with its paired bootstrap interval and the p-value of a two-sided randomization test.

    The test exchanges the two values of each case at random. Up to 12 differing cases, all exchanges are tried; above,
    `permutations` of them, and the observed one counts as one more.
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(before) != len(after) or not len(after):
        raise InputError(f"Configurations must be compared on the same cases, not on {len(before)} and {len(after)}.")
    differences = after - before
    interval = estimate_means({"": differences}, confidence=confidence, resamples=resamples, seed=seed)[""]
    return Paired(
        float(before.mean()),
        float(after.mean()),
        interval,
        randomization_p_value(differences, permutations, seed),
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
    )


def randomization_p_value(differences: Floats, permutations: int = PERMUTATIONS, seed: int = SEED) -> float:
    """The share of sign changes whose sum is at least as far from zero as the observed one."""
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    observed = abs(moved.sum()) * (1 - 1e-12)
    if len(moved) <= MOST_EXACT:
        sums = np.array(list(product((-1.0, 1.0), repeat=len(moved)))) @ moved
        return float(np.mean(np.abs(sums) >= observed))
    random = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, permutations, _BATCH):
        signs = random.integers(0, 2, (min(_BATCH, permutations - start), len(moved)), dtype=np.int8)
        extreme += int((np.abs((2.0 * signs - 1.0) @ moved) >= observed).sum())
    return (extreme + 1) / (permutations + 1)
