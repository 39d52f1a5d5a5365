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
from shortlist.index.text.languages import find_declared_language
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shortlist.results import Vectors

LONGEST_NAME = 8_000  # characters of an id, a source, a kind or a locator; a term has at most 32,766 bytes
LONGEST_CONTENT = 10_000_000  # characters; a request has at most 100 MB
SHOWN = ("document", "title", "text", "kind", "source", "locator", "metadata", "context")
STORED = ("id", "title", "content", "keywords", "metadata", "kind", "source", "locator", "payload")


class RowCounts(NamedTuple):
    """The terms of one passage: their keys, ascending, their counts by field, and the lengths of the fields."""

    keys: NDArray[np.uint64]
    tfs: NDArray[np.uint32]
    lengths: NDArray[np.int32]

    def pack(self) -> str:
        return _encode(self.lengths.astype("<i4"), self.keys.astype("<u8"), self.tfs.astype("<u4"))

    @classmethod
    def unpack(cls, text: str) -> RowCounts:
        data = _decode(text)
        size = (len(data) - 12) // 12
        keys, tfs = np.frombuffer(data, "<u8", size, 12), np.frombuffer(data, "<u4", size, 12 + 8 * size)
        return cls(keys, tfs, np.frombuffer(data, "<i4", 3))


def unpack_vector(text: str) -> Vectors:
    return np.frombuffer(_decode(text), "<f4")


def _encode(*parts: NDArray[Any]) -> str:
    return base64.b64encode(b"".join(part.tobytes() for part in parts)).decode()


def _decode(text: str) -> bytes:
    """Bytes as a server returns them: base64 without the padding."""
    return base64.b64decode(text + "==")


def document_key(id: str) -> str:
    """The key of the row of a document: a server takes at most 512 bytes."""
    return blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()


def passage_key(document: str, ordinal: int) -> str:
    return f"{document}-{ordinal}"


SPACED = 12  # characters of a token and a space


def term_token(key: int) -> str:
    """The key of a term or a name as the server indexes it."""
    return base64.urlsafe_b64encode(key.to_bytes(8, "big")).decode()[:11]


def find_problem(document: Document) -> str:
    """Why a cluster cannot store a document that the embedded engine could; empty if it can."""
    for name in ("id", "kind", "source", "locator"):
        if len(getattr(document, name)) > LONGEST_NAME:
            return f"Its {name} has more than {LONGEST_NAME:,} characters, the limit of a cluster."
    if len(document.content) + len(document.payload or "") > LONGEST_CONTENT:
        return f"Its content has more than {LONGEST_CONTENT:,} characters, the limit of a cluster."
    return ""


def document_row(record: Record, added: int, passages: int) -> dict[str, Any]:
    row = {name: getattr(record.document, name) for name in STORED}
    row |= {"keywords": record.keywords, "metadata": record.metadata, "hash": record.hash.hex()}
    place = record.document.source or record.document.id
    return row | {"place": place, "added": added, "passages": passages, "ready": True}


def to_document(row: dict[str, Any]) -> Document:
    columns: dict[str, Any] = {name: row.get(name) for name in STORED}
    return Document(**columns | {name: json.loads(row[name]) for name in ("keywords", "metadata")})


def to_passage(row: dict[str, Any]) -> Passage:
    id, title, text, kind, source, locator, metadata, context = (str(row[name]) for name in SHOWN)
    return Passage(id, title or id, text, kind, source, locator, json.loads(metadata), context)


