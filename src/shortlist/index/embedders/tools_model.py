"""Our own embedder: a small transformer that was trained to find tools."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from shortlist.documents import Document, Problem
from shortlist.index.embedders import models
from shortlist.index.embedders.parallel_session import ParallelSession
from shortlist.index.embedders.tokenization import WordPieceTokenizer

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.results import Vectors

MODEL = models.DATA / "tools" / "model.onnx"
MAX_TOKENS = 256  # the positions in the file
TRAINED_FOR = {"tool", "skill", "package"}  # kinds of documents
MOST_IN_MEMORY = 200  # tools, about two seconds; then "default", which takes a tenth of a second
MOST_CACHED = 2_000  # vectors of documents, three megabytes: lists are indexed again in every call

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_for_tools(count: int = 0, most: int = 0) -> str:
    """The embedder of a new corpus of tools, skills or packages: ours, if this system can run it.

    Not for more than `most` tools if that is given: it encodes about a hundred tools per second.
    """
    return "tools" if count <= (most or count) and models.can_run_models() else "default"


def default_in_memory(documents: Iterable[Document | Problem]) -> str:
    """The embedder of documents that are indexed in memory."""
    listed = [one for one in documents if isinstance(one, Document)]
    if not listed or any(one.kind not in TRAINED_FOR for one in listed):
        return "default"
    return default_for_tools(len(listed), MOST_IN_MEMORY)


def suggest_embedder(kinds: Collection[str], embedder: str) -> str:
    """How to rank the documents of a corpus better if they are tools, skills or packages; "" if its embedder is the
    best for them."""
    if not set(kinds) or not TRAINED_FOR.issuperset(kinds) or not embedder.startswith("wordllama"):
        return ""
    ranks = f"The embedder 'tools' ranks {' and '.join(sorted(f'{kind}s' for kind in kinds))} better."
    if models.can_run_models():
        return f"{ranks} Build the corpus again with it."
    return f"{ranks} It needs onnxruntime, which cannot be imported here."


def model_name() -> str:
    """The name of the embedder with a fingerprint of the model file, which corpora store."""
    return f"tools#{models.fingerprint([MODEL])}"


def has_old_model(config: Config) -> bool:
    """Whether an older version of our model encoded a corpus."""
    return config.embedder == "tools" and config.embedder_name != model_name()


def as_read(text: str) -> str:
    """The text as the model was trained: a first line of one word is a name, so getUserToken is get User Token."""
    first, newline, rest = text.partition("\n")
    return text if " " in first else _HUMPS.sub(" ", first) + newline + rest


class ToolsEmbedder(models.OnnxEmbedder):
    """all-MiniLM-L6-v2, trained further on tools and the queries for them."""

    noise = (0.24, 0.07)

    def __init__(self) -> None:
        tokenizer = WordPieceTokenizer()
        encode = functools.partial(tokenizer.encode_whole, max_tokens=MAX_TOKENS)
        self._cache: dict[str, Vectors] = {}
        self._parallel = ParallelSession(MODEL)
        whole = self._parallel.whole
        super().__init__(MODEL, encode, {tokenizer.unknown}, model_name(), MAX_TOKENS, session=whole)

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        cache = {} if query else self._cache
        found = {text: row for text in texts if (row := cache.get(text)) is not None}  # another thread may clear it
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= zip(missing, self._encode_new(missing) if missing else (), strict=True)
        if len(cache) + len(missing) > MOST_CACHED:
            cache.clear()
        cache |= {text: found[text] for text in missing[:MOST_CACHED]}
        return [found[text] for text in texts]

    def _encode_new(self, texts: list[str]) -> list[Vectors]:
        with models.explain_errors(f"{self.name} cannot encode"):
            ids = [self._encode_tokens(as_read(text)) for text in texts]
            known = [at for at, row in enumerate(ids) if not self._dim or not self._unknown.issuperset(row)]
            rows = dict(zip(known, self._parallel.run([ids[at] for at in known]), strict=True))
            return [rows[at] if at in rows else np.zeros(self._dim or 0, dtype=np.float32) for at in range(len(ids))]
