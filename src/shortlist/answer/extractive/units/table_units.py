"""Tables of Markdown, reStructuredText, Org, TeX and others: rows of cells, with the headers of their columns."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.unit_reader import KEY, UnitReader, show
from shortlist.index.text.lines import TABLE_BORDER, Line, is_table_line

Cells = tuple[str, ...]

_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:[|+]\s*:?-{2,}:?\s*)*\|?$")
_CELL = re.compile(r"(?<!\\)[|│]")
_COLUMNS = re.compile(r"(=+|-+)(?:\s+\1[=-]*)+$")  # of a simple table
_COLUMN = re.compile(r"[=-]+")
_ASCIIDOC = "|==="
_TEX_BEGIN = re.compile(r"\\begin\{(tabularx?|tabular\*|longtable|array)\}")
_TEX_CELL = re.compile(r"(?<!\\)&")
_TEX_ROW = re.compile(r"\\\\(?:\[[^\]]*\])?|\\tabularnewline\b")
_TEX_RULE = re.compile(r"\\(?:hline|[a-z]+rule|end(?:first)?head|cline)(?:\([^)]*\))?(?:\{[^}]*\})?")
_TEX_MARK = re.compile(r"\\(?:textbf|textit|emph|texttt|multicolumn\{\d+\}\{[^}]*\})\{([^{}]*)\}")
_LIST_ROW = re.compile(r"\*\s+-(?:\s+|$)")
_TABLE_OPTION = re.compile(r":([\w-]+):\s*(.*)$")


def read_table(reader: UnitReader, at: int) -> int:
    """Read a table; its headers belong to every row."""
    if TABLE_BORDER.match(reader.lines[at].text):
        return _read_grid(reader, at)
    if _COLUMNS.match(reader.lines[at].text):
        return _read_simple(reader, at)
    if reader.lines[at].text == _ASCIIDOC:
        return _read_asciidoc(reader, at)
    if _TEX_BEGIN.match(reader.lines[at].text):
        return _read_tex(reader, at)
    end = _find_table(reader, at)
    if end:
        _add_bar_rows(reader, at, end)
    return end


def read_table_directive(reader: UnitReader, at: int, name: str, argument: str) -> int:
    """Read a list-table or csv-table of reStructuredText; return the line after it, or 0 if it is another directive."""
    if name not in ("list-table", "csv-table"):
        return 0
    line, end, options = reader.lines[at], at + 1, {}
    while (more := reader.line(end)) and (option := _TABLE_OPTION.match(more.text)):
        options[option[1]] = option[2]
        end += 1
    reader.add("heading", line.start, reader.lines[end - 1].end)
    first = end
    while (more := reader.line(end)) and (not more.text or more.indent > line.indent):
        end += 1
    lines = [one for one in reader.lines[first:end] if one.text]
    rows = _split_list_table(lines) if name == "list-table" else _split_csv(lines)
    count = int(options["header-rows"]) if options.get("header-rows", "").isdecimal() else 0
    headers = rows[0][2] if count and rows else ()
    if header := options.get("header"):
        headers = _split_csv([Line(0, 0, 0, header)])[0][2]
    _add_rows(reader, rows[count:], headers)
    return end


def _find_table(reader: UnitReader, at: int) -> int:
    """The end of the table of bars at that line, or 0."""
    end = at
    while (line := reader.line(end)) and _is_bar_row(line.text):
        end += 1
    rows = reader.lines[at:end]
    if len(rows) > 1 or any(line.text.startswith(("|", "│")) for line in rows):
        return end
    return end if rows and all(map(KEY.match, _split_cells(rows[0].text))) else 0


def _add_bar_rows(reader: UnitReader, at: int, end: int) -> None:
    lines = reader.lines[at:end]
    rules = [number for number, line in enumerate(lines) if _RULE.match(line.text) or TABLE_BORDER.match(line.text)]
    rows = [(line.start, line.end, _split_cells(line.text)) for line in lines]
    headers = () if any(line.text for line in reader.lines[:at]) else reader.headers
    if rules and rules[0] <= 1:
        headers = rows[0][2] if rules[0] else headers
    elif not headers and not rules and len(rows) > 1 and len(rows[0][2]) == len(rows[1][2]):
        headers = rows[0][2] if _is_header(rows[0][2]) else ()
    if headers and rows[0][2] == headers:
        reader.add("heading", *rows[0][:2])
        rows[0] = (0, 0, ())
    _add_rows(reader, [row for number, row in enumerate(rows) if number not in rules and row[2]], headers)


def _is_header(cells: Cells) -> bool:
    """Whether a first row that no rule sets apart may be a header: without numbers, keys and empty cells."""
    return all(cell and not KEY.match(cell) and not re.search(r"\d", cell) for cell in cells)


def _add_rows(reader: UnitReader, rows: Sequence[tuple[int, int, Cells]], headers: Cells) -> None:
    """Add rows with the same number of cells; the first cell names a row if it differs from those of the others."""
    width = max([len(headers), *(len(cells) for _, _, cells in rows)])
    names = [cells[0] for _, _, cells in rows]
    has_names = bool(headers) and width > 1 and len(set(names)) == len(names)
    for start, end, cells in rows:
        kind = "row" if len(cells) == width else "half"
        reader.add(kind, start, end, cells=cells, headers=headers, key=cells[0] if has_names else "")


def _read_grid(reader: UnitReader, at: int) -> int:
    """Read a table with borders around its cells, which may have several lines."""
    end = at
    while (line := reader.line(end)) and (line.text[:1] in ("|", "│", "├", "╞") or TABLE_BORDER.match(line.text)):
        end += 1
    borders = [number for number in range(at, end) if reader.lines[number].text[0] not in "|│"]
    rows: list[tuple[int, int, Cells]] = []
    headers = () if any(line.text for line in reader.lines[:at]) else reader.headers
    for begin, stop in itertools.pairwise([*borders, *([end] if borders[-1] < end - 1 else ())]):
        lines = reader.lines[begin + 1 : stop]
        if not lines:
            continue
        parts = itertools.zip_longest(*(_split_cells(line.text) for line in lines), fillvalue="")
        rows.append((lines[0].start, lines[-1].end, tuple(show(" ".join(part)) for part in parts)))
        if not headers and len(rows) == 1 and stop < end and re.search("[=═]", reader.lines[stop].text):
            headers = rows[0][2]
    if not headers and len(rows) > 1 and _is_header(rows[0][2]):
        headers = rows[0][2]
    if headers and rows and rows[0][2] == headers:
        reader.add("heading", *rows.pop(0)[:2])
    if rows:
        _add_rows(reader, rows, headers)
    return end


def _read_simple(reader: UnitReader, at: int) -> int:
    """Read a simple table of reStructuredText: columns under rules of equals signs."""
    rule = reader.lines[at]
    rules = [at]
    end = at + 1
    while (line := reader.line(end)) and (line.text or len(rules) == 1 or reader.line(end + 1)):
        if _COLUMNS.match(line.text) and line.text[0] == rule.text[0]:
            rules.append(end)
            below = reader.line(end + 1)
            if len(rules) == 3 or not below or not below.text:
                break
        end += 1
    if len(rules) < 2:
        return 0
    columns = [match.start() for match in _COLUMN.finditer(rule.text)]
    headers: Cells = ()
    if len(rules) == 3:
        parts = [_cut_columns(reader, number, rule.indent, columns) for number in range(at + 1, rules[1])]
        headers = tuple(show(" ".join(part)) for part in zip(*parts, strict=True))
        reader.add("heading", reader.lines[at + 1].start, reader.lines[rules[1] - 1].end)
    rows: list[tuple[int, int, Cells]] = []
    for number in range(rules[-2] + 1, rules[-1]):
        line = reader.lines[number]
        cells = _cut_columns(reader, number, rule.indent, columns)
        if rows and not cells[0] and line.text:
            start, _, above = rows[-1]
            rows[-1] = (start, line.end, tuple(show(f"{one} {more}") for one, more in zip(above, cells, strict=True)))
        elif line.text and not _COLUMNS.match(line.text):
            rows.append((line.start, line.end, cells))
    if rows:
        _add_rows(reader, rows, headers)
    return rules[-1] + 1


def _read_asciidoc(reader: UnitReader, at: int) -> int:
    """Read a table between |=== lines: a row on each line or, with a cell on each line, between empty lines."""
    end = at + 1
    while (line := reader.line(end)) and line.text != _ASCIIDOC:
        end += 1
    rows: list[tuple[int, int, Cells]] = []
    is_cell = not any("|" in line.text[1:] for line in reader.lines[at + 1 : end])
    for number in range(at + 1, end):
        line, above = reader.lines[number], reader.lines[number - 1]
        if not line.text.startswith("|"):
            continue
        cells = _split_cells(line.text)
        if is_cell and above.text and rows:
            rows[-1] = (rows[-1][0], line.end, rows[-1][2] + cells)
        else:
            rows.append((line.start, line.end, cells))
    headers: Cells = ()
    if len(rows) > 1 and reader.text[rows[0][1] :].startswith("\n\n"):
        reader.add("heading", *rows[0][:2])
        headers, rows = rows[0][2], rows[1:]
    if rows:
        _add_rows(reader, rows, headers)
    return min(end + 1, len(reader.lines))


def _cut_columns(reader: UnitReader, at: int, indent: int, columns: Sequence[int]) -> Cells:
    line = reader.lines[at]
    text = " " * (line.indent - indent) + line.text
    return tuple(show(text[start:end]) for start, end in zip(columns, [*columns[1:], None], strict=True))


def _read_tex(reader: UnitReader, at: int) -> int:
    """Read a tabular of TeX. Its first row is the header if a rule or bold type sets it apart."""
    end = at + 1
    while (line := reader.line(end)) and not line.text.startswith("\\end{"):
        end += 1
    rows: list[tuple[int, int, Cells]] = []
    start = -1
    is_bold = has_rule = False
    for line in reader.lines[at + 1 : end]:
        for begin, stop in _split_tex_rows(line):
            part = reader.text[begin:stop]
            if start < 0 and not _TEX_RULE.sub("", part).strip(" \\"):
                has_rule = has_rule or len(rows) == 1
                continue
            start = begin if start < 0 else start
            if _TEX_ROW.search(part):
                own = reader.text[start:stop]
                is_bold = is_bold or (not rows and "\\textbf" in own)
                rows.append((start, stop, tuple(map(_clean_tex, _TEX_CELL.split(_TEX_ROW.sub("", own))))))
                start = -1
    headers: Cells = ()
    if len(rows) > 1 and (has_rule or is_bold):
        reader.add("heading", *rows[0][:2])
        headers, rows = rows[0][2], rows[1:]
    if rows:
        _add_rows(reader, rows, headers)
    return min(end + 1, len(reader.lines))


def _split_tex_rows(line: Line) -> list[tuple[int, int]]:
    ends = [match.end() for match in _TEX_ROW.finditer(line.text)]
    starts = [0, *ends]
    stops = [*ends, len(line.text)]
    return [(line.start + one, line.start + other) for one, other in zip(starts, stops, strict=True) if one < other]


def _clean_tex(cell: str) -> str:
    bare = _TEX_RULE.sub("", cell)
    while (plain := _TEX_MARK.sub(r"\1", bare)) != bare:
        bare = plain
    return show(re.sub(r"\\([&%$#_{}])", r"\1", bare).replace("~", " "))


def _split_list_table(lines: Sequence[Line]) -> list[tuple[int, int, Cells]]:
    rows: list[tuple[int, int, list[str]]] = []
    for line in lines:
        if match := _LIST_ROW.match(line.text):
            rows.append((line.start, line.end, [line.text[match.end() :]]))
        elif rows and line.text[:1] == "-" and line.text[1:2] in ("", " "):
            rows[-1] = (rows[-1][0], line.end, [*rows[-1][2], line.text[1:].strip()])
        elif rows:
            cells = rows[-1][2]
            rows[-1] = (rows[-1][0], line.end, [*cells[:-1], f"{cells[-1]} {line.text}".strip()])
    return [(start, end, tuple(cells)) for start, end, cells in rows]


def _split_csv(lines: Sequence[Line]) -> list[tuple[int, int, Cells]]:
    return [
        (line.start, line.end, tuple(cell.strip() for cell in next(csv.reader([line.text], skipinitialspace=True))))
        for line in lines
    ]


def _is_bar_row(text: str) -> bool:
    if text.startswith("|"):
        return text.count("|") > 1
    return (is_table_line(text) and not text.startswith("+")) or text.endswith(" |")


def _split_cells(text: str) -> Cells:
    inside = text[1:] if text[:1] in ("|", "│") else text
    inside = inside[:-1] if text[:1] in ("|", "│") and text[-1:] in ("|", "│") and len(text) > 1 else inside
    return tuple(cell.strip() for cell in _CELL.split(inside))
