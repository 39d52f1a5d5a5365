"""`python -m training.judge.reader SQUAD2 SELQA DOCS` fits the decision among units, for the model that is in place.

It learns from lists: the units that `ask` looks at for a question, and which of them answer. DOCS is a folder of
documentation, downloaded if it does not exist; documentation.jsonl has questions about it ({"q", "a": patterns, none
without an answer}), and of its manual pages more questions are made. A third of the unseen half of squad2 and a part of
selqa_dev are prose. All of them teach the first score. The sum of it and what the model says is fitted to questions by
people that the model was not trained on, with first scores that did not see them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import answers, logistic
from bench.answers import Asked
from shortlist import CorpusSource
from shortlist.answer.ask import prepare_question
from shortlist.answer.extractive import features, unit_choice
from shortlist.answer.extractive.candidates import text_for_judge
from shortlist.answer.extractive.extract import quote, rank_sentences
from shortlist.answer.judge import load_judge
from shortlist.index.corpus import Corpus
from shortlist.library.opening import open_corpora
from training.judge import documentation

QUESTIONS = Path(__file__).with_name("documentation.jsonl")
FOLDS = 5
STEPS, RATE, PULL_FIRST, PULL_SUM = 400, 0.03, 0.03, 0.001  # of the fits
LEAST_SPREAD = 0.05  # of a feature, so that one that is nearly always the same gets no large weight
WEIGHTS = {"made": 0.3, "selqa": 0.3}  # of a list for the first score, by the source of its question
PEOPLE = ("written", "squad2")  # sources of the sum, each with the same weight
MADE, MADE_OF_A_PAGE, PROSE = 350, 6, 400  # questions

Array = np.ndarray[Any, Any]
Rate = Callable[[str, Sequence[tuple[str, str]]], Sequence[float]]


@dataclass(frozen=True)
class UnitList:
    """The features of the units of a question, which answer, and the log odds of those that the model reads."""

    described: Array
    right: Array
    read: Array  # places
    odds: Array
    source: str
    is_answerable: bool
    fold: int


def make_lists(corpus: Corpus | str, asked: Sequence[Asked], source: str, rate: Rate) -> Iterator[UnitList]:
    """The list of each question that has passages."""
    corpora = open_corpora(corpus, needs_vectors=True)
    for one in asked:
        prepared = prepare_question(corpora, one.text, extracts=True)
        evidence = [item for item in prepared.evidence.items if not item.warning]
        if not prepared.readings or not evidence:
            continue
        candidates = rank_sentences(prepared.readings[0], evidence, prepared.analyzer)[: unit_choice.DESCRIBED]
        if not candidates:
            continue
        question = candidates[0].question
        analyzer = prepared.analyzer.bind((question.language,))
        shown = [" ".join(part.text for part in quote(question, unit, analyzer)) for unit in candidates]
        right = np.array([bool(one.gold) and one.is_in(answers.normalize(text)) for text in shown])
        described = features.describe_units(question, candidates, analyzer)
        read = unit_choice.pick(unit_choice.load_weights().score(candidates, analyzer))
        odds = [*map(unit_choice.log_odds, rate(one.text, [text_for_judge(candidates[at]) for at in read]))]
        fold = hashlib.sha256(one.text.encode()).digest()[0] % FOLDS
        yield UnitList(described, right, np.array(read), np.array(odds), source, bool(one.gold), fold)


@dataclass(frozen=True)
class Table:
    """Lists as arrays of one shape: the columns of units and, last, of *none*; what exists; and what is right."""

    columns: Array
    exists: Array
    right: Array
    weights: Array

    @classmethod
    def of(cls, columns: Sequence[Array], right: Sequence[Array], weights: Sequence[float], *, none: bool) -> Table:
        """With `none`, the last column is 1 for *none* alone."""
        most = max(map(len, columns))
        rows = np.zeros((len(columns), most + 1, columns[0].shape[1] + none))
        exists, answers_it = np.zeros((2, *rows.shape[:2]), bool)
        for at, (own, is_right) in enumerate(zip(columns, right, strict=True)):
            rows[at, : len(own), : own.shape[1]] = own
            exists[at, : len(own)] = True
            answers_it[at, : len(own)] = is_right
        if none:
            rows[:, most, -1] = 1
            exists[:, most] = True
            answers_it[:, most] = ~answers_it.any(1)
        return cls(rows, exists, answers_it, np.array(weights) / np.sum(weights))

    def shares(self, weights: Array) -> Array:
        scores = np.where(self.exists, self.columns @ weights, -np.inf)
        shares: Array = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return shares

    def fit(self, pull: float) -> Array:
        """The weights of the columns by the likelihood that a right row is chosen, pulled to zero."""
        scale = self.columns[self.exists].std(0) + LEAST_SPREAD
        table = Table(self.columns / scale, self.exists, self.right, self.weights)
        weights, mean, square = np.zeros((3, len(scale)))
        for step in range(1, STEPS + 1):
            shares = table.shares(weights)
            wanted = shares * self.right
            wanted /= wanted.sum(1, keepdims=True) + 1e-12
            slope = np.einsum("ij,ijk->k", (shares - wanted) * self.weights[:, None], table.columns) + pull * weights
            mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
            rate = RATE * (1 - 0.9 * step / STEPS)
            weights = weights - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        fitted: Array = weights / scale
        return fitted


def fit_first(lists: Sequence[UnitList]) -> Array:
    """The weights of the first score."""
    own = [one for one in lists if one.right.any()]
    weights = [WEIGHTS.get(one.source, 1.0) for one in own]
    return Table.of([one.described for one in own], [one.right for one in own], weights, none=False).fit(PULL_FIRST)


def tabulate_sum(lists: Sequence[UnitList], first: Sequence[Array]) -> Table:
    """What the model and the first score, with the weights for each list, say of the units that were read."""
    columns = [np.stack([one.odds, one.described[one.read] @ own], 1) for one, own in zip(lists, first, strict=True)]
    counts = {source: sum(one.source == source for one in lists) for source in PEOPLE}
    weights = [1 / counts[one.source] for one in lists]
    return Table.of(columns, [one.right[one.read] for one in lists], weights, none=True)


def choose(table: Table, weights: Array) -> tuple[Array, Array]:
    """For each list the log odds of the best unit and of any, and whether the best one is right."""
    shares = table.shares(weights)
    best = shares[:, :-1].argmax(1)
    rows = np.arange(len(best))
    odds = [[unit_choice.log_odds(shares[at, best[at]]), unit_choice.log_odds(1 - shares[at, -1])] for at in rows]
    return np.array(odds), table.right[rows, best]


def fit_reader(lists: Sequence[UnitList]) -> tuple[dict[str, Any], list[UnitList], Array, Array]:
    """The weights, and for each list by people the probability by weights without its fold, and if it is right."""
    first_without = [fit_first([one for one in lists if one.fold != fold]) for fold in range(FOLDS)]
    people = [one for one in lists if one.source in PEOPLE]

    def tabulate(own: Sequence[UnitList]) -> Table:
        return tabulate_sum(own, [first_without[one.fold] for one in own])

    odds, right = np.zeros((len(people), 2)), np.zeros(len(people), bool)
    for fold in range(FOLDS):
        left_out = [at for at, one in enumerate(people) if one.fold == fold]
        weights = tabulate([one for one in people if one.fold != fold]).fit(PULL_SUM)
        odds[left_out], right[left_out] = choose(tabulate([people[at] for at in left_out]), weights)
    table = tabulate(people)
    calibration = logistic.fit(odds, right.astype(float), table.weights * len(people))
    (of_share, of_any), constant = calibration
    of_model, of_first, none = (round(float(one), 4) for one in table.fit(PULL_SUM))
    fitted = {
        "first": dict(zip(features.UNIT_FEATURES, fit_first(lists).round(4).tolist(), strict=True)),
        "of_model": of_model,
        "of_first": of_first,
        "none": none,
        "calibration": [round(float(one), 4) for one in (of_share, of_any, constant)],
    }
    return fitted, people, 1 / (1 + np.exp(-odds @ (of_share, of_any) - constant)), right


def read_questions(docs: Path) -> Iterator[tuple[str, Asked]]:
    """The written questions about a folder of documents, and those made from its manual pages."""
    for row in map(json.loads, QUESTIONS.read_text("utf-8").splitlines()):
        gold = frozenset(["any"] if row["a"] else ())
        yield "written", Asked(row["q"], gold, tuple(row["a"]), "written", are_patterns=True)
    rng = random.Random(0)
    made: list[Asked] = []
    for page in sorted(docs.glob("*/*.txt")):
        own = list(documentation.ask_structure(page.name.split(".")[0], page.read_text("utf-8", "replace"), rng))
        rng.shuffle(own)
        made += [
            Asked(one.text, frozenset(["any"]), (re.escape(answers.normalize(one.answer)),), "made", are_patterns=True)
            for one in own[:MADE_OF_A_PAGE]
        ]
    rng.shuffle(made)
    yield from (("made", one) for one in made[:MADE])


def collect(given: argparse.Namespace, rate: Rate) -> list[UnitList]:
    """The lists of all sources."""
    lists: list[UnitList] = []
    corpus = shortlist.build(CorpusSource.from_files(given.docs), in_memory=True)
    by_source = list(read_questions(given.docs))
    for source in ("written", "made"):
        lists += make_lists(corpus, [one for name, one in by_source if name == source], source, rate)
    for source, load, path in (("squad2", answers.questions, given.squad2), ("selqa", answers.sections, given.selqa)):
        documents, asked = load(path)
        asked = [one for one in asked if one.group == answers.READER_GROUP or source == "selqa"]
        random.Random(0).shuffle(asked)
        lists += make_lists(shortlist.build(documents, in_memory=True), asked[:PROSE], source, rate)
    return lists


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.reader", description=__doc__)
    for name in ("squad2", "selqa", "docs"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    if not given.docs.exists():
        documentation.fetch(given.docs)
    judge = load_judge()
    if judge is None:
        raise SystemExit("The cross-encoder cannot run here. Install onnxruntime.")
    save(collect(given, judge.rate_answers))


def save(lists: Sequence[UnitList]) -> None:
    """Fit, write the weights, and print what each threshold gives on lists that were left out."""
    weights, people, probability, right = fit_reader(lists)
    unit_choice.WEIGHTS.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    for source in PEOPLE:
        own = np.array([one.source == source for one in people])
        answerable = np.array([one.is_answerable for one in people])
        print(f"{source}: {sum(own & answerable)} answerable, {sum(own & ~answerable)} not")
        for least in np.arange(0.3, 0.75, 0.03):
            kept = own & (probability >= least)
            shares = [
                (kept & right).sum() / max(1, (own & answerable).sum()),
                (kept & answerable & ~right).sum() / max(1, (own & answerable).sum()),
                (own & ~answerable & ~kept).sum() / max(1, (own & ~answerable).sum()),
            ]
            print(f"  {least:.2f} right {shares[0]:.3f} wrong {shares[1]:.3f} unanswerable refused {shares[2]:.3f}")


if __name__ == "__main__":
    main()
