"""`python -m training.judge.reader SQUAD2 SELQA DOCS` fits the reader of extractive answers.

It learns from lists: the units that `ask` looks at for a question, and which of them answer. DOCS is a folder of
documentation, downloaded if it does not exist; documentation.jsonl has questions about it ({"q", "a": patterns, none
without an answer}), and of its manual pages more questions are made. A third of the unseen half of squad2 and a part of
selqa_dev are prose. Each list is also used without the units that answer, as a question without an answer.
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
from shortlist.answer.extractive import english, features, unit_choice
from shortlist.answer.extractive.candidates import text_for_judge
from shortlist.answer.extractive.extract import quote, rank_sentences
from shortlist.answer.judge import load_judge
from shortlist.index.corpus import Corpus
from shortlist.library.opening import open_corpora
from training.judge import documentation

QUESTIONS = Path(__file__).with_name("documentation.jsonl")
FOLDS = 5
STEPS, RATE, PULL_FIRST, PULL = 400, 0.03, 0.03, 1.0  # of the fit
LEAST_SPREAD = 0.05  # of a feature, so that one that is nearly always the same gets no large weight
UNIT_NAMES = (*features.UNIT_FEATURES, *features.JUDGE_FEATURES)
# What the fit is pulled to: log odds of the rules, those of the cross-encoder (a feature is a fourth), the first score.
OF_RULES, LOGIT, OF_FIRST = 0.6, 4.0, 0.5
WEIGHTS = {"made": 0.3, "selqa": 0.3}  # of a list, by the source of its question
REMOVED = 0.1  # times the weight of a list, without the units that answer
MADE, MADE_OF_A_PAGE, PROSE = 350, 6, 400  # questions

Array = np.ndarray[Any, Any]
Rate = Callable[[str, Sequence[tuple[str, str]]], Sequence[float] | None]


@dataclass(frozen=True)
class UnitList:
    """The features of the units of a question, what the cross-encoder said of those it read, and which answer."""

    described: Array
    about: Array
    right: Array
    read: Array
    chances: Array
    source: str
    is_answerable: bool
    fold: int

    @property
    def weight(self) -> float:
        return WEIGHTS.get(self.source, 1.0)

    def without_answer(self) -> UnitList | None:
        """The list without the units that answer."""
        stays, read_stays = np.flatnonzero(~self.right), ~self.right[self.read]
        if not self.right.any() or not read_stays.any():
            return None
        described = self.described[stays].copy()
        behind = features.UNIT_FEATURES.index("behind")
        described[:, behind] -= described[:, behind].max()
        about = features.update_question(self.about, described)
        read = np.searchsorted(stays, self.read[read_stays])
        chances = self.chances[read_stays]
        nothing = np.zeros(len(stays), bool)
        return UnitList(described, about, nothing, read, chances, f"{self.source}, removed", False, self.fold)


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
        about = features.describe_question(question, candidates, described)
        read = np.arange(min(unit_choice.READ, len(candidates)))
        chances = rate(one.text, [text_for_judge(candidates[at]) for at in read])
        if chances is not None:
            fold = hashlib.sha256(one.text.encode()).digest()[0] % FOLDS
            yield UnitList(described, about, right, read, np.array(chances), source, bool(one.gold), fold)


@dataclass(frozen=True)
class Table:
    """Lists as arrays of one shape: units, what is known of the question, what exists, and what is right."""

    units: Array
    about: Array
    exists: Array
    right: Array
    weights: Array


def tabulate(lists: Sequence[UnitList], *, judged: bool) -> Table:
    units, about, right = [], [], []
    for one in lists:
        if judged:
            columns = features.describe_judged(one.chances.tolist())
            units.append(np.hstack([one.described[one.read], columns]))
            about.append(np.append(one.about, features.describe_best(columns)))
            right.append(one.right[one.read])
        else:
            units.append(one.described)
            about.append(one.about)
            right.append(one.right)
    most = max(map(len, units))
    rows = np.zeros((len(lists), most, units[0].shape[1]))
    exists, answers_it = np.zeros((len(lists), most + 1), bool), np.zeros((len(lists), most + 1), bool)
    for at, (own, is_right) in enumerate(zip(units, right, strict=True)):
        rows[at, : len(own)] = own
        exists[at, : len(own)] = exists[at, most] = True
        answers_it[at, : len(own)] = is_right
        answers_it[at, most] = not is_right.any()
    weights = np.array([one.weight * (REMOVED if "removed" in one.source else 1) for one in lists])
    return Table(rows, np.array(about, float), exists, answers_it, weights / weights.sum())


def fit(table: Table, prior: Array, pull: float) -> tuple[Array, Array]:
    """The weights of the features of units and of *none*, from the likelihood that a right one is chosen.

    Those of units are pulled to a prior, the others to zero.
    """
    flat = table.units[table.exists[:, :-1]]
    unit_scale, about_scale = flat.std(0) + LEAST_SPREAD, table.about.std(0) + LEAST_SPREAD
    unit_mean, about_mean = flat.mean(0), table.about.mean(0)
    about_mean[0], about_scale[0] = 0.0, 1.0  # the constant
    units = (table.units - unit_mean) / unit_scale * table.exists[:, :-1, None]
    about = (table.about - about_mean) / about_scale
    start = np.concatenate([prior * unit_scale, np.zeros(about.shape[1])])
    weights = start.copy()
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        chances = _choose(units, about, table.exists, weights)
        wanted = chances * table.right
        wanted /= wanted.sum(1, keepdims=True) + 1e-12
        error = (chances - wanted) * table.weights[:, None]
        slope = np.concatenate([np.einsum("ij,ijk->k", error[:, :-1], units), error[:, -1] @ about])
        slope += pull * (weights - start)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        rate = RATE * (1 - 0.9 * step / STEPS)
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    of_units, of_none = weights[: units.shape[2]] / unit_scale, weights[units.shape[2] :] / about_scale
    of_none[0] += of_units @ unit_mean - of_none @ about_mean
    return of_units, of_none


def _choose(units: Array, about: Array, exists: Array, weights: Array) -> Array:
    size = units.shape[2]
    scores = np.concatenate([units @ weights[:size], (about @ weights[size:])[:, None]], 1)
    scores = np.where(exists, scores, -np.inf)
    chances: Array = np.exp(scores - scores.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    return chances


def choose(table: Table, of_units: Array, of_none: Array) -> tuple[Array, Array]:
    """For each list the log odds of the best unit and of any, and whether the best one is right."""
    chances = _choose(table.units, table.about, table.exists, np.concatenate([of_units, of_none]))
    best = chances[:, :-1].argmax(1)
    rows = np.arange(len(best))
    odds = [[unit_choice.log_odds(chances[at, best[at]]), unit_choice.log_odds(1 - chances[at, -1])] for at in rows]
    return np.array(odds), table.right[rows, best]


def fit_scores(lists: Sequence[UnitList]) -> tuple[Array, Array, Array]:
    """The weights of the first score, and those of units and of *none*."""
    answerable = tabulate([one for one in lists if one.right.any()], judged=False)
    first, _ = fit(answerable, np.zeros(len(features.UNIT_FEATURES)), PULL_FIRST)
    rules = [english.WEIGHTS.get(name, 0.0) for name in features.UNIT_FEATURES]
    judged = [LOGIT * (name == "judge") for name in features.JUDGE_FEATURES]
    prior = OF_RULES * np.array([*rules, *judged])
    prior[: len(rules)] += OF_FIRST * first
    return first, *fit(tabulate(lists, judged=True), prior, PULL)


def fit_reader(lists: Sequence[UnitList]) -> tuple[dict[str, Any], Array, Array]:
    """The weights, and the calibrated probability of each list by weights without its fold, and if it is right."""
    every = [*lists, *filter(None, (one.without_answer() for one in lists))]
    odds, right = np.zeros((len(lists), 2)), np.zeros(len(lists), bool)
    for fold in range(FOLDS):
        _, of_units, of_none = fit_scores([one for one in every if one.fold != fold])
        left_out = [at for at, one in enumerate(lists) if one.fold == fold]
        table = tabulate([lists[at] for at in left_out], judged=True)
        odds[left_out], right[left_out] = choose(table, of_units, of_none)
    people = np.array([one.source != "made" for one in lists])  # made questions are easier
    (of_share, of_any), constant = logistic.fit(odds[people], right[people])
    probability = 1 / (1 + np.exp(-odds @ (of_share, of_any) - constant))
    first, of_units, of_none = fit_scores(every)
    about = (*features.NONE_FEATURES, *features.NONE_JUDGE_FEATURES)

    def name(names: Sequence[str], values: Array) -> dict[str, float]:
        return {name: round(float(value), 4) for name, value in zip(names, values, strict=True)}

    weights = {
        "first": name(features.UNIT_FEATURES, first),
        "units": name(UNIT_NAMES, of_units),
        "none": name(about, of_none),
        "calibration": [round(float(one), 4) for one in (of_share, of_any, constant)],
    }
    return weights, probability, right


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
    weights, probability, right = fit_reader(lists)
    unit_choice.WEIGHTS.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    for source in sorted({one.source for one in lists}):
        own = np.array([one.source == source for one in lists])
        answerable = np.array([one.is_answerable for one in lists])
        print(f"{source}: {sum(own & answerable)} answerable, {sum(own & ~answerable)} not")
        for least in np.arange(0.2, 0.75, 0.05):
            kept = own & (probability >= least)
            shares = [
                (kept & right).sum() / max(1, (own & answerable).sum()),
                (kept & answerable & ~right).sum() / max(1, (own & answerable).sum()),
                (own & ~answerable & ~kept).sum() / max(1, (own & ~answerable).sum()),
            ]
            print(f"  {least:.2f} right {shares[0]:.3f} wrong {shares[1]:.3f} unanswerable refused {shares[2]:.3f}")


if __name__ == "__main__":
    main()
