"""Loads embedders by name, folder, address or function."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from shortlist._environment import OPENAI_API_KEY, OPENAI_BASE_URL, read_variable
from shortlist._http import BUSY, JsonClient, backoff, describe, is_loopback
from shortlist.errors import EmbedderError, InputError, install_line
from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.tokenization import BytePairTokenizer
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Vectors

Encode = Callable[[list[str]], Any]

STATIC = models.DATA / "static"
_OPENAI = "https://api.openai.com/v1"
_AT_ADDRESS = re.compile(r"(.+?)@(https?://.+)")


def load_embedder(spec: str | os.PathLike[str] | Embedder | Encode | None) -> Embedder | None:
    """Load the embedder that a name, a folder, a function or an object specifies; None for "none"."""
    if isinstance(spec, str | os.PathLike):
        return _load_by_name(os.fspath(spec).strip())
    if not isinstance(spec, type):
        # in this order: a comparison with the protocol may read dim, which may send a request
        if isinstance(spec, (models.BaseEmbedder, Embedder)):
            return spec
        if callable(spec):
            return CallableEmbedder(spec)
    raise _not_an_embedder(spec)


def _not_an_embedder(spec: object) -> InputError:
    return InputError(f"{spec!r:.80} is not an embedder. {(models.DATA / 'usage.txt').read_text('utf-8').rstrip()}")


def make_absolute(spec: str) -> str:
    """The name of an embedder with the absolute path of a folder in it, so that it works from everywhere."""
    prefix, _, rest = spec.partition(":")
    if spec in _NAMES or (rest and prefix not in _PREFIXES):
        return spec
    folder = Path(rest or spec).expanduser()
    return (f"{prefix}:" if rest else "") + str(folder.resolve()) if folder.is_dir() else spec


def is_built_in(spec: str) -> bool:
    """Whether an embedder is part of the installation: it reads no other file and sends nothing."""
    return spec in ("auto", "none", *_NAMES)


def _load_by_name(spec: str) -> Embedder | None:
    if spec == "none":
        return None
    if spec in _NAMES:
        return _bundled(spec)
    prefix, _, rest = spec.partition(":")
    if prefix in _PREFIXES and rest:
        return _PREFIXES[prefix](rest)
    if spec and Path(spec).expanduser().is_dir():
        return _load_by_content(Path(spec).expanduser())
    if re.fullmatch(r"\w[\w.-]*/[\w.-]+", spec):
        return _load_by_hub_name(spec)
    raise _not_an_embedder(spec)


@functools.cache
def _bundled(spec: str) -> Embedder:
    """One of each per process: they are thread-safe and take a moment to load."""
    return _NAMES[spec]()


def _load_by_content(folder: Path) -> Embedder:
    is_model2vec = models.read_json(folder / "config.json").get("model_type") == "model2vec"
    if is_model2vec or any("embeddings" in models.read_tensor_header(p)[0] for p in folder.glob("*.safetensors")):
        return models.Model2Vec(str(folder))
    if models.onnx_file(folder):
        return models.onnx_model(str(folder))
    if (folder / "modules.json").is_file():
        return models.SentenceTransformers(str(folder))
    raise EmbedderError(f"{folder} has no model2vec table, no ONNX file and no sentence-transformers modules.json")


def _load_by_hub_name(spec: str) -> Embedder:
    """Load a model of the hub with the first installed library that can."""
    failures = []
    for library, packages in _LIBRARIES.items():
        if all(map(importlib.util.find_spec, packages)):
            try:
                return _PREFIXES[library](spec)
            except EmbedderError as error:
                failures.append(f"{library}: {error}")
    if failures:
        raise EmbedderError(f"{spec} could not be loaded. " + "; ".join(failures))
    lines = " or ".join(map(install_line, _LIBRARIES))
    raise EmbedderError(f"No library that can load {spec} is installed. Run {lines}")


class CallableEmbedder(models.BaseEmbedder):
    """A plain function of a list of texts."""

    def __init__(self, encode: Encode) -> None:
        self.function = encode
        given = getattr(encode, "name", None)
        while isinstance(encode, functools.partial):
            encode = encode.func
        thing = encode if hasattr(encode, "__qualname__") else type(encode)
        self.name = given if isinstance(given, str) and given else f"callable:{thing.__module__}.{thing.__qualname__}"
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        return self.function(texts)


class StaticEmbedder(models.BaseEmbedder):
    """The mean of the vectors of a text's tokens, from the table of wordllama 0.2.2, in 8 bits.

    `training/static_table.py` makes its files. The name is that of corpora which were built with the package itself.
    """

    name = "wordllama-256"
    cached, static = False, True
    noise = (0.25, 0.08)
    max_chars = models.MAX_TOKENS * models.CHARS_PER_TOKEN

    def __init__(self) -> None:
        with models.explain_errors(f"The table in {STATIC} cannot be read. Install shortlist again"):
            self._table: NDArray[np.int8] = np.asarray(np.load(STATIC / "table.npy", mmap_mode="r"))
            self._scales: Vectors = np.load(STATIC / "scales.npy")
            self._tokenizer = BytePairTokenizer(STATIC / "tokens.json")
        self._dim = self._table.shape[1]

    def _encode(self, texts: list[str], *, query: bool) -> Vectors:
        sums = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(sums, texts, strict=True):
            tokens = np.array(self._tokenizer.encode(text, models.MAX_TOKENS), dtype=np.intp)
            np.dot(self._scales[tokens], self._table.take(tokens, axis=0).astype(np.float32), out=row)
        return sums


_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class LightEmbedder(models.BaseEmbedder):
    """Hashed words and their letters: no model, the same vectors on every machine."""

    name = "light"
    cached, static = False, True
    noise = (0.35, 0.05)
    _dim: int = 512

    def _encode(self, texts: list[str], *, query: bool) -> NDArray[np.float64]:
        return np.concatenate([self._encode_batch(batch) for batch in models.batches(texts, 1024)])

    def _encode_batch(self, texts: list[str]) -> NDArray[np.float64]:
        rows, counts, features = [], [], []
        for row, text in enumerate(texts):
            for word, count in Counter(_words(text)).items():
                rows.append(row)
                counts.append(count)
                features.append(_features(word))
        if not features:
            return np.zeros((len(texts), self._dim))
        sizes = [len(slots) for slots, _ in features]
        cells = np.repeat(np.array(rows) * self._dim, sizes) + np.concatenate([slots for slots, _ in features])
        weights = np.repeat(np.sqrt(counts), sizes) * np.concatenate([signs for _, signs in features])
        sums: NDArray[Any] = np.bincount(cells, weights, minlength=len(texts) * self._dim)
        return sums.reshape(len(texts), self._dim)


def _words(text: str) -> Iterator[str]:
    spaced, stop_words = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text)), _stop_words()
    return (word for word in _WORDS.findall(spaced.casefold()) if word not in stop_words)


@functools.cache
def _stop_words() -> frozenset[str]:
    return frozenset((models.DATA / "light-stop-words.txt").read_text("utf-8").split())


@functools.lru_cache(maxsize=1 << 17)
def _features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The slots of a word and of its 3-grams, with signed weights: all 3-grams together weigh as much as the word."""
    grams = [word[start : start + 3] for start in range(len(word) - 2)] if len(word) > 3 else []
    if grams:
        grams[0], grams[-1] = f"<{grams[0]}", f"{grams[-1]}>"
    digests = (hashlib.blake2b(feature.encode(), digest_size=8).digest() for feature in (f"<{word}>", *grams))
    hashes = np.array([int.from_bytes(digest, "little") >> 1 for digest in digests])
    weights = [1.0, *(1 / math.sqrt(len(grams)) for _ in grams)]
    return hashes % LightEmbedder._dim, np.where(hashes >> 62, weights, np.negative(weights))


