"""Our own embedder: a small transformer that was trained to find tools."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import EmbedderError
from shortlist.index.embedders import models

if TYPE_CHECKING:
    from shortlist.results import Vectors

MODEL = Path(__file__).with_name("data") / "tools" / "model.onnx"
EXTRA = "tools"
MAX_TOKENS = 256  # the places that the file holds
MOST_THREADS = 4

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_for_tools() -> str:
    """The embedder of a new corpus of tools that is kept: ours, if what runs it is installed."""
    return "tools" if importlib.util.find_spec("onnxruntime") else "default"


def as_read(text: str) -> str:
    """A first line of one word is a name, read as words: getUserToken is get User Token. It was trained so."""
    first, newline, rest = text.partition("\n")
    return text if " " in first else _HUMPS.sub(" ", first) + newline + rest


class ToolsEmbedder(models.OnnxEmbedder):
    """all-MiniLM-L6-v2, trained further on tools and what people ask of them.

    The cores share a single text, so that nobody waits long for a query; of many each takes one, longest first, which
    costs a fifth less.
    """

    noise = (0.3, 0.07)

    def __init__(self) -> None:
        tokenizers = importlib.import_module("tokenizers")
        made = tokenizers.BertWordPieceTokenizer(str(models.VOCABULARY), lowercase=True)
        tokenizer = tokenizers.Tokenizer.from_str(made.to_str())  # which can encode without offsets, twice as fast
        name = f"tools#{models.fingerprint([MODEL])}"
        self._threads = min(MOST_THREADS, _cores())
        super().__init__(MODEL, tokenizer, name, MAX_TOKENS, extra=EXTRA, threads=self._threads)

    @cached_property
    def _of_one_thread(self) -> Any:
        return models.session(MODEL, EXTRA, 1) if self._threads > 1 else self._session

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        try:
            read = [row.ids for row in self._tokenizer.encode_batch_fast([as_read(text) for text in texts])]
            if len(read) == 1:
                return [self._run(self._session, read[0])]
            order = sorted(range(len(read)), key=lambda at: -len(read[at]))
            run = partial(self._run, self._of_one_thread)
            with ThreadPoolExecutor(self._threads) as pool:
                found = dict(zip(order, pool.map(run, (read[at] for at in order)), strict=True))
            return [found[at] for at in range(len(read))]
        except Exception as error:
            raise EmbedderError(f"{self.name} cannot encode: {error}") from error

    def _run(self, session: Any, ids: list[int]) -> Vectors:
        if self._dim and self._unknown.issuperset(ids[1:-1]):
            return np.zeros(self._dim, dtype=np.float32)
        found: Any = session.run([self._output], {"input_ids": np.array([ids], dtype=np.int64)})
        row: Vectors = found[0][0]
        return row


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
