"""Documents as rows of the database."""

from __future__ import annotations

import datetime
import itertools
import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shortlist.documents import Document, Problem, Stamp
from shortlist.index.storage.sql_tables import read_generation, read_stamps

if TYPE_CHECKING:
    pass

T = TypeVar("T")

PAUSE = 100  # documents between two reports of progress
DEEPEST = 100  # levels of metadata; what is deeper cannot be copied by all of Python

_STRINGS = {str}
_LENGTH = struct.Struct("<Q")
DOCUMENT_COLUMNS = "id, title, content, keywords, metadata, kind, source, locator, payload"


class Record(NamedTuple):
    """A document as it is stored."""

    document: Document
    hash: bytes
    keywords: str
    metadata: str


def to_record(document: Any) -> Record | Problem:
    """A document made ready to be stored, or what is wrong with it."""
    if isinstance(document, Problem):
        return Problem(clean(str(document.id)), clean(str(document.reason)), clean(str(document.source)))
    if not isinstance(document, Document):
        return Problem("", f"{type(document).__name__} is not a Document.")
    wrong = _what_is_wrong(document)
    if wrong:
        return Problem(str(document.id), wrong, str(document.source))
    try:
        metadata = "{}"
        if document.metadata:
            metadata = json.dumps(document.metadata, ensure_ascii=False, allow_nan=False, default=_plain)
        if metadata.count("{") + metadata.count("[") > DEEPEST and _depth(json.loads(metadata)) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"Its metadata cannot be kept as JSON: {str(error) or type(error).__name__}."
        return Problem(document.id, reason, document.source)
    keywords = json.dumps(document.keywords, ensure_ascii=False) if document.keywords else "[]"
    texts = [
        document.id, document.title, document.content, keywords, metadata,
        document.kind, document.source, document.locator, document.payload or "",
    ]  # fmt: skip
    try:
        return Record(document, _hash(texts), keywords, metadata)
    except UnicodeEncodeError:
        cleaned = [clean(text) for text in texts]
    id, title, content, keywords, metadata, kind, source, locator, payload = cleaned
    stored = Document(
        id, title, content, json.loads(keywords), None,
        kind=kind, source=source, locator=locator, payload=None if document.payload is None else payload,
    )  # fmt: skip
    return Record(stored, _hash(cleaned), keywords, metadata)


def _hash(columns: Sequence[str | None]) -> bytes:
    """Of a document's columns, in the order of DOCUMENT_COLUMNS."""
    return blake2b(b"".join([*map(_framed, columns[:3]), *map(_framed_often, columns[3:])]), digest_size=16).digest()


def _framed(text: str | None) -> bytes:
    data = text.encode() if text else b""
    return _LENGTH.pack(len(data)) + data


_OFTEN = {text: _framed(text) for text in (None, "", "[]", "{}", "text", "whole")}


def _framed_often(text: str | None) -> bytes:
    return _OFTEN.get(text) or _framed(text)


def _what_is_wrong(document: Document) -> str:
    texts = (document.id, document.title, document.content, document.kind, document.source, document.locator)
    if {*map(type, texts)} != _STRINGS:
        for name, text in zip(("id", "title", "content", "kind", "source", "locator"), texts, strict=True):
            if not isinstance(text, str):
                return f"Its {name} must be a string, not {type(text).__name__}."
    if not document.id.strip():
        return "Its id is empty."
    keywords = document.keywords
    if not isinstance(keywords, list | tuple) or (keywords and not all(isinstance(word, str) for word in keywords)):
        return "Its keywords must be a list of strings."
    if not isinstance(document.metadata, dict):
        return f"Its metadata must be a mapping, not {type(document.metadata).__name__}."
    if document.payload is not None and not isinstance(document.payload, str):
        return f"Its payload must be a string, not {type(document.payload).__name__}."
    return ""


def clean(text: str) -> str:
    """The text with lone surrogates, which no file can hold, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time | PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"a {type(value).__name__} is not plain data")


def _depth(value: Any) -> int:
    """How deep lists and mappings lie in each other."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def find_stored(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    """Number and hash of those documents that are stored."""
    marks = ",".join("?" * len(ids))
    rows = connection.execute(f"SELECT id, num, hash FROM documents WHERE id IN ({marks})", ids)
    return {id: (number, hash) for id, number, hash in rows}


def find_stamped(connection: sqlite3.Connection, stamp: Stamp) -> set[str]:
    """The ids of the stored documents that a stamp stands for."""
    first, beyond = f"{stamp.id}#", f"{stamp.id}$"  # the character after #
    rows = connection.execute(
        "SELECT id FROM documents WHERE source = ? AND (id = ? OR (id >= ? AND id < ?))",
        (stamp.source, stamp.id, first, beyond),
    )
    return {id for (id,) in rows}


class Rows:
    """The stored documents and stamps, to be compared with a source."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def generation(self) -> int:
        return read_generation(self._connection)

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        return dict(find_stored(self._connection, ids))

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        return self._connection.execute("SELECT num, id, source FROM documents").fetchall()

    def stamps(self) -> dict[str, Stamp]:
        return read_stamps(self._connection)

    def stamped(self, stamp: Stamp) -> set[str]:
        return find_stamped(self._connection, stamp)


def read_document(connection: sqlite3.Connection, id: str) -> Document | None:
    row = connection.execute(f"SELECT {DOCUMENT_COLUMNS}, hash FROM documents WHERE id = ?", (id,)).fetchone()
    return to_document(row) if row else None


def count_kinds(connection: sqlite3.Connection) -> dict[str, int]:
    """How many documents there are of each kind, the most frequent first."""
    query = "SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY count(*) DESC, kind"
    return dict(connection.execute(query).fetchall())


def browse_documents(
    connection: sqlite3.Connection, text: str, offset: int, limit: int | None
) -> tuple[list[Document], int]:
    """Some of the documents that hold a text, whatever its case, and how many there are of them."""
    connection.create_function("folded", 1, _folded, deterministic=True)
    columns = ("id", "title", "content", "keywords")
    condition = " OR ".join(f"instr(folded({column}), :text)" for column in columns) if text else "TRUE"
    given = {"text": _folded(clean(text)), "offset": offset, "limit": -1 if limit is None else limit}
    (count,) = connection.execute(f"SELECT count(*) FROM documents WHERE {condition}", given).fetchone()
    rows = connection.execute(
        f"SELECT {DOCUMENT_COLUMNS}, hash FROM documents WHERE {condition} ORDER BY num LIMIT :limit OFFSET :offset",
        given,
    )
    return [to_document(row) for row in rows], count


def _folded(text: str) -> str:
    return text.casefold()


def to_document(row: Sequence[Any]) -> Document:
    """The document of a row with DOCUMENT_COLUMNS and hash."""
    *columns, hash = row
    if _hash(columns) != hash:
        raise sqlite3.DatabaseError("a document does not match its hash")
    id, title, content, keywords, metadata, kind, source, locator, payload = columns
    return Document(
        id, title, content, json.loads(keywords), json.loads(metadata),
        kind=kind, source=source, locator=locator, payload=payload,
    )  # fmt: skip


def passage_checksum(columns: Sequence[str]) -> int:
    """Of what is shown of a passage: id, title, text, kind, source, locator, metadata, context.

    An empty context leaves no trace: there was none in the first format.
    """
    return zlib.crc32("\0".join(columns).rstrip("\0").encode())


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
