"""Edits of one value in a JSON text, which may have comments and trailing commas, that leave the rest as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shortlist.sources.mcp_servers.mcp_config import without_comments, without_trailing_commas

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: where its key and value begin, where it ends, and where the comma after it is."""

    start: int
    at: int
    end: int
    comma: int | None


class _Text:
    """A text with the places of what is in it, and how it is laid out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = without_comments(text)  # the same length, and so the same places
        self._json = without_trailing_commas(self._bare)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        indented = re.search(r'^([ \t]+)"', text, re.MULTILINE)
        self.unit = indented[1] if indented else "  "
        self.is_one_line = "\n" not in text.strip() and text.strip() != "{}"

    def data(self) -> dict[str, Any]:
        if not self._json.strip():
            return {}
        data = _DECODER.decode(self._json)
        if not isinstance(data, dict):
            raise ValueError(f"it is no object but {type(data).__name__}")
        return data

    def skip(self, at: int) -> int:
        """The place after space and comments."""
        return _skip(self._json, at)

    def members(self, start: int) -> tuple[dict[str, _Member], int]:
        """The members of the object that begins at a place, and the place of its closing brace."""
        found: dict[str, _Member] = {}
        at = self.skip(start + 1)
        while self._json[at] != "}":
            key, end = _DECODER.raw_decode(self._json, at)
            value_at = self.skip(self.skip(end) + 1)
            _, end = _DECODER.raw_decode(self._json, value_at)
            after = _skip(self._bare, end)
            comma = after if self._bare[after] == "," else None
            found[key] = _Member(at, value_at, end, comma)
            at = self.skip(end if comma is None else comma + 1)
        return found, at

    def indentation(self, at: int) -> str:
        """The indentation of the line of a place."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def render(self, value: Any, indentation: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=None if self.is_one_line else self.unit).split("\n")
        return f"{self.newline}{indentation}".join(lines)

    def with_member(self, start: int, key: str, value: Any) -> str:
        """The text with another member at the end of the object that begins at a place."""
        text, name = self.text, json.dumps(key, ensure_ascii=False)
        found, end = self.members(start)
        members = list(found.values())
        needs_comma = bool(members) and members[-1].comma is None
        between = text[start + 1 : end]
        if self.is_one_line or (members and "\n" not in between):
            at = len(text[:end].rstrip())
            return f"{text[:at]}{', ' if needs_comma else ''}{name}: {json.dumps(value, ensure_ascii=False)}{text[at:]}"
        outer = self.indentation(start)
        own = outer + self.unit
        if members and text[: members[0].start].rpartition("\n")[2].isspace():
            own = self.indentation(members[0].start)
        shown = f"{self.newline}{own}{name}: {self.render(value, own)}"
        shown += "," if members and not needs_comma else ""
        at = start + 1 + len(between.rstrip())
        closing = "" if "\n" in text[at:end] else self.newline + outer
        comma_at = members[-1].end if needs_comma else at
        return text[:comma_at] + ("," if needs_comma else "") + text[comma_at:at] + shown + closing + text[at:]


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def read(text: str) -> dict[str, Any]:
    """The data of the text; {} if it is empty. A ValueError names the line that is wrong."""
    return _Text(text).data()


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys, those that are missing made."""
    known = _Text(text)
    data: Any = known.data()
    start = known.skip(0)
    if start == len(text):
        return put(f"{text.rstrip()}\n{{}}\n".lstrip("\n"), path, value)
    for depth, key in enumerate(path):
        if not isinstance(data, dict):
            raise ValueError(f"'{path[depth - 1]}' is no object")
        if key not in data:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return known.with_member(start, key, value)
        member = known.members(start)[0][key]
        start, data = member.at, data[key]
    return text[: member.at] + known.render(value, known.indentation(member.start)) + text[member.end :]


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path of keys."""
    known = _Text(text)
    opening = known.skip(0)
    for key in path[:-1]:
        opening = known.members(opening)[0][key].at
    members, closing = known.members(opening)
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
