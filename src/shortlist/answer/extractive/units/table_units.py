"""Tables: rows of cells between bars, with or without headers."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.unit_reader import KEY, UnitReader

_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:[|+]\s*:?-{2,}:?\s*)*\|?$")
_CELL = re.compile(r"(?<!\\)\|")


def read_table(reader: UnitReader, at: int) -> int:
    """Read a table; its headers belong to every row."""
    end = _find_table(reader, at)
    if end:
        _add_rows(reader, at, end)
    return end


def _find_table(reader: UnitReader, at: int) -> int:
    """The end of the table at that line, or 0."""
    end = at
    while (line := reader.line(end)) and _is_row(line.text):
        end += 1
    rows = reader.lines[at:end]
    if len(rows) > 1 or any(line.text.startswith("|") for line in rows):
        return end
    return end if rows and all(map(KEY.match, _split_cells(rows[0].text))) else 0


def _add_rows(reader: UnitReader, at: int, end: int) -> None:
    rows = [(line, _split_cells(line.text)) for line in reader.lines[at:end]]
    rules = [number for number, (line, _) in enumerate(rows) if _RULE.match(line.text)]
    headers: tuple[str, ...] = ()
    if rules and rules[0] <= 1:
        headers = rows[0][1] if rules[0] else ()
    elif not rules and len(rows) > 1 and all(len(cells) == len(rows[0][1]) for _, cells in rows[1:2]):
        has_header = not any(map(KEY.match, rows[0][1])) and not any(map(re.compile(r"\d").search, rows[0][1]))
        headers = rows[0][1] if has_header else ()
    width = max(len(cells) for _, cells in rows)
    for number, (line, cells) in enumerate(rows):
        if _RULE.match(line.text):
            continue
        if headers and number == 0:
            reader.add("heading", line.start, line.end)
            continue
        reader.add("row" if len(cells) == width else "half", line.start, line.end, cells=cells, headers=headers)


def _is_row(text: str) -> bool:
    return (text.startswith("|") and text.count("|") > 1) or " | " in text or text.endswith(" |")


def _split_cells(text: str) -> tuple[str, ...]:
    inside = text.removeprefix("|").removesuffix("|") if text.startswith("|") else text
    return tuple(cell.strip() for cell in _CELL.split(inside))
