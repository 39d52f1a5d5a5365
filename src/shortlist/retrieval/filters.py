"""Metadata filters, given as mappings.

A plain value means equality; for lists in the metadata, any item may match. Operators: $eq $ne $gt $gte $lt $lte $in
$nin $exists, and $and $or $not around conditions. Keys may be dotted paths; id, title, kind and source always exist.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shortlist._text import clean
from shortlist.errors import InputError
from shortlist.index.engine import MISSING
from shortlist.results import Filter as Filter

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State

Test = Callable[[Any], bool]


def allowed(state: State, condition: Filter | None) -> Allowed:
    """The positions that meet the condition; None without a condition."""
    return None if condition is None else _allowed(state, condition)


def _allowed(state: State, condition: Filter) -> Allowed:
    if not isinstance(condition, Mapping):
        raise InputError(f"A filter must be a mapping such as {{'access': 'read'}}, not {type(condition).__name__}.")
    mask = state.everything()
    for key, value in condition.items():
        if not isinstance(key, str):
            raise InputError(f"Filter keys must be metadata names, not {key!r}.")
        if key in ("$and", "$or"):
            if not isinstance(value, list | tuple) or not value:
                raise InputError(f"{key} takes a list of conditions, not {value!r}.")
            met = _allowed(state, value[0])
            for part in value[1:]:
                met = met & _allowed(state, part) if key == "$and" else met | _allowed(state, part)
        elif key == "$not":
            met = ~_allowed(state, value)
        elif key.startswith("$"):
            raise InputError(f"Unknown filter operator {key!r}. Conditions are combined with $and, $or and $not.")
        else:
            met = _match(state, key, value)
        mask = mask & met
    return mask


def _match(state: State, key: str, value: Any) -> Allowed:
    if not (isinstance(value, Mapping) and any(str(name).startswith("$") for name in value)):
        _check_names(key, value)
        value = {"$eq": value}
    mask = state.everything()
    for name, operand in value.items():
        if name == "$not":
            mask = mask & ~_match(state, key, operand)
        elif name in _OPERATORS:
            mask = mask & state.match(key, name, operand, _OPERATORS[name](operand))
        else:
            raise InputError(f"Unknown filter operator {name!r} for {key!r}. Use one of {', '.join(_OPERATORS)}, $not.")
    return mask


def _check_names(key: str, value: Any) -> None:
    """Refuse a mapping that is not meant as a value: all its keys are operators without the dollar sign."""
    if isinstance(value, Mapping) and value and all(f"${name}" in (*_OPERATORS, "$not") for name in value):
        name = next(iter(value))
        raise InputError(
            f"{name!r} is not a filter operator. Did you mean '${name}'? If {key!r} is a mapping with these keys, "
            f"compare it with {{'$eq': {dict(value)!r}}}."
        )


def _is_same(stored: Any, wanted: Any) -> bool:
    """Equality in which True is not 1, also inside lists and mappings."""
    if isinstance(stored, list) and isinstance(wanted, list | tuple):
        return len(stored) == len(wanted) and all(map(_is_same, stored, wanted))
    if isinstance(stored, dict) and isinstance(wanted, Mapping):
        return stored.keys() == wanted.keys() and all(_is_same(stored[key], wanted[key]) for key in stored)
    if isinstance(wanted, str):
        wanted = clean(wanted)
    return bool(stored == wanted) and isinstance(stored, bool) == isinstance(wanted, bool)


def _equals(wanted: Any) -> Test:
    def test(stored: Any) -> bool:
        if stored is MISSING:
            return False
        return _is_same(stored, wanted) or (isinstance(stored, list) and any(_is_same(item, wanted) for item in stored))

    return test


def _is_in(wanted: Any) -> Test:
    if isinstance(wanted, str | bytes | Mapping) or not hasattr(wanted, "__iter__"):
        raise InputError(f"$in and $nin take a list of values, not {wanted!r}.")
    tests = [_equals(value) for value in wanted]
    return lambda stored: any(test(stored) for test in tests)


def _negate(make: Callable[[Any], Test]) -> Callable[[Any], Test]:
    def make_negated(wanted: Any) -> Test:
        test = make(wanted)
        return lambda stored: not test(stored)

    return make_negated


def _exists(wanted: Any) -> Test:
    if not isinstance(wanted, bool):
        raise InputError(f"$exists takes True or False, not {wanted!r}.")
    return lambda stored: (stored is not MISSING) == wanted


def _compare(compare: Callable[[Any, Any], Any]) -> Callable[[Any], Test]:
    """Compare numbers with numbers and strings with strings; anything else does not match."""

    def make(wanted: Any) -> Test:
        if isinstance(wanted, bool) or not isinstance(wanted, int | float | str):
            raise InputError(f"$gt, $gte, $lt and $lte compare with a number or a string, not {wanted!r}.")
        kinds = (str,) if isinstance(wanted, str) else (int, float)

        def test(stored: Any) -> bool:
            return isinstance(stored, kinds) and not isinstance(stored, bool) and bool(compare(stored, wanted))

        return lambda stored: any(map(test, stored)) if isinstance(stored, list) else test(stored)

    return make


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$eq": _equals,
    "$ne": _negate(_equals),
    "$gt": _compare(operator.gt),
    "$gte": _compare(operator.ge),
    "$lt": _compare(operator.lt),
    "$lte": _compare(operator.le),
    "$in": _is_in,
    "$nin": _negate(_is_in),
    "$exists": _exists,
}
