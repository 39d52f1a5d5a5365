"""Edits of one value in a TOML text that leave the rest of the text as it is."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.items import InlineTable


def read(text: str) -> dict[str, Any]:
    """The data of the text. A ValueError names the invalid line."""
    return tomllib.loads(text)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys; a new mapping becomes a table at the end."""
    inside: Any = (document := tomlkit.parse(text))
    for key in path[:-1]:
        inside = inside.get(key, {})
    if isinstance(value, Mapping) and path[-1] not in inside and not isinstance(inside, InlineTable):
        gap = ("\n" if text and not text.endswith("\n") else "") + ("\n" if text.strip() else "")
        table: Any = {key: _to_item(each) for key, each in value.items()}
        for key in reversed(path):
            table = {key: table}
        return text + gap + tomlkit.dumps(table)
    inside[path[-1]] = _to_item(value)
    return tomlkit.dumps(document)


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the value at a path of keys; comments after it stay."""
    inside: Any = (document := tomlkit.parse(text))
    for key in path[:-1]:
        inside = inside[key]
    removed = inside.pop(path[-1])
    after = tomlkit.dumps(document)
    same = next((at for at, (old, new) in enumerate(zip(text, after)) if old != new), len(after))  # noqa: B905
    at = text.rfind("\n", 0, same) + 1
    if not after[at:].strip() and after.endswith("\n\n"):
        after = after[:-1]
    comments = ""  # after the last value of the table: they describe what follows
    if hasattr(removed, "as_string") and not isinstance(removed, InlineTable):
        _, gap, last = removed.as_string().rpartition("\n\n")
        comments = last if gap and last.lstrip().startswith("#") else ""
    return after[:at] + comments + after[at:]


def _to_item(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    table.update({key: _to_item(each) for key, each in value.items()})
    return table
