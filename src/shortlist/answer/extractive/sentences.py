"""Sentence boundaries: spans of a text that can be quoted, in reading order."""

from __future__ import annotations

import re

LONGEST = 600  # characters; what is longer is cut at a space

_BREAK = re.compile(
    r"[ \t]*\n(?:[ \t]*\n)+\s*"  # an empty line
    r"|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)]|\||#{1,6}[ \t]))"  # before an item, a table row, a heading
    r"|(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"
    r"|(?<=[。！？])\s*"
)
_HEADING_END = re.compile(r"[ \t]*#{1,6}[ \t][^\n]*\n")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|cf|No|Nos|Jr|Sr|Fig|Eq|Vol|pp|ca?|approx|al|Inc|Ltd|Co)|\.[A-Z])\.$"
)


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, heading, item or table row, without the space around it."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() < start or is_abbreviated(text, start, match.start()):
            continue
        _add(found, text, start, match.end())
        start = match.end()
    _add(found, text, start, len(text))
    return found


def is_abbreviated(text: str, start: int, end: int) -> bool:
    """Whether the point at the end of that stretch belongs to an abbreviation."""
    return bool(_ABBREVIATED.search(text, max(start, end - 12), end))


def _add(found: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    heading = _HEADING_END.match(text, start, end)
    if heading and heading.end() < end:
        _add(found, text, start, heading.end() - 1)
        start = heading.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > LONGEST:
        cut = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
        cut = cut if cut > 0 else start + LONGEST
        found.append((start, cut))
        start = cut + (text[cut] == " ")
    if end > start:
        found.append((start, end))
