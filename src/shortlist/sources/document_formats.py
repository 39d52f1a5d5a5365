"""The readers of files, by the end of a file's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.sources.decoding import OCR_SUFFIXES, File, decode, is_binary
from shortlist.sources.front_matter import split_front_matter
from shortlist.sources.tables import read_csv, read_json, read_json_lines, read_workbook

Reader = Callable[[File], Iterator[Document | Problem]]

VERSION = 5  # of all readers of files; a change makes every file be read again

_MANUAL = re.compile(r"\.(?:[1-9]\w{0,9}|man|mdoc|roff)(?:\.gz)?\Z", re.IGNORECASE)
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


def _load_on_use(module: str, name: str) -> Callable[..., Iterator[Document | Problem]]:
    """A function of a module below `formats`, which is loaded when a file is read: every search would wait for all."""

    def read(*arguments: Any) -> Iterator[Document | Problem]:
        found: Iterator[Document | Problem] = getattr(import_module(f"shortlist.sources.formats.{module}"), name)(
            *arguments
        )
        return found

    return read


# The readers that need a parser; they run in a process of their own (`parser_process.py`).
READERS: Mapping[str, Reader] = {
    ".pdf": _load_on_use("pdf", "read_pdf"),
    **dict.fromkeys((".docx", ".docm", ".dotx"), _load_on_use("docx", "read_docx")),
    **dict.fromkeys((".pptx", ".pptm", ".potx", ".ppsx"), _load_on_use("pptx", "read_pptx")),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), read_workbook),
    **dict.fromkeys((".odt", ".ott"), _load_on_use("opendocument", "read_odt")),
    **dict.fromkeys((".odp", ".otp"), _load_on_use("opendocument", "read_odp")),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _load_on_use("html", "read_html")),
    ".epub": _load_on_use("epub", "read_epub"),
    ".rtf": _load_on_use("rtf", "read_rtf"),
    ".ipynb": _load_on_use("notebook", "read_notebook"),
    ".eml": partial(_load_on_use("mail", "read_eml"), read_attachment),
    ".msg": partial(_load_on_use("mail", "read_msg"), read_attachment),
    ".mbox": partial(_load_on_use("mail", "read_mbox"), read_attachment),
    **dict.fromkeys(OCR_SUFFIXES, _load_on_use("images", "read_image")),
}
_READ_MANUAL: Reader = partial(_load_on_use("manual", "read_manual"), read_plain)


def has_manual_name(path: PurePath) -> bool:
    """Whether a file is named as manual pages are: ls.1, open.2.gz, Pod::Man.3pm."""
    return bool(_MANUAL.search(path.name))


def find_reader(path: PurePath) -> Reader:
    """What reads a file in that process."""
    return _READ_MANUAL if has_manual_name(path) else READERS.get(path.suffix.lower(), read_plain)


def is_parsed(file: File) -> bool:
    """Whether a file is read in the process for parsers; a picture is only if its text is wanted."""
    suffix = file.path.suffix.lower()
    return has_manual_name(file.path) or (suffix in READERS and (file.ocr or suffix not in OCR_SUFFIXES))
