"""Dialogues over small documents: follow-up questions, changes of topic, and turns that nothing answers.

The questions are in bench/cases/dialogues.jsonl, and the documents in the folder that each dialogue names.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).with_name("cases")


@dataclass(frozen=True)
class Turn:
    """A question as a person types it, and patterns of which a right answer contains one (none if nothing answers)."""

    question: str
    answers: tuple[str, ...]

    def is_answered_by(self, text: str) -> bool:
        normalized = " ".join(text.split())
        return any(re.search(pattern, normalized, re.IGNORECASE) for pattern in self.answers)


@dataclass(frozen=True)
class Dialogue:
    documents: Path  # a folder
    turns: tuple[Turn, ...]


def load_dialogues() -> list[Dialogue]:
    rows = map(json.loads, (CASES / "dialogues.jsonl").read_text("utf-8").splitlines())
    return [
        Dialogue(
            CASES / row["document_folder"],
            tuple(Turn(turn["question"], tuple(turn["answers"])) for turn in row["turns"]),
        )
        for row in rows
    ]
