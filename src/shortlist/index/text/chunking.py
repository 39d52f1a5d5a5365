"""Splits documents into passages.

Tools and plain texts are indexed whole. Files, pages and rows are split into overlapping windows. Skills and packages
are split into their first paragraph, which describes them, and the windows of the rest. A window of a text with
headings carries those of its section.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import PurePath
from typing import NamedTuple

from shortlist._limits import CHUNK_OVERLAP, CHUNK_SIZE
from shortlist.documents import Document

CHUNKED_KINDS = frozenset({"file", "page", "row"})
LED_KINDS = frozenset({"skill", "package"})

# Files whose text has Markdown headings, because they are Markdown or are converted to it.
WITH_HEADINGS = frozenset({".md", ".markdown", ".docx", ".html", ".htm", ".xhtml"})
LONGEST_HEADING = 120

_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’)\]]*\s+|\n{2,}")
_SPACE = re.compile(r"\s+")
_HEADING_OR_FENCE = re.compile(r"^ {0,3}(?:(#{1,6})[ \t]+(\S.*)|(`{3,}(?=[^`\n]*$)|~{3,}))", re.MULTILINE)


class Piece(NamedTuple):
    """A part of a document; `text` is None if it is the whole content; `context` is the path of its headings."""

    locator: str
    text: str | None = None
    context: str = ""


def split(document: Document, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[Piece]:
    content = document.content
    spans: list[tuple[int, int]] = []
    if document.kind in CHUNKED_KINDS:
        spans = windows(content, size, overlap)
    elif document.kind in LED_KINDS and (lead := content.find("\n\n")) > 0:
        rest = windows(content[lead:], size, overlap)
        spans = [(0, lead), *((start + lead, end + lead) for start, end in rest)]
    if len(spans) < 2:
        return [Piece(document.locator)]
    has_headings = PurePath(document.source).suffix.lower() in WITH_HEADINGS
    starts, paths = heading_paths(content) if has_headings else ([], [""])
    return [
        Piece(f"{document.locator};offset={start}", content[start:end], paths[bisect_right(starts, start)])
        for start, end in spans
    ]


def heading_paths(text: str) -> tuple[list[int], list[str]]:
    """The start of each heading, and the path of headings before the first and from each on: "Guide > Install"."""
    starts, paths = [], [""]
    path: list[tuple[int, str]] = []
    fence = ""
    for match in _HEADING_OR_FENCE.finditer(text):
        marks, heading, fence_here = match.groups()
        if fence_here:
            fence = fence_here if not fence else "" if fence_here.startswith(fence) else fence
        elif not fence:
            path = [above for above in path if above[0] < len(marks)]
            path.append((len(marks), heading[:LONGEST_HEADING].rstrip().rstrip("#").rstrip()))
            starts.append(match.start())
            paths.append(" > ".join(name for _, name in path))
    return starts, paths


def windows(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """Overlapping spans that cover all the text except space, cut at the end of a sentence or word where possible.

    No span contains another: each starts and ends after the one before it.
    """
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    while start < len(text):
        end = len(text) if len(text) - start <= size else _find_cut(text, start + size // 2, start + size)
        stop = start + len(text[start:end].rstrip())
        if stop > (spans[-1][1] if spans else start):
            spans.append((start, stop))
        if end >= len(text):
            break
        following = _skip_space(text, _find_word_start(text, end - overlap, end))
        start = following if following > start else _skip_space(text, end)
    return spans


def _find_cut(text: str, low: int, high: int) -> int:
    """The last place in low..high to cut: after a sentence, else after a word, else at high."""
    for pattern in (_SENTENCE_END, _SPACE):
        if ends := [match.end() for match in pattern.finditer(text, low, high)]:
            return ends[-1]
    return high


def _find_word_start(text: str, low: int, high: int) -> int:
    """The first place in low..high where a word starts, or low if there is none."""
    if low > 0 and not text[low - 1].isspace():
        space = _SPACE.search(text, low, high)
        if space and space.end() < high:
            return space.end()
    return low


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
