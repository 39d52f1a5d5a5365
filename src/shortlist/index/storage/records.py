"""Documents as rows of the database: how they are validated, hashed, written and read back."""

from __future__ import annotations

import datetime
import itertools
import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from pathlib import PurePath
from typing import Any, NamedTuple

from shortlist._text import clean
from shortlist.documents import Document, Problem, Stamp
from shortlist.index.config import Drift
from shortlist.index.corpus_paths import COUNT_KINDS
from shortlist.index.storage.sql_tables import read_generation, read_last_numbers, read_segments
from shortlist.index.storage.stored_text import TextConnection

BATCH = 500  # documents that are compared or read together
PAUSE = 100  # documents between two progress reports
DEEPEST = 100  # levels of metadata; some parts of Python cannot copy deeper data
DOCUMENT_COLUMNS = "id, title, content, keywords, metadata, kind, source, locator, payload"

_STRINGS = ("id", "title", "content", "kind", "source", "locator")
_ALL_STRINGS = (str,) * len(_STRINGS)
_CONTENT, _PAYLOAD = 2, 8  # their places in DOCUMENT_COLUMNS
_pack_length = struct.Struct("<Q").pack


class _Lengths(dict[int, bytes]):
    """Lengths as bytes; those of most texts are known."""

    def __missing__(self, length: int) -> bytes:
        return _pack_length(length)


_LENGTHS = _Lengths((length, _pack_length(length)) for length in range(1_024))


class Record(NamedTuple):
    """A document as it is stored."""

    document: Document
    hash: bytes
    keywords: str
    metadata: str


def to_record(document: Any) -> Record | Problem:
    """A document ready to be stored, or the reason why it cannot be."""
    if isinstance(document, Problem):
        return Problem(clean(str(document.id)), clean(str(document.reason)), clean(str(document.source)))
    if not isinstance(document, Document):
        return Problem("", f"{type(document).__name__} is not a Document.")
    reason, metadata = _find_fault(document), "{}"
    if not reason and document.metadata:
        try:
            metadata = _to_json(document.metadata)
            if _may_be_deep(metadata) and _measure_depth(json.loads(metadata)) > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        except (TypeError, ValueError, RecursionError) as error:
            reason = f"Its metadata cannot be stored as JSON: {str(error) or type(error).__name__}."
    if reason:
        return Problem(str(document.id), reason, str(document.source))
    keywords = _to_json(document.keywords) if document.keywords else "[]"
    texts = (
        document.id, document.title, document.content, keywords, metadata,
        document.kind, document.source, document.locator, document.payload or "",
    )  # fmt: skip
    try:
        return Record(document, _hash(texts), keywords, metadata)
    except UnicodeEncodeError:
        id, title, content, keywords, metadata, kind, source, locator, payload = map(clean, texts)
    cleaned = Document(
        id, title, content, json.loads(keywords), json.loads(metadata),
        kind=kind, source=source, locator=locator, payload=None if document.payload is None else payload,
    )  # fmt: skip
    return to_record(cleaned)


def _find_fault(document: Document) -> str:
    kinds = (
        type(document.id), type(document.title), type(document.content),
        type(document.kind), type(document.source), type(document.locator),
    )  # fmt: skip
    if kinds != _ALL_STRINGS:  # rare: else they need no second look
        for name in _STRINGS:
            if not isinstance(value := getattr(document, name), str):
                return f"Its {name} must be a string, not {type(value).__name__}."
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


def _hash(columns: Sequence[str]) -> bytes:
    """The hash of a document's columns, in the order of DOCUMENT_COLUMNS.

    Each text is after its length, so that no two rows of texts have the same bytes.
    """
    hash = blake2b(digest_size=16)
    for text in map(str.encode, columns):
        hash.update(_LENGTHS[len(text)])
        hash.update(text)
    return hash.digest()


def _to_plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time | PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"a {type(value).__name__} is not plain data")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_to_plain)
# What `encode` makes again for each value, which takes longer than its use.
_encode = c_make_encoder and c_make_encoder(
    None, _to_plain, encode_basestring, None, _encoder.key_separator, _encoder.item_separator, False, False, False
)


def _to_json(value: Any) -> str:
    try:
        return "".join(_encode(value, 0))
    except Exception:  # `encode` describes what is wrong with it
        return _encoder.encode(value)


def _may_be_deep(text: str) -> bool:
    return len(text) > DEEPEST and text.count("{") + text.count("[") > DEEPEST


