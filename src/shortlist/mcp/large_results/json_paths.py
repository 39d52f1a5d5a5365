"""Paths into a result: JSON paths such as items[0:20].name, and ranges such as "rows 1-20" and "lines 5-60"."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shortlist._text import did_you_mean
from shortlist.errors import InputError

MOST_NAMED = 20  # keys that an error names

_RANGE = re.compile(r"(line|row)s?\s+(\d{1,12})(?:\s*-\s*(\d{1,12}))?")
_STEP = re.compile(
    r"""\.\.(?P<deep>[^.\[\]*]+)           # every value of this name, at any depth
    |\.?\*|\[\*\]                         # every value
    |\[(?P<index>-?\d{1,12})\]
    |\[(?P<start>(?:-?\d{1,12})?):(?P<end>(?:-?\d{1,12})?)\]
    |\[(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]
    |\.?(?P<name>[^.\[\]*]+)""",
    re.VERBOSE,
)


def parse_range(path: str) -> tuple[str, int, int] | None:
    """The unit ("line" or "row") and the first and last number of a range; None if the path is another one."""
    match = _RANGE.fullmatch(path.strip().lower())
    if match is None:
        return None
    first, last = int(match[2]), int(match[3] or match[2])
    if not 1 <= first <= last:
        raise InputError(f"{path!r} is not a range. Numbers start at 1, such as {match[1]}s 1-20.")
    return match[1], first, last


def split_lines(text: str, *, keepends: bool = False) -> list[str]:
    """The lines that ranges count. `str.splitlines` also splits at form feeds and other characters."""
    lines = io.StringIO(text)
    return list(lines) if keepends else [line.removesuffix("\n").removesuffix("\r") for line in lines]


def join_key(path: str, key: str) -> str:
    """The path of what an object at a path has under a key."""
    if re.fullmatch(r"[\w-]+", key):
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def take(data: Any, path: str) -> Any:
    """The value at a JSON path, or the list of values if the path has *, .. or a slice."""
    values, is_list, at = [data], False, "the top level"
    rest = re.sub(r"^\$(?=[.\[]|\Z)", "", path.strip())
    while rest:
        step = _STEP.match(rest)
        try:
            name = step and (_unquote(step["key"]) if step["key"] else step["name"])
        except ValueError:  # a wrong escape sequence
            step = None
        if step is None:
            raise InputError(f"{path!r} is not a JSON path, such as items[0:20].name or ..name.")
        values = [found for value in values for found in _follow(value, step, name, is_list, at)]
        is_list = is_list or (name is None and step["index"] is None)
        at, rest = f"{path.strip()[: -len(rest)]}{step[0]}", rest[step.end() :]
    return values if is_list else values[0]


def _unquote(key: str) -> str:
    """A key in quotes, with the escape sequences of JSON."""
    if key[0] == "'":
        quotes = {"\\'": "'", '"': '\\"'}
        inner = re.sub(r'\\.|"', lambda match: quotes.get(match[0], match[0]), key[1:-1])
        key = f'"{inner}"'
    return str(json.loads(key, strict=False))


def _follow(value: Any, step: re.Match[str], name: str | None, is_lenient: bool, at: str) -> Iterable[Any]:
    """The values that one step leads to. Among several values, those without it are left out."""
    if step["deep"]:
        return _find_all(value, step["deep"])
    if name is not None:
        if isinstance(value, Mapping) and name in value:
            return (value[name],)
        return () if is_lenient else _refuse(value, name, at)
    if step["index"] is not None:
        if isinstance(value, list) and -len(value) <= int(step["index"]) < len(value):
            return (value[int(step["index"])],)
        return () if is_lenient else _refuse(value, step["index"], at)
    if step["start"] is not None:
        if isinstance(value, list):
            return value[int(step["start"]) if step["start"] else None : int(step["end"]) if step["end"] else None]
        return () if is_lenient else _refuse(value, step[0], at)
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _find_all(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if name in value:
            yield value[name]
        for inner in value.values():
            yield from _find_all(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_all(inner, name)


def _refuse(value: Any, name: str, at: str) -> Iterable[Any]:
    there = f"There is no {name!r} at {at}"
    if isinstance(value, Mapping):
        keys = [str(key) for key in value]
        raise InputError(f"{there}.{did_you_mean(name, keys)} Its keys: {', '.join(keys[:MOST_NAMED])}.")
    if isinstance(value, list):
        raise InputError(f"{there}, which is a list of {len(value):,}. Use [0], [0:20] or [*].")
    raise InputError(f"{there}, which is {json.dumps(value, ensure_ascii=False)[:80]}.")
