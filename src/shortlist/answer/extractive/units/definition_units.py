"""Definitions: a term with its description on the same line or indented below."""

from __future__ import annotations

import re

from shortlist.answer.extractive.sentences import split_sentences
from shortlist.answer.extractive.units.list_units import begins_item
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import DIRECTIVE, FULL_STOP, ON_ONE_LINE, OPTION, Line, UnitReader


def read_definition(reader: UnitReader, at: int) -> int:
    """Read a term with its description, on the same line or indented below; return the line after it, or 0."""
    line, below = reader.lines[at], reader.line(at + 1)
    same_line = ON_ONE_LINE.match(line.text)
    if same_line and _is_definition_line(reader, at, same_line.end()):
        begin, indent = line.start + same_line.end(), line.indent + same_line.end()
        key, end = same_line.group(1), at + 1
    else:
        first = at + 1
        if below and not below.text and OPTION.match(line.text):
            first, below = at + 2, reader.line(at + 2)
        if not (below and below.text and below.indent >= line.indent + 2 and _is_term(reader, at, below)):
            return 0
        begin, indent, key, end = below.start, below.indent, line.text, first + 1
    while (more := reader.line(end)) and more.text and more.indent >= min(indent, line.indent + 2):
        if begins_item(reader, end) or DIRECTIVE.match(more.text):
            break
        end += 1
    if reader.units and reader.units[-1].text.endswith(":") and (intro := reader.take_introduction()):
        reader.push_context(line.indent, intro.text)
    spans = split_sentences(reader.text, begin, reader.lines[end - 1].end)
    reader.add("definition", line.start, spans[0][1], key=key)
    reader.push_context(line.indent + 1, key)
    for start, stop in spans[1:]:
        reader.add("sentence", start, stop)
    reader.base = indent
    return end


def _is_definition_line(reader: UnitReader, at: int, width: int) -> bool:
    line, below = reader.lines[at], reader.line(at + 1)
    if not reader.is_block_start(at):
        return False
    is_option = bool(OPTION.match(line.text))
    if below and below.text and below.indent != line.indent:
        return below.indent == line.indent + width
    return is_option or not FULL_STOP.search(line.text[:width].rstrip())


def _is_term(reader: UnitReader, at: int, below: Line) -> bool:
    line = reader.lines[at]
    width = max(len(one.text) for one in reader.lines[at : min(reader.block_end(at), at + 20)])
    is_wrapped = len(line.text) + len(below.text.split()[0]) + 1 > width
    is_short = len(line.text) <= LONGEST_LABEL and not is_wrapped
    return reader.is_block_start(at) and is_short and not re.search(r"[.!?;,]$", line.text)
