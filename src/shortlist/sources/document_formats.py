"""Documents from PDF, one for each page, and from DOCX and HTML, one for each file, with headings as in Markdown."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, check_zip, decode, is_binary, optional, read_bytes

# PDF

_PDFIUM = threading.RLock()  # pdfium must not be called from two threads at once
_PASSWORD = "It is encrypted, and opens only with a password. Save a copy without one."
_HYPHEN_AT_LINE_END = re.compile("[\x02\ufffe]\n?")
_NO_TITLE = re.compile(r"untitled|microsoft |powerpoint |\S+\.\w{2,5}$", re.IGNORECASE)


class _Page(NamedTuple):
    text: str = ""
    has_image: bool = False
    reason: str = ""  # why it cannot be read


def read_pdf(file: File) -> Iterator[Document | Problem]:
    if not file.path.stat().st_size:
        raise SourceError("It is empty.")
    title, pages = _open_pdf(file)
    count = read = 0
    images = []
    for count, page in enumerate(pages, 1):
        if page.reason:
            yield Problem(f"{file.id}#page={count}", f"Page {count} cannot be read: {page.reason}.")
        elif page.text:
            yield file.part(f"page={count}", page.text, title, "page", page=count)
        elif page.has_image:
            images.append(count)
        read += bool(page.reason or page.text)
    if not read:
        raise SourceError(f"None of its {count} pages has a text layer: it may be scanned. Run OCR on it first.")
    if images:
        reason = f"These pages hold images but no text layer: {', '.join(map(str, images))}. Run OCR on it first."
        yield Problem(f"{file.id}#page={images[0]}", reason)


def _open_pdf(file: File) -> tuple[str, Iterator[_Page]]:
    """Title and pages, by pdfium or, where that gives up, by pypdf."""
    pdfium = optional("pypdfium2", "pypdfium2", "Reading PDF")
    with _PDFIUM:
        try:
            pdf = pdfium.PdfDocument(file.path)
            title = pdf.get_metadata_value("Title").strip()
            pages = _pages_by_pdfium(pdfium, pdf)
        except pdfium.PdfiumError as error:
            if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
                raise SourceError(_PASSWORD) from None
            title, pages = "", _pages_by_pypdf(file)
    return title if title and not _NO_TITLE.match(title) else file.path.name, pages


def _pages_by_pdfium(pdfium: Any, pdf: Any) -> Iterator[_Page]:
    try:
        for at in range(len(pdf)):
            with _PDFIUM:
                try:
                    with contextlib.closing(pdf.get_page(at)) as page:
                        text = _tidy(page.get_textpage().get_text_bounded())
                        found = _Page(text, not text and any(page.get_objects([pdfium.raw.FPDF_PAGEOBJ_IMAGE])))
                except pdfium.PdfiumError as error:
                    found = _Page(reason=str(error).rstrip("."))
            yield found
    finally:
        with _PDFIUM:
            pdf.close()


def _pages_by_pypdf(file: File) -> Iterator[_Page]:
    pypdf = optional("pypdf", "pypdf", "Reading this PDF")
    log = logging.getLogger("pypdf")
    if not log.hasHandlers():
        log.addHandler(logging.NullHandler())  # else it writes to stderr
    with file.path.open("rb") as data:
        if b"%PDF" not in data.read(1024):
            raise SourceError("It is damaged or no PDF: its first bytes are not those of one.")
        try:
            reader = pypdf.PdfReader(data)
            if reader.is_encrypted and not reader.decrypt(""):
                raise SourceError(_PASSWORD)
            for page in reader.pages:
                text = _tidy(page.extract_text())
                yield _Page(text, has_image=not text and bool(page.images))
        except SourceError:
            raise
        except Exception as error:
            raise SourceError(f"It is damaged: {error}.") from None


def _tidy(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _HYPHEN_AT_LINE_END.sub("", text).strip()


# DOCX

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # the same content once more
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_docx(file: File) -> Iterator[Document | Problem]:
    docx = optional("docx", "python-docx", "Reading DOCX")
    check_zip(file.path)
    with file.path.open("rb") as data:
        try:
            opened = docx.Document(data)
            styles = {style.style_id: str(style.name or "") for style in opened.styles}
            blocks = list(_blocks(opened.element.body, styles))
            title = str(opened.core_properties.title or "").strip()
        except Exception as error:
            raise SourceError(f"It is damaged or no DOCX: {error}.") from None
    headings = (block.lstrip("# ") for block in blocks if block.startswith("# "))
    yield file.document("\n\n".join(blocks), title or next(headings, file.path.name), "page")


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[str]:
    """Paragraphs, headings and tables in their order, whatever they are wrapped in."""
    for element in parent:
        if element.tag == f"{_W}p":
            texts = (
                _SPACES.get(node.tag, node.text or "")
                for node in element.iter(f"{_W}t", *_SPACES)
                if next(node.iterancestors(_FALLBACK), None) is None
            )
            if text := "".join(texts).strip():
                yield _heading_mark(element, styles) + text
        elif element.tag == f"{_W}tbl":
            rows = (
                [" ".join("\n".join(_blocks(cell, styles)).split()) for cell in _own(row, f"{_W}tc")]
                for row in _own(element, f"{_W}tr")
            )
            yield "\n".join(" | ".join(row).rstrip() for row in rows if any(row))
        elif element.tag != _FALLBACK:
            yield from _blocks(element, styles)


def _own(element: Any, tag: str) -> list[Any]:
    """The rows of a table or the cells of a row, but not those of a table inside."""
    return [found for found in element.iter(tag) if next(found.iterancestors(element.tag)) is element]


def _heading_mark(element: Any, styles: dict[str, str]) -> str:
    style = element.find(f"{_W}pPr/{_W}pStyle")
    name = styles.get(style.get(f"{_W}val"), "").lower() if style is not None else ""
    level = re.match(r"heading (\d)", name)
    return "#" * int(level.group(1)) + " " if level else "# " * (name == "title")


# HTML

_NOT_SHOWN = frozenset({
    "head", "script", "style", "noscript", "template", "svg", "math", "nav", "iframe", "object", "canvas", "audio",
    "video", "select", "button",
})  # fmt: skip
_JOINTS = ("", " | ", "\n", "\n\n")  # the stronger one wins where several meet
_BLOCKS = (
    "address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "legend", "main", "ol", "p", "pre",
    "section", "summary", "table", "ul",
)  # fmt: skip
_JOINT_AT = {
    **dict.fromkeys(("td", "th"), 1),
    **dict.fromkeys(("br", "li", "tr", "dt", "dd"), 2),
    **dict.fromkeys(_BLOCKS, 3),
}
_MARKS = {**{f"h{level}": "#" * level + " " for level in range(1, 7)}, "li": "- "}
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 4096
_LATIN = {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"}  # which browsers read as cp1252
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_CLOSED_BY_OTHERS = frozenset({
    "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "area", "base", "br", "col", "embed", "hr",
    "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_DEEPEST = 2000  # the parser's time grows with the square of the depth, and of the options in a select
_OPTION = re.compile(r"</?opt(?:ion|group)\b[^<>]{0,1000}>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")


def read_html(file: File) -> Iterator[Document | Problem]:
    lexbor = optional("selectolax.lexbor", "selectolax", "Reading HTML")
    data = read_bytes(file.path)
    if is_binary(data):
        raise SourceError("It is binary, not HTML.")
    declared = _CHARSET.search(data[:_DECLARED_WITHIN])
    encoding = declared.group(1).decode().lower() if declared else ""
    text = _OPTION.sub(" ", decode(data, "cp1252" if encoding in _LATIN else encoding))
    steps = (-1 if closing else 1 for closing, name in _TAG.findall(text) if name.lower() not in _CLOSED_BY_OTHERS)
    if max(itertools.accumulate(steps, lambda depth, step: max(0, depth + step), initial=0)) > _DEEPEST:
        raise SourceError(f"Its elements are nested more than {_DEEPEST} deep.")
    tree = lexbor.LexborHTMLParser(text)
    title = tree.css_first("head > title") or tree.css_first("h1")
    shown = " ".join(title.text().split()) if title is not None else ""
    yield file.document(_visible(tree.root), shown or file.path.name, "page")


def _visible(root: Any) -> str:
    """What a reader sees: blocks, lines and cells apart from each other, headings and list items marked."""
    parts: list[str] = []
    joint, mark, preformatted = 0, "", False
    for node, is_entering in _walk(root):
        tag = node.tag
        if tag != "-text":
            joint = max(joint, _JOINT_AT.get(tag, 0))
            if tag in _MARKS:
                mark = _MARKS[tag] if is_entering else ""
            if tag == "pre":
                preformatted = is_entering
            continue
        text = node.text_content or ""
        if not preformatted:
            text = _SPACE.sub(" ", text)
            text = text.lstrip() if joint or (parts and parts[-1].endswith(" ")) else text
        if text.strip() and joint:
            text = (_JOINTS[joint] if parts else "") + mark + text
            joint, mark = 0, ""
        if text and not joint:
            parts.append(text)
    return "\n".join(line.rstrip() for line in "".join(parts).split("\n")).strip()


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """Every shown node when it is entered, and every element when it is left; without recursion."""
    stack = [(root, True)]
    while stack:
        node, is_entering = stack.pop()
        is_entering = is_entering and _is_shown(node)
        yield node, is_entering
        if is_entering and node.tag != "-text":
            stack += [(node, False), *((child, True) for child in reversed([*node.iter(include_text=True)]))]


def _is_shown(node: Any) -> bool:
    if node.tag == "-text":
        return True
    is_content = node.is_element_node and node.tag not in _NOT_SHOWN
    return is_content and "hidden" not in node.attributes and node.attributes.get("role") != "navigation"
