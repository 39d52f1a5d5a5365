"""Dataclasses as plain data, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

_PLAIN = frozenset((str, float, int, bool, type(None)))  # looked up first, because most values are of these types


class Plain:
    """A dataclass with a `to_dict` of its fields, or of the fields and properties that `_shown` lists."""

    __slots__ = ()
    _shown: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: to_plain(getattr(self, name)) for name in _names(type(self))}  # type: ignore[arg-type]


@cache
def _names(kind: type[Any]) -> list[str]:
    return kind._shown.split() or [field.name for field in fields(kind)]


def to_plain(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value
