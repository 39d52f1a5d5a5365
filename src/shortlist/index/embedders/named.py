"""Embedders by name, folder, address or function."""

from __future__ import annotations

import functools
import hashlib
import importlib
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

from shortlist._http import BUSY, JsonClient, backoff, describe
from shortlist.errors import EmbedderError, InputError
from shortlist.index.embedders import models, tools_model
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Vectors

Encode = Callable[[list[str]], Any]

USAGE = """An embedder is one of
  none                                      no vectors: words only
  default, wordllama                        a static token table, offline
  light                                     hashed words and letters, offline
  tools                                     our own transformer, trained to find tools, offline
  minilm                                    all-MiniLM-L6-v2
  model2vec:minishlab/potion-base-8M        a model2vec model, by hub name or folder
  sentence-transformers:intfloat/e5-small   a sentence-transformers model (or st:), by hub name or folder
  onnx:./models/my-model                    a folder or hub name with model.onnx and tokenizer.json
  openai:text-embedding-3-small             an OpenAI-compatible endpoint, or openai:MODEL@http://localhost:8080/v1
  ./models/my-model, org/name               a folder or hub name alone: what it holds decides
or a function of a list of texts, or an object with name, dim, encode_query and encode_documents."""
_WORDLLAMA = "wordllama==0.2.2.post0"


def load_embedder(spec: str | os.PathLike[str] | Embedder | Encode | None) -> Embedder | None:
    """The embedder that a name, a folder, a function or an object stands for; None for "none"."""
    if isinstance(spec, str | os.PathLike):
        return _by_name(os.fspath(spec).strip())
    if spec is None or isinstance(spec, type):
        raise InputError(f"{spec!r} is no embedder. {USAGE}")
    # in this order: to compare with the protocol may read dim, and that may ask a server
    if isinstance(spec, (models.BaseEmbedder, Embedder)):
        return spec
    if callable(spec):
        return CallableEmbedder(spec)
    raise InputError(f"A {type(spec).__name__} is no embedder. {USAGE}")


def lasting_name(spec: str) -> str:
    """The name of an embedder with a folder in it written out, so that it means the same from everywhere."""
    prefix, _, rest = spec.partition(":")
    if spec in _NAMES or (rest and prefix not in _PREFIXES):
        return spec
    folder = Path(rest or spec).expanduser()
    return (f"{prefix}:" if rest else "") + str(folder.resolve()) if folder.is_dir() else spec


def _by_name(spec: str) -> Embedder | None:
    if spec == "none":
        return None
    if spec in _NAMES:
        return _bundled(spec)
    prefix, _, rest = spec.partition(":")
    if prefix in _PREFIXES and rest:
        return _PREFIXES[prefix](rest)
    if spec and Path(spec).expanduser().is_dir():
        return _by_content(Path(spec).expanduser())
    if re.fullmatch(r"\w[\w.-]*/[\w.-]+", spec):
        return _by_hub_name(spec)
    raise InputError(f"{spec!r} names no embedder and no folder. {USAGE}")


@functools.cache
def _bundled(spec: str) -> Embedder:
    """One of each per process: they are safe to share and take a moment to load."""
    return _NAMES[spec]()


def _by_content(folder: Path) -> Embedder:
    if _is_model2vec(folder):
        return models.Model2Vec(str(folder))
    if models.onnx_file(folder):
        return models.onnx_model(str(folder))
    if (folder / "modules.json").is_file():
        return models.SentenceTransformers(str(folder))
    raise EmbedderError(f"{folder} holds no model2vec table, no ONNX file and no sentence-transformers modules.json")


def _is_model2vec(folder: Path) -> bool:
    if models.read_json(folder / "config.json").get("model_type") == "model2vec":
        return True
    return any("embeddings" in models.tensors(path)[0] for path in folder.glob("*.safetensors"))


