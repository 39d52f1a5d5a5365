"""Entries of logs, chats and schedules: lines that begin with a time or a date, or with the name of who speaks."""

from __future__ import annotations

import re
from collections import Counter

from shortlist.answer.extractive.units.unit_reader import QUESTION_MARKS, UnitReader
from shortlist.index.text.lines import Line

LONGEST_ENTRY = 160  # characters of a line that is one unit; a longer one is split into sentences
_LONGEST_STAMP = 20  # characters in which a number begins
_LEAST_SPOKEN = 3  # lines of a paragraph with names of speakers

_MONTH = r"(?:Jan|Feb|M[aä]r|Mrz|A[pv]r|Ma[iyj]|Ju[nl]|Aug|Sep|O[ck]t|Nov|De[cz])[^\W\d_]*\b"
_DATE = rf"(?:\d{{4}}-\d\d?-\d\d?|\d{{1,2}}[./-]\d{{1,2}}(?:[./-](?:\d{{2,4}})?)?|\d{{1,2}}\.? {_MONTH})"
_DIGIT = re.compile(r"\d")
_STAMP = re.compile(
    rf"[\[(*]*(?:[A-Z][^\W\d_]{{1,9}}[.,]? )?(?:{_DATE}|\d{{1,2}}:\d\d|\d{{1,2}}h\d\d)[^\w\n].*[^\W\d_]{{2}}"
)
_SPEAKER = re.compile(r"([A-ZÀ-Þ][\w.'’-]*(?: [\w.'’()-]+){0,2}):\s+(?=\S)")


def read_entry(reader: UnitReader, at: int) -> int:
    """Read a line that begins with a time, a date or a speaker, as others near it do."""
    if not begins_entry(reader, at):
        return 0
    line = reader.lines[at]
    spans = [(line.start, line.end)]
    if len(line.text) > LONGEST_ENTRY or any(mark in line.text for mark in QUESTION_MARKS):
        spans = reader.split_sentences(line.start, line.end)
    for start, stop in spans:
        is_question = reader.text[start:stop].endswith(QUESTION_MARKS)
        reader.add("question" if is_question else "sentence", start, stop)
    return at + 1


def begins_entry(reader: UnitReader, at: int) -> bool:
    """Whether a line is one of several that begin with a time or a date, or of several that people say by turns."""
    line = reader.lines[at]
    if _DIGIT.search(line.text, 0, _LONGEST_STAMP) and _STAMP.match(line.text):
        return any(_is_alike(line, reader.line(near)) for near in (at - 1, at + 1, at - 2, at + 2))
    if ": " not in line.text or not _SPEAKER.match(line.text):
        return False
    begin = at
    while begin and reader.lines[begin - 1].text:
        begin -= 1
    block = reader.lines[begin : reader.block_end(at)]
    speakers = Counter(spoken[1] for one in block if (spoken := _SPEAKER.match(one.text)))
    return speakers.total() >= max(_LEAST_SPOKEN, len(block) / 2) and speakers.total() > len(speakers)


def _is_alike(line: Line, other: Line | None) -> bool:
    return bool(other and other.indent == line.indent and _STAMP.match(other.text))
