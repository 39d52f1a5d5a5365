"""A document in a cluster: one row for the document, and one for each of its passages.

A passage has what it is found by (its terms, by the keys of the embedded engine), what it is scored with (counts of
terms by field, lengths, the vector) and what is shown of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.documents import Document, Passage
from shortlist.index.config import Config
from shortlist.index.embedders import vector_cache
from shortlist.index.engines import facets
from shortlist.index.engines.cluster_schema import LENGTHS, VECTOR, ZERO, repetitions
from shortlist.index.lexical.indexing import build
from shortlist.index.storage.records import Record
from shortlist.index.storage.writer import Unindexed
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.chunking import split
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shortlist.results import Vectors

LONGEST_NAME = 8_000  # characters of an id, a source, a kind or a locator; a term has at most 32,766 bytes
LONGEST_CONTENT = 10_000_000  # characters; a request has at most 100 MB
SHOWN = ("document", "title", "text", "kind", "source", "locator", "metadata", "context")
STORED = ("id", "title", "content", "keywords", "metadata", "kind", "source", "locator", "payload")


class Counts(NamedTuple):
    """The terms of one passage: their keys, ascending, their counts by field, and the lengths of the fields."""

    keys: NDArray[np.uint64]
    tfs: NDArray[np.uint32]
    lengths: NDArray[np.int32]

    def pack(self) -> str:
        parts = (self.lengths.astype("<i4"), self.keys.astype("<u8"), self.tfs.astype("<u4"))
        return base64.b64encode(b"".join(part.tobytes() for part in parts)).decode()

    @classmethod
    def unpack(cls, text: str) -> Counts:
        data = _decode(text)
        size = (len(data) - 12) // 12
        keys, tfs = np.frombuffer(data, "<u8", size, 12), np.frombuffer(data, "<u4", size, 12 + 8 * size)
        return cls(keys, tfs, np.frombuffer(data, "<i4", 3))


def key_of(id: str) -> str:
    """The key of the row of a document: a server takes at most 512 bytes."""
    return blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()


def passage_key(document: str, ordinal: int) -> str:
    return f"{document}-{ordinal}"


def token(key: int) -> str:
    """The key of a term or a name as the server indexes it."""
    return base64.urlsafe_b64encode(key.to_bytes(8, "big")).decode()[:11]


def what_is_wrong(document: Document) -> str:
    """Why a cluster cannot store a document that the embedded engine could; empty if it can."""
    for name in ("id", "kind", "source", "locator"):
        if len(getattr(document, name)) > LONGEST_NAME:
            return f"Its {name} has more than {LONGEST_NAME:,} characters, which is all that an engine takes."
    if len(document.content) + len(document.payload or "") > LONGEST_CONTENT:
        return f"Its content has more than {LONGEST_CONTENT:,} characters, which is all that an engine takes."
    return ""


def document_row(record: Record, added: int, passages: int) -> dict[str, Any]:
    document = record.document
    return {
        **{name: getattr(document, name) for name in STORED},
        "keywords": record.keywords,
        "metadata": record.metadata,
        "place": document.source or document.id,
        "hash": record.hash.hex(),
        "added": added,
        "passages": passages,
        "ready": True,
    }


def to_document(row: dict[str, Any]) -> Document:
    columns: dict[str, Any] = {name: row.get(name) for name in STORED}
    return Document(**columns | {name: json.loads(row[name]) for name in ("keywords", "metadata")})


def to_passage(row: dict[str, Any]) -> Passage:
    id, title, text, kind, source, locator, metadata, context = (str(row[name]) for name in SHOWN)
    return Passage(id, title or id, text, kind, source, locator, json.loads(metadata), context)


def passage_rows(
    records: Sequence[Record],
    added: Sequence[int],
    written: int,
    config: Config,
    embedder: Embedder | None,
    folder: Path | None,
) -> list[list[bytes]]:
    """The rows of all passages of each document, as JSON."""
    pieces = [split(record.document, config.chunk_size, config.chunk_overlap) for record in records]
    passages = [
        Unindexed(
            0, 0, ordinal, record.document.id, record.document.title, record.document.keywords,
            record.document.content if piece.text is None else piece.text, piece.context,
        )
        for record, parts in zip(records, pieces, strict=True)
        for ordinal, piece in enumerate(parts)
    ]  # fmt: skip
    vectors = _vector_columns(passages, embedder, folder)
    made = iter(zip(passages, _term_columns(passages, config), vectors, strict=True))
    rows: list[list[bytes]] = []
    for record, parts, when in zip(records, pieces, added, strict=True):
        shared = _document_columns(record, when, written)
        rows.append([])
        for piece, (passage, terms, vector) in zip(parts, made, strict=False):
            own = {"ordinal": passage.ordinal, "locator": piece.locator, "text": passage.text}
            row = {**shared, **own, "context": passage.context, **terms, **vector}
            rows[-1].append(json.dumps(row, ensure_ascii=False).encode())
    return rows


def _document_columns(record: Record, added: int, written: int) -> dict[str, Any]:
    """The columns that all passages of a document share."""
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


def _term_columns(passages: Sequence[Unindexed], config: Config) -> Iterator[dict[str, Any]]:
    """The columns by which each passage is found and scored."""
    built = build((passage.fields for passage in passages), get_analyzer(config.analyzer))
    order = np.argsort(built.docs, kind="stable")  # by passage, and within one by key
    keys = np.repeat(built.keys, np.diff(built.starts))[order]
    tfs = built.tfs[order]
    ends = np.cumsum(np.bincount(built.docs, minlength=len(passages))).tolist()
    tokens = {key: token(key) for key in built.keys.tolist()}
    names: list[list[str]] = [[] for _ in passages]
    for key, doc in zip(built.name_keys.tolist(), built.name_docs.tolist(), strict=True):
        names[doc].append(token(key))
    title, keywords, content = repetitions(config)[0]
    repeated = ((tfs >> 24) * title + ((tfs >> 16) & 0xFF) * keywords + (tfs & 0xFFFF) * content).tolist()
    for at, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        own, lengths = keys[start:end], built.lengths[at]
        words = zip(own.tolist(), repeated[start:end], strict=True)
        yield {
            "body": "".join(f"{tokens[key]} " * times for key, times in words),
            "counts": Counts(own, tfs[start:end], lengths).pack(),
            "names": names[at],
            **dict(zip(LENGTHS, lengths.tolist(), strict=True)),
        }


def _vector_columns(
    passages: Sequence[Unindexed], embedder: Embedder | None, folder: Path | None
) -> Iterator[dict[str, Any]]:
    if embedder is None or not passages:
        yield from ({} for _ in passages)
        return
    for vector in vector_cache.encode(embedder, [passage.to_embed for passage in passages], folder):
        unit = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        yield {"unit": unit, VECTOR: direction(vector)} if vector.any() else {"unit": unit, ZERO: True}


def direction(vector: Vectors) -> list[int]:
    """A vector for the server's own index, which only has to find candidates.

    All have the same length, and whole numbers, which are written and read in half the time.
    """
    numbers: list[int] = np.rint(vector * 1e5).astype(np.int64).tolist()
    return numbers


def unpack_vector(text: str) -> Vectors:
    return np.frombuffer(_decode(text), "<f4")


def _decode(text: str) -> bytes:
    """Bytes as a server returns them: base64 without the padding."""
    return base64.b64decode(text + "==")
