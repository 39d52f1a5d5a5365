"""Comments and docstrings: sentences whose wrapped lines are joined without the marks of comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shortlist.answer.extractive.sentences import split_sentences
from shortlist.answer.extractive.units.unit_reader import FULL_STOP, KEY, UnitReader, show
from shortlist.index.text.lines import Line

_MARK = re.compile(r"(?:#+!?|;+|//+!?|--+|/\*+|\*+(?![*/\w])|\"{3}|'{3})\s*")
_CLOSING = re.compile(r"\s*(?:\*+/|\"{3}|'{3})$")
_LEAST_WIDTH = 60  # characters of the longest line of a comment that is wrapped


def add_comment(reader: UnitReader, lines: Sequence[Line]) -> None:
    """Add the sentences of a comment."""
    bare = [one for line in lines if (one := _strip_marks(line)).text]
    width = max((len(line.text) for line in bare), default=0)
    is_prose = bool(bare and FULL_STOP.search(bare[-1].text))
    begin = 0
    for at, line in enumerate(bare, 1):
        below = bare[at].text if at < len(bare) else ""
        goes_on = is_prose and below[:1].islower()
        is_full = width >= _LEAST_WIDTH and len(f"{line.text} {below.partition(' ')[0]}") > width
        if not below or KEY.match(below) or not (goes_on or is_full):
            _add_sentences(reader, bare[begin:at])
            begin = at


def add_below_comment(reader: UnitReader, kind: str, comment: Sequence[Line], line: Line, text: str, key: str) -> None:
    """Add a line, as this text, with the comment above it, if there is one, on a line of its own."""
    above = show(" ".join(_strip_marks(one).text for one in comment))
    whole = f"{above}\n{text}" if comment else line.text
    reader.add(kind, comment[0].start if comment else line.start, line.end, text=whole, key=key)


def _strip_marks(line: Line) -> Line:
    mark = _MARK.match(line.text)
    start = mark.end() if mark else 0
    text = _CLOSING.sub("", line.text[start:])
    return Line(line.start + start, line.start + start + len(text), line.indent, text)


def _add_sentences(reader: UnitReader, lines: Sequence[Line]) -> None:
    text = " ".join(line.text for line in lines)
    places = [place for line in lines for place in range(line.start, line.end + 1)]
    for start, stop in split_sentences(text, language=reader.language):
        reader.add("item", places[start], places[stop - 1] + 1, text=show(text[start:stop]))
