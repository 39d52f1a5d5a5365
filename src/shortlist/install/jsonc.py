"""How is one value of a JSON text changed so that every other letter stays? Comments and last commas may be in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

DEEPEST = 200

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_WORD = re.compile(r"[-+.\w]+")


@dataclass(slots=True)
class _Member:
    """A member of an object: where its key and value begin, where it ends, and where the comma after it is."""

    start: int
    at: int
    end: int
    value: Any
    inner: _Object | None
    comma: int | None = None


@dataclass(slots=True)
class _Object:
    """Where the braces are, and what is between them."""

    start: int
    end: int = -1
    members: dict[str, _Member] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        return {key: member.value for key, member in self.members.items()}


def read(text: str) -> dict[str, Any]:
    """What the text says; nothing at all says {}. A ValueError tells the line that is wrong."""
    return _Reader(text).root.data


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys, those that are missing made."""
    root = _Reader(text).root
    if root.end < 0:
        return put(f"{text.rstrip()}\n{{}}\n".lstrip("\n"), path, value)
    style = _Style(text)
    inside = root
    for depth, key in enumerate(path):
        member = inside.members.get(key)
        if member is None:
            return _with_member(text, inside, key, _nested(path[depth + 1 :], value), style)
        if depth + 1 == len(path):
            shown = _rendered(value, _indentation(text, member.start), style)
            return text[: member.at] + shown + text[member.end :]
        if member.inner is None:
            raise ValueError(f"'{key}' is no object")
        inside = member.inner
    return text


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path of keys."""
    inside: _Object | None = _Reader(text).root
    for key in path[:-1]:
        inside = inside.members[key].inner if inside else None
    if inside is None:
        raise KeyError(path[-1])
    members = list(inside.members.values())
    member = inside.members[path[-1]]
    start = len(text[: member.start].rstrip())
    end = member.end if member.comma is None else member.comma + 1
    if text[start - 1] == "{" and "\n" not in text[inside.start : inside.end]:
        end += len(text[end:]) - len(text[end:].lstrip(" "))
    edits = [(start, end, "")]
    before = members[: members.index(member)]
    if member.comma is None and before and before[-1].comma is not None:
        edits.append((before[-1].comma, before[-1].comma + 1, ""))
    if len(members) == 1 and not (text[inside.start + 1 : start] + text[end : inside.end]).strip():
        edits = [(inside.start + 1, inside.end, "")]
    return _edited(text, edits)


class _Reader:
    """Reads a text once, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._skip()
        if self._at == len(text):
            self.root = _Object(0)
            return
        value, inner = self._value(DEEPEST)
        if inner is None:
            raise ValueError(f"it is no object but {type(value).__name__}")
        self.root = inner
        self._skip()
        if self._at < len(text):
            self._fail("nothing more was expected")

    def _value(self, depth: int) -> tuple[Any, _Object | None]:
        if not depth:
            self._fail("it is nested too deeply")
        if self._next("{"):
            found = self._object(depth)
            return found.data, found
        if self._next("["):
            return self._array(depth), None
        pattern = _STRING if self._text.startswith('"', self._at) else _WORD
        word = pattern.match(self._text, self._at)
        if word is None:
            self._fail("a value was expected")
        try:
            value = json.loads(word[0], strict=False)
        except ValueError:
            self._fail(f"{word[0]!r} is no value")
        self._at = word.end()
        return value, None

    def _object(self, depth: int) -> _Object:
        found = _Object(self._at - 1)
        last: _Member | None = None
        while not self._next("}"):
            if last is not None and last.comma is None:
                self._fail("a comma or } was expected")
            start = self._at
            if not self._text.startswith('"', start):
                self._fail("a name in double quotes was expected")
            key, _ = self._value(depth)
            if not self._next(":"):
                self._fail("a colon was expected")
            at = self._skip()
            value, inner = self._value(depth - 1)
            last = found.members[key] = _Member(start, at, self._at, value, inner)
            if self._next(","):
                last.comma = self._at - 1
                self._skip()
        found.end = self._at - 1
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        more = True
        while not self._next("]"):
            if not more:
                self._fail("a comma or ] was expected")
            found.append(self._value(depth - 1)[0])
            more = self._next(",")
        return found

    def _next(self, sign: str) -> bool:
        """Whether this sign comes next; then it is passed."""
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += 1
        return True

    def _skip(self) -> int:
        """Pass space and comments."""
        space = _SPACE.match(self._text, self._at)
        if space:
            self._at = space.end()
        return self._at

    def _fail(self, reason: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - self._text.rfind("\n", 0, self._at)
        raise ValueError(f"line {line}, column {column}: {reason}")


class _Style:
    """How the text is laid out."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        indented = re.search(r'^([ \t]+)"', text, re.MULTILINE)
        self.unit = indented[1] if indented else "  "
        self.on_one_line = "\n" not in text.strip() and text.strip() != "{}"


def _with_member(text: str, inside: _Object, key: str, value: Any, style: _Style) -> str:
    name = json.dumps(key, ensure_ascii=False)
    members = list(inside.members.values())
    between = text[inside.start + 1 : inside.end]
    if style.on_one_line or (members and "\n" not in between):
        comma = ", " if members and members[-1].comma is None else ""
        at = len(text[: inside.end].rstrip())
        return text[:at] + f"{comma}{name}: {json.dumps(value, ensure_ascii=False)}" + text[at:]
    outer = _indentation(text, inside.start)
    own = _indentation(text, members[0].start) if members else outer + style.unit
    if members and not text[: members[0].start].rpartition("\n")[2].isspace():
        own = outer + style.unit
    shown = f"{style.newline}{own}{name}: {_rendered(value, own, style)}"
    edits = []
    if members and members[-1].comma is None:
        edits.append((members[-1].end, members[-1].end, ","))
    elif members:
        shown += ","
    at = inside.start + 1 + len(between.rstrip())
    closing = "" if "\n" in text[at : inside.end] else style.newline + outer
    return _edited(text, [*edits, (at, at, shown + closing)])


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _rendered(value: Any, indentation: str, style: _Style) -> str:
    if style.on_one_line:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit).split("\n")
    return f"{style.newline}{indentation}".join(lines)


def _indentation(text: str, at: int) -> str:
    """What the line of this place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with some parts replaced; what goes to the same place stands there in the order of the edits."""
    for start, end, new in reversed(sorted(edits, key=lambda edit: edit[0])):  # noqa: C413  # the last of equals first
        text = text[:start] + new + text[end:]
    return text
