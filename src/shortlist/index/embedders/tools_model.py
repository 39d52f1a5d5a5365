"""Our own embedder: a small transformer for a hundred languages, trained to find tools and to tell if none fits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist.documents import Document, Problem
from shortlist.index.embedders import models
from shortlist.index.embedders.parallel_session import ParallelSession
from shortlist.index.embedders.tokenization import UnigramTokenizer
from shortlist.index.text.languages import ENGLISH, detect_language

if TYPE_CHECKING:
    from shortlist.index.config import Config
    from shortlist.results import Vectors

MODEL = models.DATA / "tools" / "model.onnx"
PIECES = models.DATA / "tools" / "pieces.json"
NAMES = ("tools", "multilingual")  # the second one for those who embed documents with it
MAX_TOKENS = 384  # the positions in the file
TRAINED_FOR = {"tool", "skill", "package"}  # kinds of documents
MOST_IN_MEMORY = 200  # documents, some seconds; then "default", which takes a tenth of a second
MOST_DOCUMENTS = 2_000  # in other languages than English that are encoded by default, some minutes
MOST_QUERIES = 1
MOST_CACHED = 2_000  # vectors of documents, three megabytes: lists are indexed again in every call

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_for_tools(count: int = 0, most: int = 0) -> str:
    """The embedder of a new corpus of tools, skills or packages: ours, if this system can run it.

    Not for more than `most` tools if that is given: it encodes about fifty tools per second.
    """
    return "tools" if count <= (most or count) and models.can_run_models() else "default"


def default_in_memory(documents: Iterable[Document | Problem]) -> str:
    """The embedder of documents that are indexed in memory."""
    listed = [one for one in documents if isinstance(one, Document)]
    if len(listed) > MOST_IN_MEMORY:
        return "default"
    if not listed or any(one.kind not in TRAINED_FOR for one in listed):
        return default_for_documents(listed)
    return default_for_tools()


def default_for_documents(documents: Iterable[Document | Problem]) -> str:
    """The embedder of a new corpus of other documents: ours if most of them are not in English, they are not too many,
    and this system can run it. It encodes some tens of passages per second."""
    listed = [one for one in documents if isinstance(one, Document)]
    if len(listed) > MOST_DOCUMENTS:
        return "default"
    others = sum(detect_language(one.content) != ENGLISH for one in listed)
    return "multilingual" if 2 * others > len(listed) and models.can_run_models() else "default"


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
    return config.embedder in NAMES and config.embedder_name != model_name()


@cache
def load_tokenizer() -> UnigramTokenizer:
    """The tokenizer of the embedder, and of what has its words."""
    with models.explain_errors(f"{PIECES} cannot be read. Install shortlist again"):
        return UnigramTokenizer(PIECES)


def as_read(text: str) -> str:
    """The text as the model was trained: a first line of one word is a name, so getUserToken is get User Token."""
    first, newline, rest = text.partition("\n")
    return text if " " in first else _HUMPS.sub(" ", first) + newline + rest


class ToolsEmbedder(models.OnnxEmbedder):
    """multilingual-e5-small, trained further on tools, the queries for them, and texts in many languages."""

    noise = (0.36, 0.08)
    prompts = ("query: ", "passage: ")

    def __init__(self) -> None:
        self._tokenizer = load_tokenizer()
        self._starts = [[self._tokenizer.first, *self._tokenizer.encode(prompt, 8)] for prompt in self.prompts]
        self._cache: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}  # the latest: each corpus that is searched encodes the query
        self._parallel = ParallelSession(MODEL)
        self._dim = self._parallel.whole.get_outputs()[0].shape[1]  # without encoding anything
        encode = self._tokenizer.encode_whole
        super().__init__(
            MODEL,
            lambda text: encode(text, MAX_TOKENS),
            {self._tokenizer.unknown, self._tokenizer.space},
            model_name(),
            MAX_TOKENS,
            session=self._parallel.whole,
        )

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        cache = self._queries if query else self._cache
        found = {text: row for text in texts if (row := cache.get(text)) is not None}  # another thread may clear it
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= zip(missing, self._encode_new(missing, query=query) if missing else (), strict=True)
        most = MOST_QUERIES if query else MOST_CACHED
        if len(cache) + len(missing) > most:
            cache.clear()
        cache |= {text: found[text] for text in missing[:most]}
        return [found[text] for text in texts]

    def _encode_new(self, texts: list[str], *, query: bool) -> list[Vectors]:
        start, end = self._starts[0 if query else 1], self._tokenizer.separator
        most = MAX_TOKENS - len(start) - 1
        with models.explain_errors(f"{self.name} cannot encode"):
            ids = [self._tokenizer.encode(as_read(text), most) for text in texts]
            known = [at for at, row in enumerate(ids) if not self._dim or not self._unknown.issuperset(row)]
            rows = dict(zip(known, self._parallel.run([[*start, *ids[at], end] for at in known]), strict=True))
            return [rows[at] if at in rows else np.zeros(self._dim or 0, dtype=np.float32) for at in range(len(ids))]
