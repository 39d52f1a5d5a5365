"""Directives of reStructuredText: code, remarks, tables, and the objects, options and settings that are described."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.code_units import add_code
from shortlist.answer.extractive.units.note_units import read_remark_directive
from shortlist.answer.extractive.units.table_units import read_table_directive
from shortlist.answer.extractive.units.unit_reader import UnitReader
from shortlist.index.text.lines import DIRECTIVE

_CODE = re.compile(
    r"(?:code|sourcecode|doctest|test|literalinclude|productionlist|math|parsed-literal|highlight|index|toctree|include"
    r"|image|figure|raw|only|contents|currentmodule|program$)"
)
_OBJECT = re.compile(
    r"(?:\w+:)?(?:option|envvar|confval|setting|\w*function|\w*method|attribute|data|class|exception)$"
)
_TARGET = re.compile(r"\.\.(?:\s+(?:_[^:]+:|\||\[|(?![\w:+-]+::)\S)|$)")
_OPTION = re.compile(r":([\w-]+):(?:\s|$)")
_FIELDS = re.compile(r":(?:type|default|value|required|since|status):\s+\S")


def read_directive(reader: UnitReader, at: int) -> int:
    """Read a directive with its options, and what is part of it."""
    line = reader.lines[at]
    if _TARGET.match(line.text):
        return add_code(reader, at, at + 1)
    directive = DIRECTIVE.match(line.text)
    if not directive:
        return 0
    name, argument = directive.groups()
    for read in (read_remark_directive, read_table_directive):
        if end := read(reader, at, name, argument):
            return end
    end, is_code, is_object = at + 1, bool(_CODE.match(name)), bool(_OBJECT.match(name))
    while (more := reader.line(end)) and (
        (_OPTION.match(more.text) and not (is_object and _FIELDS.match(more.text)))
        or (is_code and (not more.text or more.indent > line.indent))
    ):
        end += 1
    if is_code:
        return add_code(reader, at, end)
    if is_object:
        while (more := reader.line(end)) and more.text and more.indent > line.indent and more.text[0] != ":":
            argument = f"{argument}, {more.text}"  # another signature
            end += 1
    above = reader.line(at - 1)
    if argument and reader.contexts and above and (before := DIRECTIVE.match(above.text)) and before[1] == name:
        argument = f"{reader.contexts[-1][1]}, {argument}"
    reader.add("signature" if argument else "heading", line.start, reader.lines[end - 1].end)
    reader.push_context(line.indent, argument)
    return end
