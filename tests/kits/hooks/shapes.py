"""Does a dict have the shape that a package declares? As TypedDicts do: every key known, every value of its type."""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import TypeAdapter


def check(declared: Any, value: dict[str, Any]) -> None:
    unknown = value.keys() - get_type_hints(declared).keys()
    assert not unknown, f"{declared.__name__} has no {unknown}"
    TypeAdapter(declared).validate_python(value, strict=False)
