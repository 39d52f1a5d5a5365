"""Review of a tool's definition: checks when it is first seen, and which later changes need approval.

Changes that need approval: descriptions, defaults, parameters that are now required, accept another type or are gone,
and side effects that become wider. Changes that pass: new optional parameters, titles, limits of values, and side
effects that become narrower.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist._plain import is_deeper
from shortlist.safety.prompt_injection import find_invisible, find_mixed_scripts, find_orders, is_secret_file

LONGEST_NAME = 128
LARGEST = 100_000  # characters of a definition
DEEPEST = 50  # levels of its schema

# Keywords of JSON Schema by what they contain, keywords that only limit values, and the defaults of missing hints.
_DATA = json.loads(Path(__file__).with_name("tool_review.json").read_bytes())
_BY_NAME, _INNER, _LISTS, _LIMITS = (frozenset(_DATA[key]) for key in ("by_name", "inner", "lists", "limits"))
HINTS: dict[str, bool] = _DATA["hints"]
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Entry = Mapping[str, Any]


def find_defect(entry: Entry) -> str:
    """Why a tool is rejected; empty if it is not."""
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return "It has no name."
    if len(name) > LONGEST_NAME:
        return f"Its name has {len(name):,} characters, more than {LONGEST_NAME}."
    if is_deeper(entry, DEEPEST):
        return f"Its schema has more than {DEEPEST} levels."
    size = len(json.dumps(entry, ensure_ascii=False))
    return f"Its definition has {size:,} characters, more than {LARGEST:,}." if size > LARGEST else ""


def find_risk(entry: Entry, first: str) -> str:
    """Why a tool needs approval when it is first seen; empty if it does not. `first` is the first tool whose name looks
    like this one: the tool itself, or another."""
    name = entry["name"]
    if hidden := find_invisible(name):
        return f"Its name contains invisible characters: {', '.join(hidden)}."
    if scripts := find_mixed_scripts(name):
        return f"Its name mixes letters that look alike: {' and '.join(scripts)}."
    if first != name:
        return f"Its name looks like {first!r}."
    text = "\n\n".join(_collect_texts(entry))
    if found := next(find_orders(text), None):
        return f"Its description {found[0]}."
    if any(is_secret_file(value, text) for value in _collect_values(entry.get("inputSchema"))):
        return "One of its values points to a file with secrets."
    if hidden := find_invisible(text, strays=False):
        return f"Its description contains invisible characters: {', '.join(hidden[:3])}."
    return ""


@dataclass(frozen=True, slots=True)
class Change:
    """One part of a definition that changed; None is a part that is missing."""

    part: str
    before: Any
    after: Any
    waits: bool  # for approval

    @property
    def top(self) -> str:
        """The top-level part of the definition, without names that the server chose."""
        return re.split(r"[.\[]", self.part, maxsplit=1)[0]

    def diff(self) -> list[str]:
        """The change in lines: - before, + after, and context."""
        lines = difflib.unified_diff(_split_lines(self.before), _split_lines(self.after), lineterm="", n=1)
        return [line for line in list(lines)[2:] if not line.startswith("@@")]  # without the two header lines

    def to_dict(self) -> dict[str, Any]:
        return {"part": self.part, "waits": self.waits, "diff": self.diff()}


def find_changes(approved: Entry, now: Entry) -> Iterator[Change]:
    """What changed in a tool since it was approved."""
    for key, before, after in _find_differences(approved, now):
        if key == "annotations":
            yield from _find_annotation_changes(before or {}, after or {})
        elif key in ("inputSchema", "outputSchema"):
            yield from _find_schema_changes(before or {}, after or {}, key.removesuffix("Schema"))
        else:
            yield Change(key, before, after, waits=key != "title")


def _find_annotation_changes(before: Entry, after: Entry) -> Iterator[Change]:
    def with_defaults(given: Entry) -> Entry:
        return HINTS | {key: value for key, value in given.items() if key not in HINTS or isinstance(value, bool)}

    for key, old, new in _find_differences(with_defaults(before), with_defaults(after)):
        yield Change(f"annotations.{key}", old, new, waits=key != "title" and new == HINTS.get(key, new))


def _find_schema_changes(before: Any, after: Any, where: str) -> Iterator[Change]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        if before != after:
            yield Change(where, before, after, waits=True)
        return
    for key, old, new in _find_differences(before, after):
        kinds = {type(value) for value in (old, new) if value}
        waits = key not in _LIMITS
        if key in _BY_NAME and kinds <= {dict}:
            old, new = old or {}, new or {}
            for name in dict.fromkeys((*old, *new)):
                if name in old and name in new:
                    yield from _find_schema_changes(old[name], new[name], f"{where}.{name}")
                else:  # a new parameter is optional, unless `required` names it
                    is_gone = name not in new and where.startswith("input")
                    yield Change(f"{where}.{name}", old.get(name), new.get(name), waits=is_gone)
            continue
        if key in _INNER and isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _find_schema_changes(old, new, f"{where}[]")
            continue
        if key in _LISTS and kinds <= {list}:
            old, new = old or [], new or []
            if len(old) == len(new):
                for number, (one, other) in enumerate(zip(old, new, strict=True)):
                    yield from _find_schema_changes(one, other, f"{where}[{number}]")
                continue
            waits = not (all(one in new for one in old) or all(one in old for one in new))
        elif key == "required":
            waits = bool(_select_names(new) - _select_names(old)) and where.startswith("input")
        elif key == "type":
            waits = old is not None and (new is None or not _read_types(new) <= _read_types(old))
        elif key == "additionalProperties":
            waits = not isinstance(new, bool | None)
        yield Change(f"{where}.{key}", old, new, waits)


def _find_differences(before: Entry, after: Entry) -> Iterator[tuple[str, Any, Any]]:
    """The keys whose values differ in more than white space, with both values."""
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new and not (isinstance(old, str) and isinstance(new, str) and old.split() == new.split()):
            yield key, old, new


def _read_types(value: Any) -> set[str]:
    """The types that the keyword `type` names."""
    types = _select_names(value if isinstance(value, list) else [value])
    return types | {"integer"} if "number" in types else types


def _select_names(value: Any) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _split_lines(value: Any) -> list[str]:
    """A value as lines that can be compared: a text by sentences, anything else as JSON."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line for line in _SENTENCE.split(value) if line]
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).splitlines()


def _list_parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _collect_values(schema: Any) -> Iterator[str]:
    """The strings that a schema proposes as values of parameters."""
    if isinstance(schema, Mapping):
        yield from _collect_texts([schema.get(key) for key in ("default", "const", "enum", "examples")])
    for inner in _list_parts(schema):
        yield from _collect_values(inner)


def _collect_texts(value: Any) -> Iterator[str]:
    """All strings in a value, keys included."""
    if isinstance(value, str):
        yield value
    for key in value if isinstance(value, Mapping) else ():
        yield str(key)
        yield from _collect_texts(value[key])
    for inner in value if isinstance(value, list) else ():
        yield from _collect_texts(inner)
