"""Sentence boundaries of prose: spans in reading order."""

from __future__ import annotations

import re

_BREAK = re.compile(
    r"(?<=[.!?…])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[*_`:]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"
    r"|(?<=[:.!?…])\s*\n\s*\n\s*"  # an empty line after a sentence
    r"|(?<=[。！？])\s*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|cf|No|Nos|Jr|Sr|Fig|Eq|Vol|pp|ca?|approx|al|Inc|Ltd|Co)|\.[A-Z])\.$"
)


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Start and end of each sentence in a part of a text, without the space around it."""
    end = len(text) if end is None else end
    spans: list[tuple[int, int]] = []
    for match in _BREAK.finditer(text, start, end):
        if match.start() >= start and not is_abbreviation(text, start, match.start()):
            _add_span(spans, text, start, match.end())
            start = match.end()
    _add_span(spans, text, start, end)
    return spans


def is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether the period at the end of that part belongs to an abbreviation."""
    found = _ABBREVIATION.search(text, max(start, end - 12), end)
    if found and found.group() in ("No.", "Nos."):
        return text[end:].lstrip()[:1].isdigit()
    return bool(found)


def _add_span(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    part = text[start:end]
    start, end = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
    if end > start:
        spans.append((start, end))
