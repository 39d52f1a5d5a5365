"""Dataclasses as plain data, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar


class Plain:
    """A dataclass with a `to_dict` of its fields, or of the fields and properties that `_shown` lists."""

    __slots__ = ()
    _shown: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        names = self._shown.split() or [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: to_plain(getattr(self, name)) for name in names}


def to_plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value
