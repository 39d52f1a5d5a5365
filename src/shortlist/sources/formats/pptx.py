"""Documents from PPTX files: one for each slide."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, open_zip
from shortlist.sources.formats.markup import find_related, parse_xml, read_relations, read_title, render_table

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT = {
    "{http://purl.oclc.org/ooxml/drawingml/main}": _A,
    "{http://purl.oclc.org/ooxml/presentationml/main}": _P,
}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats the content before it
_TITLES = ("title", "ctrTitle")
_REPEATED = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # placeholders that most slides have


def read_pptx(file: File) -> Iterator[Document | Problem]:
    with open_zip(file) as archive:
        main = find_related(archive, "officeDocument")
        if main is None:
            raise SourceError("It is damaged or not a PPTX file: it has no presentation.")
        title = read_title(archive, find_related(archive, "core-properties"))
        relations = read_relations(archive, main)
        ids = [slide.get(f"{_R}id", "") for slide in _parse(archive, main).iter(f"{_P}sldId")]
        for number, id in enumerate(ids, 1):
            try:
                heading, text = _read_slide(archive, relations.get(id, ("", ""))[1])
            except SourceError as error:
                yield file.make_problem(f"slide={number}", f"Slide {number} cannot be read: {error}")
                continue
            yield file.make_document("page", heading or title or file.path.name, text, f"slide={number}", slide=number)


def _parse(archive: zipfile.ZipFile, name: str) -> Element:
    root = parse_xml(archive, name)
    for element in root.iter():
        namespace, brace, tag = element.tag.partition("}")
        element.tag = _STRICT.get(namespace + brace, namespace + brace) + tag
    return root


def _read_slide(archive: zipfile.ZipFile, name: str) -> tuple[str, str]:
    """The title of a slide and all of its text: title, shapes, diagrams and notes."""
    shapes = list(_find_shapes(_parse(archive, name)))
    titles = [text for kind, text in shapes if kind in _TITLES]
    blocks = [text for kind, text in shapes if kind not in _TITLES]
    related = list(read_relations(archive, name).values())
    for kind, part in related:
        if kind == "diagramData":
            blocks += _read_paragraphs(_parse(archive, part))
    for kind, part in related:
        if kind == "notesSlide":
            notes = [text for kind, text in _find_shapes(_parse(archive, part)) if text]
            blocks += [f"Notes: {' '.join(notes)}"] if notes else []
    heading = " ".join(" ".join(titles).split())
    return heading, "\n\n".join(filter(None, [f"# {heading}" if heading else "", *blocks]))


def _find_shapes(parent: Element) -> Iterator[tuple[str, str]]:
    """The kind of placeholder and the text of each shape and table, also of those in groups."""
    for element in parent:
        if element.tag == f"{_P}sp":
            placeholder = element.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
            kind = placeholder.get("type", "") if placeholder is not None else ""
            if kind not in _REPEATED:
                yield kind, "\n".join(_read_paragraphs(element))
        elif element.tag == f"{_A}tbl":
            yield "", render_table(_read_rows(element))
        elif element.tag != _FALLBACK:
            yield from _find_shapes(element)


def _read_paragraphs(parent: Element) -> list[str]:
    texts = ("".join(map(_text_of, paragraph.iter())).strip() for paragraph in parent.iter(f"{_A}p"))
    return [text for text in texts if text]


def _text_of(element: Element) -> str:
    return element.text or "" if element.tag == f"{_A}t" else "\n" if element.tag == f"{_A}br" else ""


def _read_rows(table: Element) -> Iterator[list[str]]:
    """The rows; a cell that spans rows has its text in each, one that spans columns only in the first."""
    above: list[str] = []
    for row in table.iter(f"{_A}tr"):
        cells = [
            above[at] if cell.get("vMerge") in ("1", "true") and at < len(above) else " ".join(_read_paragraphs(cell))
            for at, cell in enumerate(row.iter(f"{_A}tc"))
        ]
        above = cells
        yield cells
