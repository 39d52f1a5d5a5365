"""Documents from RTF files: one for each file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import partial

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError, import_extra
from shortlist.sources.decoding import File
from shortlist.sources.formats.markup import render_table

MAX_BYTES = 50 << 20  # pictures are stored as text

_STYLE = re.compile(
    r"\{\\s([0-9]{1,5})\b[^{}]{0,2000}?(?:\\outlinelevel([0-8])\b[^{}]{0,2000}|\b[Hh]eading ([1-9]));\}"
)
_PARAGRAPH = re.compile(r"\\pard\b ?(?:\s*\\(?!par\b|cell\b|row\b)[a-z]{1,32}-?[0-9]{0,10} ?){0,100}")
_STYLE_OF = re.compile(r"\\s([0-9]{1,5})\b")
_OUTLINE = re.compile(r"\\outlinelevel([0-8])\b")
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
_HEADING = re.compile(r"^#{1,6} ")


def read_rtf(file: File) -> Iterator[Document | Problem]:
    striprtf = import_extra("striprtf.striprtf", "documents", "Reading RTF")
    data = file.read(MAX_BYTES)
    if not data.lstrip().startswith(b"{\\rtf"):
        raise SourceError("It is damaged or not RTF: the RTF header is missing.")
    code = data.decode("latin-1")
    levels = {style: int(outline) + 1 if outline else int(named) for style, outline, named in _STYLE.findall(code)}
    marked = _PARAGRAPH.sub(partial(_mark, levels), code)
    page = _CODE_PAGE.search(data)
    encoding = f"cp{page[1].decode()}" if page else "cp1252"
    try:
        text = striprtf.rtf_to_text(marked, encoding=encoding, errors="replace")
    except Exception as error:
        raise SourceError(f"It is damaged: {error}.") from None
    blocks = list(_split_blocks(text))
    headings = (block.lstrip("# ") for block in blocks if _HEADING.match(block))
    yield file.make_document("page", next(headings, file.path.name), "\n\n".join(blocks))


def _mark(levels: Mapping[str, int], start: re.Match[str]) -> str:
    """The properties of a paragraph, followed by the mark of a heading if it is one."""
    outline, style = _OUTLINE.search(start[0]), _STYLE_OF.search(start[0])
    level = int(outline[1]) + 1 if outline else levels.get(style[1], 0) if style else 0
    return f"{start[0]}{{{'#' * min(level, 6)} }}" if level else start[0]


def _split_blocks(text: str) -> Iterator[str]:
    """Paragraphs and tables, of whose rows each is a line with a bar after each cell."""
    for is_table, lines in itertools.groupby(text.splitlines(), lambda line: line.endswith("|")):
        if is_table:
            yield render_table([line[:-1].split("|") for line in lines])
        else:
            yield from filter(None, map(str.strip, lines))
