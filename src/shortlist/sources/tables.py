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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, check_size, check_zip, decode, is_binary, open_text, optional, read_bytes

MAX_JSON_BYTES = 100 << 20
MAX_CELLS = 20_000_000  # of a sheet, empty ones counted

DELIMITERS = ",;\t|"
_SAMPLE = 1 << 16
_SAMPLE_ROWS = 20
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f]")
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml$")
_POSITION = re.compile(rb"""\sr=["']([A-Z]{0,3})([0-9]{1,7})["']""")
_LONGEST_POSITION = 16
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")  # written by Excel, for Excel


def read_csv(file: File) -> Iterator[Document | Problem]:
    with open_text(file.path, newline="") as lines:
        sample = lines.read(_SAMPLE)
        if _is_binary(sample):
            raise SourceError("It is binary, not a table in text.")
        said = _SEPARATOR_LINE.match(sample)
        delimiter = said.group(1) if said else _delimiter(sample)
        lines.seek(0)
        read: list[str] = []  # the lines of the current row
        reader = csv.reader(_recorded(lines, read), delimiter=delimiter)
        rows = itertools.islice(filter(None, reader), 1 if said else 0, None)
        try:
            names = _names(next(rows, []))
            read.clear()
            for number, cells in enumerate(rows, 1):
                yield from _row(file, f"row={number}", names, cells, row=number)
                if len(read) > 1 and not _is_quoted_well(read, delimiter):
                    last = reader.line_num
                    merged = f"lines {last - len(read) + 1} to {last} were indexed as one row"
                    advice = "Close the quote, or double it if it is part of a value."
                    yield Problem(f"{file.id}#row={number}", f"A quote is left open: {merged}. {advice}")
                read.clear()
        except csv.Error as error:
            where = f"From line {reader.line_num} on"
            raise SourceError(f"{where} it cannot be read as CSV: {error}. Is a quote left open?") from None


def _recorded(lines: Iterable[str], read: list[str]) -> Iterator[str]:
    """The lines without NULs, each also appended to `read`, except empty ones before a row."""
    for line in lines:
        clean = line.replace("\0", "")
        if read or clean.strip():
            read.append(clean)
        yield clean


