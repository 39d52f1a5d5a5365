"""Edits of one value in a YAML text that leave the other lines as they are; the caller checks the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from shortlist._plain import load_yaml


def read(text: str) -> dict[str, Any]:
    """The data of the text; {} if it is empty. A ValueError names the invalid line."""
    data = load_yaml(text)
    if not isinstance(data, dict | None):
        raise ValueError(f"the top level is not a mapping but {type(data).__name__}")
    return data or {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys; a new member becomes the first of its mapping."""
    name, inside = None, yaml.compose(text, yaml.SafeLoader)
    for depth, key in enumerate(path):
        found = _find(inside, key)
        if found is None:
            rest = path[depth:]
            if inside is None or (depth == 0 and not inside.flow_style):
                return text + ("" if text.endswith("\n") or not text else "\n") + _render(rest, value, 0)
            if isinstance(inside, yaml.MappingNode) and not inside.flow_style:
                at = text.rfind("\n", 0, inside.start_mark.index) + 1
                return text[:at] + _render(rest, value, inside.start_mark.column) + text[at:]
            return _replace(text, name, inside, _load(text, inside) | _nest(rest, value))
        name, inside = found
    return _replace(text, name, inside, value)


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the lines of the member at a path of keys."""
    name, inside = None, yaml.compose(text, yaml.SafeLoader)
    for key in path[:-1]:
        name, inside = _find(inside, key)
    if inside.flow_style or len(inside.value) == 1:  # a mapping in lines has at least one
        left = {key: value for key, value in _load(text, inside).items() if key != path[-1]}
        return _replace(text, name, inside, left)
    key, member = _find(inside, path[-1])
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    end = text.find("\n", max(key.end_mark.index, _end_of(member) - 1)) + 1
    return text[:start] + (text[end:] if end else "")


def _replace(text: str, name: Any, node: Any, value: Any) -> str:
    """The text with another value of a node, in one line."""
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    start = name.end_mark.index + 1 if name and (is_block or not node.value) else node.start_mark.index
    gap = " " if name and text[start - 1 : start] == ":" else ""
    return text[:start] + gap + json.dumps(value, ensure_ascii=False) + text[max(start, _end_of(node)) :]


def _load(text: str, node: Any) -> dict[str, Any]:
    data = yaml.safe_load(text[node.start_mark.index : node.end_mark.index])
    return data if isinstance(data, dict) else {}


def _render(path: Sequence[str], value: Any, column: int) -> str:
    """A member in lines, indented."""
    lines = yaml.safe_dump(_nest(path, value), sort_keys=False, allow_unicode=True, width=1 << 16).splitlines()
    return "".join(f"{' ' * column}{line}\n" for line in lines)


def _nest(path: Sequence[str], value: Any) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def _find(node: Any, key: str) -> Any:
    """The key and value of a member, as nodes."""
    members = node.value if isinstance(node, yaml.MappingNode) else ()
    return next(((name, value) for name, value in members if name.value == key), None)


def _end_of(node: Any) -> int:
    """The end of the last value in a node; its own end mark is after the comments that follow."""
    while node.value and isinstance(node, yaml.CollectionNode) and not node.flow_style:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    end: int = node.end_mark.index
    return end
