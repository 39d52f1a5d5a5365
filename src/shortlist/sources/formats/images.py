"""Documents from pictures, if OCR was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from shortlist.documents import Document, Problem
from shortlist.sources.decoding import File
from shortlist.sources.formats.ocr import recognize

MAX_BYTES = 100 << 20


def read_image(file: File) -> Iterator[Document | Problem]:
    """The text in a picture; without OCR an empty text, which is not indexed."""
    text = recognize(file.read(MAX_BYTES)) if file.ocr else ""
    yield file.make_document("page", file.path.name, text)
