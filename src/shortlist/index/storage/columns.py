"""Columns of a segment: the metadata of its passages by key, so that a filter reads no rows.

A column has a code for each passage and the distinct values that the codes refer to, as JSON. A key with too many
values, such as an address of each document, has none: its values are read from the rows.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.engine import MISSING
from shortlist.index.lexical.postings import freeze
from shortlist.index.storage.records import parse_metadata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask

# What a column may have: values, and bytes of these, some at least and some for each passage.
MOST_VALUES = (1 << 16) - 1
ROOM, ROOM_FOR_EACH = 64 << 10, 8

# In a segment with more keys, a column of each would take too much space, so it has none.
MOST_KEYS = 100

NOT_STORED = ("id", "title")  # of documents, which have as many values as there are documents


class Column(NamedTuple):
    """One metadata key over a segment: a code for each position, and the distinct values that the codes refer to.

    Passages deleted at `generation` are missing from it, so it serves that generation and all later ones.
    """

    codes: NDArray[Any]
    values: list[Any]  # the first one is MISSING
    generation: int = 0


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a segment as they are stored, and a checksum of them, since mapped files are not compared."""

    codes: NDArray[np.uint16]  # of each key that has a column
    values: NDArray[np.uint8]  # JSON: the values of each key, or null if it has no column
    checksum: int

    def __post_init__(self) -> None:
        freeze(self.codes, self.values)

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str, str]]) -> Columns | None:
        """The columns of passages with this metadata, kind and source; None if there are too many keys."""
        places: dict[tuple[str, str, str], int] = {}
        codes = np.array([places.setdefault(row, len(places)) for row in rows], dtype=np.int64)
        parse = lru_cache(10_000)(parse_metadata)  # many documents have the same metadata
        records = [{"kind": kind, "source": source, **parse(metadata)} for metadata, kind, source in places]
        keys = {key for record in records for key in record}
        if len(keys) > MOST_KEYS:
            return None
        return _pack({key: Column(codes, [one.get(key, MISSING) for one in records]) for key in sorted(keys)})

    def find(self, key: str) -> Column | None:
        """The column of a metadata key, of a dotted path, or of what every document has; None if it is not here."""
        if key in NOT_STORED:
            return None
        first, *steps = key.split(".")
        whole, start = self._column(key), self._column(first)
        if not steps or whole is None:
            return whole
        if start is None:
            return None
        within = [MISSING if value is MISSING else look_up({first: value}, key) for value in start.values]
        codes = np.where(whole.codes, whole.codes, start.codes + np.int64(len(whole.values)))
        return Column(codes, whole.values + within)

    def find_fault(self) -> str:
        """What no columns can contain; empty if there is nothing."""
        try:
            columns = filter(None, map(self._column, self._values))
            is_whole = all(int(one.codes.max(initial=0)) < len(one.values) for one in columns)
        except sqlite3.DatabaseError:
            is_whole = False
        return "" if is_whole else "has damaged columns"

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"columns.codes": self.codes, "columns.values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], checksum: Any) -> Columns | None:
        has_columns = "columns.codes" in arrays
        return cls(arrays["columns.codes"], arrays["columns.values"], int(checksum)) if has_columns else None

    @cached_property
    def _values(self) -> dict[str, list[Any] | None]:
        if _checksum(self.codes, self.values) != self.checksum:
            raise sqlite3.DatabaseError("columns do not match their checksum")
        try:
            values: Any = json.loads(self.values.tobytes())
        except (ValueError, RecursionError):
            values = None
        kinds = [type(one) for one in values.values()] if isinstance(values, dict) else []
        if not {*kinds} <= {list, type(None)} or kinds.count(list) != len(self.codes):
            raise sqlite3.DatabaseError("columns are not lists of values")
        return dict(values)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(key for key, one in self._values.items() if one is not None)}

    def _column(self, key: str) -> Column | None:
        if key not in self._values:
            return Column(np.zeros(self.codes.shape[1], np.uint16), [MISSING])
        values = self._values[key]
        return None if values is None else Column(self.codes[self._places[key]], [MISSING, *values])

    @classmethod
    def merge(cls, parts: Sequence[tuple[Columns | None, Mask | None]]) -> Columns | None:
        """The columns of consecutive segments, without deleted passages; None if one has none or is damaged."""
        known = [(columns, dead) for columns, dead in parts if columns is not None]
        if len(known) < len(parts):
            return None
        try:
            keys = sorted({key for columns, _ in known for key in columns._values})
            if len(keys) > MOST_KEYS:
                return None
            return _pack({key: _join([(columns._column(key), dead) for columns, dead in known]) for key in keys})
        except sqlite3.DatabaseError:
            return None


def look_up(metadata: Mapping[str, Any], key: str, otherwise: Any = MISSING) -> Any:
    """A value of metadata by its key, or by a dotted path into nested mappings."""
    if key in metadata:
        return metadata[key]
    value: Any = metadata
    for step in key.split("."):
        if not isinstance(value, dict) or step not in value:
            return otherwise
        value = value[step]
    return value


def encode(values: Iterable[Any]) -> Column:
    """A code for each value, and the distinct ones."""
    distinct: list[Any] = [MISSING]
    known: dict[Any, int] = {}
    codes = []
    for value in values:
        if value is MISSING:
            codes.append(0)
            continue
        is_plain = isinstance(value, str | int)
        code = known.setdefault((type(value), value) if is_plain else json.dumps(value, sort_keys=True), len(distinct))
        if code == len(distinct):
            distinct.append(value)
        codes.append(code)
    return Column(np.array(codes, dtype=np.int64), distinct)


def _join(parts: Sequence[tuple[Column | None, Mask | None]]) -> Column | None:
    """One column from consecutive ones, whose values may repeat."""
    codes: list[NDArray[np.int64]] = []
    values: list[Any] = []
    for column, dead in parts:
        if column is None:
            return None
        codes.append((column.codes if dead is None else column.codes[~dead]) + np.int64(len(values)))
        values += column.values
    return Column(np.concatenate(codes), values)


def _pack(columns: Mapping[str, Column | None]) -> Columns:
    """The columns without values that repeat or that no passage has, as far as they are small."""
    kept: list[NDArray[np.uint16]] = []
    texts: list[str] = []
    size = 0
    for key, column in columns.items():
        text = "null"
        if column is not None:
            size = len(column.codes)
            used = np.flatnonzero(np.bincount(column.codes, minlength=len(column.values)))
            codes, (_, *distinct), _ = encode(column.values[place] for place in used.tolist())
            listed = json.dumps(distinct)
            if len(distinct) <= MOST_VALUES and len(listed) <= ROOM + ROOM_FOR_EACH * size:
                table = np.zeros(len(column.values), np.uint16)
                table[used] = codes
                kept.append(table[column.codes])
                text = listed
        texts.append(f"{json.dumps(key)}: {text}")
    codes = np.stack(kept) if kept else np.zeros((0, size), np.uint16)
    values = np.frombuffer(f"{{{', '.join(texts)}}}".encode(), np.uint8)
    return Columns(codes, values, _checksum(codes, values))


def _checksum(codes: NDArray[np.uint16], values: NDArray[np.uint8]) -> int:
    return zlib.crc32(values.data, zlib.crc32(codes.data))
