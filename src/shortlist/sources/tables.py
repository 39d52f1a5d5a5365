"""Documents from tables: one for each row of CSV, JSON, JSON lines and spreadsheets."""

from __future__ import annotations

import csv
import datetime
import functools
import io
import itertools
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError, import_extra
from shortlist.sources.decoding import File, check_size, open_text, open_zip, read_text

MAX_JSON_BYTES = 100 << 20
MAX_ROWS = 1_000_000  # of a file or sheet
MAX_CELLS = 20_000_000  # of a sheet, including empty ones

_DELIMITERS = ",;\t|"
_SAMPLE = 1 << 16
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml$")
_CELL_ADDRESS = re.compile(rb"""\sr=["']([A-Z]{0,3})([0-9]{1,7})["']""")
_ADDRESS_BYTES = 16
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")  # written by Excel, for Excel


def read_csv(file: File) -> Iterator[Document | Problem]:
    with open_text(file.path, newline="") as lines:
        sample = lines.read(_SAMPLE)
        nuls = sample.count("\0")  # a few of them alone are damage, and are removed
        if nuls > len(sample) / 3 or (nuls and re.search(r"[\x01-\x08\x0e-\x1f]", sample)):
            raise SourceError("It is binary, not a table in text.")
        separator = _SEPARATOR_LINE.match(sample)
        delimiter = separator[1] if separator else max(_DELIMITERS, key=functools.partial(_rate_delimiter, sample))
        lines.seek(0)
        row_lines: list[str] = []  # of the current row
        reader = csv.reader(_record(lines, row_lines), delimiter=delimiter)
        rows = itertools.islice(filter(None, reader), 1 if separator else 0, None)
        try:
            names = _name_columns(next(rows, []))
            row_lines.clear()
            for number, cells in enumerate(rows, 1):
                if number > MAX_ROWS:
                    yield _report_more_rows(file.id)
                    break
                yield from _make_row(file, names, cells, row=number)
                if len(row_lines) > 1 and not _is_quoted_well(row_lines, delimiter):
                    last = reader.line_num
                    merged = f"lines {last - len(row_lines) + 1} to {last} were indexed as one row"
                    advice = "Close the quote, or double it if it is part of a value."
                    yield Problem(f"{file.id}#row={number}", f"A quote is not closed: {merged}. {advice}")
                row_lines.clear()
        except csv.Error as error:
            where = f"From line {reader.line_num} on"
            raise SourceError(
                f"{where} it cannot be read as CSV: {error}. Check for a quote that is not closed."
            ) from None


def _report_more_rows(id: str) -> Problem:
    limit = f"It has more than {MAX_ROWS:,} rows, and only these were indexed"
    return Problem(f"{id}#rows", f"{limit}. Split the file to index the others.")


def _record(lines: Iterable[str], row_lines: list[str]) -> Iterator[str]:
    """The lines without NULs, each also appended to `row_lines`, except empty ones before a row."""
    for line in lines:
        clean = line.replace("\0", "")
        if row_lines or clean.strip():
            row_lines.append(clean)
        yield clean


def _is_quoted_well(lines: Sequence[str], delimiter: str) -> bool:
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True


def _rate_delimiter(sample: str, delimiter: str) -> tuple[float, int]:
    """The share of rows that a delimiter splits into as many cells as the header has, and their number."""
    rows = csv.reader(io.StringIO(sample.replace("\0", ""), newline=""), delimiter=delimiter)
    try:
        widths = [len(row) for row in itertools.islice(rows, 20) if row]
    except csv.Error:
        widths = []
    return (widths.count(widths[0]) / len(widths), widths[0]) if widths and widths[0] > 1 else (0.0, 0)


def read_json_lines(file: File) -> Iterator[Document | Problem]:
    with open_text(file.path) as lines:
        for number, line in enumerate(lines, 1):
            if number > MAX_ROWS:
                yield _report_more_rows(file.id)
                break
            try:
                if line.strip():
                    yield from _make_json_row(file, number, json.loads(line.rstrip()))
            except (ValueError, RecursionError) as error:
                reason = str(error)
                if isinstance(error, json.JSONDecodeError):  # its text calls every line the first one
                    reason = f"{error.msg} at column {error.colno}"
                yield Problem(f"{file.id}#row={number}", f"Line {number} is not JSON: {reason}.")


