"""Cached vectors by (model, hash of the text), beside the corpus, for slow models."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shortlist.errors import EmbedderError
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Vectors

log = logging.getLogger("shortlist")

FILE = "vectors.db"
BATCH = 256
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors(model TEXT, hash BLOB, vector BLOB, PRIMARY KEY (model, hash)) WITHOUT ROWID"
)


def keeps(embedder: Embedder) -> bool:
    """Whether its vectors are dear enough to be kept."""
    return bool(getattr(embedder, "cached", True))


def encode(embedder: Embedder, texts: Sequence[str], folder: Path | None) -> Vectors:
    """The vectors of texts, encoding only those that were never seen, each batch kept as soon as it is there."""
    if folder is None or not keeps(embedder):
        return _encoded(embedder, texts)
    try:
        return _encode_through(folder / FILE, embedder, texts)
    except sqlite3.DatabaseError as error:  # only a cache: a damaged one starts anew, and one in use can be missed
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return _encoded(embedder, texts)
        log.warning("The cache %s is damaged (%s) and starts anew.", folder / FILE, error)
        for suffix in ("", "-wal", "-shm"):
            (folder / f"{FILE}{suffix}").unlink(missing_ok=True)
        return _encode_through(folder / FILE, embedder, texts)


def _encode_through(path: Path, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = np.zeros((len(texts), embedder.dim), dtype=np.float32)
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as cache:
        cache.execute("PRAGMA journal_mode = WAL")
        cache.execute("PRAGMA synchronous = NORMAL")
        cache.execute(_SCHEMA)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in batch]
            known = _recall(cache, embedder, hashes)
            missing = {key: text for key, text in zip(hashes, batch, strict=True) if key not in known}
            if missing:
                fresh = _encoded(embedder, list(missing.values()))
                known |= dict(zip(missing, fresh, strict=True))
                rows = [(embedder.name, key, known[key].tobytes()) for key in missing]
                cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            for at, key in enumerate(hashes, start):
                vectors[at] = known[key]
    return vectors


def _encoded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = np.ascontiguousarray(embedder.encode_documents(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dim):
        wanted = (len(texts), embedder.dim)
        raise EmbedderError(f"The embedder {embedder.name!r} gave an array of shape {vectors.shape}, not {wanted}.")
    return vectors


def _recall(cache: sqlite3.Connection, embedder: Embedder, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    marks = ",".join("?" * len(hashes))
    query = f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})"
    rows = cache.execute(query, (embedder.name, *hashes)).fetchall()
    size = embedder.dim * np.dtype(np.float32).itemsize
    return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows if len(vector) == size}
