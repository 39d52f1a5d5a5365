"""Answers and verified claims, with rules alone and with the model: right, wrong and refused.

`python -m bench answers [SET...] [--docs FOLDER] [--claims FILE] [--models FOLDER] [--show]`. A set is debian_docs,
new_docs, or a folder or archive, which has questions over one corpus, some without an answer (squad2), questions over
sections with the sentences that answer (selqa_dev), or claims with evidence (fever_symmetric_dev). An answer is right
if it has at most three sentences and contains what was expected. debian_docs and new_docs are questions of our own
about documentation in Debian packages, which are downloaded, or read from `--docs`. `--claims` is a file of claims from
several sources.

The numbers of `answer/extractive/` were fitted to half of the titles of squad2, and the shipped model was trained on
selqa_dev, fever_symmetric_dev and the file of claims: `--models` has fold0.onnx to fold4.onnx, trained without a fold.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shortlist
from bench import beir, claims, debian_docs, report
from shortlist import Answer, CorpusSource, Document
from shortlist.answer import judge
from shortlist.index.corpus import Corpus

MOST_SENTENCES = 3  # of a right answer
NO_MODEL = Path(__file__).with_name("no_model.onnx")  # does not exist
ANSWERABLE = ("right", "wrong", "wrongly_refused")
UNANSWERABLE = ("rightly_refused", "wrongly_answered")
READER_GROUP = "reader"  # questions of squad2 that the reader is fitted to
COLUMNS = ("questions", *ANSWERABLE, *UNANSWERABLE, "in_evidence", "cites_expected", "sentences")

_ROUND = str.maketrans("[]", "()")  # as in an answer, where square brackets are for citations


@dataclass(frozen=True)
class Asked:
    """A question, the documents that answer it (none for one without an answer), and what a right answer contains."""

    text: str
    gold: frozenset[str]
    answers: tuple[str, ...]
    group: str  # is reported on its own
    are_patterns: bool = False  # the answers are regular expressions
    fold: int | None = None  # a model trained without it answers

    @property
    def is_fitted(self) -> bool:
        """Whether the model has seen it."""
        return self.group in ("fitted", READER_GROUP)

    def is_right(self, answer: Answer) -> bool:
        return len(answer.sentences) <= MOST_SENTENCES and self.is_in(plain_text(answer))

    def is_in(self, text: str) -> bool:
        """Whether a text without needless space contains what a right answer does."""
        if self.are_patterns:
            return any(re.search(pattern, text, re.IGNORECASE) for pattern in self.answers)
        return any(normalize(one).casefold() in text.casefold() for one in self.answers)


def use_model(path: Path | None) -> None:
    """Evaluate answers and claims with the model in a file, or with rules alone."""
    if path and not path.is_file():
        raise SystemExit(f"{path} is not a model file.")
    judge.MODEL = path or NO_MODEL


@dataclass(frozen=True)
class Variant:
    """How answers are made: with rules alone, or with a model that has not seen what it is measured on."""

    name: str
    model: Path | None = None
    folds: Path | None = None

    def may_ask(self, one: Asked) -> bool:
        """Whether a question was not used for training."""
        return not (self.model and one.is_fitted)

    def use(self, fold: int | None) -> None:
        use_model(self.folds / f"fold{fold}.onnx" if self.folds and fold is not None else self.model)


def questions(folder: Path) -> tuple[list[Document], list[Asked]]:
    """The documents and questions of a set.

    Of its titles in order of the alphabet, every other one was fitted to, and of the rest each third one by the reader.
    """
    data = beir.load(folder)
    titles = {document.id: document.title for document in data.documents}
    ordered = sorted(set(titles.values()))
    groups = dict.fromkeys(ordered[::2], "fitted") | dict.fromkeys(ordered[1::6], READER_GROUP)
    asked = []
    for id, text in data.queries.items():
        about = data.about[id]
        gold = frozenset(data.relevance.get(id, ())) if about["answerable"] else frozenset()
        group = groups.get(titles[about["paragraph"]], "unseen")
        asked.append(Asked(text, gold, tuple(about.get("answers", ())), group))
    return data.documents, asked


def sections(file: Path) -> tuple[list[Document], list[Asked]]:
    """The sections of all articles as documents, and the questions about them, in folds by article."""
    documents: dict[str, Document] = {}
    asked = []
    for row in map(json.loads, file.read_text("utf-8").splitlines()):
        id, sentences = f"{row['article']} > {row['section']}", row["sentences"]
        documents[id] = Document(id, id, " ".join(sentences))
        fold = claims.fold_of(row["article"])
        answers = tuple(sentences[at] for at in row["answers"])
        asked.append(Asked(row["question"], frozenset([id]), answers, f"fold {fold}", fold=fold))
    return list(documents.values()), asked


def own_questions(name: str = debian_docs.NAME) -> list[Asked]:
    return [
        Asked(case.question, frozenset([case.file] if case.file else ()), case.answers, case.half, are_patterns=True)
        for case in debian_docs.load_cases(name)
    ]


def run(arguments: list[Path]) -> None:
    parser = argparse.ArgumentParser("python -m bench answers")
    parser.add_argument("sets", nargs="*", type=Path)
    parser.add_argument("--docs", type=Path, help="Documents of debian_docs or new_docs; downloaded if missing.")
    parser.add_argument("--claims", type=Path, help="Claims of several sources, .jsonl or .jsonl.xz.")
    parser.add_argument("--models", type=Path, help="Folder with fold0.onnx to fold4.onnx.")
    parser.add_argument("--show", action="store_true", help="Print what is not right also of the test half.")
    options = parser.parse_args([str(one) for one in arguments])
    own = [one for one in options.sets if one.name in debian_docs.SETS]
    if options.docs and len(own) > 1:
        parser.error("--docs has the documents of one set. Measure debian_docs and new_docs one after the other.")
    if not options.sets and not options.docs and not options.claims:
        print("answers: give debian_docs, new_docs, or folders such as squad2, selqa_dev and fever_symmetric_dev")
        return
    shipped = judge.MODEL
    variants = [Variant("rules")]
    if shipped or options.models:
        variants.append(Variant("model", shipped, options.models))
    figures: dict[str, Any] = {}
    for path in (one for one in options.sets if one not in own):
        with beir.unpacked(path) as folder:
            figures[folder.name] = _measure_set(folder, variants)
    if options.claims:
        for name, rows in claims.load_sources(options.claims).items():
            figures[f"claims, {name}"] = _measure_claims(name, rows, variants)
    for name in [one.name for one in own] or [debian_docs.NAME] * bool(options.docs):
        if measured := _measure_own(name, options.docs, variants, options.show):
            figures[name] = measured
    if figures:
        report.save("answers", figures, beside_others=True)


def _measure_set(folder: Path, variants: Sequence[Variant]) -> dict[str, Any]:
    if (folder / "claims.jsonl").exists():
        return _measure_claims(folder.name, claims.load_folds(folder / "claims.jsonl"), variants)
    if (folder / "questions.jsonl").exists():
        documents, asked = sections(folder / "questions.jsonl")
    else:
        documents, asked = questions(folder)
    corpus = shortlist.build(documents, in_memory=True)
    return _measure_answers(folder.name, corpus, asked, variants)


def _measure_own(name: str, docs: Path | None, variants: Sequence[Variant], show_all: bool) -> dict[str, Any] | None:
    with tempfile.TemporaryDirectory() as place:
        folder = docs or Path(place) / "docs"
        try:
            if not folder.exists():
                print(f"downloading the packages of {name}", file=sys.stderr)
                debian_docs.fetch(folder, name)
        except debian_docs.Unavailable as error:
            print(f"{name} is skipped: {error}")
            return None
        corpus = shortlist.build(CorpusSource.from_files(folder), in_memory=True)
        return _measure_answers(name, corpus, own_questions(name), variants, lambda one: show_all or one.group == "dev")


def _measure_answers(
    name: str,
    corpus: Corpus,
    asked: Sequence[Asked],
    variants: Sequence[Variant],
    is_shown: Callable[[Asked], bool] = lambda one: False,
) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for variant in variants:
        began = time.perf_counter()
        pairs = list(_ask_all(corpus, [one for one in asked if variant.may_ask(one)], variant))
        milliseconds = 1000 * (time.perf_counter() - began) / len(pairs)
        groups = ["all", *sorted({one.group for one, _ in pairs})]
        rows = {key: _figures([pair for pair in pairs if key in ("all", pair[0].group)]) for key in groups}
        reliability = measure_reliability(pairs)
        figures[variant.name] = {"milliseconds": round(milliseconds, 2), "reliability": reliability, **rows}
        print(f"\n{name}, {variant.name}, {milliseconds:.2f} ms a question")
        print(f"{'':8}" + "".join(f"{key:>18}" for key in COLUMNS))
        for key, row in rows.items():
            print(f"{key:8}" + "".join(f"{_cell(row, column):>18}" for column in COLUMNS), flush=True)
        for one, answer in pairs:
            if (found := outcome(one, answer)) not in ("right", "rightly_refused") and is_shown(one):
                print(f"{found}: {one.text}\n    {answer.reason if answer.refused else answer.text}")
    return figures


def _ask_all(corpus: Corpus, asked: Sequence[Asked], variant: Variant) -> Iterator[tuple[Asked, Answer]]:
    """The answers to all questions, fold by fold."""
    done = 0
    for fold in sorted({one.fold for one in asked}, key=str):
        variant.use(fold)
        for one in (one for one in asked if one.fold == fold):
            yield one, shortlist.ask(corpus, one.text)
            done += 1
            _show_progress(done, len(asked))


def outcome(one: Asked, answer: Answer) -> str:
    if not one.gold:
        return "rightly_refused" if answer.refused else "wrongly_answered"
    return "wrongly_refused" if answer.refused else "right" if one.is_right(answer) else "wrong"


def plain_text(answer: Answer) -> str:
    """The sentences of an answer without their citations."""
    texts = []
    for sentence in answer.sentences:
        text = sentence.text
        for citation in sentence.citations:
            text = text.replace(citation.marker, "")
        texts.append(text)
    return normalize(" ".join(texts))


def normalize(text: str) -> str:
    return " ".join(text.translate(_ROUND).split())


def measure_reliability(pairs: Sequence[tuple[Asked, Answer]]) -> list[list[float]]:
    """Of the answers in each tenth of confidence: the mean confidence, the share that is right, and their number."""
    rows = []
    for tenth in range(10):
        own = [
            (one, answer)
            for one, answer in pairs
            if not answer.refused and min(int(10 * answer.confidence), 9) == tenth
        ]
        if own:
            mean = sum(answer.confidence for _, answer in own) / len(own)
            right = sum(outcome(one, answer) == "right" for one, answer in own)
            rows.append([round(mean, 3), round(right / len(own), 3), len(own)])
    return rows


def _figures(pairs: Sequence[tuple[Asked, Answer]]) -> dict[str, float]:
    """How many questions had each outcome, sentences per answer, and two parts of the questions with an answer.

    `in_evidence` are those whose answer is in the passages that were found, `cites_expected` those that are answered
    with a citation of a document that answers.
    """
    found = Counter(outcome(one, answer) for one, answer in pairs)
    answered = [len(answer.sentences) for _, answer in pairs if not answer.refused]
    return {
        "questions": len(pairs),
        **{key: found[key] for key in (*ANSWERABLE, *UNANSWERABLE)},
        "in_evidence": sum(
            any(one.is_in(normalize(item.text)) for item in answer.evidence) for one, answer in pairs if one.gold
        ),
        "cites_expected": sum(bool(one.gold & _cited(answer)) for one, answer in pairs),
        "sentences": sum(answered) / max(1, len(answered)),
    }


def _cited(answer: Answer) -> set[str]:
    documents = {item.number: item.id for item in answer.evidence}
    return {documents[citation.number] for sentence in answer.sentences for citation in sentence.citations}


def _cell(row: Mapping[str, float], key: str) -> str:
    """A figure; a number of questions also as its share of those with, or without, an answer."""
    if key in ("questions", "sentences"):
        return f"{row[key]:.4g}"
    total = sum(row[one] for one in (UNANSWERABLE if key in UNANSWERABLE else ANSWERABLE))
    return f"{row[key]} {row[key] / total:7.1%}" if total else ""


def _measure_claims(name: str, rows: Sequence[claims.Labeled], variants: Sequence[Variant]) -> dict[str, Any]:
    folds = sorted({one.fold for one in rows}, key=str)
    figures: dict[str, Any] = {}
    for variant in variants:
        kept: list[tuple[claims.Labeled, bool]] = []
        agreed = compared = 0
        for fold in folds:
            variant.use(fold)
            for at, one in enumerate(one for one in rows if one.fold == fold):
                kept.append((one, claims.is_kept(one)))
                _show_progress(len(kept), len(rows))
                if at < claims.COMPARED // len(folds):
                    compared += 1
                    agreed += kept[-1][1] == claims.is_kept_by_ask(one)
        row = claims.measure(kept)
        figures[variant.name] = row | {"ask_agrees": agreed, "ask_compared": compared}
        cells = "  ".join(f"{key} {value:.4g}" for key, value in row.items())
        print(f"\n{name}, {variant.name}: {cells}  (`ask` agrees on {agreed} of {compared})", flush=True)
    return figures


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty() and (done % 50 == 0 or done == total):
        print(f"\r{done:,} of {total:,}", end="" if done < total else "\n", file=sys.stderr, flush=True)
