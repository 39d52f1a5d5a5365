"""How does a document lie in an engine? As one row of its own, and one for each of its passages.

A passage carries what it is found by (its words, each as the key that the embedded engine knows it by), what it is
scored with to the last digit (counts of words by field, lengths, the vector) and what is shown of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.documents import Document, Passage
from shortlist.index.config import Config
from shortlist.index.embedders import vector_cache
from shortlist.index.engines import facets
from shortlist.index.engines.cluster_schema import LENGTHS, repetitions
from shortlist.index.engines.dialects import VECTOR, ZERO
from shortlist.index.lexical.indexing import build
from shortlist.index.storage.records import Record
from shortlist.index.storage.writer import Unindexed
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import Piece, split
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shortlist.results import Vectors

LONGEST_NAME = 8_000  # characters of an id, a source, a kind or a locator; a term of the engine has 32,766 bytes
LONGEST_CONTENT = 10_000_000  # characters; a request has 100 MB
SHOWN = ("document", "title", "text", "kind", "source", "locator", "metadata", "context")
STORED = ("id", "title", "content", "keywords", "metadata", "kind", "source", "locator", "payload")


class Counts(NamedTuple):
    """The words of one passage: their keys, ascending, how often each stands in which field, and the lengths."""

    keys: NDArray[np.uint64]
    tfs: NDArray[np.uint32]
    lengths: NDArray[np.int32]

    def pack(self) -> str:
        parts = (self.lengths.astype("<i4"), self.keys.astype("<u8"), self.tfs.astype("<u4"))
        return base64.b64encode(b"".join(part.tobytes() for part in parts)).decode()

    @classmethod
    def unpack(cls, text: str) -> Counts:
        data = _bytes(text)
        size = (len(data) - 12) // 12
        return cls(
            np.frombuffer(data, "<u8", size, 12),
            np.frombuffer(data, "<u4", size, 12 + 8 * size),
            np.frombuffer(data, "<i4", 3),
        )


def key_of(id: str) -> str:
    """The name of a document's row: engines take at most 512 bytes for one."""
    return blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()


def passage_key(document: str, ordinal: int) -> str:
    return f"{document}-{ordinal}"


def token(key: int) -> str:
    """A word's or a name's key as the engine indexes it."""
    return base64.urlsafe_b64encode(key.to_bytes(8, "big")).decode()[:11]


def what_is_wrong(document: Document) -> str:
    """Why an engine cannot keep a document that the embedded one could."""
    for name in ("id", "kind", "source", "locator"):
        if len(getattr(document, name)) > LONGEST_NAME:
            return f"Its {name} has more than {LONGEST_NAME:,} characters, which is all that an engine takes."
    if len(document.content) + len(document.payload or "") > LONGEST_CONTENT:
        return f"Its content has more than {LONGEST_CONTENT:,} characters, which is all that an engine takes."
    return ""


def document_row(record: Record, added: int, passages: int) -> dict[str, Any]:
    document = record.document
    return {
        "id": document.id,
        "title": document.title,
        "content": document.content,
        "keywords": record.keywords,
        "metadata": record.metadata,
        "kind": document.kind,
        "source": document.source,
        "locator": document.locator,
        "payload": document.payload,
        "place": document.source or document.id,
        "hash": record.hash.hex(),
        "added": added,
        "passages": passages,
        "ready": True,
    }


def to_document(row: dict[str, Any]) -> Document:
    id, title, content, keywords, metadata, kind, source, locator, payload = (row.get(name) for name in STORED)
    return Document(
        str(id), str(title), str(content), json.loads(str(keywords)), json.loads(str(metadata)),
        kind=str(kind), source=str(source), locator=str(locator), payload=payload,
    )  # fmt: skip


def to_passage(row: dict[str, Any]) -> Passage:
    id, title, text, kind, source, locator, metadata, context = (str(row[name]) for name in SHOWN)
    return Passage(id, title or id, text, kind, source, locator, json.loads(metadata), context)


class Pieces(NamedTuple):
    """A document and the passages that it falls into."""

    record: Record
    pieces: Sequence[Piece]

    @classmethod
    def of(cls, record: Record, config: Config) -> Pieces:
        return cls(record, split(record.document, config.chunk_size, config.chunk_overlap))

    def unindexed(self) -> list[Unindexed]:
        document = self.record.document
        return [
            Unindexed(
                0, 0, ordinal, document.id, document.title, document.keywords,
                document.content if piece.text is None else piece.text, piece.context,
            )
            for ordinal, piece in enumerate(self.pieces)
        ]  # fmt: skip