def _by_hub_name(spec: str) -> Embedder:
    """The first installed library that can load the hub's model of that name."""
    failures = []
    for library, packages, load in _LIBRARIES:
        if all(map(importlib.util.find_spec, packages)):
            try:
                return load(spec)
            except EmbedderError as error:
                failures.append(f"{library}: {error}")
    if failures:
        raise EmbedderError(f"{spec} could not be loaded. " + "; ".join(failures))
    lines = " or ".join(f'pip install "shortlist[{library}]"' for library, _, _ in _LIBRARIES)
    raise EmbedderError(f"No library that could load {spec} is installed: {lines}")


class CallableEmbedder(models.BaseEmbedder):
    """A plain function of a list of texts."""

    def __init__(self, encode: Encode) -> None:
        self._call = encode
        self.name = _callable_name(encode)
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        return self._call(texts)


def _callable_name(encode: Encode) -> str:
    given = getattr(encode, "name", None)
    if isinstance(given, str) and given:
        return given
    while isinstance(encode, functools.partial):
        encode = encode.func
    thing = encode if hasattr(encode, "__qualname__") else type(encode)
    return f"callable:{thing.__module__}.{thing.__qualname__}"


class TokenTable(models.BaseEmbedder):
    """One vector per token, memory-mapped; a text is the mean of its tokens."""

    cached = False
    static = True
    noise = (0.25, 0.08)
    max_chars = models.MAX_TOKENS * models.CHARS_PER_TOKEN

    def __init__(self, weights: Path, tokenizer: Path, name: str) -> None:
        header, start = models.tensors(weights)
        entry = header["embedding.weight"]
        begin, shape = start + entry["data_offsets"][0], tuple(entry["shape"])
        # float16 as it lies on disk: nothing to load, and as fast as a float32 copy
        kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
        self._table: NDArray[Any] = np.asarray(np.memmap(weights, kind, "r", begin, shape))
        self._tokenizer = models.tokenizer_file(tokenizer)
        self._tokenizer.enable_truncation(models.MAX_TOKENS)
        self._dim = shape[1]
        self.name = f"{name}-{shape[1]}"

    def _encode(self, texts: list[str], *, query: bool) -> Vectors:
        sums = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows = iter(sums)
        for batch in models.batches(texts, 1024):
            for encoding in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                vectors = self._table.take(np.array(encoding.ids, dtype=np.intp), axis=0)
                # a sum per text is five times faster than np.add.reduceat, and no row depends on its neighbours
                np.add.reduce(vectors, axis=0, dtype=np.float32, out=next(rows))
        return sums


def wordllama() -> TokenTable:
    """The bundled table, read out of its package without importing it."""
    folder = models.package_folder("wordllama")
    if folder is None:
        raise EmbedderError(f"The default embedder needs the package wordllama: pip install {_WORDLLAMA}")
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    try:
        return TokenTable(weights, tokenizer, "wordllama")
    except (OSError, ValueError, KeyError, EmbedderError) as error:
        raise EmbedderError(f"The table in {folder} cannot be read ({error}): pip install {_WORDLLAMA}") from error


_STOP = (
    "a an and are as at be been by can could did do does for from had has have how i if in into is it its me my of on "
    "or our so than that the their them then these they this those to us was we were what when which who will with "
    "would you your"
)
_STOP_WORDS = frozenset(_STOP.split())
_WORDS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class LightEmbedder(models.BaseEmbedder):
    """Hashed words and their letters: no model, the same vectors on every machine."""

    name = "light"
    cached = False
    static = True
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
    spaced = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text))
    return (word for word in _WORDS.findall(spaced.casefold()) if word not in _STOP_WORDS)


