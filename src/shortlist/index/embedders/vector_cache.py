"""Cached vectors by model and hash of the text, next to the corpus, for slow embedders."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shortlist._paths import make_folder
from shortlist.errors import EmbedderError
from shortlist.index.corpus_paths import VECTORS
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Vectors

log = logging.getLogger("shortlist")

FILE = VECTORS
BATCH = 256
_SETUP = """PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS vectors(model TEXT, hash BLOB, vector BLOB, PRIMARY KEY (model, hash)) WITHOUT ROWID"""


def is_cached(embedder: Embedder) -> bool:
    """Whether its vectors are cached, because it is slow."""
    return bool(getattr(embedder, "cached", True))


def encode(embedder: Embedder, texts: Sequence[str], folder: Path | None) -> Vectors:
    """Encode only the texts that are not in the cache, and store each batch as soon as it is encoded."""
    if folder is None or not is_cached(embedder):
        return _encode(embedder, texts)
    try:
        return _encode_cached(folder / FILE, embedder, texts)
    except sqlite3.DatabaseError as error:  # a damaged cache is replaced, and one in use is not needed
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            return _encode(embedder, texts)
        log.warning("The cache %s is damaged (%s) and is replaced by an empty one.", folder / FILE, error)
        for suffix in ("", "-wal", "-shm"):
            (folder / f"{FILE}{suffix}").unlink(missing_ok=True)
        return _encode_cached(folder / FILE, embedder, texts)


def _encode_cached(path: Path, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = np.zeros((len(texts), embedder.dim), dtype=np.float32)
    make_folder(path.parent)
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as cache:
        cache.executescript(_SETUP)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in batch]
            query = f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({','.join('?' * len(hashes))})"
            rows = cache.execute(query, (embedder.name, *hashes)).fetchall()
            known = {key: np.frombuffer(row, np.float32) for key, row in rows if len(row) == 4 * embedder.dim}
            missing = {key: text for key, text in zip(hashes, batch, strict=True) if key not in known}
            if missing:
                known |= dict(zip(missing, _encode(embedder, list(missing.values())), strict=True))
                new = [(embedder.name, key, known[key].tobytes()) for key in missing]
                cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", new)
            for at, key in enumerate(hashes, start):
                vectors[at] = known[key]
    return vectors


def _encode(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = np.ascontiguousarray(embedder.encode_documents(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dim):
        wanted = (len(texts), embedder.dim)
        raise EmbedderError(f"The embedder {embedder.name!r} returned an array of shape {vectors.shape}, not {wanted}.")
    return vectors
