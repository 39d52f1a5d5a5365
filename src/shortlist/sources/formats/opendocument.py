"""Documents from ODT files (one for each file) and ODP files (one for each slide)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, open_zip
from shortlist.sources.formats.markup import parse_xml, read_title, render_table

_NAMESPACES = "urn:oasis:names:tc:opendocument:xmlns"
_DRAW, _OFFICE, _PRESENTATION, _TABLE, _TEXT = (
    f"{{{_NAMESPACES}:{name}:1.0}}" for name in ("drawing", "office", "presentation", "table", "text")
)
_HIDDEN = {f"{_OFFICE}annotation", f"{_TEXT}tracked-changes", f"{_PRESENTATION}notes", f"{_TEXT}sequence-decls"}
_HIDDEN |= {f"{_PRESENTATION}footer-decl", f"{_PRESENTATION}date-time-decl", f"{_PRESENTATION}header-decl"}
_REPEATED = ("page-number", "date-time", "footer", "header", "page")  # frames that most slides have
MAX_REPEATS = 1000  # of a row or column


def read_odt(file: File) -> Iterator[Document | Problem]:
    title, body = _open(file)
    blocks = list(_split_blocks(body))
    headings = (block.lstrip("# ") for block in blocks if block.startswith("# "))
    yield file.make_document("page", title or next(headings, file.path.name), "\n\n".join(blocks))


def read_odp(file: File) -> Iterator[Document | Problem]:
    title, body = _open(file)
    for number, page in enumerate(body.iter(f"{_DRAW}page"), 1):
        blocks = list(_split_blocks(page))
        heading = next((block.lstrip("# ") for block in blocks if block.startswith("# ")), "")
        blocks.sort(key=lambda block: block != f"# {heading}")  # the title may be the last shape
        for notes in page.iterfind(f"{_PRESENTATION}notes"):
            shown = " ".join(" ".join(_split_blocks(notes)).split())
            blocks += [f"Notes: {shown}"] if shown else []
        text = "\n\n".join(blocks)
        yield file.make_document("page", heading or title or file.path.name, text, f"slide={number}", slide=number)


def _open(file: File) -> tuple[str, Element]:
    with open_zip(file) as archive:
        _check_encryption(archive)
        body = parse_xml(archive, "content.xml").find(f"{_OFFICE}body")
        if body is None:
            raise SourceError("It is damaged: it has no body.")
        return read_title(archive, "meta.xml"), body


def _check_encryption(archive: zipfile.ZipFile) -> None:
    manifest = "META-INF/manifest.xml"
    if manifest in archive.namelist() and b":encryption-data" in archive.read(manifest):
        raise SourceError("It is encrypted with a password. Save a copy without one.")


def _split_blocks(parent: Element) -> Iterator[str]:
    """Paragraphs, headings and tables in their order, whatever they are wrapped in."""
    for element in parent:
        tag = element.tag
        if tag in _HIDDEN or element.get(f"{_PRESENTATION}class") in _REPEATED:
            continue
        if tag in (f"{_TEXT}p", f"{_TEXT}h"):
            if text := "".join(_find_texts(element)).strip():
                level = min(int(element.get(f"{_TEXT}outline-level", "1")), 6) if tag == f"{_TEXT}h" else 0
                yield "#" * level + " " * bool(level) + text
        elif tag == f"{_TABLE}table":
            if table := render_table(_read_rows(element)):
                yield table
        elif element.get(f"{_PRESENTATION}class") == "title":
            if text := " ".join(" ".join(_split_blocks(element)).split()):
                yield f"# {text}"
        else:
            yield from _split_blocks(element)


def _find_texts(element: Element) -> Iterator[str]:
    """The text of a paragraph, with footnotes in parentheses."""
    yield " ".join((element.text or "").split("\n"))
    for child in element:
        if child.tag == f"{_TEXT}s":
            count = child.get(f"{_TEXT}c", "1")
            yield " " * (min(int(count), MAX_REPEATS) if count.isdecimal() else 1)
        elif child.tag == f"{_TEXT}tab":
            yield "\t"
        elif child.tag == f"{_TEXT}line-break":
            yield "\n"
        elif child.tag == f"{_TEXT}note":
            body = (block for part in child.iterfind(f"{_TEXT}note-body") for block in _split_blocks(part))
            yield f" ({' '.join(body)})"
        elif child.tag == f"{_DRAW}frame":
            yield from (f" {block}" for block in _split_blocks(child))
        elif child.tag not in _HIDDEN:
            yield from _find_texts(child)
        yield " ".join((child.tail or "").split("\n"))


def _read_rows(table: Element) -> Iterator[list[str]]:
    """The rows; a cell that spans rows has its text in each, one that spans columns only in the first."""
    spanning: dict[int, tuple[int, str]] = {}  # rows left and text, by column
    for row in _find_own(table, (f"{_TABLE}table-row",)):
        cells: list[str] = []
        for cell in _find_own(row, (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")):
            at = len(cells)
            left, text = spanning.pop(at, (0, ""))
            if cell.tag == f"{_TABLE}table-cell":
                text = " ".join(_split_blocks(cell))
                left = _count(cell, "number-rows-spanned")
            elif not left:
                text = ""
            if left > 1:
                spanning[at] = left - 1, text
            cells += [text] * _count(cell, "number-columns-repeated")
        yield cells


def _count(element: Element, name: str) -> int:
    value = element.get(f"{_TABLE}{name}", "1")
    return min(int(value), MAX_REPEATS) if value.isdecimal() else 1


def _find_own(parent: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    """The rows of a table or the cells of a row, whatever they are wrapped in, without those of nested tables."""
    for element in parent:
        if element.tag in tags:
            yield element
        elif element.tag != f"{_TABLE}table":
            yield from _find_own(element, tags)