@functools.lru_cache(maxsize=1 << 17)
def _features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The slots of a word and of its 3-grams, with signed weights: all 3-grams together weigh as much as the word."""
    grams = [word[start : start + 3] for start in range(len(word) - 2)] if len(word) > 3 else []
    if grams:
        grams[0], grams[-1] = f"<{grams[0]}", f"{grams[-1]}>"
    hashes = [_stable_hash(feature) for feature in (f"<{word}>", *grams)]
    weights = [1.0, *(1 / math.sqrt(len(grams)) for _ in grams)]
    slots = np.array([value % LightEmbedder._dim for value in hashes])
    return slots, np.where(np.array(hashes) >> 62, weights, np.negative(weights))


def _stable_hash(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little") >> 1


_OPENAI = "https://api.openai.com/v1"
_TRIES = 4


class OpenAIEmbedder(models.BaseEmbedder):
    """A model behind an OpenAI-compatible /embeddings endpoint."""

    max_chars = 24_000  # below the 8,191 tokens that the endpoint takes

    def __init__(
        self, model: str, url: str = _OPENAI, *, key: str | None = None, timeout: float = 30.0, transport: Any = None
    ) -> None:
        self._model, self._key = model, key
        self._client = JsonClient(url, self._error, timeout=timeout, transport=transport)
        address = str(self._client.url.copy_with(userinfo=b""))
        self.name = f"openai:{model}" if address == _OPENAI else f"openai:{model}@{address}"

    def _encode(self, texts: list[str], *, query: bool) -> list[list[float]]:
        return [row for batch in models.batches(texts, 64) for row in self._request(batch)]

    def _request(self, texts: list[str]) -> list[list[float]]:
        self._client.set_key(os.environ.get("OPENAI_API_KEY", "") if self._key is None else self._key)
        content = {"model": self._model, "input": texts}
        response = self._client.send("POST", "/embeddings", content, backoff(_TRIES), busy={*BUSY, 500})
        if not response.is_success:
            raise self._client.error(describe(response))
        try:
            items = sorted(json.loads(response.text)["data"], key=lambda item: item.get("index", 0))
            rows = [item["embedding"] for item in items]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._client.error(f"gave no embeddings but {response.text!r}") from error
        if len(rows) != len(texts):
            raise self._client.error(f"gave {len(rows)} embeddings for {len(texts)} texts")
        return rows

    def _error(self, reason: str) -> EmbedderError:
        return EmbedderError(f"{self.name} {reason}")


_AT_ADDRESS = re.compile(r"(.+?)@(https?://.+)")


def _openai(rest: str) -> OpenAIEmbedder:
    address = _AT_ADDRESS.fullmatch(rest)
    return OpenAIEmbedder(*address.groups()) if address else OpenAIEmbedder(rest)


def unconfirmed_address(spec: str) -> str:
    """The address to which an embedder that only a file names would send OPENAI_API_KEY; empty if it is none, is on
    this machine, or is confirmed by OPENAI_BASE_URL."""
    address = _AT_ADDRESS.fullmatch(spec.removeprefix("openai:")) if spec.startswith("openai:") else None
    if address is None or not os.environ.get("OPENAI_API_KEY"):
        return ""
    is_local = urlsplit(address[2]).hostname in ("localhost", "127.0.0.1", "::1")
    is_confirmed = address[2].rstrip("/") == os.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    return "" if is_local or is_confirmed else address[2]


_NAMES: dict[str, Callable[[], Embedder]] = {
    "default": wordllama,
    "wordllama": wordllama,
    "wordllama-256": wordllama,
    "light": LightEmbedder,
    "tools": tools_model.ToolsEmbedder,
    "minilm": models.minilm,
}
_PREFIXES: dict[str, Callable[[str], Embedder]] = {
    "model2vec": models.Model2Vec,
    "sentence-transformers": models.SentenceTransformers,
    "st": models.SentenceTransformers,
    "onnx": models.onnx_model,
    "openai": _openai,
}
_LIBRARIES: list[tuple[str, tuple[str, ...], Callable[[str], Embedder]]] = [
    ("sentence-transformers", ("sentence_transformers",), models.SentenceTransformers),
    ("model2vec", ("model2vec",), models.Model2Vec),
    ("onnx", ("onnxruntime", "huggingface_hub"), models.onnx_model),
]
