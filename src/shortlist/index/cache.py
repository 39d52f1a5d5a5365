"""Was this text encoded before? Vectors by (model, hash of the text), beside the corpus, for models that are dear."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shortlist.errors import EmbedderError
from shortlist.types import Embedder

if TYPE_CHECKING:
    from shortlist.types import Vectors

FILE = "vectors.db"
BATCH = 256
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors(model TEXT, hash BLOB, vector BLOB, PRIMARY KEY (model, hash)) WITHOUT ROWID"
)


def encode(embedder: Embedder, texts: Sequence[str], folder: Path | None) -> Vectors:
    """The vectors of texts, encoding only those that were never seen, each batch kept as soon as it is there."""
    if folder is None or not getattr(embedder, "cached", True):
        return _encoded(embedder, texts)
    vectors = np.zeros((len(texts), embedder.dim), dtype=np.float32)
    with _opened(folder / FILE) as cache:
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in batch]
            known = _recall(cache, embedder.name, hashes)
            missing = {key: text for key, text in zip(hashes, batch, strict=True) if key not in known}
            if missing:
                fresh = _encoded(embedder, list(missing.values()))
                known |= dict(zip(missing, fresh, strict=True))
                rows = [(embedder.name, key, known[key].tobytes()) for key in missing]
                cache.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            for at, key in enumerate(hashes, start):
                vectors[at] = known[key]
    return vectors


def _encoded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = np.ascontiguousarray(embedder.encode_documents(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dim):
        wanted = (len(texts), embedder.dim)
        raise EmbedderError(f"The embedder {embedder.name!r} gave an array of shape {vectors.shape}, not {wanted}.")
    return vectors


def _recall(cache: sqlite3.Connection, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    marks = ",".join("?" * len(hashes))
    rows = cache.execute(f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})", (model, *hashes))
    return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        cache = _connect(path)
    except sqlite3.DatabaseError:  # only a cache: a damaged one starts anew
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        cache = _connect(path)
    try:
        yield cache
    finally:
        cache.close()


def _connect(path: Path) -> sqlite3.Connection:
    cache = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        cache.execute("PRAGMA journal_mode = WAL")
        cache.execute("PRAGMA synchronous = NORMAL")
        cache.execute(_SCHEMA)
    except BaseException:
        cache.close()
        raise
    return cache
