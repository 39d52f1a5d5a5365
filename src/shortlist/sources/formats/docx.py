"""Documents from DOCX files: one for each file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, open_zip
from shortlist.sources.formats.markup import find_related, parse_xml, read_title, render_table

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats the content before it
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING = re.compile(r"heading ([1-9])")


def read_docx(file: File) -> Iterator[Document | Problem]:
    with open_zip(file) as archive:
        main = find_related(archive, "officeDocument")
        if main is None:
            raise SourceError("It is damaged or not a DOCX file: it has no document.")
        body = _parse(archive, main)
        styles = find_related(archive, "styles", main)
        levels = _read_levels(_parse(archive, styles)) if styles else {}
        blocks = list(_split_blocks(body, levels))
        for kind in ("footnotes", "endnotes"):
            if notes := find_related(archive, kind, main):
                blocks += _split_blocks(_parse(archive, notes), levels)
        title = read_title(archive, find_related(archive, "core-properties"))
    headings = (block.lstrip("# ") for block in blocks if block.startswith("# "))
    yield file.make_document("page", title or next(headings, file.path.name), "\n\n".join(blocks))


def _parse(archive: zipfile.ZipFile, name: str) -> Element:
    root = parse_xml(archive, name)
    for element in root.iter():
        if element.tag.startswith(_STRICT):
            element.tag = _W + element.tag.removeprefix(_STRICT)
    return root


def _read_levels(styles: Element) -> dict[str, int]:
    """The level of the headings with a style, by the id of the style."""
    levels = {}
    for style in styles.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        shown = name.get(f"{_W}val", "").lower() if name is not None else ""
        if heading := _HEADING.match(shown):
            levels[style.get(f"{_W}styleId", "")] = int(heading[1])
        elif shown == "title":
            levels[style.get(f"{_W}styleId", "")] = 1
        elif level := _outline_level(style):
            levels[style.get(f"{_W}styleId", "")] = level
    return levels


def _outline_level(element: Element) -> int:
    """The level that a style or a paragraph says itself; 0 for body text."""
    outline = element.find(f"{_W}pPr/{_W}outlineLvl")
    value = outline.get(f"{_W}val", "9") if outline is not None else "9"
    return int(value) + 1 if value in "012345678" else 0


def _split_blocks(parent: Element, levels: dict[str, int]) -> Iterator[str]:
    """Paragraphs, headings and tables in their order, whatever they are wrapped in."""
    for element in parent:
        if element.tag == f"{_W}p":
            if text := "".join(_find_texts(element)).strip():
                style = element.find(f"{_W}pPr/{_W}pStyle")
                named = levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0
                level = min(_outline_level(element) or named, 6)
                yield "#" * level + " " * bool(level) + text
        elif element.tag == f"{_W}tbl":
            if table := render_table(_read_rows(element, levels)):
                yield table
        elif element.tag != _FALLBACK:
            yield from _split_blocks(element, levels)


def _find_texts(parent: Element) -> Iterator[str]:
    for element in parent:
        if element.tag == f"{_W}t":
            yield element.text or ""
        elif element.tag in _SPACES:
            yield _SPACES[element.tag]
        elif element.tag != _FALLBACK:
            yield from _find_texts(element)


def _read_rows(table: Element, levels: dict[str, int]) -> Iterator[list[str]]:
    """The rows; a cell that spans rows has its text in each, one that spans columns only in the first."""
    above: list[str] = []
    for row in _find_own(table, f"{_W}tr"):
        cells: list[str] = []
        for cell in _find_own(row, f"{_W}tc"):
            text = " ".join(_split_blocks(cell, levels))
            merged = cell.find(f"{_W}tcPr/{_W}vMerge")
            if merged is not None and merged.get(f"{_W}val") != "restart" and len(cells) < len(above):
                text = above[len(cells)]
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            width = span.get(f"{_W}val", "") if span is not None else ""
            cells += [text] + [""] * (min(int(width), 100) - 1 if width.isdecimal() else 0)
        above = cells
        yield cells


def _find_own(parent: Element, tag: str) -> Iterator[Element]:
    """The rows of a table or the cells of a row, whatever they are wrapped in, without those of nested tables."""
    for element in parent:
        if element.tag == tag:
            yield element
        elif element.tag not in (f"{_W}tbl", _FALLBACK):
            yield from _find_own(element, tag)
