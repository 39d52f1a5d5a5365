"""Documents from PDF (one for each page), and from DOCX and HTML (one for each file, with headings as in Markdown)."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError, import_extra
from shortlist.sources.decoding import File, check_zip, decode, is_binary, read_bytes
from shortlist.sources.tables import read_workbook

# PDF

_PDFIUM = threading.RLock()  # pdfium must not be called from two threads at once
_PASSWORD = "It is encrypted with a password. Save a copy without one."
_HYPHEN_AT_LINE_END = re.compile("[\x02\ufffe]\n?")
_NOT_A_TITLE = re.compile(r"untitled|microsoft |powerpoint |\S+\.\w{2,5}$", re.IGNORECASE)


Page = str | Exception | None  # its text, the reason why it cannot be read, or None for an image without text


def read_pdf(file: File) -> Iterator[Document | Problem]:
    if not file.path.stat().st_size:
        raise SourceError("It is empty.")
    title, pages = _open_pdf(file)
    scanned, number, has_text = [], 0, False
    for number, page in enumerate(pages, 1):
        has_text = has_text or bool(page)
        if page is None:
            scanned.append(number)
        elif isinstance(page, Exception):
            yield Problem(f"{file.id}#page={number}", f"Page {number} cannot be read: {str(page).rstrip('.')}.")
        elif page:
            yield file.make_document("page", title, page, f"page={number}", page=number)
    if not has_text:
        raise SourceError(f"None of its {number} pages has a text layer: it may be scanned. Run OCR on it first.")
    if scanned:
        reason = f"These pages have images but no text layer: {', '.join(map(str, scanned))}. Run OCR on them first."
        yield Problem(f"{file.id}#page={scanned[0]}", reason)


def _open_pdf(file: File) -> tuple[str, Iterator[Page]]:
    """Title and pages, read by pdfium or, if that fails, by pypdf."""
    pdfium = import_extra("pypdfium2", "documents", "Reading PDF")
    with _PDFIUM:
        try:
            pdf = pdfium.PdfDocument(file.path)
            title = pdf.get_metadata_value("Title").strip()
            pages = _read_pages_by_pdfium(pdfium, pdf)
        except pdfium.PdfiumError as error:
            if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
                raise SourceError(_PASSWORD) from None
            title, pages = "", _read_pages_by_pypdf(file)
    return title if title and not _NOT_A_TITLE.match(title) else file.path.name, pages


def _read_pages_by_pdfium(pdfium: Any, pdf: Any) -> Iterator[Page]:
    try:
        for at in range(len(pdf)):
            with _PDFIUM:
                try:
                    with contextlib.closing(pdf.get_page(at)) as page:
                        text: Page = _tidy(page.get_textpage().get_text_bounded())
                        if not text and any(page.get_objects([pdfium.raw.FPDF_PAGEOBJ_IMAGE])):
                            text = None
                except pdfium.PdfiumError as error:
                    text = error
            yield text
    finally:
        with _PDFIUM:
            pdf.close()


def _read_pages_by_pypdf(file: File) -> Iterator[Page]:
    pypdf = import_extra("pypdf", "documents", "Reading this PDF")
    log = logging.getLogger("pypdf")
    if not log.hasHandlers():
        log.addHandler(logging.NullHandler())  # otherwise it writes to stderr
    with file.path.open("rb") as data:
        if b"%PDF" not in data.read(1024):
            raise SourceError("It is damaged or not a PDF: the PDF header is missing.")
        try:
            reader = pypdf.PdfReader(data)
            if reader.is_encrypted and not reader.decrypt(""):
                raise SourceError(_PASSWORD)
            for page in reader.pages:
                yield _tidy(page.extract_text()) or (None if page.images else "")
        except SourceError:
            raise
        except Exception as error:
            raise SourceError(f"It is damaged: {error}.") from None


def _tidy(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _HYPHEN_AT_LINE_END.sub("", text).strip()


# DOCX

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # repeats the content before it
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_docx(file: File) -> Iterator[Document | Problem]:
    docx = import_extra("docx", "documents", "Reading DOCX")
    check_zip(file.path)
    with file.path.open("rb") as data:
        try:
            parsed = docx.Document(data)
            styles = {style.style_id: str(style.name or "").lower() for style in parsed.styles}
            for fallback in list(parsed.element.body.iter(_FALLBACK)):
                fallback.getparent().remove(fallback)
            blocks = list(_split_blocks(parsed.element.body, styles))
            title = str(parsed.core_properties.title or "").strip()
        except Exception as error:
            raise SourceError(f"It is damaged or not a DOCX file: {error}.") from None
    headings = (block.lstrip("# ") for block in blocks if block.startswith("# "))
    yield file.make_document("page", title or next(headings, file.path.name), "\n\n".join(blocks))


def _split_blocks(parent: Any, styles: dict[str, str]) -> Iterator[str]:
    """Paragraphs, headings and tables in their order, whatever they are wrapped in."""
    for element in parent:
        if element.tag == f"{_W}p":
            text = "".join(_SPACES.get(node.tag, node.text or "") for node in element.iter(f"{_W}t", *_SPACES)).strip()
            style = element.find(f"{_W}pPr/{_W}pStyle")
            name = styles.get(style.get(f"{_W}val"), "") if style is not None else ""
            heading = re.match(r"heading (\d)", name)
            level = int(heading[1]) if heading else int(name == "title")
            if text:
                yield "#" * level + " " * bool(level) + text
        elif element.tag == f"{_W}tbl":
            rows = (
                [" ".join("\n".join(_split_blocks(cell, styles)).split()) for cell in _own(row, f"{_W}tc")]
                for row in _own(element, f"{_W}tr")
            )
            yield "\n".join(" | ".join(row).rstrip() for row in rows if any(row))
        else:
            yield from _split_blocks(element, styles)


def _own(element: Any, tag: str) -> list[Any]:
    """The rows of a table or the cells of a row, without those of nested tables."""
    return [inner for inner in element.iter(tag) if next(inner.iterancestors(element.tag)) is element]


# HTML

_TAGS = json.loads(Path(__file__).with_name("html_tags.json").read_bytes())
_HIDDEN, _UNCLOSED = frozenset(_TAGS["hidden"]), frozenset(_TAGS["unclosed"])
_JOINTS = ("", " ", " | ", "\n", "\n\n")  # where several meet, the last of them is used
_JOINT_OF = {tag: joint for joint, key in enumerate(("cells", "lines", "blocks"), 2) for tag in _TAGS[key]}
_NOT_IN_ROW = "table, ul, ol, dl, pre, h1, h2, h3, h4, h5, h6"  # a cell with one of these is more than a value
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_LATIN = {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"}  # browsers read these as cp1252
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_MAX_DEPTH = 2000  # the parser's time is quadratic in the depth, and in the number of options of a select
_OPTION = re.compile(r"</?opt(?:ion|group)\b[^<>]{0,1000}>", re.IGNORECASE)


def read_html(file: File) -> Iterator[Document | Problem]:
    lexbor = import_extra("selectolax.lexbor", "documents", "Reading HTML")
    data = read_bytes(file.path)
    if is_binary(data):
        raise SourceError("It is binary, not HTML.")
    declared = _CHARSET.search(data[:4096])
    encoding = declared.group(1).decode().lower() if declared else ""
    text = _OPTION.sub(" ", decode(data, "cp1252" if encoding in _LATIN else encoding))
    steps = (-1 if closing else 1 for closing, name in _TAG.findall(text) if name.lower() not in _UNCLOSED)
    if max(itertools.accumulate(steps, lambda depth, step: max(0, depth + step), initial=0)) > _MAX_DEPTH:
        raise SourceError(f"Its elements are nested more than {_MAX_DEPTH} deep.")
    tree = lexbor.LexborHTMLParser(text)
    title = tree.css_first("head > title") or tree.css_first("h1")
    shown = " ".join(title.text().split()) if title is not None else ""
    yield file.make_document("page", shown or file.path.name, _render_text(tree.root))


def _render_text(root: Any) -> str:
    """The visible text: blocks, lines and cells separated, headings and list items marked.

    The paragraphs and lines of a cell of a table are one line, so that a row is one; an empty cell is a cell, too.
    """
    parts: list[str] = []
    joint, mark = 0, ""
    is_preformatted = in_row = is_empty = False
    for node, is_entering in _walk(root):
        tag = node.tag
        if tag != "-text":
            is_cell = tag in _TAGS["cells"]
            joint = max(joint, _JOINT_OF.get(tag, 0) if is_cell or not in_row else int(tag in _JOINT_OF))
            if is_cell and in_row and is_empty and parts and not is_entering:
                parts.append(_JOINTS[joint])
                joint = 0
            if is_cell:
                in_row = is_entering and node.css_first(_NOT_IN_ROW) is None
                is_empty = True
            if tag in _TAGS["marks"]:
                mark = _TAGS["marks"][tag] if is_entering else ""
            if tag == "pre":
                is_preformatted = is_entering
            continue
        text = node.text_content or ""
        if not is_preformatted:
            text = re.sub(r"\s+", " ", text)
            text = text.lstrip() if joint or (parts and parts[-1].endswith(" ")) else text
        if text.strip() and joint:
            text = (_JOINTS[joint] if parts else "") + mark + text
            joint, mark = 0, ""
        if text and not joint:
            parts.append(text)
            is_empty = False
    return "\n".join(line.rstrip() for line in "".join(parts).split("\n")).strip()


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """Every node, and whether it is entered (True) or left or hidden (False). Not recursive, as pages may be deep."""
    stack = [(root, True)]
    while stack:
        node, is_entering = stack.pop()
        if is_entering and node.tag != "-text":
            is_shown = node.is_element_node and node.tag not in _HIDDEN and "hidden" not in node.attributes
            is_entering = is_shown and node.attributes.get("role") != "navigation"
            if is_entering:
                stack += [(node, False), *((child, True) for child in reversed([*node.iter(include_text=True)]))]
        yield node, is_entering


VERSION = 3  # of all readers of files; a change makes every file be read again

# The readers that need a parser, by the end of a file's name; they run in a process of their own (`parser_process.py`).
READERS: dict[str, Callable[[File], Iterator[Document | Problem]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    **dict.fromkeys((".xlsx", ".xlsm"), read_workbook),
}
