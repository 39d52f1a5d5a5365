"""Splits documents into passages.

Tools and plain texts are indexed whole. Files, pages and rows are split into overlapping windows. Skills and packages
are split into their first paragraph, which describes them, and the windows of the rest. A window of a text with
headings carries those of its section, and the term or the table header of the entry in which it begins. A window of
source code carries the name of its function or class.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import PurePath
from typing import NamedTuple

from shortlist._limits import CHUNK_OVERLAP, CHUNK_SIZE
from shortlist.documents import Document
from shortlist.index.text.code_process import request_sections
from shortlist.index.text.entries import Entries, Entry, find_entries
from shortlist.index.text.headings import CONTINUED, SEPARATOR, heading_paths

CHUNKED_KINDS = frozenset({"file", "page", "row"})
LED_KINDS = frozenset({"skill", "package"})

_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’)\]]*\s+|\n{2,}")
NO_ENTRIES = Entries()

_SPACE = re.compile(r"\s+")


class Piece(NamedTuple):
    """A part of a document; `text` is None if it is the whole content; `context` is the path of its headings."""

    locator: str
    text: str | None = None
    context: str = ""


def split(document: Document, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[Piece]:
    content = document.content
    spans: list[tuple[int, int]] = []
    starts: list[int] = []
    paths, entries = [""], NO_ENTRIES
    if document.kind in CHUNKED_KINDS and len(content) > size:
        if pieces := _split_code(document, size, overlap):
            return pieces
        starts, paths = heading_paths(content, document.source)
        entries = find_entries(content, document.source, frozenset(starts))
        spans = windows(content, size, overlap, entries)
    elif document.kind in LED_KINDS and (lead := content.find("\n\n")) > 0:
        rest = windows(content[lead:], size, overlap)
        spans = [(0, lead), *((start + lead, end + lead) for start, end in rest)]
    if len(spans) < 2:
        return [Piece(document.locator)]
    pieces = []
    for start, end in spans:
        begin = _skip_space(content, start)
        labels = [f"{one.label}{CONTINUED}" for one in entries.find_around(begin) if _needs_label(one, begin)]
        context = SEPARATOR.join(filter(None, [paths[bisect_right(starts, start)], *labels]))
        pieces.append(Piece(f"{document.locator};offset={start}", content[start:end], context))
    return pieces


def _needs_label(entry: Entry, start: int) -> bool:
    """Whether a passage that begins there, inside of an entry, lacks its label."""
    return bool(entry.label) and (entry.is_row or start >= entry.start + len(entry.label))


def _split_code(document: Document, size: int, overlap: int) -> list[Piece]:
    """The functions and classes of source code, with their lines; empty for everything else."""
    content = document.content
    suffix = PurePath(document.source).suffix.lower()
    sections = request_sections(content, suffix, size) if document.kind == "file" else []
    pieces, line, at = [], 1, 0
    for section in sections:
        for start, end in windows(content[section.start : section.end], size, overlap):
            start, end = start + section.start, end + section.start
            line += content.count("\n", at, start) if start >= at else -content.count("\n", start, at)
            at = start
            place = f"line={line}-{line + content.count(chr(10), start, end)};offset={start}"
            locator = place if document.locator == "whole" else f"{document.locator};{place}"
            pieces.append(Piece(locator, content[start:end], section.name))
    return pieces


def windows(text: str, size: int, overlap: int, entries: Entries = NO_ENTRIES) -> list[tuple[int, int]]:
    """Overlapping spans that cover all the text except space, cut at the end of a sentence or word where possible.

    No span contains another: each starts and ends after the one before it. An entry is cut only if it is long. A span
    that begins with an entry does not overlap with the one before it, and begins with the space before its first line.
    """
    spans: list[tuple[int, int]] = []
    start = _skip_space(text, 0)
    while start < len(text):
        end = len(text) if len(text) - start <= size else _find_cut(text, start + size // 2, start + size)
        end = next((one.start for one in entries.find_around(end) if one.start > start + size // 2), end)
        stop = start + len(text[start:end].rstrip())
        if stop > (spans[-1][1] if spans else start):
            spans.append((start, stop))
        if end >= len(text):
            break
        following = _skip_space(text, _find_word_start(text, end - overlap, end))
        begin = _skip_space(text, end)
        if any(begin == _skip_space(text, one.start) for one in entries.find_around(begin)):
            following = begin
        elif inside := [one for one in entries.find_around(following) if one.start < following]:
            following = _skip_space(text, inside[0].end) if inside[0].end <= end else _find_line(text, following, end)
        start = following if following > start else _skip_space(text, end)
        start = _find_indentation(text, start) if entries else start
    return spans


def _find_cut(text: str, low: int, high: int) -> int:
    """The last place in low..high to cut: after a sentence, else after a word, else at high."""
    for pattern in (_SENTENCE_END, _SPACE):
        if ends := [match.end() for match in pattern.finditer(text, low, high)]:
            return ends[-1]
    return high


def may_be_cut(text: str, size: int = CHUNK_SIZE) -> bool:
    """Whether a window may end inside of a sentence: no place that is better to cut was in its second half."""
    return len(text) > size // 2 and not _SENTENCE_END.search(text, size // 2)


def _find_word_start(text: str, low: int, high: int) -> int:
    """The first place in low..high where a word starts, or low if there is none."""
    if low > 0 and not text[low - 1].isspace():
        space = _SPACE.search(text, low, high)
        if space and space.end() < high:
            return space.end()
    return low


def _find_line(text: str, low: int, high: int) -> int:
    """The start of the first line that begins in low..high, or low if none does."""
    return text.find("\n", low - 1, high - 1) + 1 or low


def _find_indentation(text: str, at: int) -> int:
    """The start of the line, if only space precedes that place in it."""
    start = text.rfind("\n", 0, at) + 1
    return at if text[start:at].strip() else start


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
