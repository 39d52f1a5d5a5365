"""Where a passage is, in words that lead a person to it: "Delivery > Express, lines 12-14", "page 3", "row 5"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from shortlist.documents import Document
from shortlist.index.text.headings import heading_paths

LINED_KINDS = frozenset({"file", "text"})  # whose text has the lines of its source: nothing was converted
LONGEST_OUTLINED = 20_000_000  # characters of a document whose headings and lines are read

# Describes the place of a part of a text, from its start and end.
Locate = Callable[[int, int], str]

_OFFSET = re.compile(r"offset=(\d+)")
_TECHNICAL = re.compile(r"(?:whole|offset=\d+|part=\d+)\Z")


def make_locate(document: Document | None, text: str, locator: str, context: str) -> Locate:
    """What describes the places in a passage; lines and headings need the document that the passage is from."""
    parts = [part.replace("=", " ", 1) for part in locator.split(";") if not _TECHNICAL.match(part)]
    content = document.content if document and not parts and len(document.content) <= LONGEST_OUTLINED else ""
    shift = content.find(text, sum(map(int, _OFFSET.findall(locator)))) if content else -1
    if document is None or shift < 0:
        whole = ", ".join(filter(None, [context, *parts]))
        return lambda start, end: whole
    starts, paths = heading_paths(content, document.source or document.id)
    paths = paths if starts else [context]
    has_lines = document.kind in LINED_KINDS and "\n" in content.strip()

    def locate(start: int, end: int) -> str:
        lines = _describe_lines(content, shift + start, shift + end) if has_lines else ""
        return ", ".join(filter(None, [paths[bisect_right(starts, shift + start)], lines]))

    return locate


def _describe_lines(content: str, start: int, end: int) -> str:
    first = content.count("\n", 0, start) + 1
    last = first + content.count("\n", start, max(start, end - 1))
    return f"line {first}" if first == last else f"lines {first}-{last}"
