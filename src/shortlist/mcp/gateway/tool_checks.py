"""What speaks against a tool, before anybody has looked at it? Size, a name that deceives, words to the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shortlist.sources.tools.prompt_injection import instructions, invisible, mixed_scripts, visible

LONGEST_NAME = 128
LARGEST = 100_000  # characters of all that is said of one tool
DEEPEST = 50  # levels of its schema


def refusal(entry: Mapping[str, Any]) -> str:
    """Why a tool cannot be taken at all, whoever wants it; nothing if it can."""
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return "It has no name."
    if len(name) > LONGEST_NAME:
        return f"Its name has {len(name):,} characters."
    try:
        if _depth(entry) > DEEPEST:
            return f"Its schema has more than {DEEPEST} levels."
        size = len(json.dumps(entry, ensure_ascii=False))
    except RecursionError:
        return f"Its schema has more than {DEEPEST} levels."
    return f"Its description has {size:,} characters, more than {LARGEST:,}." if size > LARGEST else ""


def doubt(entry: Mapping[str, Any], first: str) -> str:
    """Why a tool should not be trusted at first sight; nothing if it may. `first` is the tool of its server that was
    the first to look like this one: the tool itself, or another."""
    name = entry["name"]
    if hidden := invisible(name):
        return f"Its name holds what cannot be seen: {', '.join(hidden)}."
    if scripts := mixed_scripts(name):
        return f"Its name mixes letters that look alike: {' and '.join(scripts)}."
    if first != name:
        return f"Its name looks like that of {first!r}."
    text = "\n\n".join(_texts(entry))
    if found := next(instructions(text), None):
        return f"Its description {found[0]}."
    if hidden := invisible(text, strays=False):
        return f"Its description holds what cannot be seen: {', '.join(hidden[:3])}."
    return ""


def looks(name: str) -> str:
    """What a name looks like to somebody in a hurry."""
    return visible(name).casefold().strip().replace("-", "_")


def _texts(value: Any) -> Iterator[str]:
    """All that is written in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _depth(value: Any) -> int:
    """How deep a value is nested, as far as that matters."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, Mapping) else outer if isinstance(outer, list) else ())
        ]
    return depth
