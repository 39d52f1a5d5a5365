"""Follow-up questions in dialogues, without a language model: right, wrong and refused.

`python -m bench dialogues [CASES] [--show]`. Each line of CASES is a dialogue over a folder of documents: turns with a
question and patterns of which a right answer contains one; without patterns, the documents do not answer. Each dialogue
is a `Chat`. The first questions and the follow-ups are counted apart.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import shortlist
from bench import report
from bench.answers import MOST_SENTENCES, plain_text
from shortlist import Answer, Chat, CorpusSource
from shortlist.index.corpus import Corpus

CASES = Path(__file__).parent / "cases" / "dialogues.jsonl"


@dataclass(frozen=True)
class Turn:
    """A question, the patterns of right answers (none if the documents do not answer), and what was answered."""

    question: str
    patterns: Sequence[str]
    answer: Answer

    @property
    def outcome(self) -> str:
        if not self.patterns:
            return "rightly_refused" if self.answer.refused else "wrongly_answered"
        if self.answer.refused:
            return "wrongly_refused"
        text = plain_text(self.answer)
        has_pattern = any(re.search(pattern, text, re.IGNORECASE) for pattern in self.patterns)
        return "right" if has_pattern and len(self.answer.sentences) <= MOST_SENTENCES else "wrong"


def run(arguments: Sequence[Path]) -> None:
    parser = argparse.ArgumentParser("python -m bench dialogues", description=__doc__)
    parser.add_argument("cases", nargs="?", type=Path, default=CASES)
    parser.add_argument("--show", action="store_true", help="Print every turn.")
    options = parser.parse_args([str(one) for one in arguments])
    groups: dict[str, Counter[str]] = {"first questions": Counter(), "follow-ups": Counter()}
    for turns in map(_talk, _read(options.cases)):
        for number, turn in enumerate(turns):
            groups["follow-ups" if number else "first questions"][turn.outcome] += 1
            if options.show:
                print(f"  {turn.outcome:16} {'+' if number else ' '} {turn.question} -> {turn.answer.text[:150]!r}")
    figures: dict[str, Any] = {name: _summarize(counts) for name, counts in groups.items()}
    for name, row in figures.items():
        print(f"  {name:16} {row}")
    if options.cases == CASES:
        report.save("dialogues", figures)


def _read(cases: Path) -> Iterator[tuple[Path, list[Mapping[str, Any]]]]:
    for line in cases.read_text("utf-8").splitlines():
        dialogue = json.loads(line)
        yield cases.parent / dialogue["document_folder"], dialogue["turns"]


@cache
def _open(folder: Path) -> Corpus:
    return shortlist.build(CorpusSource.from_files(folder), in_memory=True)


def _talk(dialogue: tuple[Path, list[Mapping[str, Any]]]) -> list[Turn]:
    folder, turns = dialogue
    chat = Chat(_open(folder))
    return [Turn(turn["question"], turn["answers"], chat.ask(turn["question"])) for turn in turns]


def _summarize(counts: Counter[str]) -> dict[str, Any]:
    answerable = sum(counts[name] for name in ("right", "wrong", "wrongly_refused"))
    others = counts["rightly_refused"] + counts["wrongly_answered"]
    return {
        "turns": sum(counts.values()),
        "right": round(counts["right"] / max(answerable, 1), 3),
        "wrong": round(counts["wrong"] / max(answerable, 1), 3),
        "wrongly_refused": round(counts["wrongly_refused"] / max(answerable, 1), 3),
        "unanswerable_refused": round(counts["rightly_refused"] / max(others, 1), 3),
        "unanswerable": others,
    }
