"""The readers of files, by the end of a file's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.sources.decoding import OCR_SUFFIXES, File, decode, is_binary
from shortlist.sources.formats.docx import read_docx
from shortlist.sources.formats.epub import read_epub
from shortlist.sources.formats.html import read_html
from shortlist.sources.formats.images import read_image
from shortlist.sources.formats.mail import read_eml, read_mbox, read_msg
from shortlist.sources.formats.manual import has_manual_name, read_manual
from shortlist.sources.formats.notebook import read_notebook
from shortlist.sources.formats.opendocument import read_odp, read_odt
from shortlist.sources.formats.pdf import read_pdf
from shortlist.sources.formats.pptx import read_pptx
from shortlist.sources.formats.rtf import read_rtf
from shortlist.sources.front_matter import split_front_matter
from shortlist.sources.tables import read_csv, read_json, read_json_lines, read_workbook

Reader = Callable[[File], Iterator[Document | Problem]]

VERSION = 5  # of all readers of files; a change makes every file be read again

_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


def read_plain(file: File) -> Iterator[Document | Problem]:
    """Text, Markdown or source code as one document; a binary file is an empty text, which is not indexed."""
    data = file.read()
    text = "" if is_binary(data) else decode(data)
    is_markdown = file.path.suffix.lower() in (".md", ".markdown")
    heading = _HEADING.search(text) if is_markdown else None
    title = heading.group(1).rstrip().rstrip("#").rstrip() if heading else ""
    yield file.make_document("file", title or file.path.name, text, **(_read_access(text) if is_markdown else {}))


def _read_access(text: str) -> dict[str, Any]:
    """Who may see a Markdown file, as its front matter says: no one if that mentions `access` but cannot be read."""
    text = text.replace("\r\n", "\n") if text.startswith("---") else ""
    if "access" not in text.partition("\n---")[0]:  # parsing takes longer
        return {}
    try:
        header, _ = split_front_matter(text)
    except ValueError:
        return {"access": []}
    return {"access": header["access"]} if "access" in header else {}


def read_attachment(file: File) -> Iterator[Document | Problem]:
    """The documents of a file in a message."""
    return find_reader(file.path)(file)


# The readers of text, in the process of the caller.
LOADERS: Mapping[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv"), read_csv),
    **dict.fromkeys((".jsonl", ".ndjson"), read_json_lines),
    ".json": read_json,
}

# The readers that need a parser; they run in a process of their own (`parser_process.py`).
READERS: Mapping[str, Reader] = {
    ".pdf": read_pdf,
    **dict.fromkeys((".docx", ".docm", ".dotx"), read_docx),
    **dict.fromkeys((".pptx", ".pptm", ".potx", ".ppsx"), read_pptx),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), read_workbook),
    **dict.fromkeys((".odt", ".ott"), read_odt),
    **dict.fromkeys((".odp", ".otp"), read_odp),
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    ".epub": read_epub,
    ".rtf": read_rtf,
    ".ipynb": read_notebook,
    ".eml": partial(read_eml, read_attachment),
    ".msg": partial(read_msg, read_attachment),
    ".mbox": partial(read_mbox, read_attachment),
    **dict.fromkeys(OCR_SUFFIXES, read_image),
}


def find_reader(path: PurePath) -> Reader:
    """What reads a file in that process."""
    return partial(read_manual, read_plain) if has_manual_name(path) else READERS.get(path.suffix.lower(), read_plain)


def is_parsed(file: File) -> bool:
    """Whether a file is read in the process for parsers; a picture is only if its text is wanted."""
    suffix = file.path.suffix.lower()
    return has_manual_name(file.path) or (suffix in READERS and (file.ocr or suffix not in OCR_SUFFIXES))
