"""The lines of a text with their indentation, and the marks that several readers of structure share."""

from __future__ import annotations

import re
from typing import NamedTuple

OPTION = re.compile(r"--?\w")
DIRECTIVE = re.compile(r"\.\.\s+([\w:+-]+)::\s*(.*)$")
TABLE_BORDER = re.compile(r"\+(?:[-=]+\+)+$|[┌├└╒╞╘][─═┬┼┴┐┤┘╤╪╧╕╡╛]+$")

_LINE = re.compile(r"^[^\S\n]*((?:\S.*\S|\S)?)[^\S\n]*$", re.MULTILINE)


class Line(NamedTuple):
    """A line without the space around it, and the column in which it begins."""

    start: int
    end: int
    indent: int
    text: str


def split_lines(text: str) -> list[Line]:
    return [
        Line(match.start(1), match.end(1), len(text[match.start() : match.start(1)].expandtabs(8)), match.group(1))
        for match in _LINE.finditer(text)
    ]


def is_table_line(text: str) -> bool:
    """Whether a line is a row or a border of a table."""
    return (text[:1] in ("|", "│") and len(text) > 1) or " | " in text or bool(TABLE_BORDER.match(text))