def _is_quoted_well(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a row of several lines is quoted as CSV demands."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True


def _is_binary(sample: str) -> bool:
    """Whether a sample is binary. A few NULs alone are damage, to be left out."""
    nuls = sample.count("\0")
    return nuls > len(sample) / 3 or (nuls > 0 and _CONTROL.search(sample) is not None)


def _delimiter(sample: str) -> str:
    """The delimiter that cuts the most rows into as many cells as the header has."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(sample.replace("\0", ""), newline=""), delimiter=delimiter)
        try:
            widths = [len(row) for row in itertools.islice(rows, _SAMPLE_ROWS) if row]
        except csv.Error:
            widths = []
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths and widths[0] > 1 else (0.0, 0)

    return max(DELIMITERS, key=evenness)


def read_json_lines(file: File) -> Iterator[Document | Problem]:
    with open_text(file.path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line.rstrip())
            except (ValueError, RecursionError) as error:
                reason = str(error)
                if isinstance(error, json.JSONDecodeError):  # whose text calls every line the first
                    reason = f"{error.msg} at column {error.colno}"
                yield Problem(f"{file.id}#row={number}", f"Line {number} is not JSON: {reason}.")
                continue
            yield from _object(file, number, value)


def read_json(file: File) -> Iterator[Document | Problem]:
    """The rows of a list of objects; anything else is one text. What is not valid JSON is reported, too."""
    data = read_bytes(file.path, MAX_JSON_BYTES)
    if is_binary(data):
        return
    text, wrong, values = decode(data), "", None
    if text.strip():
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            wrong = f"It is not valid JSON ({error}), so it was indexed as plain text."
    if isinstance(values, list) and values and all(isinstance(value, dict) for value in values):
        for number, value in enumerate(values, 1):
            yield from _object(file, number, value)
        return
    check_size(len(data))
    yield file.document(text, file.path.name, "file")
    if wrong:
        yield Problem(f"{file.id}#whole", wrong)


def read_workbook(file: File) -> Iterator[Document | Problem]:
    calamine = optional("python_calamine", "python-calamine", "Reading spreadsheets")
    check_zip(file.path)
    _check_extent(file)
    with file.path.open("rb") as data:
        try:
            workbook = calamine.CalamineWorkbook.from_filelike(data)
        except calamine.CalamineError as error:
            raise SourceError(f"It is damaged or no spreadsheet: {error}.") from None
        kind = calamine.SheetTypeEnum.WorkSheet  # not a sheet that is a chart
        for name in [sheet.name for sheet in workbook.sheets_metadata if sheet.typ == kind]:
            try:
                sheet = workbook.get_sheet_by_name(name)
            except calamine.CalamineError as error:
                yield Problem(f"{file.id}#sheet={name}", f"The sheet {name!r} cannot be read: {error}.")
                continue
            rows = sheet.iter_rows()
            names = _names(next(filter(_is_filled, rows), []))
            for number, cells in enumerate(rows, 1):
                if _is_filled(cells):
                    yield from _row(file, f"sheet={name};row={number}", names, cells, sheet=name, row=number)


def _check_extent(file: File) -> None:
    """Refuse a sheet with a cell so far off that those before it, which calamine holds too, would fill the memory."""
    with zipfile.ZipFile(file.path) as archive:
        for member in filter(_SHEET.match, archive.namelist()):
            rows, columns = _extent(archive, member)
            if rows * columns > MAX_CELLS:
                extent = f"Its cells in {member} spread over {rows} rows and {columns} columns"
                raise SourceError(f"{extent}, which is more than can be held. Delete what lies far from the rest.")


def _extent(archive: zipfile.ZipFile, member: str) -> tuple[int, int]:
    """The last row and column that a sheet names."""
    last_row, letters, tail = 0, {b""}, b""
    with archive.open(member) as data:
        while chunk := data.read(_SAMPLE):
            found = _POSITION.findall(tail + chunk)
            last_row = max([last_row, *(int(row) for _, row in found)])
            letters |= {column for column, _ in found}
            tail = chunk[-_LONGEST_POSITION:]
    return last_row, max(functools.reduce(lambda sum, letter: sum * 26 + letter - 64, name, 0) for name in letters)


def _is_filled(cells: Sequence[Any]) -> bool:
    return any(cell != "" for cell in cells)


def _names(header: Sequence[Any]) -> list[str]:
    return [_shown(name) or f"column {at}" for at, name in enumerate(header, 1)]


def _row(file: File, locator: str, names: list[str], cells: Sequence[Any], **facts: Any) -> Iterator[Document]:
    further = (f"column {at}" for at in range(len(names) + 1, len(cells) + 1))
    return _document(file, locator, zip(itertools.chain(names, further), cells, strict=False), **facts)


def _object(file: File, number: int, value: Any) -> Iterator[Document]:
    pairs = value.items() if isinstance(value, dict) else [("value", value)]
    return _document(file, f"row={number}", pairs, row=number)


def _document(file: File, locator: str, pairs: Iterable[tuple[str, Any]], **facts: Any) -> Iterator[Document]:
    """One document, or none for a row without a value.

    Rows have no title, since thousands would share it; the words of the file's and the sheet's name are keywords.
    """
    text = " | ".join(f"{name}: {shown}" for name, value in pairs if (shown := _shown(value)))
    if text:
        keywords = [file.path.stem, *([facts["sheet"]] if "sheet" in facts else [])]
        yield file.part(locator, text, "", "row", keywords, **facts)


def _shown(value: Any) -> str:
    """A cell as a person would write it; nothing for what is empty."""
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
