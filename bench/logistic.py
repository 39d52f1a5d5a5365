"""Logistic regression by Newton's method."""

from __future__ import annotations

from typing import Any

import numpy as np


def fit(table: Any, labels: Any, rows: Any = None, penalty: float = 20.0) -> tuple[Any, float]:
    """Weights and bias. `penalty` is on the squares of the standardised weights, so that what hardly helps hardly
    weighs; `rows` is how much each row counts."""
    rows = np.ones(len(table)) if rows is None else rows
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    with_one = np.c_[(table - mean) / spread, np.ones(len(table))]
    penalties = np.append(np.full(table.shape[1], penalty), 0.0)
    weights = np.zeros(len(penalties))
    for _ in range(50):
        chance = 1 / (1 + np.exp(-with_one @ weights))
        slope = with_one.T @ (rows * (chance - labels)) + penalties * weights
        bend = (with_one * (rows * chance * (1 - chance))[:, None]).T @ with_one + np.diag(penalties)
        weights -= np.linalg.solve(bend, slope)
    plain = weights[:-1] / spread
    return plain, float(weights[-1] - plain @ mean)
