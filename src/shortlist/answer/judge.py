"""Small models that read two texts together: does a passage support a claim, does a sentence answer a question?

Each is a cross-encoder with a head for claims and one for answers. The judge reads English (`python -m
training.judge`). The reader for other languages only chooses answers, and has the words of the embedder `tools`
(`python -m training.judge.listwise`). Where onnxruntime cannot be imported, rules decide alone.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
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
from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.parallel_session import ParallelSession
from shortlist.index.embedders.tokenization import TransformerTokenizer, WordPieceTokenizer
from shortlist.results import Evidence

MODEL = Path(__file__).parent / "data" / "judge" / "model.onnx"
READER = tools_model.MODEL.with_name("reader.onnx")  # beside the file that has its words
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
    """The model of English, if this system can run it."""
    return _load(MODEL, WordPieceTokenizer)


def load_reader() -> Judge | None:
    """The model for other languages, if this system can run it. It knows nothing of claims."""
    return _load(READER, tools_model.load_tokenizer)


def _load(model: Path, make_tokenizer: Callable[[], TransformerTokenizer]) -> Judge | None:
    with _LOADING:  # once, however many requests come first
        return _make_judge(model, make_tokenizer) if model.exists() and models.can_run_models() else None


@cache
def _make_judge(model: Path, make_tokenizer: Callable[[], TransformerTokenizer]) -> Judge:
    return Judge(model, make_tokenizer())


def find_reader(question: Question) -> AnswerReader | None:
    """What chooses among units in the language of a question, if this system can run it.

    Neither model relates a question to passages in another language.
    """
    if question.is_english:
        judge = load_judge()
        return AnswerReader(judge.rate_answers, load_weights(), READ, READ_FROM) if judge else None
    judge = None if question.is_foreign else load_reader()
    return AnswerReader(judge.rate_answers, load_weights(OTHER_WEIGHTS), READ_OTHER, READ_FROM_OTHER) if judge else None
