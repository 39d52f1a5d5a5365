"""`python -m bench.fit_answers FOLDER`: the numbers of `answer/extract.py`, fitted to half the titles of a set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench.answers import Asked, questions
from shortlist.answer.evidence import Shown, gather
from shortlist.answer.extract import LEAST_COVERED, WEIGHTS, ranked
from shortlist.answer.signals import coverage, read_question, signals
from shortlist.index.corpus import Corpus

PENALTY = 20.0  # on the squares of the standardised weights, so that what hardly helps hardly weighs


def main(folder: Path) -> None:
    documents, asked = questions(folder)
    corpus = shortlist.build(documents, in_memory=True)
    rows = [row for one in asked if one.is_fitted and (row := _row(corpus, one))]
    table, covered, found, answerable = (np.array(column) for column in zip(*rows, strict=True))
    weights, bias = _fit(table, found)
    scores = 1 / (1 + np.exp(-table @ weights - bias))
    scores[covered < LEAST_COVERED] = 0.0

    def right(least: float) -> float:
        return float(np.where(scores >= least, found, ~answerable).mean())

    least = max(np.arange(0.3, 0.7, 0.01), key=right)
    for name, weight in zip(WEIGHTS, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print(f"BIAS = {bias:.2f}\nANSWER_FROM = {least:.2f}  # right: {right(least):.4f} of {len(rows)}")


def _row(corpus: Corpus, one: Asked) -> tuple[list[float], float, bool, bool] | None:
    """The signs of the best sentence, what it covers, whether its passage is the right one, whether there is one."""
    evidence = Shown().add_hits(gather(corpus, one.text).hits)
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        question = read_question(one.text, lexical.analyzer, lexical.frequency, lexical.live)
        best = ranked(question, evidence, lexical.analyzer)[:2]
        if not best:
            return None
        found = signals(question, best[0].reading, lexical.analyzer)
    is_found = any(candidate.evidence.id in one.gold for candidate in best)
    return [found[name] for name in WEIGHTS], coverage(question, best[0].reading.near), is_found, bool(one.gold)


def _fit(table: Any, found: Any) -> tuple[Any, float]:
    """A logistic regression by Newton's method."""
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    with_one = np.c_[(table - mean) / spread, np.ones(len(table))]
    penalty = np.append(np.full(table.shape[1], PENALTY), 0.0)
    weights = np.zeros(len(penalty))
    for _ in range(50):
        chance = 1 / (1 + np.exp(-with_one @ weights))
        slope = with_one.T @ (chance - found) + penalty * weights
        bend = (with_one * (chance * (1 - chance))[:, None]).T @ with_one + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    plain = weights[:-1] / spread
    return plain, float(weights[-1] - plain @ mean)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
