"""Edits of one value in a JSON text, which may have comments and trailing commas, that leave the rest as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from shortlist.mcp_client.config_files import without_comments, without_trailing_commas

_DECODER = json.JSONDecoder(strict=False)


class _Member(NamedTuple):
    """A member of an object: where its key and value begin, where it ends, and where the comma after it is."""

    start: int
    at: int
    end: int
    comma: int | None


class _Text:
    """A text, the positions of its members, and its layout."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = without_comments(text)  # of the same length, so positions are the same
        self._json = without_trailing_commas(self._bare)
        indented = re.search(r'^([ \t]+)"', text, re.MULTILINE)
        self.unit = indented[1] if indented else "  "
        self.is_one_line = "\n" not in text.strip() and text.strip() != "{}"
        self.start = _skip_space(self._json, 0)

    def parse(self) -> dict[str, Any]:
        data = _DECODER.decode(self._json) if self.start < len(self.text) else {}
        if not isinstance(data, dict):
            raise ValueError(f"the top level is not an object but {type(data).__name__}")
        return data

    def find_members(self, start: int) -> tuple[dict[str, _Member], int]:
        """The members of the object at a position, and the position of its closing brace."""
        found: dict[str, _Member] = {}
        at = _skip_space(self._json, start + 1)
        while self._json[at] != "}":
            key, end = _DECODER.raw_decode(self._json, at)
            value_at = _skip_space(self._json, _skip_space(self._json, end) + 1)
            _, end = _DECODER.raw_decode(self._json, value_at)
            after = _skip_space(self._bare, end)
            has_comma = self._bare[after] == ","
            found[key] = _Member(at, value_at, end, after if has_comma else None)
            at = _skip_space(self._json, after + has_comma)
        return found, at

    def find_items(self, start: int) -> tuple[list[_Member], int]:
        """The items of the list at a position, and the position of its closing bracket."""
        found: list[_Member] = []
        at = _skip_space(self._json, start + 1)
        while self._json[at] != "]":
            _, end = _DECODER.raw_decode(self._json, at)
            after = _skip_space(self._bare, end)
            has_comma = self._bare[after] == ","
            found.append(_Member(at, at, end, after if has_comma else None))
            at = _skip_space(self._json, after + has_comma)
        return found, at

    def find_value(self, path: Sequence[str]) -> tuple[int, Any]:
        """The position and the value at a path of keys; None if there is none."""
        start, data = self.start, self.parse()
        for key in path:
            if not isinstance(data, dict) or key not in data:
                return start, None
            start, data = self.find_members(start)[0][key].at, data[key]
        return start, data

    def find_indentation(self, at: int) -> str:
        """The indentation of the line of a position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def render(self, value: Any, indentation: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=None if self.is_one_line else self.unit).split("\n")
        return f"\n{indentation}".join(lines)

    def add_member(self, start: int, key: str, value: Any) -> str:
        """The text with another member at the end of the object at a position."""
        text, name = self.text, json.dumps(key, ensure_ascii=False)
        found, end = self.find_members(start)
        members = list(found.values())
        needs_comma = bool(members) and members[-1].comma is None
        between = text[start + 1 : end]
        if self.is_one_line or (members and "\n" not in between):
            at = len(text[:end].rstrip())
            return f"{text[:at]}{', ' if needs_comma else ''}{name}: {json.dumps(value, ensure_ascii=False)}{text[at:]}"
        outer = self.find_indentation(start)
        own = outer + self.unit
        if members and text[: members[0].start].rpartition("\n")[2].isspace():
            own = self.find_indentation(members[0].start)
        shown = f"\n{own}{name}: {self.render(value, own)}"
        shown += "," if members and not needs_comma else ""
        at = start + 1 + len(between.rstrip())
        closing = "" if "\n" in text[at:end] else f"\n{outer}"
        comma_at = members[-1].end if needs_comma else at
        return text[:comma_at] + ("," if needs_comma else "") + text[comma_at:at] + shown + closing + text[at:]


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def read(text: str) -> dict[str, Any]:
    """The data of the text; {} if it is empty. A ValueError names the invalid line."""
    return _Text(text).parse()


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys; missing objects on the path are created."""
    known = _Text(text)
    data: Any = known.parse()
    start = known.start
    if start == len(text):
        return put(f"{text.rstrip()}\n{{}}\n".lstrip("\n"), path, value)
    for depth, key in enumerate(path):
        if not isinstance(data, dict):
            raise ValueError(f"'{path[depth - 1]}' is not an object")
        if key not in data:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return known.add_member(start, key, value)
        member = known.find_members(start)[0][key]
        start, data = member.at, data[key]
    return text[: member.at] + known.render(value, known.find_indentation(member.start)) + text[member.end :]


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path of keys."""
    known = _Text(text)
    opening = known.start
    for key in path[:-1]:
        opening = known.find_members(opening)[0][key].at
    members, closing = known.find_members(opening)
    member = members.pop(path[-1])
    before = [other for other in members.values() if other.start < member.start]
    start = len(text[: member.start].rstrip())
    end = member.end if member.comma is None else member.comma + 1
    if text[start - 1] == "{" and "\n" not in text[opening:closing]:
        end += len(text[end:]) - len(text[end:].lstrip(" "))
    if not members and not (text[opening + 1 : start] + text[end:closing]).strip():
        return text[: opening + 1] + text[closing:]
    if member.comma is None and before and (comma := before[-1].comma) is not None:
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def append(text: str, path: Sequence[str], item: Any) -> str:
    """The text with another item at the end of the list at a path of keys, which is created if it is missing."""
    known = _Text(text)
    start, value = known.find_value(path)
    if value is None:
        return put(text, path, [item])
    if not isinstance(value, list):
        raise ValueError(f"'{path[-1]}' is not a list")
    items, end = known.find_items(start)
    if not items:
        if text[start + 1 : end].strip():  # a comment
            return f"{text[:end]}{json.dumps(item, ensure_ascii=False)}{text[end:]}"
        return put(text, path, [item])
    last = items[-1]
    if "\n" not in text[start : last.start]:
        return f"{text[: last.end]}, {json.dumps(item, ensure_ascii=False)}{text[last.end :]}"
    own = known.find_indentation(items[0].start)
    shown = f"\n{own}{known.render(item, own)}"
    if last.comma is None:
        return f"{text[: last.end]},{shown}{text[last.end :]}"
    return f"{text[: last.comma + 1]}{shown},{text[last.comma + 1 :]}"


def remove(text: str, path: Sequence[str], at: int) -> str:
    """The text without an item of the list at a path of keys; without the list if nothing else is in it."""
    known = _Text(text)
    start, _ = known.find_value(path)
    items, end = known.find_items(start)
    item = items[at]
    if len(items) == 1:
        rest = item.end if item.comma is None else item.comma + 1
        has_comment = (text[start + 1 : item.start] + text[rest:end]).strip()
        return text[: item.start] + text[rest:] if has_comment else drop(text, path)
    if at == len(items) - 1 and item.comma is None and (comma := items[at - 1].comma) is not None:
        begin = len(text[: item.start].rstrip())
        return text[:comma] + text[comma + 1 : begin] + text[item.end :]
    begin = len(text[: item.start].rstrip())
    return text[:begin] + text[item.end if item.comma is None else item.comma + 1 :]
