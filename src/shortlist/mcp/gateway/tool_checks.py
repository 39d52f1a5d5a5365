"""Checks of a tool's definition when it is first seen: whether it is rejected, or needs approval."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shortlist._plain import is_deeper
from shortlist.mcp.gateway.tool_changes import collect_texts
from shortlist.safety.prompt_injection import find_invisible, find_mixed_scripts, find_orders, is_secret_file

LONGEST_NAME = 128
LONGEST_DEFINITION = 100_000  # characters
MOST_SCHEMA_LEVELS = 50

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Entry = Mapping[str, Any]


def find_defect(entry: Entry) -> str:
    """Why a tool is rejected; empty if it is not."""
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return "It has no name."
    if len(name) > LONGEST_NAME:
        return f"Its name has {len(name):,} characters, more than {LONGEST_NAME}."
    if is_deeper(entry, MOST_SCHEMA_LEVELS):
        return f"Its schema has more than {MOST_SCHEMA_LEVELS} levels."
    size = len(json.dumps(entry, ensure_ascii=False))
    if size > LONGEST_DEFINITION:
        return f"Its definition has {size:,} characters, more than {LONGEST_DEFINITION:,}."
    return ""


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
    text = "\n\n".join(collect_texts(entry))
    if found := next(find_orders(text), None):
        return f"Its description {found[0]}."
    if any(is_secret_file(value, text) for value in _collect_values(entry.get("inputSchema"))):
        return "One of its values points to a file with secrets."
    if hidden := find_invisible(text, strays=False):
        return f"Its description contains invisible characters: {', '.join(hidden[:3])}."
    return ""


def _collect_values(schema: Any) -> Iterator[str]:
    """The strings that a schema proposes as values of parameters."""
    if isinstance(schema, Mapping):
        yield from collect_texts([schema.get(key) for key in ("default", "const", "enum", "examples")])
    for inner in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from _collect_values(inner)


def describe_name(id: str) -> str:
    """The id of a tool for a note to an agent, or only its server if its server chose a name that may be more."""
    server, _, name = id.partition("/")
    is_plain = _PLAIN_NAME.fullmatch(name) and not any(find_orders(re.sub(r"[_.-]+", " ", name)))
    return id if is_plain else f"a tool of {server}"
