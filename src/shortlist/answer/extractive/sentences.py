"""Sentence boundaries: spans of a text that can be quoted, in reading order."""

from __future__ import annotations

import re

LONGEST = 600  # characters; longer sentences are cut at a space

_BREAK = re.compile(
    r"[ \t]*\n(?:[ \t]*\n)+\s*"  # an empty line
    r"|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)]|\||#{1,6}[ \t]))"  # before a list item, a table row, a heading
    r"|(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"
    r"|(?<=[。！？])\s*"
)
_HEADING_END = re.compile(r"[ \t]*#{1,6}[ \t][^\n]*\n")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|cf|No|Nos|Jr|Sr|Fig|Eq|Vol|pp|ca?|approx|al|Inc|Ltd|Co)|\.[A-Z])\.$"
)


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, heading, list item or table row, without the space around it."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.start() >= start and not is_abbreviation(text, start, match.start()):
            _add_spans(spans, text, start, match.end())
            start = match.end()
    _add_spans(spans, text, start, len(text))
    return spans


def is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether the period at the end of that part belongs to an abbreviation."""
    return bool(_ABBREVIATION.search(text, max(start, end - 12), end))


def _add_spans(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    heading = _HEADING_END.match(text, start, end)
    if heading and heading.end() < end:
        _add_spans(spans, text, start, heading.end() - 1)
        start = heading.end()
    part = text[start:end]
    start, end = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
    while end - start > LONGEST:
        cut = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
        cut = cut if cut > 0 else start + LONGEST
        spans.append((start, cut))
        start = cut + (text[cut] == " ")
    if end > start:
        spans.append((start, end))
