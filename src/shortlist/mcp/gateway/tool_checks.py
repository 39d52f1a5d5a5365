"""Checks of a tool that the user has not reviewed: its size, a deceptive name, instructions to the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shortlist.sources.tools.prompt_injection import find_invisible, find_mixed_scripts, find_orders, reveal_text

LONGEST_NAME = 128
LARGEST = 100_000  # characters of a definition
DEEPEST = 50  # levels of its schema


def refusal(entry: Mapping[str, Any]) -> str:
    """Why a tool cannot be taken at all; empty if it can."""
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return "It has no name."
    if len(name) > LONGEST_NAME:
        return f"Its name has {len(name):,} characters."
    depth, level = 0, [entry]
    while level and depth <= DEEPEST:
        depth += 1
        level = [inner for outer in level for inner in _parts(outer)]
    if depth > DEEPEST:
        return f"Its schema has more than {DEEPEST} levels."
    size = len(json.dumps(entry, ensure_ascii=False))
    return f"Its description has {size:,} characters, more than {LARGEST:,}." if size > LARGEST else ""


def doubt(entry: Mapping[str, Any], first: str) -> str:
    """Why a tool should not be trusted at first sight; empty if it may. `first` is the first tool of its server whose
    name looks like this one: the tool itself, or another."""
    name = entry["name"]
    if hidden := find_invisible(name):
        return f"Its name holds what cannot be seen: {', '.join(hidden)}."
    if scripts := find_mixed_scripts(name):
        return f"Its name mixes letters that look alike: {' and '.join(scripts)}."
    if first != name:
        return f"Its name looks like that of {first!r}."
    text = "\n\n".join(_texts(entry))
    if found := next(find_orders(text), None):
        return f"Its description {found[0]}."
    if hidden := find_invisible(text, strays=False):
        return f"Its description holds what cannot be seen: {', '.join(hidden[:3])}."
    return ""


def visual_key(name: str) -> str:
    """A key that is the same for names that look alike at a glance."""
    return reveal_text(name).casefold().strip().replace("-", "_")


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _texts(value: Any) -> Iterator[str]:
    """All strings in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    else:
        for inner in _parts(value):
            yield from _texts(inner)
