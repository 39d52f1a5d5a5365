"""Small models that read two texts together: whether a passage supports a claim, a sentence answers a question, or a
tool serves a need.

Each file has a head for claims and one for all else. The judge reads English (`python -m training.judge`), the reader
all languages, with the words of the embedder `tools` (`python -m training.judge.listwise`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.parallel_session import ParallelSession
from shortlist.index.embedders.tokenization import TransformerTokenizer

READER = tools_model.MODEL.with_name("reader.onnx")  # beside the file that has its words
CLAIM, ANSWER = 0, 1  # the heads
# Tokens of what is judged, of the text that must support or answer it, and of its context, as in training.
MOST_TOKENS = {CLAIM: (60, 176, 16), ANSWER: (60, 120, 72)}

_LOADING = threading.Lock()


class CrossEncoder:
    """Log odds that texts support a claim, answer a question or serve a need."""

    def __init__(self, model: Path, tokenizer: TransformerTokenizer) -> None:
        self._tokenizer = tokenizer
        self._session = ParallelSession(model)

    def rate(self, head: int, rated: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        """The log odds of each text, in its context."""
        rows = [self._encode(head, rated, text, context) for text, context in texts]
        with models.explain_errors(f"The model that {'checks' if head == CLAIM else 'chooses'} answers failed"):
            return [float(logits[head]) for logits in self._session.run(rows)]

    def _encode(self, head: int, *parts: str) -> list[int]:
        row = [self._tokenizer.first]
        for part, most in zip(parts, MOST_TOKENS[head], strict=True):
            text = part[: most * models.CHARS_PER_TOKEN]
            row += [*self._tokenizer.encode(text, most), self._tokenizer.separator]
        return row


def load(model: Path, make_tokenizer: Callable[[], TransformerTokenizer]) -> CrossEncoder | None:
    """The model of a file, if this system can run it."""
    with _LOADING:  # once, however many requests come first
        return _load(model, make_tokenizer) if model.exists() and models.can_run_models() else None


def load_reader() -> CrossEncoder | None:
    """The model of all languages, if this system can run it. It knows nothing of claims."""
    return load(READER, tools_model.load_tokenizer)


def warm_reader() -> None:
    """Load the reader before it is needed."""
    if reader := load_reader():
        reader.rate(ANSWER, "", [("", ""), ("", "")])


@cache
def _load(model: Path, make_tokenizer: Callable[[], TransformerTokenizer]) -> CrossEncoder:
    return CrossEncoder(model, make_tokenizer())
