"""Signatures of functions, classes and constants."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.code_units import CODE
from shortlist.answer.extractive.units.unit_reader import UnitReader, show

_KEYWORDS = (
    r"(?:class|exception|async|def|classmethod|staticmethod|abstractmethod|property|function|macro|static|const)"
)
_SIGNATURE = re.compile(
    rf"(?:(?:{_KEYWORDS}|(?:unsigned |struct )?(?:int|void|char|long|double|size_t|Py\w+))[\s*]+)*"
    r"(?:[A-Za-z_][\w.:]*\(.*\)(?:\s*(?:->|:)\s*\S+)?|[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]+_\w+)(?:\s*=\s*\S+)?$"
    r"|[a-z]\w* ?\([^.]*\) (?:->|→) [a-z][a-z\d_ \[\],]*$"  # SQL
)
_CLASS = re.compile(rf"{_KEYWORDS}\s+[\w.]+$")


def read_signature(reader: UnitReader, at: int) -> int:
    """Read a signature, which is the context of what is indented below it."""
    end = _find_signature(reader, at)
    if end:
        line = reader.lines[at]
        reader.add("signature", line.start, reader.lines[end - 1].end)
        reader.push_context(line.indent, show(reader.text[line.start : reader.lines[end - 1].end]))
    return end


def _find_signature(reader: UnitReader, at: int) -> int:
    text, end = reader.lines[at].text, at + 1
    while text.count("(") > text.count(")") and (following := reader.line(end)) and following.text and end < at + 8:
        text, end = f"{text} {following.text}", end + 1
    if text.endswith("¶") or ((_SIGNATURE.match(text) or _CLASS.match(text)) and not CODE.match(text[:1])):
        following = reader.line(end)
        return end if text.endswith("¶") or not (following and CODE.match(following.text)) else 0
    return 0
