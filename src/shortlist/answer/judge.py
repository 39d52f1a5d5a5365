"""A small model that reads two texts together: does a passage support a claim, does a sentence answer a question?

It is a cross-encoder with one head for each, trained by `python -m training.judge`. Where
onnxruntime cannot be imported, rules decide alone.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from shortlist.answer.extractive.signals import Question
from shortlist.answer.extractive.unit_choice import READ, READ_FROM, AnswerReader, load_weights
from shortlist.answer.extractive.units.splitting import split_spans
from shortlist.index.embedders import models
from shortlist.index.embedders.parallel_session import ParallelSession
from shortlist.index.embedders.tokenization import TransformerTokenizer, WordPieceTokenizer
from shortlist.results import Evidence

MODEL = Path(__file__).parent / "data" / "judge" / "model.onnx"
CLAIM, ANSWER = 0, 1  # the heads
# Tokens of what is judged, of the text that must support or answer it, and of its context, as in training.
MOST_TOKENS = {CLAIM: (60, 176, 16), ANSWER: (60, 120, 72)}
LONGEST_TEXT = 450  # characters of a passage that are compared with a claim

_WORD = re.compile(r"\w{3,}")
_LOADING = threading.Lock()


class Judge:
    """Probabilities that a text supports a claim or answers a question."""

    def __init__(self, model: Path, tokenizer: TransformerTokenizer) -> None:
        self._tokenizer = tokenizer
        self._session = ParallelSession(model)

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
        rows = [self._encode(head, rated, text, context) for text, context in texts]
        with models.explain_errors("The model that checks answers failed"):
            return [1 / (1 + math.exp(-float(logits[head]))) for logits in self._session.run(rows)]

    def _encode(self, head: int, *parts: str) -> list[int]:
        row = [self._tokenizer.first]
        for part, most in zip(parts, MOST_TOKENS[head], strict=True):
            text = part[: most * models.CHARS_PER_TOKEN]
            row += [*self._tokenizer.encode(text, most), self._tokenizer.separator]
        return row


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
    """The model, if this system can run it."""
    with _LOADING:  # once, however many requests come first
        return _load(MODEL) if MODEL.exists() and models.can_run_models() else None


@cache
def _load(model: Path) -> Judge:
    return Judge(model, WordPieceTokenizer())


def find_reader(question: Question) -> AnswerReader | None:
    """What chooses among units in the languages of a question and of its passages, if this system can run it."""
    judge = load_judge() if question.is_english else None  # it was trained on English
    return AnswerReader(judge.rate_answers, load_weights(), READ, READ_FROM) if judge else None
