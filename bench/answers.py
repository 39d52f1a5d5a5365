"""Answers without a language model, on a set in BEIR layout that has unanswerable questions, such as squad2.

A question counts as right if it is answered and the passage that holds the answer is cited, or if it is refused and has
no answer. The numbers of `answer/extract.py` were fitted to one half of the titles; the other half is told apart.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shortlist
from bench import beir, report
from shortlist import Answer, Document


@dataclass(frozen=True)
class Asked:
    """A question, the documents that answer it (none for one without an answer), and whether it was fitted to."""

    text: str
    gold: frozenset[str]
    answers: tuple[str, ...]
    is_fitted: bool


def questions(folder: Path) -> tuple[list[Document], list[Asked]]:
    """The documents and questions of a set; every other title, in order of the alphabet, was fitted to."""
    data = beir.load(folder)
    titles = {document.id: document.title for document in data.documents}
    fitted = set(sorted(set(titles.values()))[::2])
    asked = []
    with beir.unpacked(folder) as place:
        for line in (place / "queries.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            about = row["metadata"]
            gold = frozenset(data.relevance.get(row["_id"], ())) if about["answerable"] else frozenset()
            in_half = titles[about["paragraph"]] in fitted
            asked.append(Asked(row["text"], gold, tuple(about.get("answers", ())), in_half))
    return data.documents, asked


def run(folders: list[Path]) -> None:
    if not folders:
        print("answers: give a folder or .tar.xz archive in BEIR layout with unanswerable questions, such as squad2")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        documents, asked = questions(folder)
        corpus = shortlist.build(documents, in_memory=True)
        began = time.perf_counter()
        answers = [shortlist.ask(corpus, one.text) for one in asked]
        milliseconds = 1000 * (time.perf_counter() - began) / len(asked)
        pairs = list(zip(asked, answers, strict=True))
        halves = {
            "all": pairs,
            "fitted": [pair for pair in pairs if pair[0].is_fitted],
            "unseen": [pair for pair in pairs if not pair[0].is_fitted],
        }
        rows = {name: _figures(half) for name, half in halves.items()}
        figures[folder.name] = {"milliseconds": round(milliseconds, 2), **rows}
        for name, row in rows.items():
            print(f"{folder.name:12}{name:8}" + "  ".join(f"{key} {value:.4g}" for key, value in row.items()))
        print(f"{milliseconds:.2f} ms a question")
    report.save("answers", figures)


def _figures(pairs: list[tuple[Asked, Answer]]) -> dict[str, float]:
    answerable = [(one, answer) for one, answer in pairs if one.gold]
    answered = [(one, answer) for one, answer in answerable if not answer.refused]
    cited = sum(bool(one.gold & _cited(answer)) for one, answer in answered)
    held = sum(any(text.casefold() in answer.text.casefold() for text in one.answers) for one, answer in answered)
    unanswerable = [answer for one, answer in pairs if not one.gold]
    refused = sum(answer.refused for answer in unanswerable)
    return {
        "questions": len(pairs),
        "right": (cited + refused) / len(pairs),
        "gold_cited_of_answered": cited / max(1, len(answered)),
        "answered_of_answerable": len(answered) / max(1, len(answerable)),
        "refused_of_unanswerable": refused / max(1, len(unanswerable)),
        "holds_the_answer_of_answered": held / max(1, len(answered)),
        "sentences": sum(len(answer.sentences) for _, answer in answered) / max(1, len(answered)),
    }


def _cited(answer: Answer) -> set[str]:
    documents = {item.number: item.id for item in answer.evidence}
    return {documents[citation.number] for sentence in answer.sentences for citation in sentence.citations}
