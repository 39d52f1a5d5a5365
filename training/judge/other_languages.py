"""Fits and measures a reader in other languages than English: `python -m training.judge.other_languages MODEL`.

MODEL is what `training.judge.listwise export` wrote, in a folder with the embedder's `model.onnx`. It reads the units
that `ask` looks at for questions about everyday files (`everyday.jsonl.xz`); only groups of files that no reader is
trained on are fitted to. `--xquad` is a folder in BEIR layout for each language: each question is asked of the half of
the articles that has its paragraph and of the other one. The decision is a sum of the log odds that the model gives a
unit and of its worth by words, with a score for *none*, then calibrated; figures are of questions that were left out of
the fit. First come those of `ask` as it is. `--out` gets the weights.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import answers, beir, logistic
from shortlist import CorpusSource, Document
from shortlist.answer.ask import prepare_question
from shortlist.answer.extractive.candidates import AnswerCandidate, text_for_judge
from shortlist.answer.extractive.extract import quote, rank_sentences
from shortlist.answer.extractive.unit_choice import DESCRIBED, ChoiceWeights, log_odds
from shortlist.answer.judge import Judge
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.cross_encoder import CrossEncoder
from shortlist.index.embedders.tools_model import load_tokenizer
from shortlist.index.text.languages import ENGLISH
from shortlist.library.opening import open_corpora
from training.judge.reader import FOLDS, PULL_SUM, Array, Table, choose

EVERYDAY = Path(__file__).with_name("everyday.jsonl.xz")  # files in groups, each with questions and quotes from it
HELD_OF = 3  # one group of files in other languages of so many is held
QUOTED, WITHIN = 0.9, 0.75  # of the words of a quote are in what answers it, or of what answers in the quote
ASKED_OF_XQUAD = 40  # questions of a language
THRESHOLDS = np.arange(0.2, 0.85, 0.05)

Answers = Callable[[str], bool]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class AskedUnits:
    """A question, the units that may answer it, which do, and the outcome of `ask`."""

    source: str
    group: str
    question: str
    units: list[AnswerCandidate]
    right: list[bool]
    is_answerable: bool
    outcome: str


def is_held(group: str) -> bool:
    return zlib.crc32(group.encode()) % HELD_OF == 0


def quotes(text: str, quoted: str) -> bool:
    """Whether a text has what is quoted."""
    return _share(quoted, text) >= QUOTED or answers.normalize(quoted) in answers.normalize(text)


def _share(text: str, other: str) -> float:
    words, others = (Counter(_WORD.findall(one.lower())) for one in (text, other))
    return (words & others).total() / max(1, words.total())


def read_groups(*, is_english: bool) -> Iterator[tuple[str, list[dict[str, Any]], Path]]:
    """Each group of everyday files in English or in other languages: its name, rows, and a folder with the files."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with lzma.open(EVERYDAY, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if (row["language"] == ENGLISH) == is_english:
                groups[row["group"]].append(row)
    for group, rows in groups.items():
        with tempfile.TemporaryDirectory() as folder:
            for row in rows:
                (Path(folder) / row["name"]).write_text(row["text"], "utf-8")
            yield group, rows, Path(folder)


def ask_files() -> Iterator[AskedUnits]:
    """The questions about everyday files in other languages, asked of the files of their group."""
    for group, rows, folder in read_groups(is_english=False):
        corpus = shortlist.build(CorpusSource.from_files(folder), in_memory=True)
        for row in rows:
            for question, quoted in row["q"]:
                yield from _ask(corpus, question, f"everyday {row['language']}", group, _accept_quote(quoted))
            for question in row["none"]:
                yield from _ask(corpus, question, f"everyday {row['language']}", group, None)


def _accept_quote(quoted: str) -> Answers:
    return lambda text: quotes(text, quoted) or _share(text, quoted) >= WITHIN


def ask_xquad(root: Path) -> Iterator[AskedUnits]:
    """Questions asked of the half of the articles that has the answer, and of the other one."""
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name != ENGLISH):
        data = beir.load(folder)
        halves: tuple[list[Document], list[Document]] = ([], [])
        for document in data.documents:
            halves[_half(document.id)].append(Document(document.id, "", document.content))
        corpora = [shortlist.build(half, in_memory=True) for half in halves]
        for id in sorted(data.queries, key=lambda one: zlib.crc32(one.encode()))[:ASKED_OF_XQUAD]:
            (paragraph,) = data.relevance[id]
            asked = answers.Asked(data.queries[id], frozenset([paragraph]), tuple(data.about[id]["answers"]), "")
            group, own = paragraph.partition("-")[0], _half(paragraph)
            yield from _ask(corpora[own], asked.text, f"xquad {folder.name}", group, asked.is_in)
            yield from _ask(corpora[1 - own], asked.text, f"xquad {folder.name}", group, None)


def _half(paragraph: str) -> int:
    return int(paragraph.partition("-")[0]) % 2


def _ask(corpus: Corpus, question: str, source: str, group: str, accept: Answers | None) -> Iterator[AskedUnits]:
    prepared = prepare_question(open_corpora(corpus, needs_vectors=True), question, extracts=True)
    evidence = [item for item in prepared.evidence.items if not item.warning]
    units: list[AnswerCandidate] = []
    right: list[bool] = []
    answer = shortlist.ask(corpus, question)
    is_right = accept is not None and accept(answers.plain_text(answer))
    outcome = "refused" if answer.refused else "right" if is_right else "wrong"
    if prepared.readings and evidence:
        units = rank_sentences(prepared.readings[0], evidence, prepared.analyzer)[:DESCRIBED]
        for one in units:
            analyzer = prepared.analyzer.bind((one.question.language,))
            shown = " ".join(part.text for part in quote(one.question, one, analyzer))
            right.append(accept is not None and accept(shown))
    yield AskedUnits(source, group, question, units, right, accept is not None, outcome)


