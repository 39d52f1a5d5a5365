"""Into which passages does a document fall?

Tools, rows and plain texts are indexed whole. Files and pages are cut into overlapping windows. Skills and packages
show two surfaces: what they say of themselves in their first paragraph, and the windows of the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shortlist.types import Document

CHUNK_SIZE = 800
CHUNK_OVERLAP = 120

CHUNKED_KINDS = frozenset({"file", "page"})
LED_KINDS = frozenset({"skill", "package"})

_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’)\]]*\s+|\n{2,}")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document; `text` is None when it is the whole content."""

    locator: str
    text: str | None = None


def split(document: Document, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[Piece]:
    content = document.content
    spans: list[tuple[int, int]] = []
    if document.kind in CHUNKED_KINDS:
        spans = windows(content, size, overlap)
    elif document.kind in LED_KINDS:
        lead = content.find("\n\n")
        if lead > 0:
            rest = windows(content[lead:], size, overlap)
            spans = [(0, lead), *((start + lead, end + lead) for start, end in rest)]
    if len(spans) < 2:
        return [Piece(document.locator)]
    return [Piece(f"{document.locator};offset={start}", content[start:end]) for start, end in spans]


def windows(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """Overlapping spans that cover all the text that is not space, cut at a sentence or word border where one is near.

    No span lies inside another: each starts and ends after the one before it.
    """
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    while start < len(text):
        end = len(text) if len(text) - start <= size else _border(text, start + size // 2, start + size)
        stop = start + len(text[start:end].rstrip())
        if stop > (spans[-1][1] if spans else start):
            spans.append((start, stop))
        if end >= len(text):
            break
        following = _skip_space(text, _word_start(text, end - overlap, end))
        start = following if following > start else _skip_space(text, end)
    return spans


def _border(text: str, low: int, high: int) -> int:
    """The last place in low..high to cut: after a sentence, else after a word, else right at high."""
    cut = high
    for pattern in (_SPACE, _SENTENCE_END):
        ends = [match.end() for match in pattern.finditer(text, low, high)]
        cut = ends[-1] if ends else cut
    return cut


def _word_start(text: str, low: int, high: int) -> int:
    """The first place in low..high where a word begins, or low where there is none."""
    if low > 0 and not text[low - 1].isspace():
        space = _SPACE.search(text, low, high)
        if space and space.end() < high:
            return space.end()
    return low


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
