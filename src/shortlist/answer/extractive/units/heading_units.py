"""Headings: marked, underlined, of manual pages, or in capitals."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import END, HEADING, OPTION, UnitReader

_UNDERLINE = re.compile(r"([=~^\"*+#.-])\1{2,}$")
_PAGE_HEAD = re.compile(r"(\S+\(\d\w*\))\s.*\1$")


def read_heading(reader: UnitReader, at: int) -> int:
    """Read a heading, which ends the context of what precedes it."""
    end = _find_heading(reader, at)
    if end:
        line = reader.lines[at]
        reader.add("heading", line.start, line.end)
        reader.heading, reader.contexts, reader.base = line.text.strip("# ¶"), [], None
    return end


def _find_heading(reader: UnitReader, at: int) -> int:
    line, below = reader.lines[at], reader.line(at + 1)
    if HEADING.match(line.text) or _UNDERLINE.match(line.text) or _PAGE_HEAD.match(line.text):
        return at + 1
    if below and _UNDERLINE.match(below.text) and len(below.text) >= min(3, len(line.text)):
        return at + 2 if len(line.text) <= LONGEST_LABEL and not line.text.startswith("|") else 0
    if below and (line.indent, below.indent) == (3, 7) and len(line.text) <= LONGEST_LABEL:
        return at + 1  # a subsection of a manual page
    is_alone = not below or not below.text or below.indent > line.indent
    is_capitals = line.text.isupper() and len(line.text) <= LONGEST_LABEL and not OPTION.match(line.text)
    has_words = len(re.findall(r"[^\W\d_]{2,}", line.text)) > 0 and not END.search(line.text)
    return at + 1 if is_alone and is_capitals and has_words and line.indent <= 3 else 0