class Fitted:
    """The decision for each question that has units, fitted without its fold of groups."""

    def __init__(self, asked: Sequence[AskedUnits], columns: Sequence[Array], is_fitted_to: Array) -> None:
        counts = Counter(one.source.partition(" ")[0] for one in asked)
        weights = [1 / counts[one.source.partition(" ")[0]] for one in asked]
        right = [np.array(one.right) for one in asked]
        folds = np.array([zlib.crc32(one.group.encode()) // HELD_OF % FOLDS for one in asked])

        def tabulate(places: Array) -> Table:
            chosen = [int(at) for at in places]
            own = [columns[at] for at in chosen], [right[at] for at in chosen], [weights[at] for at in chosen]
            return Table.of(*own, none=True)

        def fit(places: Array) -> ChoiceWeights:
            table = tabulate(places)
            weights = table.fit(PULL_SUM)
            odds, is_right = choose(table, weights)
            of_odds, constant = logistic.fit(odds, is_right.astype(float), table.weights * len(places), 1.0)
            of_model, of_worth, none = (round(float(one), 4) for one in weights)
            of_share, of_any, constant = (round(float(one), 4) for one in (*of_odds, constant))
            return ChoiceWeights(of_model, of_worth, none, (of_share, of_any, constant))

        self.probability, self.right = np.zeros(len(asked)), np.zeros(len(asked), bool)
        for fold in range(FOLDS):
            own = fit(np.flatnonzero(is_fitted_to & (folds != fold)))
            for at in map(int, np.flatnonzero(folds == fold)):
                odds, worth = columns[at].T
                chances = own.rate(worth, 1 / (1 + np.exp(-odds)))
                best = int(np.argmax(chances))
                self.probability[at], self.right[at] = chances[best], right[at][best]
        self.weights = fit(np.flatnonzero(is_fitted_to))


def show(name: str, outcomes: Iterable[tuple[bool, str]]) -> None:
    """Print how many questions are answered right and wrong, and of how many without an answer none is given."""
    counts = Counter(outcomes)
    of, none = (sum(count for (known, _), count in counts.items() if known is asked) for asked in (True, False))
    print(
        f"{name:22} of {of:4} right {counts[True, 'right']:4} wrong {counts[True, 'wrong']:4}"
        f" refused {counts[True, 'refused']:4}   of {none:4} without an answer refused {counts[False, 'refused']:4}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.other_languages", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--xquad", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--units", type=int, default=DESCRIBED, help="Units of a question that the model reads.")
    given = parser.parse_args()
    asked = [*ask_files(), *(ask_xquad(given.xquad) if given.xquad else ())]
    read = [replace(one, units=one.units[: given.units], right=one.right[: given.units]) for one in asked]
    measure(given.model, read, given.out)


def measure(model: Path, asked: Sequence[AskedUnits], out: Path | None) -> None:
    judge = Judge(CrossEncoder(model, load_tokenizer()))
    read = [one for one in asked if one.units]
    columns, seconds = [], []
    for one in read:
        began = time.perf_counter()
        chances = judge.rate_answers(one.question, [text_for_judge(unit) for unit in one.units])
        seconds.append(time.perf_counter() - began)
        columns.append(np.stack([[*map(log_odds, chances)], [unit.worth for unit in one.units]], 1))
    kinds = {
        "held files": [one.source.startswith("everyday") and is_held(one.group) for one in asked],
        "files trained on": [one.source.startswith("everyday") and not is_held(one.group) for one in asked],
        "xquad": [one.source.startswith("xquad") for one in asked],
    }
    trained_on = {id(one) for one, is_it in zip(asked, kinds["files trained on"], strict=True) if is_it}
    fitted = Fitted(read, columns, np.array([id(one) not in trained_on for one in read]))
    decided = {
        id(one): (chance, right) for one, chance, right in zip(read, fitted.probability, fitted.right, strict=True)
    }

    def decide(one: AskedUnits, least: float) -> tuple[bool, str]:
        chance, is_right = decided.get(id(one), (0.0, False))
        return one.is_answerable, "refused" if chance < least else "right" if is_right else "wrong"

    for kind, chosen in kinds.items():
        own = [one for one, is_it in zip(asked, chosen, strict=True) if is_it]
        if not own:
            continue
        first = [decided[id(one)][1] for one in own if one.is_answerable and id(one) in decided]
        shown = sum(any(one.right) for one in own)
        print(f"{kind}: an answer is among the units for {shown}, the first one is right for {sum(first)}")
        show("  ask today", ((one.is_answerable, one.outcome) for one in own))
        for least in THRESHOLDS:
            show(f"  from {least:.2f}", (decide(one, least) for one in own))
        for source in sorted({one.source for one in own}):
            show(f"  {source} from 0.50", (decide(one, 0.5) for one in own if one.source == source))
    print(
        f"The model takes {np.median(seconds):.2f} s for a question, {np.quantile(seconds, 0.9):.2f} s for one of ten."
    )
    text = json.dumps({name: value for name, value in asdict(fitted.weights).items() if name != "first"}, indent=1)
    print(text)
    if out:
        out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
