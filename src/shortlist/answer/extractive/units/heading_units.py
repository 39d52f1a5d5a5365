"""Headings: marked, underlined, of manual pages, or in capitals."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.note_units import begin_note
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import END, HEADING, UnitReader
from shortlist.index.text.headings import NOTICE, PAGE_HEAD, TEX_HEADING, TEX_LEVELS
from shortlist.index.text.lines import OPTION

_UNDERLINE = re.compile(r"([=~^\"*+#.-])\1{2,}$")
_PAGE_FOOT = re.compile(r"\S.*\s{3}\S.*\s{3}\S+\(\d\w*\)$|(\S.*\S)\s{3,}\S.*\d{4}\s{3,}\1$")
_LONGEST_FOOT = 200
_ORG_HEADING = re.compile(r"^(?:\*\*+ \S|#\+\w+|:PROPERTIES:)", re.MULTILINE)
# A passage does not show how often each mark is used above it: this is their usual order.
_UNDERLINE_LEVELS = {"#": 1.0, "*": 1.3, "=": 1.6, "-": 2.0, "~": 3.0, "^": 4.0, '"': 5.0}
_SECTION, _SUBSECTION, _DEEPEST = 2, 3, 7


def read_heading(reader: UnitReader, at: int) -> int:
    """Read a heading, which ends the context of what precedes it."""
    found = _find_heading(reader, at)
    if not found:
        return 0
    end, level, text = found
    line = reader.lines[at]
    reader.add("heading", line.start, line.end)
    if NOTICE.match(text):
        begin_note(reader, at, text)
    elif text:
        reader.push_heading(level, text)
        reader.contexts, reader.base = [], None
    return end


def _find_heading(reader: UnitReader, at: int) -> tuple[int, float, str] | None:
    """The line after the heading at a line, its level and its text, which is empty for a mere rule."""
    line, below = reader.lines[at], reader.line(at + 1)
    if marks := HEADING.match(line.text):
        return at + 1, len(marks.group().rstrip()), line.text.strip("#=* ¶")
    if line.text.startswith("* ") and line.indent == 0 and _ORG_HEADING.search(reader.text):
        return at + 1, 1, line.text.strip("* ")
    if tex := TEX_HEADING.match(line.text):
        return at + 1, TEX_LEVELS[tex[1]], tex[2]
    if page := PAGE_HEAD.match(line.text):
        return at + 1, 1, page[1]
    if _UNDERLINE.match(line.text) or (len(line.text) <= _LONGEST_FOOT and _PAGE_FOOT.match(line.text)):
        return at + 1, 0, ""
    if reader.note and at + 1 == reader.note_end:
        return None  # the end of a box
    if below and (rule := _UNDERLINE.match(below.text)) and len(below.text) >= min(3, len(line.text)):
        is_title = len(line.text) <= LONGEST_LABEL and not line.text.startswith("|")
        return (at + 2, _UNDERLINE_LEVELS.get(rule[1], 6.0), line.text.strip("¶")) if is_title else None
    if below and (line.indent, below.indent) == (3, 7) and len(line.text) <= LONGEST_LABEL:
        return at + 1, _SUBSECTION, line.text
    is_alone = not below or not below.text or below.indent > line.indent
    is_capitals = line.text.isupper() and len(line.text) <= LONGEST_LABEL and not OPTION.match(line.text)
    has_words = len(re.findall(r"[^\W\d_]{2,}", line.text)) > 0 and not END.search(line.text)
    if is_alone and is_capitals and has_words and line.indent <= 3:
        in_manual = bool(below and below.text) or line.indent > 0
        return at + 1, (_SUBSECTION if line.indent else _SECTION) if in_manual else _DEEPEST, line.text
    return None
