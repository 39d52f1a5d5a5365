"""Which passages are allowed? Conditions on metadata, as a mapping, turned into what a snapshot filters by.

A plain value means equality; for a list in the metadata, any of its items may match. Operators: $eq $ne $gt $gte $lt
$lte $in $nin $exists, and $and $or $not around conditions. Keys may be dotted paths; id, title, kind and source are
known even where the metadata does not name them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shortlist.errors import InputError
from shortlist.index.engine import MISSING
from shortlist.index.storage.records import clean

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State

Filter = Mapping[str, Any]
Test = Callable[[Any], bool]


def allowed(snapshot: State, condition: Filter) -> Allowed:
    """The positions that meet a condition; an empty one is met by all."""
    if not isinstance(condition, Mapping):
        raise InputError(f"A filter is a mapping such as {{'access': 'read'}}, not {type(condition).__name__}.")
    mask = snapshot.everything()
    for key, value in condition.items():
        if not isinstance(key, str):
            raise InputError(f"The keys of a filter are names of metadata, not {key!r}.")
        if key == "$and":
            for part in _parts(key, value):
                mask = mask & allowed(snapshot, part)
        elif key == "$or":
            any_of = ~snapshot.everything()
            for part in _parts(key, value):
                any_of = any_of | allowed(snapshot, part)
            mask = mask & any_of
        elif key == "$not":
            mask = mask & ~allowed(snapshot, value)
        elif key.startswith("$"):
            raise InputError(f"Unknown operator {key!r} in a filter; around conditions stand $and, $or and $not.")
        else:
            mask = mask & _matching(snapshot, key, value)
    return mask


def _matching(snapshot: State, key: str, value: Any) -> Allowed:
    if not (isinstance(value, Mapping) and any(str(name).startswith("$") for name in value)):
        return snapshot.match(key, "$eq", value, _equals(value))
    mask = snapshot.everything()
    for name, operand in value.items():
        if name == "$not":
            mask = mask & ~_matching(snapshot, key, operand)
        elif name in _OPERATORS:
            mask = mask & snapshot.match(key, name, operand, _OPERATORS[name](operand))
        else:
            raise InputError(
                f"Unknown operator {name!r} for {key!r} in a filter; the known ones are {', '.join(_OPERATORS)}, $not."
            )
    return mask


def _parts(key: str, value: Any) -> list[Filter]:
    if not isinstance(value, list | tuple) or not value:
        raise InputError(f"{key} takes a list of conditions, not {value!r}.")
    return list(value)


def _same(stored: Any, wanted: Any) -> bool:
    """Equal, and not merely equal as numbers: True is not 1, inside lists and mappings neither."""
    if isinstance(stored, list) and isinstance(wanted, list | tuple):
        return len(stored) == len(wanted) and all(map(_same, stored, wanted))
    if isinstance(stored, dict) and isinstance(wanted, Mapping):
        return stored.keys() == wanted.keys() and all(_same(stored[key], wanted[key]) for key in stored)
    if isinstance(wanted, str):
        wanted = clean(wanted)
    return bool(stored == wanted) and isinstance(stored, bool) == isinstance(wanted, bool)


def _equals(wanted: Any) -> Test:
    def test(stored: Any) -> bool:
        if stored is MISSING:
            return False
        return _same(stored, wanted) or (isinstance(stored, list) and any(_same(item, wanted) for item in stored))

    return test


def _differs(wanted: Any) -> Test:
    equal = _equals(wanted)
    return lambda stored: not equal(stored)


def _one_of(wanted: Any) -> Test:
    if isinstance(wanted, str | bytes | Mapping) or not hasattr(wanted, "__iter__"):
        raise InputError(f"$in and $nin take a list of values, not {wanted!r}.")
    tests = [_equals(value) for value in wanted]
    return lambda stored: any(test(stored) for test in tests)


def _none_of(wanted: Any) -> Test:
    found = _one_of(wanted)
    return lambda stored: not found(stored)


def _exists(wanted: Any) -> Test:
    if not isinstance(wanted, bool):
        raise InputError(f"$exists takes True or False, not {wanted!r}.")
    return lambda stored: (stored is not MISSING) == wanted


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any], Test]:
    """Numbers compare with numbers and strings with strings; anything else does not match."""

    def make(wanted: Any) -> Test:
        if isinstance(wanted, bool) or not isinstance(wanted, int | float | str):
            raise InputError(f"$gt, $gte, $lt and $lte compare with a number or a string, not {wanted!r}.")
        kinds = (str,) if isinstance(wanted, str) else (int, float)

        def one(stored: Any) -> bool:
            return isinstance(stored, kinds) and not isinstance(stored, bool) and bool(compare(stored, wanted))

        return lambda stored: any(map(one, stored)) if isinstance(stored, list) else one(stored)

    return make


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$eq": _equals,
    "$ne": _differs,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": _one_of,
    "$nin": _none_of,
    "$exists": _exists,
}
