"""`python -m bench.fit_answers FOLDER`: fit the weights of `answer/extractive/` on half of the titles of a set."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import shortlist
from bench import logistic
from bench.answers import Asked, questions
from shortlist.answer.evidence import EvidenceList, gather
from shortlist.answer.extractive.extract import LEAST_COVERED, WEIGHTS, rank_sentences
from shortlist.answer.extractive.signals import coverage, measure_signals, read_question
from shortlist.index.corpus import Corpus
from shortlist.library.opening import open_states


def main(folder: Path) -> None:
    documents, asked = questions(folder)
    corpus = shortlist.build(documents, in_memory=True)
    rows = [row for one in asked if one.is_fitted and (row := _row(corpus, one))]
    table, covered, found, answerable = (np.array(column) for column in zip(*rows, strict=True))
    weights, bias = logistic.fit(table, found)
    scores = 1 / (1 + np.exp(-table @ weights - bias))
    scores[covered < LEAST_COVERED] = 0.0

    def right(least: float) -> float:
        return float(np.where(scores >= least, found, ~answerable).mean())

    least = max(np.arange(0.3, 0.7, 0.01), key=right)
    for name, weight in zip(WEIGHTS, weights, strict=True):
        print(f"{name} = {weight:.2f}")
    print(f"BIAS = {bias:.2f}\nANSWER_FROM = {least:.2f}  # right: {right(least):.4f} of {len(rows)}")


def _row(corpus: Corpus, one: Asked) -> tuple[list[float], float, bool, bool] | None:
    """The signs of the best sentence, what it covers, whether its passage is the right one, whether there is one."""
    with open_states([corpus]) as states:
        evidence = EvidenceList().add_hits(gather(states, one.text).hits)
        lexical = states[0].state.lexical
        question = read_question(one.text, lexical.analyzer, lexical.frequency, lexical.live)
        best = next(iter(rank_sentences(question, evidence, lexical.analyzer)), None)
        if not best:
            return None
        found = measure_signals(question, best.reading, lexical.analyzer)
    is_found = best.evidence.id in one.gold
    return [found[name] for name in WEIGHTS], coverage(question, best.reading.near), is_found, bool(one.gold)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
