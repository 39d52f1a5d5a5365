"""Documents from PDF files: one for each page."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Iterator
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError, import_extra
from shortlist.sources.decoding import File
from shortlist.sources.formats.ocr import DPI, HOW, recognize
from shortlist.sources.formats.pdf_tables import insert_tables

_PDFIUM = threading.RLock()  # pdfium must not be called from two threads at once
_PASSWORD = "It is encrypted with a password. Save a copy without one."
_HYPHEN_AT_LINE_END = re.compile("[\x02\ufffe]\n?")
MAX_PIXELS = 10_000  # of a side of a picture
_NOT_A_TITLE = re.compile(r"untitled|microsoft |powerpoint |\S+\.\w{2,5}$", re.IGNORECASE)


Page = str | Exception | None  # its text, the reason why it cannot be read, or None for an image without text


def read_pdf(file: File) -> Iterator[Document | Problem]:
    if not file.size:
        raise SourceError("It is empty.")
    title, pages = _open_pdf(file)
    scanned, number, has_text = [], 0, False
    for number, page in enumerate(pages, 1):
        has_text = has_text or bool(page)
        if page is None:
            scanned.append(number)
        elif isinstance(page, Exception):
            yield file.make_problem(f"page={number}", f"Page {number} cannot be read: {str(page).rstrip('.')}.")
        elif page:
            yield file.make_document("page", title, page, f"page={number}", page=number)
    if not has_text:
        has_none = "Its page has no" if number == 1 else f"None of its {number} pages has a"
        raise SourceError(f"{has_none} text layer: it may be scanned. {HOW}")
    if scanned:
        reason = f"These pages have images but no text layer: {', '.join(map(str, scanned))}. {HOW}"
        yield file.make_problem(f"page={scanned[0]}", reason)


def _open_pdf(file: File) -> tuple[str, Iterator[Page]]:
    """Title and pages, read by pdfium or, if that fails, by pypdf."""
    pdfium = import_extra("pypdfium2", "documents", "Reading PDF")
    with _PDFIUM:
        try:
            pdf = pdfium.PdfDocument(file.path if file.data is None else file.data)
            title = pdf.get_metadata_value("Title").strip()
            pages = _read_pages_by_pdfium(pdfium, pdf, file.ocr)
        except pdfium.PdfiumError as error:
            if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
                raise SourceError(_PASSWORD) from None
            title, pages = "", _read_pages_by_pypdf(file)
    return title if title and not _NOT_A_TITLE.match(title) else file.path.name, pages


def _read_pages_by_pdfium(pdfium: Any, pdf: Any, ocr: bool) -> Iterator[Page]:
    try:
        for at in range(len(pdf)):
            image = None
            with _PDFIUM:
                try:
                    with contextlib.closing(pdf.get_page(at)) as page:
                        text = _read_page(pdfium, page)
                        if text is None and ocr:
                            image = _render(page)
                except pdfium.PdfiumError as error:
                    text = error
            yield _recognize(image) if image else text
    finally:
        with _PDFIUM:
            pdf.close()


def _read_page(pdfium: Any, page: Any) -> Page:
    texts = page.get_textpage()
    text = insert_tables(pdfium, page, lambda box: _tidy(texts.get_text_bounded(*box)))
    text = text or _tidy(texts.get_text_bounded())
    return text if text or not any(page.get_objects([pdfium.raw.FPDF_PAGEOBJ_IMAGE])) else None


def _render(page: Any) -> bytes:
    """A page as a gray picture in PNM."""
    scale = min(DPI / 72, MAX_PIXELS / max(*page.get_size(), 1))
    pixels = page.render(scale=scale, grayscale=True).to_numpy()
    height, width = pixels.shape[:2]
    return b"P5 %d %d 255\n" % (width, height) + bytes(pixels.tobytes())


def _recognize(image: bytes) -> Page:
    try:
        return recognize(image)
    except SourceError as error:
        return error


def _read_pages_by_pypdf(file: File) -> Iterator[Page]:
    pypdf = import_extra("pypdf", "documents", "Reading this PDF")
    log = logging.getLogger("pypdf")
    if not log.hasHandlers():
        log.addHandler(logging.NullHandler())  # otherwise it writes to stderr
    with file.open() as data:
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