def read_json(file: File) -> Iterator[Document | Problem]:
    """The rows of a list of objects; any other file as one text. Invalid JSON is reported, too."""
    text, problem, values = read_text(file.path, MAX_JSON_BYTES), "", None
    if text.strip():
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            problem = f"It is not valid JSON ({error}), so it was indexed as plain text."
    if isinstance(values, list) and values and all(isinstance(value, dict) for value in values):
        for number, value in enumerate(values[:MAX_ROWS], 1):
            yield from _make_json_row(file, number, value)
        if len(values) > MAX_ROWS:
            yield _report_more_rows(file.id)
        return
    check_size(file.path)
    yield file.make_document("file", file.path.name, text)
    if problem:
        yield Problem(f"{file.id}#whole", problem)


def read_workbook(file: File) -> Iterator[Document | Problem]:
    calamine = import_extra("python_calamine", "documents", "Reading spreadsheets")
    if file.path.suffix.lower() != ".xls":  # the only one that is not a zip archive
        with open_zip(file) as archive:
            for member in filter(_SHEET.match, archive.namelist()):
                _check_extent(archive, member)
    with file.open() as data:
        try:
            workbook = calamine.CalamineWorkbook.from_filelike(data)
        except calamine.CalamineError as error:
            raise SourceError(f"It is damaged or not a spreadsheet: {error}.") from None
        kind = calamine.SheetTypeEnum.WorkSheet  # not a chart
        for name in [sheet.name for sheet in workbook.sheets_metadata if sheet.typ == kind]:
            try:
                rows = workbook.get_sheet_by_name(name).iter_rows()
            except calamine.CalamineError as error:
                yield file.make_problem(f"sheet={name}", f"The sheet {name!r} cannot be read: {error}.")
                continue
            names = _name_columns(next((row for row in rows if any(cell != "" for cell in row)), []))
            for number, cells in enumerate(rows, 1):
                if number > MAX_ROWS:
                    yield _report_more_rows(file.id_of(f"sheet={name}"))
                    break
                yield from _make_row(file, names, cells, sheet=name, row=number)


def _check_extent(archive: zipfile.ZipFile, member: str) -> None:
    """Refuse a sheet with a cell so far away that calamine would fill the memory with the empty cells before it."""
    rows, letters, tail = 0, {b""}, b""
    with archive.open(member) as data:
        while chunk := data.read(_SAMPLE):
            addresses = _CELL_ADDRESS.findall(tail + chunk)
            rows = max([rows, *(int(row) for _, row in addresses)])
            letters |= {column for column, _ in addresses}
            tail = chunk[-_ADDRESS_BYTES:]
    columns = max(functools.reduce(lambda sum, letter: sum * 26 + letter - 64, name, 0) for name in letters)
    if rows * columns > MAX_CELLS:
        extent = f"The cells in {member} span {rows} rows and {columns} columns, more than fit into memory"
        raise SourceError(f"{extent}. Delete the cells that are far from the others.")


def _name_columns(header: Sequence[Any]) -> list[str]:
    return [_show(name) or f"column {at}" for at, name in enumerate(header, 1)]


def _make_json_row(file: File, number: int, value: Any) -> Iterator[Document]:
    value = value if isinstance(value, dict) else {"value": value}
    access = {"access": value["access"]} if "access" in value else {}
    return _make_row(file, list(value), list(value.values()), access, row=number)


def _make_row(
    file: File, names: Sequence[str], cells: Sequence[Any], access: Mapping[str, Any] | None = None, **place: Any
) -> Iterator[Document]:
    """One document, or none for a row without values. It has no title, which thousands of rows would share; the names
    of the file and the sheet are keywords. A row may be shorter or longer than the header. `access` is who may see it;
    without it, a cell of that name that is not empty."""
    if access is None:
        named = zip(names, cells, strict=False)
        access = {name: shown for name, cell in named if name == "access" and (shown := _show(cell))}
    extra = (f"column {at}" for at in range(len(names) + 1, len(cells) + 1))
    pairs = zip(itertools.chain(names, extra), cells, strict=False)
    text = " | ".join(f"{name}: {shown}" for name, value in pairs if (shown := _show(value)))
    if text:
        locator = ";".join(f"{key}={value}" for key, value in place.items())
        keywords = [file.path.stem, *([place["sheet"]] if "sheet" in place else [])]
        yield file.make_document("row", "", text, locator, *keywords, **place, **access)


def _show(value: Any) -> str:
    """A cell as a person would write it; empty for None, [] and {}."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value).strip()
