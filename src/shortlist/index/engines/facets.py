"""Filters by metadata of any shape in a cluster: every value becomes a token that sorts as the value does.

A token is the key, the kind of value and the value. One field has them all, so no key needs a mapping of its own, True
is not 1, and a range of values is a range of tokens. `retrieval/filters.py` defines what a condition means.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from shortlist._text import clean
from shortlist.documents import Document
from shortlist.index.engine import BUILT_IN

if TYPE_CHECKING:
    from shortlist.results import Mask, Positions

FIELD = "facets"
LONGEST_KEY, LONGEST_TEXT = 200, 500  # characters that are stored unchanged

Query = dict[str, Any]
EVERYTHING: Query = {"match_all": {}}
NOTHING: Query = {"match_none": {}}

_BORDER = "\0"
_AFTER = "\U0010ffff"  # sorts after everything with the same beginning
_OPPOSITE = {"$ne": "$eq", "$nin": "$in"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter, as a query that the server checks; `check` applies a query to some positions."""

    query: Query
    check: Callable[[Query, Positions], Mask]

    def __and__(self, other: Condition) -> Condition:
        if self.query == EVERYTHING:  # servers limit how deep queries are nested
            return other
        return replace(self, query={"bool": {"filter": [self.query, other.query]}})

    def __or__(self, other: Condition) -> Condition:
        return replace(self, query={"bool": {"should": [self.query, other.query]}})

    def __invert__(self) -> Condition:
        return replace(self, query=_negate(self.query))

    def __getitem__(self, positions: Positions) -> Mask:
        return self.check(self.query, positions)


def tokens(document: Document, metadata: Mapping[str, Any]) -> list[str]:
    """Everything that a document can be filtered by: its metadata, as it is stored, and BUILT_IN."""
    found = {key: getattr(document, key) for key in BUILT_IN} | dict(_paths(metadata))
    return list(dict.fromkeys(token for key, value in found.items() for token in _value_tokens(key, value)))


def query(key: str, operator: str, operand: Any) -> Query:
    """A condition as the server checks it."""
    if operator in _OPPOSITE:
        return _negate(query(key, _OPPOSITE[operator], operand))
    if operator == "$exists":
        exists = {"term": {FIELD: _token(key, "e", "")}}
        return exists if operand else _negate(exists)
    if operator in ("$eq", "$in"):
        values = [operand] if operator == "$eq" else operand
        wanted = [token for value in values for token in _equality_tokens(key, value)]
        return {"terms": {FIELD: wanted}} if wanted else NOTHING
    if isinstance(operand, float) and math.isnan(operand):
        return NOTHING
    kind = "s" if isinstance(operand, str) else "n"
    at = _token(key, kind, clean(operand)[:LONGEST_TEXT] if isinstance(operand, str) else _sortable(operand))
    first, beyond = _token(key, kind, ""), _token(key, chr(ord(kind) + 1), "")
    other = {"lt": beyond} if operator in ("$gt", "$gte") else {"gte": first}
    return {"range": {FIELD: {operator.removeprefix("$"): at, **other}}}


def _negate(query: Query) -> Query:
    return {"bool": {"must_not": [query]}}


def _paths(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key and dotted path with its value; a key that has dots takes precedence over a path."""
    yield from metadata.items()
    waiting = [(key, value) for key, value in metadata.items() if "." not in key]
    while waiting:
        path, mapping = waiting.pop()
        if isinstance(mapping, dict):
            inner = [(f"{path}.{key}", value) for key, value in mapping.items() if "." not in key]
            yield from ((key, value) for key, value in inner if key not in metadata)
            waiting += inner


def _value_tokens(key: str, value: Any) -> Iterator[str]:
    yield _token(key, "e", "")
    for item in [value, *value] if isinstance(value, list) else [value]:
        yield from _equality_tokens(key, item)
        if _is_number(item):
            yield _token(key, "n", _sortable(item))
        elif isinstance(item, str) and len(item) > LONGEST_TEXT:
            yield _token(key, "s", item[:LONGEST_TEXT] + _AFTER)


def _equality_tokens(key: str, value: Any) -> list[str]:
    """The token that all values equal to this one have; none if no stored value can be equal."""
    if value is None:
        return [_token(key, "z", "")]
    if isinstance(value, bool):
        return [_token(key, "b", str(int(value)))]
    if _is_number(value):
        return [_token(key, "v", _plain_number(value))]
    if isinstance(value, str):
        text = clean(value)
        return [_token(key, "s", text) if len(text) <= LONGEST_TEXT else _token(key, "h", _hash(text))]
    try:
        return [_token(key, "j", _hash(json.dumps(_canonical(value), sort_keys=True)))]
    except (TypeError, ValueError, RecursionError):
        return []


def _token(key: str, kind: str, value: str) -> str:
    name = key if len(key) <= LONGEST_KEY else f"{key[:20]}{_BORDER}{_hash(key)}"
    return f"{clean(name)}{_BORDER}{kind}{value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain_number(value: float) -> str:
    """A number so that equal ones, integers or floats, are written the same."""
    return repr(value) if isinstance(value, float) and not value.is_integer() else str(int(value))


def _sortable(value: float) -> str:
    """A number as hexadecimal digits that sort as numbers do; whole numbers beyond 2**53 lose their last digits."""
    try:
        number = float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    (bits,) = struct.unpack(">Q", struct.pack(">d", number))
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):016x}"


def _canonical(value: Any) -> Any:
    """A value so that equal ones are written the same: True is not 1, and 1 is 1.0."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        return {clean(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if _is_number(value):
        return {"": _plain_number(value)}
    return clean(value) if isinstance(value, str) else value


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
