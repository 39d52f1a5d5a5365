"""Does a passage support a claim, does a sentence answer a question?

The judge reads English. The reader for other languages only chooses answers. Where onnxruntime cannot be imported,
rules decide alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from shortlist.answer.extractive.signals import Question
from shortlist.answer.extractive.unit_choice import (
    OTHER_WEIGHTS,
    READ,
    READ_FROM,
    READ_FROM_OTHER,
    READ_OTHER,
    AnswerReader,
    load_weights,
)
from shortlist.answer.extractive.units.splitting import split_spans
from shortlist.index.embedders import cross_encoder
from shortlist.index.embedders.cross_encoder import ANSWER, CLAIM, CrossEncoder
from shortlist.index.embedders.tokenization import WordPieceTokenizer
from shortlist.results import Evidence
from shortlist.retrieval.relevance import probability

MODEL = Path(__file__).parent / "data" / "judge" / "model.onnx"
LONGEST_TEXT = 450  # characters of a passage that are compared with a claim

_WORD = re.compile(r"\w{3,}")


class Judge:
    """Probabilities that a text supports a claim or answers a question."""

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def rate_claim(self, claim: str, cited: tuple[Evidence, ...]) -> float:
        """The probability that the cited passages, alone or together, support a claim."""
        parts = [select_sentences(claim, item.text) for item in cited]
        texts = [
            (part, " > ".join(filter(None, (item.name, item.context)))) for part, item in zip(parts, cited, strict=True)
        ]
        if len(parts) > 1:
            texts.append((select_sentences(claim, "\n\n".join(parts)), ""))
        return max(self._rate(CLAIM, claim, texts))

    def rate_answers(self, question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text, in its context, answers the question."""
        return self._rate(ANSWER, question, texts)

    def _rate(self, head: int, rated: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        return list(map(probability, self._model.rate(head, rated, texts)))


def select_sentences(claim: str, text: str) -> str:
    """The sentences of a text that share the most words with a claim, each with the one before it, as far as fits."""
    spans = split_spans(text)
    wanted = set(_WORD.findall(claim.casefold()))
    shared = [len(wanted.intersection(_WORD.findall(text[start:end].casefold()))) for start, end in spans]
    chosen: set[int] = set()
    left = LONGEST_TEXT
    for at in sorted(range(len(spans)), key=lambda at: -shared[at]):
        for one in (at, at - 1):
            if one >= 0 and one not in chosen and (length := spans[one][1] - spans[one][0]) <= left:
                chosen.add(one)
                left -= length
    return " ".join(text[start:end] for start, end in (spans[at] for at in sorted(chosen))) or text[:LONGEST_TEXT]


def load_judge() -> Judge | None:
    """The model of English, if this system can run it."""
    return _make_judge(cross_encoder.load(MODEL, WordPieceTokenizer))


def load_reader() -> Judge | None:
    """The model for other languages, if this system can run it. It knows nothing of claims."""
    return _make_judge(cross_encoder.load_reader())


@cache
def _make_judge(model: CrossEncoder | None) -> Judge | None:
    return Judge(model) if model else None


def find_reader(question: Question) -> AnswerReader | None:
    """What chooses among units in the language of a question, if this system can run it.

    Neither model relates a question to passages in another language.
    """
    if question.is_english:
        judge = load_judge()
        return AnswerReader(judge.rate_answers, load_weights(), READ, READ_FROM) if judge else None
    judge = None if question.is_foreign else load_reader()
    return AnswerReader(judge.rate_answers, load_weights(OTHER_WEIGHTS), READ_OTHER, READ_FROM_OTHER) if judge else None
