"""What changed in the definition of a tool, and which changes wait for the user's approval.

Waiting: changed descriptions and defaults, parameters that are required now, take something else or are gone, and side
effects that become wider. Passing: new optional parameters, titles, limits of values, and side effects that become
narrower.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# What a missing hint means in the protocol, which is always the more dangerous value.
HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}

# Keywords of a schema that hold schemas by name, a schema, or a list of schemas.
_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_INNER = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "unevaluatedProperties"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})

# Keywords that limit values: a call that no longer fits is refused before it reaches the server.
_LIMITS = frozenset(
    {"$schema", "$id", "title", "enum", "format", "pattern", "deprecated", "readOnly", "writeOnly", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minProperties", "maxProperties"}
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One part of a definition that is not as it was; None stands for a part that is not there."""

    part: str
    before: Any
    after: Any
    waits: bool

    @property
    def top(self) -> str:
        """The part of the whole definition that it is in, without names that the server chose."""
        return re.split(r"[.\[]", self.part, maxsplit=1)[0]

    def diff(self) -> list[str]:
        """The change in lines to read: - before, + after, and what surrounds it."""
        lines = difflib.unified_diff(_lines(self.before), _lines(self.after), lineterm="", n=1)
        return [line for line in list(lines)[2:] if not line.startswith("@@")]  # two lines of heading

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "waits": self.waits, "diff": self.diff()}


def changes_between(approved: Entry, now: Entry) -> list[Change]:
    """What changed in a tool since it was approved."""
    found: list[Change] = []
    for key in sorted(approved.keys() | now.keys()):
        before, after = approved.get(key), now.get(key)
        if before == after:
            continue
        if key == "annotations":
            found += _annotation_changes(before or {}, after or {})
        elif key in ("inputSchema", "outputSchema"):
            found += _schema_changes(before or {}, after or {}, "input" if key == "inputSchema" else "output")
        elif not _is_same_text(before, after):
            found.append(Change(key, before, after, waits=key != "title"))
    return found


def _annotation_changes(before: Entry, after: Entry) -> Iterator[Change]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if key in HINTS:
            old, new = (value if isinstance(value, bool) else HINTS[key] for value in (old, new))
        if old != new:
            yield Change(
                f"annotations.{key}", old, new, waits=key != "title" and (key not in HINTS or new == HINTS[key])
            )


def _schema_changes(before: Any, after: Any, where: str) -> Iterator[Change]:
    if before == after:
        return
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield Change(where, before, after, waits=True)
        return
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new or _is_same_text(old, new):
            continue
        if key in _BY_NAME:
            yield from _named_changes(old or {}, new or {}, where)
        elif key in _INNER and isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _schema_changes(old, new, f"{where}[]")
        elif key in _LISTS:
            yield from _list_changes(old or [], new or [], where)
        elif key == "required":
            added = set(_names(new)) - set(_names(old))
            yield Change(f"{where}.required", old, new, waits=bool(added) and where.startswith("input"))
        elif key == "type":
            is_narrower = old is None or (new is not None and _types(new) <= _types(old))
            yield Change(f"{where}.type", old, new, waits=not is_narrower)
        else:
            waits = key not in _LIMITS and not (key == "additionalProperties" and isinstance(new, bool | None))
            yield Change(f"{where}.{key}", old, new, waits)


def _named_changes(before: Any, after: Any, where: str) -> Iterator[Change]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield Change(where, before, after, waits=True)
        return
    for name in dict.fromkeys((*before, *after)):
        if name in before and name in after:
            yield from _schema_changes(before[name], after[name], f"{where}.{name}")
        else:  # a new one is optional, unless `required` names it
            waits = name not in after and where.startswith("input")
            yield Change(f"{where}.{name}", before.get(name), after.get(name), waits)


def _list_changes(before: Any, after: Any, where: str) -> Iterator[Change]:
    if not isinstance(before, list) or not isinstance(after, list):
        yield Change(where, before, after, waits=True)
    elif len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _schema_changes(old, new, f"{where}[{number}]")
    else:
        is_wider_or_narrower = all(one in after for one in before) or all(one in before for one in after)
        yield Change(where, before, after, waits=not is_wider_or_narrower)


def _types(value: Any) -> set[str]:
    """The types that the keyword `type` names."""
    types = set(_names(value if isinstance(value, list) else [value]))
    return types | {"integer"} if "number" in types else types


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _is_same_text(before: Any, after: Any) -> bool:
    return isinstance(before, str) and isinstance(after, str) and before.split() == after.split()


def _lines(value: Any) -> list[str]:
    """A value as lines that can be compared: a text by sentences, anything else as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line for line in _SENTENCE.split(value) if line]
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).splitlines()