class OpenAIEmbedder(models.BaseEmbedder):
    """A model behind an OpenAI-compatible /embeddings endpoint."""

    max_chars = 24_000  # below the 8,191 tokens that the endpoint takes

    def __init__(self, model: str, url: str = _OPENAI, transport: Any = None) -> None:
        self._model = model
        self._client = JsonClient(url, lambda reason: EmbedderError(f"{self.name} {reason}"), transport=transport)
        address = str(self._client.url.copy_with(userinfo=b""))
        self.name = f"openai:{model}" if address == _OPENAI else f"openai:{model}@{address}"

    def _encode(self, texts: list[str], *, query: bool) -> list[list[float]]:
        return [row for batch in models.batches(texts, 64) for row in self._request(batch)]

    def _request(self, texts: list[str]) -> list[list[float]]:
        self._client.set_key(read_variable(OPENAI_API_KEY))
        content = {"model": self._model, "input": texts}
        response = self._client.send("POST", "/embeddings", content, backoff(), busy={*BUSY, 500})
        if not response.is_success:
            raise self._client.error(describe(response))
        try:
            items = sorted(json.loads(response.text)["data"], key=lambda item: item.get("index", 0))
            rows = [item["embedding"] for item in items]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._client.error(f"did not return embeddings but {response.text!r}") from error
        if len(rows) != len(texts):
            raise self._client.error(f"returned {len(rows)} embeddings for {len(texts)} texts")
        return rows


def _openai(rest: str) -> OpenAIEmbedder:
    address = _AT_ADDRESS.fullmatch(rest)
    return OpenAIEmbedder(*address.groups()) if address else OpenAIEmbedder(rest)


def unconfirmed_address(spec: str) -> str:
    """The address to which an embedder that only a file names would send OPENAI_API_KEY; empty if it has none, is on
    this machine, or is confirmed by OPENAI_BASE_URL."""
    address = _AT_ADDRESS.fullmatch(spec.removeprefix("openai:")) if spec.startswith("openai:") else None
    if address is None or not read_variable(OPENAI_API_KEY) or is_loopback(urlsplit(address[2]).hostname or ""):
        return ""
    is_confirmed = address[2].rstrip("/") == read_variable(OPENAI_BASE_URL).rstrip("/")
    return "" if is_confirmed else address[2]


_NAMES: dict[str, Callable[[], Embedder]] = {
    **dict.fromkeys(("default", "wordllama", "wordllama-256"), StaticEmbedder),
    "light": LightEmbedder,
    **dict.fromkeys(tools_model.NAMES, tools_model.ToolsEmbedder),
    "minilm": models.minilm,
}
_PREFIXES: dict[str, Callable[[str], Embedder]] = {
    "model2vec": models.Model2Vec,
    "sentence-transformers": models.SentenceTransformers,
    "st": models.SentenceTransformers,
    "onnx": models.onnx_model,
    "openai": _openai,
}
# The libraries that can load a model of the hub, in this order, and the packages that each needs.
_LIBRARIES = {
    "sentence-transformers": ("sentence_transformers",),
    "model2vec": ("model2vec",),
    "onnx": ("tokenizers", "huggingface_hub"),
}