def passage_rows(
    records: Sequence[tuple[Record, int]], written: int, config: Config, embedder: Embedder | None, folder: Path | None
) -> list[list[bytes]]:
    """The rows of all passages of each document, as JSON. A record comes with the time when it was first added."""
    passages: list[Unindexed] = []
    shown: list[dict[str, Any]] = []
    for at, (record, added) in enumerate(records):
        document = record.document
        shared: dict[str, Any] = {name: getattr(document, name) for name in ("title", "kind", "source")}
        shared |= {"document": document.id, "place": document.source or document.id, "record": document.locator}
        shared |= {"metadata": record.metadata, "added": added, "written": written}
        shared[facets.FIELD] = facets.tokens(document, json.loads(record.metadata))
        language = find_declared_language(document.metadata) or config.passage_language
        for ordinal, piece in enumerate(split(document, config.chunk_size, config.chunk_overlap)):
            text, context = document.content if piece.text is None else piece.text, piece.context
            passages.append(
                Unindexed(0, at, ordinal, document.id, document.title, document.keywords, text, context, language)
            )
            shown.append({**shared, "ordinal": ordinal, "locator": piece.locator, "text": text, "context": context})
    rows: list[list[bytes]] = [[] for _ in records]
    columns = zip(
        passages, shown, _term_columns(passages, config), _vector_columns(passages, embedder, folder), strict=True
    )
    for passage, own, terms, vector in columns:
        rows[passage.document].append(json.dumps({**own, **terms, **vector}, ensure_ascii=False).encode())
    return rows


def _term_columns(passages: Sequence[Unindexed], config: Config) -> Iterator[dict[str, Any]]:
    """The columns by which each passage is found and scored."""
    built = build((passage.fields for passage in passages), get_analyzer(config.analyzer))
    order = np.argsort(built.docs, kind="stable")  # by passage, and within one by key
    at_key = np.repeat(np.arange(len(built.keys)), np.diff(built.starts))[order]
    keys, tfs = built.keys[at_key], built.tfs()[order]
    ends = np.cumsum(np.bincount(built.docs, minlength=len(passages)))
    names: list[list[str]] = [[] for _ in passages]
    for key, doc in zip(built.name_keys.tolist(), built.name_docs.tolist(), strict=True):
        names[doc].append(term_token(key))
    title, keywords, content = repetitions(config)[0]
    times = (tfs >> 24) * title + ((tfs >> 16) & 0xFF) * keywords + (tfs & 0xFFFF) * content
    bodies = np.frombuffer(_spaced_tokens(built.keys), f"V{SPACED}")[np.repeat(at_key, times)].tobytes().decode()
    places = SPACED * np.concatenate([[0], np.cumsum(times, dtype=np.int64)])[ends]
    start = place = 0
    for at, (end, next_place) in enumerate(zip(ends.tolist(), places.tolist(), strict=True)):
        lengths = built.lengths[at]
        yield {
            "body": bodies[place:next_place],
            "counts": RowCounts(keys[start:end], tfs[start:end], lengths).pack(),
            "names": names[at],
            **dict(zip(LENGTHS, lengths.tolist(), strict=True)),
        }
        start, place = end, next_place


def _spaced_tokens(keys: NDArray[np.uint64]) -> bytes:
    """The tokens of terms, each with a space in place of the character that a ninth byte, 0, would add."""
    padded = np.zeros((len(keys), 9), np.uint8)
    padded[:, :8] = keys.astype(">u8").view(np.uint8).reshape(-1, 8)
    characters = np.frombuffer(base64.urlsafe_b64encode(padded.tobytes()), np.uint8).reshape(-1, SPACED).copy()
    characters[:, -1] = ord(" ")
    return characters.tobytes()


def _vector_columns(
    passages: Sequence[Unindexed], embedder: Embedder | None, folder: Path | None
) -> Iterator[dict[str, Any]]:
    if embedder is None or not passages:
        yield from ({} for _ in passages)
        return
    for vector in vector_cache.encode(embedder, [passage.to_embed for passage in passages], folder):
        unit = _encode(vector.astype("<f4"))
        yield {"unit": unit, VECTOR: round_vector(vector)} if vector.any() else {"unit": unit, ZERO: True}


def round_vector(vector: Vectors) -> list[int]:
    """A vector for the server's own index, which only has to find candidates.

    All have the same length, and whole numbers, which are written and read in half the time.
    """
    numbers: list[int] = np.rint(vector * 1e5).astype(np.int64).tolist()
    return numbers
