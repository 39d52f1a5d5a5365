"""Schemas of tools as a model reads them: an input schema without what repeats, an output schema in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST_OUTPUT = 200  # characters of an output schema in one line
OUTPUT_LEVELS = 3

# Where a schema has other schemas: under names, in a list, or one.
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")

# "additionalProperties": false says only that other arguments are errors, which the error says again.
REDUNDANT: tuple[tuple[str, Any], ...] = (("additionalProperties", False), ("required", []))

Schema = Mapping[str, Any]


def shorten_input(schema: Any, name: str = "") -> Any:
    """A schema without its dialect and without titles that only repeat names."""
    if not isinstance(schema, Mapping):
        return schema
    shown: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema" or (key, value) in REDUNDANT or (key == "title" and _is_name(value, name)):
            continue
        if key in NAMED and isinstance(value, Mapping):
            value = {inner: shorten_input(each, inner) for inner, each in value.items()}
        elif key in LISTED and isinstance(value, list):
            value = [shorten_input(each, name) for each in value]
        elif key in SINGLE:
            value = shorten_input(value, name)
        shown[key] = value
    return shown


def _is_name(title: Any, name: str) -> bool:
    """Whether a title was made from a name; that of a whole schema is the name of a class."""
    if not isinstance(title, str):
        return False
    return not name or title.casefold().replace(" ", "") == name.casefold().replace("_", "").replace(" ", "")


def describe_output(schema: Any) -> str:
    """What a tool returns, in one line such as {city: string, days: [{rain: boolean}]}."""
    line = _describe(schema, schema, OUTPUT_LEVELS)
    return line if len(line) <= LONGEST_OUTPUT else f"{line[:LONGEST_OUTPUT]}…"


def _describe(schema: Any, root: Any, levels: int) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        kind, _, name = reference.removeprefix("#/").partition("/")
        defined = root.get(kind)
        found = defined.get(name) if kind in NAMED and isinstance(defined, Mapping) else None
        return _describe(found, root, levels - 1) if levels else "object"
    kinds = schema.get("type")
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(dict.fromkeys(_describe(one, root, levels) for one in schema[key]))
    if isinstance(schema.get("properties"), Mapping):
        if not levels:
            return "object"
        parts = (f"{name}: {_describe(one, root, levels - 1)}" for name, one in schema["properties"].items())
        return f"{{{', '.join(parts)}}}"
    if kinds == "array":
        return f"[{_describe(schema.get('items'), root, levels)}]"
    return " | ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds or "any")
