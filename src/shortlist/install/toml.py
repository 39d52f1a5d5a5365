"""How is one value of a TOML text changed so that every other letter stays?"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"(?:\s+|#[^\n]*)+")
_KEY = re.compile(r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^=\]"'\n])+""")
_PART = re.compile(
    r'"{3}(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[{]|[\]}]|\n|.', re.DOTALL
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a pair, with the whole path that it speaks of; `at` is where the value of a pair begins."""

    path: tuple[str, ...]
    start: int
    end: int
    at: int | None


def read(text: str) -> dict[str, Any]:
    """What the text says. A ValueError tells the line that is wrong."""
    return tomllib.loads(text.replace("\r\n", "\n"))


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys; a mapping becomes a table of its own at the end."""
    statements = list(_statements(text))
    newline = "\r\n" if "\r\n" in text else "\n"
    same = [statement for statement in statements if statement.path == tuple(path)]
    if same and same[0].at is not None:
        return text[: same[0].at] + _value(value) + text[same[0].end :]
    inline = _inline(text, path[:-1])
    if inline is not None:
        return put(text, path[:-1], {**inline, path[-1]: value})
    if isinstance(value, Mapping):
        begun = text and not text.endswith("\n")
        gap = (newline if begun else "") + (newline if text.strip() else "")
        return text + gap + _table(path, value).replace("\n", newline)
    table = [number for number, one in enumerate(statements) if one.path == tuple(path[:-1]) and one.at is None]
    if not table:
        raise ValueError(f"'{'.'.join(path[:-1])}' is no table with a header of its own")
    last = statements[table[0]]
    for statement in statements[table[0] + 1 :]:
        if statement.at is None:
            break
        last = statement
    end = _end_of_line(text, last.end)
    line = f"{_name(path[-1])} = {_value(value)}{newline}"
    return text[:end] + ("" if text[:end].endswith("\n") else newline) + line + text[end:]


def drop(text: str, path: Sequence[str]) -> str:
    """The text without what it says of a path of keys, and the empty line before that."""
    inline = _inline(text, path[:-1])
    if inline is not None:
        return put(text, path[:-1], {key: value for key, value in inline.items() if key != path[-1]})
    ours: list[tuple[int, int]] = []
    follows = False
    for statement in _statements(text):
        if statement.path[: len(path)] != tuple(path):
            follows = False
            continue
        start, end = text.rfind("\n", 0, statement.start) + 1, _end_of_line(text, statement.end)
        if follows:  # with the comments between them
            start = ours.pop()[0]
        ours.append((start, end))
        follows = True
    for start, end in reversed(ours):
        gap = re.search(r"(?<=\n)[ \t]*\r?\n\Z", text[:start])
        text = text[: gap.start() if gap else start] + text[end:]
    return text


def _inline(text: str, path: Sequence[str]) -> dict[str, Any] | None:
    """The table at a path, if it is written in braces."""
    for statement in _statements(text):
        if statement.path == tuple(path) and statement.at is not None:
            inside = read(f"table = {text[statement.at : statement.end]}")["table"]
            return inside if isinstance(inside, dict) else None
    return None


def _statements(text: str) -> Iterator[_Statement]:
    """All statements of a valid text, in order."""
    at, table = 0, ()  # type: tuple[int, tuple[str, ...]]
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if at >= len(text):
            return
        start = at
        if text[at] == "[":
            at = _end_of_value(text, at)
            table = _path(text[start:at].strip("[]"))
            yield _Statement(table, start, at, None)
        else:
            key = _KEY.match(text, at)
            assert key is not None
            at = key.end() + 1
            at += len(text[at:]) - len(text[at:].lstrip(" \t"))
            end = _end_of_value(text, at)
            yield _Statement((*table, *_path(key[0])), start, end, at)
            at = end


def _end_of_value(text: str, at: int) -> int:
    """The end of the value, or of the header, that begins here; lists may go over several lines."""
    depth, end = 0, at
    for part in _PART.finditer(text, at):
        sign = part[0]
        if not depth and (sign == "\n" or sign.startswith("#")):
            break
        depth += (sign in "[{") - (sign in "]}")
        if not sign.isspace() and not sign.startswith("#"):
            end = part.end()
    return end


def _path(key: str) -> tuple[str, ...]:
    found: Any = tomllib.loads(f"{key.strip()} = 0")
    path = []
    while isinstance(found, dict):
        ((name, found),) = found.items()
        path.append(name)
    return tuple(path)


def _end_of_line(text: str, at: int) -> int:
    newline = text.find("\n", at)
    return len(text) if newline < 0 else newline + 1


def _table(path: Sequence[str], values: Mapping[str, Any]) -> str:
    lines = [f"[{'.'.join(map(_name, path))}]"]
    lines += [f"{_name(key)} = {_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_name(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