def passage_rows(
    documents: Sequence[Pieces],
    added: Sequence[int],
    written: int,
    config: Config,
    embedder: Embedder | None,
    folder: Path | None,
) -> list[list[bytes]]:
    """The rows of all passages of each document, as JSON."""
    parts = [one.unindexed() for one in documents]
    passages = [passage for one in parts for passage in one]
    words = _words(passages, config)
    vectors = (
        vector_cache.encode(embedder, [one.to_embed for one in passages], folder) if embedder and passages else None
    )
    rows: list[list[bytes]] = []
    at = 0
    for one, unindexed, when in zip(documents, parts, added, strict=True):
        shared = _shared(one.record, when, written)
        rows.append([])
        for piece, passage in zip(one.pieces, unindexed, strict=True):
            row = {
                **shared,
                "ordinal": passage.ordinal,
                "locator": piece.locator,
                "text": passage.text,
                "context": passage.context,
                **words[at],
                **(_vector(vectors[at]) if vectors is not None else {}),
            }
            rows[-1].append(json.dumps(row, ensure_ascii=False).encode())
            at += 1
    return rows


def _shared(record: Record, added: int, written: int) -> dict[str, Any]:
    """What all passages of a document have."""
    document = record.document
    built_in = (document.id, document.title, document.kind, document.source)
    return {
        "document": document.id,
        "title": document.title,
        "kind": document.kind,
        "source": document.source,
        "place": document.source or document.id,
        "record": document.locator,
        "metadata": record.metadata,
        "added": added,
        "written": written,
        facets.FIELD: facets.tokens(json.loads(record.metadata), built_in),
    }


def _words(passages: Sequence[Unindexed], config: Config) -> list[dict[str, Any]]:
    """What each passage is found by and scored with."""
    built = build((passage.fields for passage in passages), get_analyzer(config.analyzer))
    repeated, _ = repetitions(config)
    order = np.argsort(built.docs, kind="stable")  # by passage, and within one by key
    keys = np.repeat(built.keys, np.diff(built.starts))[order]
    tfs = built.tfs[order]
    ends = np.cumsum(np.bincount(built.docs, minlength=len(passages)))
    tokens = {key: token(key) for key in built.keys.tolist()}
    names: list[list[str]] = [[] for _ in passages]
    for key, doc in zip(built.name_keys.tolist(), built.name_docs.tolist(), strict=True):
        names[doc].append(token(key))
    times = sum(
        (count * times for count, times in zip((tfs >> 24, (tfs >> 16) & 0xFF, tfs & 0xFFFF), repeated, strict=True)),
        np.zeros(len(tfs), np.int64),
    ).tolist()
    rows = []
    start = 0
    for at, end in enumerate(ends.tolist()):
        own = keys[start:end]
        words = zip(own.tolist(), times[start:end], strict=True)
        lengths = built.lengths[at]
        rows.append(
            {
                "body": "".join(f"{tokens[key]} " * count for key, count in words),
                "counts": Counts(own, tfs[start:end], lengths).pack(),
                "names": names[at],
                **dict(zip(LENGTHS, lengths.tolist(), strict=True)),
            }
        )
        start = end
    return rows


def _vector(vector: Vectors) -> dict[str, Any]:
    unit = base64.b64encode(vector.astype("<f4").tobytes()).decode()
    if not vector.any():
        return {"unit": unit, ZERO: True}
    return {"unit": unit, VECTOR: direction(vector)}


def direction(vector: Vectors) -> list[int]:
    """A vector as the engine's own index gets it, which only has to find the nearest: they are compared exactly.

    It is as long for all, and in whole numbers, which are written and read in half the time.
    """
    numbers: list[int] = np.rint(vector * 1e5).astype(np.int64).tolist()
    return numbers


def unpack_vector(text: str) -> Vectors:
    return np.frombuffer(_bytes(text), "<f4")


def _bytes(text: str) -> bytes:
    """Bytes as an engine gives them back: without the padding at the end."""
    return base64.b64decode(text + "==")
