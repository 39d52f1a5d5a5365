"""What a large result consists of: its data, if it is JSON or a table, and a description of its shape."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from shortlist._text import count_of
from shortlist.mcp.large_results.json_paths import join_key, split_lines

LONGEST_SHAPE = 1_000  # characters
MOST_KEYS = 15  # of an object that are named
MOST_MERGED = 50  # entries of a list whose keys are named together
MOST_HEADINGS = 15
LEVELS = 4  # of nested data that are described
TABLE_LINES = 20  # by which a table is recognized
LONGEST_ROW = 10_000  # characters of these lines
LONGEST_INTRODUCTION = 1_000  # characters of text around JSON, of which there must be more

# Markdown headings, and headings in the snapshots of browsers.
_HEADING = re.compile(r"""^(?:\#{1,6} (.+)|[ \t]*(?:-[ ])?(?:uid=\S+ )?heading ("[^"]+").*)$""")
_ALARM = re.compile(r"\b(?:error|fatal|exception|panic|traceback|failed)\b", re.IGNORECASE)


class TextTable(NamedTuple):
    """The lines of a text with columns."""

    columns: list[str]
    rows: list[str]


class Shape(NamedTuple):
    """A description, and a path that is an example for how to go on."""

    text: str
    example: str


def parse_data(text: str) -> Any:
    """The data of a text that is JSON, JSON after a short introduction, or lines of JSON; else None."""
    stripped = text.strip().removeprefix("```json").removesuffix("```").strip()
    with contextlib.suppress(ValueError, RecursionError):
        lines = split_lines(stripped)
        if len(lines) > 1 and all(isinstance(json.loads(line), dict) for line in lines[:3]):
            return [json.loads(line) for line in lines if line]
    with contextlib.suppress(ValueError, RecursionError):
        if first := re.search(r"^[\[{]", stripped, re.MULTILINE):
            data, end = json.JSONDecoder().raw_decode(stripped, first.start())
            around = len(stripped) - (end - first.start())
            if isinstance(data, dict | list) and around <= min(LONGEST_INTRODUCTION, end - first.start()):
                return data
    return None


def parse_table(text: str) -> TextTable | None:
    """The rows of a text whose first lines have the same number of columns."""
    lines = split_lines(text.strip("\n"))
    first = lines[:TABLE_LINES]
    if any(len(line) > LONGEST_ROW for line in first):
        return None
    for separator in ("\t", ",", ";", "|"):
        try:
            rows = list(csv.reader(first, delimiter=separator))
        except csv.Error:  # such as a quoted field over several lines that is too long
            continue
        if len(rows) > 2 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            columns = [column.strip() for column in rows[0]]
            is_ruled = re.fullmatch(r"[\s|:-]+", lines[1]) is not None
            return TextTable([column for column in columns if column], lines[2 if is_ruled else 1 :])
    return None


def describe(text: str, data: Any, table: TextTable | None) -> Shape:
    """The shape of a result in one line."""
    if data is not None:
        path = find_rows(data)[0]
        example = f"{path}[0:20]" if path is not None else "".join(join_key("", key) for key in list(data)[:1])
        shape = Shape(f"JSON: {_describe(data, LEVELS)}", example)
    elif table is not None:
        shape = Shape(f"A table of {count_of(len(table.rows), 'row')}: {', '.join(table.columns)}", "rows 1-20")
    else:
        lines = split_lines(text)
        headings = [(match[1] or match[2], at) for at, line in enumerate(lines, 1) if (match := _HEADING.match(line))]
        named = [f"{title} (line {at})" for title, at in headings[:MOST_HEADINGS]]
        more = f" and {len(headings) - MOST_HEADINGS} more" if len(headings) > MOST_HEADINGS else ""
        parts = [f"Headings: {', '.join(named)}{more}"] if named else []
        if alarms := [number for number, line in enumerate(lines, 1) if _ALARM.search(line)]:
            parts.append(f"{len(alarms):,} lines with errors, the first is line {alarms[0]:,}")
        parts.insert(0, count_of(len(lines), "line"))
        shape = Shape(". ".join(parts), f"lines 1-{min(len(lines), 100)}")
    if len(shape.text) > LONGEST_SHAPE:
        shape = Shape(f"{shape.text[:LONGEST_SHAPE]}…", shape.example)
    return shape


def find_rows(data: Any) -> tuple[str | None, list[Any]]:
    """The path and the entries of the list that the data is, or of the longest list directly in it."""
    if isinstance(data, list):
        return "", data
    lists = {key: value for key, value in data.items() if isinstance(value, list) and value}
    if not lists:
        return None, []
    key = max(lists, key=lambda key: len(lists[key]))
    return join_key("", key), lists[key]


def _describe(value: Any, levels: int) -> str:
    if isinstance(value, Mapping):
        if not levels:
            return "{…}"
        parts = [f"{key}: {_describe(inner, levels - 1)}" for key, inner in list(value.items())[:MOST_KEYS]]
        parts += ["…"] if len(value) > MOST_KEYS else []
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        if not value:
            return "[]"
        merged = {
            key: inner
            for one in reversed(value[:MOST_MERGED])
            if isinstance(one, Mapping)
            for key, inner in one.items()
        }
        return f"[{len(value):,} × {_describe(merged or value[0], levels - 1)}]"
    names = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "any")