def _measure_depth(value: Any) -> int:
    """The number of levels of nested lists and mappings."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def to_document(row: Sequence[Any], plain: Callable[[Any], Any]) -> Document:
    """The document of a row with DOCUMENT_COLUMNS and hash; `plain` reads the texts as the connection does."""
    *columns, hash = row
    columns[_CONTENT], columns[_PAYLOAD] = plain(columns[_CONTENT]), plain(columns[_PAYLOAD])
    if _hash([*columns[:_PAYLOAD], columns[_PAYLOAD] or ""]) != hash:
        raise sqlite3.DatabaseError("a document does not match its hash")
    id, title, content, keywords, metadata, kind, source, locator, payload = columns
    return Document(
        id, title, content, parse_keywords(keywords), parse_metadata(metadata),
        kind=kind, source=source, locator=locator, payload=payload,
    )  # fmt: skip


def parse_metadata(text: str) -> dict[str, Any]:
    """Stored metadata; anything that `to_record` would not have stored is damage."""
    if text == "{}":
        return {}
    value = _parse(text)
    is_deep = _may_be_deep(text) and _measure_depth(value) > DEEPEST
    if not isinstance(value, dict) or is_deep:
        raise sqlite3.DatabaseError("metadata is not a mapping, or too deep")
    return value


def parse_keywords(text: str) -> list[str]:
    """Stored keywords."""
    value = _parse(text)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise sqlite3.DatabaseError("keywords are not a list of strings")
    return value


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"a value is not JSON: {error}") from None


def checksum_passage(columns: Sequence[str]) -> int:
    """The checksum of what is shown of a passage: id, title, text, kind, source, locator, metadata, context.

    An empty context does not change it: the first format had no context.
    """
    return zlib.crc32("\0".join(columns).rstrip("\0").encode())


class Rows:
    """The stored documents and stamps as one transaction sees them."""

    def __init__(self, connection: TextConnection) -> None:
        self._connection = connection
        self._plain = connection.plain

    def column(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return [value for (value,) in self._connection.rows(query, parameters)]

    def generation(self) -> int:
        return read_generation(self._connection)

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        """Number and hash of those documents that are stored."""
        found: dict[str, tuple[Any, bytes]] = {}
        ends = (
            self.column("SELECT num FROM documents WHERE id IN (?, ?) ORDER BY num", (ids[0], ids[-1])) if ids else []
        )
        if ends and ends[-1] - ends[0] < 2 * len(ids):  # they come in the order in which they are stored
            wanted, query = set(ids), "SELECT id, num, hash FROM documents WHERE num BETWEEN ? AND ?"
            rows = self._connection.execute(query, (ends[0], ends[-1]))
            found = {id: (number, hash) for id, number, hash in rows if id in wanted}
        if others := [id for id in ids if id not in found]:
            query = f"SELECT id, num, hash FROM documents WHERE id IN ({','.join('?' * len(others))})"
            found |= {id: (number, hash) for id, number, hash in self._connection.execute(query, others)}
        return found

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        return self._connection.execute("SELECT num, id, source FROM documents")

    def stamps(self) -> dict[str, Stamp]:
        rows = self._connection.execute("SELECT id, source, value, skipped FROM stamps")
        return {id: Stamp(id, source, value, bool(skipped)) for id, source, value, skipped in rows}

    def stamped(self, stamp: Stamp) -> set[str]:
        """The ids of the stored documents that a stamp covers."""
        query = "SELECT id FROM documents WHERE source = ? AND (id = ? OR (id >= ? AND id < ?))"
        # $ is the character after #
        return set(self.column(query, (stamp.source, stamp.id, f"{stamp.id}#", f"{stamp.id}$")))

    def get(self, id: str) -> Document | None:
        query = f"SELECT {DOCUMENT_COLUMNS}, hash FROM documents WHERE id = ?"
        return next((to_document(row, self._plain) for row in self._connection.rows(query, (id,))), None)

    def after(self, last: int) -> list[tuple[int, Document, str]]:
        """The next documents after a number, each with its number and its metadata as text."""
        query = f"SELECT num, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num > ? ORDER BY num LIMIT {BATCH}"
        rows = self._connection.execute(query, (last,))
        return [(number, to_document(row, self._plain), row[4]) for number, *row in rows]

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        """A page of the documents that contain a text, ignoring case, and the number of all of them."""
        if text:
            found = self._containing(clean(text).casefold())
            count, numbers = len(found), found[offset : None if limit is None else offset + limit]
        else:
            query = "SELECT num FROM documents ORDER BY num LIMIT ? OFFSET ?"
            count, numbers = self.count(), self.column(query, (-1 if limit is None else limit, offset))
        query = f"SELECT {DOCUMENT_COLUMNS}, hash FROM documents WHERE num = ?"
        rows = (self._connection.execute(query, (number,)).fetchone() for number in numbers)
        return [to_document(row, self._plain) for row in rows], count

    def _containing(self, folded: str) -> list[int]:
        """The numbers of the documents that contain a text in which case is folded."""
        rows = self._connection.execute("SELECT num, content, id, title, keywords FROM documents ORDER BY num")
        return [
            number
            for number, content, *others in rows
            if folded in self._plain(content).casefold() or any(folded in text.casefold() for text in others)
        ]

    def ids(self) -> list[str]:
        return self.column("SELECT id FROM documents ORDER BY num")

    def count(self) -> int:
        return int(self.column("SELECT count(*) FROM documents")[0])

    def kinds(self) -> dict[str, int]:
        """The number of documents of each kind, the most frequent first."""
        return dict(self._connection.execute(COUNT_KINDS).fetchall())

    def count_passages(self) -> int:
        """The number of live passages, without a walk over all of them."""
        (dead,) = self.column("SELECT count(*) FROM tombstones")
        return sum(row.size for row in read_segments(self._connection)) - int(dead)

    def facts(self) -> dict[str, Any]:
        segments = len(read_segments(self._connection))
        return {"documents": self.count(), "passages": self.count_passages(), "segments": segments}

    def mark(self) -> dict[str, Any]:
        last = read_last_numbers(self._connection)[1]
        return {"documents": self.count(), "passages": self.count_passages(), "last_passage": last}

    def since(self, mark: dict[str, Any]) -> Drift:
        return Drift(read_last_numbers(self._connection)[1] - mark["last_passage"], self.count_passages())


def scan(after: Callable[[int], list[tuple[int, Document, str]]]) -> Iterator[tuple[int, Document, str]]:
    """All that `Rows.after` returns, batch by batch."""
    last = 0
    while batch := after(last):
        yield from batch
        last = batch[-1][0]


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
