"""Our own embedder: a small transformer that was trained to find tools."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.embedders import models

if TYPE_CHECKING:
    from shortlist.results import Vectors

MODEL = models.DATA / "tools" / "model.onnx"
MAX_TOKENS = 256  # the positions in the file
MAX_THREADS = 4

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_for_tools() -> str:
    """The embedder of a new persistent corpus of tools: ours, if the package that runs it is installed."""
    return "tools" if importlib.util.find_spec("onnxruntime") else "default"


def as_read(text: str) -> str:
    """The text as the model was trained: a first line of one word is a name, so getUserToken is get User Token."""
    first, newline, rest = text.partition("\n")
    return text if " " in first else _HUMPS.sub(" ", first) + newline + rest


class ToolsEmbedder(models.OnnxEmbedder):
    """all-MiniLM-L6-v2, trained further on tools and the queries for them.

    All cores work on a single text, so that a query is fast; of many texts each core takes one, longest first, which
    costs a fifth less.
    """

    noise = (0.3, 0.07)

    def __init__(self) -> None:
        tokenizers = importlib.import_module("tokenizers")
        made = tokenizers.BertWordPieceTokenizer(str(models.VOCABULARY), lowercase=True)
        tokenizer = tokenizers.Tokenizer.from_str(made.to_str())  # can encode without offsets, twice as fast
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._threads = min(MAX_THREADS, cores)
        super().__init__(MODEL, tokenizer, f"tools#{models.fingerprint([MODEL])}", MAX_TOKENS, threads=self._threads)

    @cached_property
    def _single_threaded(self) -> Any:
        return models.start_session(MODEL, self.name, 1) if self._threads > 1 else self._session

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        with models.explain_errors(f"{self.name} cannot encode"):
            ids = [row.ids for row in self._tokenizer.encode_batch_fast([as_read(text) for text in texts])]
            if len(ids) == 1:
                return [self._run(self._session, ids[0])]
            order = sorted(range(len(ids)), key=lambda at: -len(ids[at]))
            run = partial(self._run, self._single_threaded)
            with ThreadPoolExecutor(self._threads) as pool:
                rows = dict(zip(order, pool.map(run, (ids[at] for at in order)), strict=True))
            return [rows[at] for at in range(len(ids))]

    def _run(self, session: Any, ids: list[int]) -> Vectors:
        if self._dim and self._unknown.issuperset(ids[1:-1]):
            return np.zeros(self._dim, dtype=np.float32)
        row: Vectors = session.run([self._output], {"input_ids": np.array([ids], dtype=np.int64)})[0][0]
        return row
