"""Definitions: terms with their description on the same line or below, and fields such as `:default: 80`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.list_units import begins_item
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import FULL_STOP, ON_ONE_LINE, UnitReader, show
from shortlist.index.text.entries import MOST_TERMS
from shortlist.index.text.lines import DIRECTIVE, OPTION, Line

LONGEST_OPTION = 120  # characters of a line of options: a term may have many, with their arguments

_FIELD = re.compile(r":([A-Za-z][^:`\n]{0,60}):\s+(?=\S)")
_COLONS = re.compile(r"(\S(?:.{0,78}?\S)?)(?:::|;;)(?:\s+(?=\S)|$)")  # AsciiDoc
_SQL = re.compile(r"([a-z]\w* ?\([^()]*\) (?:→|->) [a-z][\w \[\],]*?)\s+(?=[A-Z])")  # with its description
_LEADER = re.compile(r"(?P<key>[^\s.](?:.{0,80}?[^\s.])??)\s*\.{4,}\s*(?=[^\s.])")  # a row of dots
_GAP = re.compile(r"\s\s")
_COLUMNS = re.compile(r"(?P<key>\S(?:.{0,60}?[^\s.!?])??)(?P<gap>\s{2,})(?=\S)")
_ONLY_OPTION = re.compile(r"--?\w[^.!?:]*$")


def read_definition(reader: UnitReader, at: int) -> int:
    """Read terms with their description; return the line after it, or 0."""
    for read in (
        _read_field,
        _read_after_signature,
        _read_after_colons,
        _read_column_row,
        _read_on_one_line,
        _read_indented,
        _read_below_option,
    ):
        if end := read(reader, at):
            return end
    return 0


def _read_field(reader: UnitReader, at: int) -> int:
    line = reader.lines[at]
    field = _FIELD.match(line.text)
    if not field:
        return 0
    end = at + 1
    while (more := reader.line(end)) and more.text and more.indent > line.indent:
        end += 1
    return _add(reader, at, line.start + field.end(), end, field[1])


def _read_after_signature(reader: UnitReader, at: int) -> int:
    line = reader.lines[at]
    signature = _SQL.match(line.text)
    return _add(reader, at, line.start + signature.end(), at + 1, signature[1]) if signature else 0


def _read_after_colons(reader: UnitReader, at: int) -> int:
    terms = []
    end = at
    while (line := reader.line(end)) and (term := _COLONS.match(line.text)):
        terms.append(term[1])
        end += 1
        if term.end() < len(line.text):
            begin = line.start + term.end()
            break
    else:
        if not terms or not line or not line.text or DIRECTIVE.match(line.text):
            return 0
        begin = line.start
    while (more := reader.line(end)) and more.text and more.text != "+" and not _COLONS.match(more.text):
        end += 1
    return _add(reader, at, begin, end, ", ".join(terms))


def is_column_row(reader: UnitReader, at: int) -> bool:
    """Whether a line has columns: like a line near it, or with a row of dots between them."""
    line = reader.lines[at]
    if "...." in line.text and _LEADER.match(line.text):
        return True
    row = _COLUMNS.match(line.text) if _GAP.search(line.text) else None
    if not row or OPTION.match(line.text):
        return False
    for near in (at - 1, at + 1, at - 2, at + 2):
        other = reader.line(near)
        if other and other.indent == line.indent and (like := _COLUMNS.match(other.text)) and like.end() == row.end():
            return max(len(row["gap"]), len(like["gap"])) > 2
    return False


def _read_column_row(reader: UnitReader, at: int) -> int:
    if not is_column_row(reader, at):
        return 0
    line = reader.lines[at]
    row, end = _LEADER.match(line.text) or _COLUMNS.match(line.text), at + 1
    while (more := reader.line(end)) and more.text and more.indent > line.indent and not is_column_row(reader, end):
        end += 1
    return _add(reader, at, line.start + row.end(), end, row["key"]) if row else 0


def _read_on_one_line(reader: UnitReader, at: int) -> int:
    line, below = reader.lines[at], reader.line(at + 1)
    match = ON_ONE_LINE.match(line.text)
    if not match or not reader.is_block_start(at):
        return 0
    indent = line.indent + match.end()
    if below and below.indent > line.indent:
        if below.indent != indent:
            return 0
    elif not OPTION.match(line.text) and FULL_STOP.search(match[1] or match[2]):
        return 0
    end = _find_end(reader, at + 1, indent, line)
    return _add(reader, at, line.start + match.end(), end, match[1] or match[2], indent)


def _read_indented(reader: UnitReader, at: int) -> int:
    terms = _find_terms(reader, at)
    first = at + 2 * len(terms) - 1 if terms and len(terms) > 1 and not reader.lines[at + 1].text else at + len(terms)
    line, below = reader.lines[at], reader.line(first)
    if below and not below.text and OPTION.match(line.text):
        first, below = first + 1, reader.line(first + 1)
    if not (below and below.text and below.indent >= line.indent + 2 and _is_term(reader, at, below)):
        return 0
    if OPTION.match(below.text) and ON_ONE_LINE.match(below.text) and not OPTION.match(line.text):
        return 0
    if is_column_row(reader, first) and not OPTION.match(line.text):
        return 0
    end = _find_end(reader, first + 1, below.indent, line)
    return _add(reader, at, below.start, end, ", ".join(one.text.rstrip(",") for one in terms), below.indent)


def _read_below_option(reader: UnitReader, at: int) -> int:
    """Read options whose description is not indented, as in text of HTML: directly below, or in the next paragraphs."""
    terms = _find_terms(reader, at)
    if not reader.is_block_start(at) or not all(_ONLY_OPTION.match(one.text) for one in terms):
        return 0
    line, first = reader.lines[at], at + len(terms)
    key, below = ", ".join(one.text.rstrip(",") for one in terms), reader.line(first)
    if len(key) > LONGEST_OPTION or not below or below.indent != line.indent * bool(below.text):
        return 0
    if not below.text:
        if not (following := reader.line(first + 1)) or following.indent != line.indent:
            return 0
        reader.add("label", line.start, terms[-1].end)
        reader.push_context(line.indent, key)
        return first
    if not below.text[0].isupper():
        return 0
    reader.contexts = [(indent, above) for indent, above in reader.contexts if indent < line.indent]
    end = first + 1
    while (more := reader.line(end)) and more.text and not _ONLY_OPTION.match(more.text):
        end += 1
    return _add(reader, at, below.start, end, key)


def _find_terms(reader: UnitReader, at: int) -> Sequence[Line]:
    """The line of a term, and those of further options that share its description."""
    line, terms = reader.lines[at], [reader.lines[at]]
    step = 2 if (below := reader.line(at + 1)) and not below.text else 1
    while OPTION.match(line.text) and len(terms) < MOST_TERMS:
        more = reader.line(at + step * len(terms))
        if not more or not OPTION.match(more.text):
            break
        if more.indent != line.indent or ON_ONE_LINE.match(more.text) or len(more.text) > LONGEST_OPTION:
            break
        terms.append(more)
    return terms


def _find_end(reader: UnitReader, end: int, indent: int, line: Line) -> int:
    while (more := reader.line(end)) and more.text and more.indent >= min(indent, line.indent + 2):
        if begins_item(reader, end) or DIRECTIVE.match(more.text):
            break
        end += 1
    return end


def _add(reader: UnitReader, at: int, begin: int, end: int, key: str, indent: int | None = None) -> int:
    """Add a definition, which is its term and the first sentence of its description, and the other sentences."""
    line = reader.lines[at]
    if reader.units and reader.units[-1].text.endswith(":") and (intro := reader.take_introduction()):
        reader.push_context(line.indent, intro.text)
    (_, first), *others = reader.split_sentences(begin, reader.lines[end - 1].end)
    reader.add("definition", line.start, first, key=show(key))
    reader.push_context(line.indent + 1, show(key))
    for start, stop in others:
        reader.add("sentence", start, stop)
    if indent is not None:
        reader.base = indent
    reader.after_definition = end
    return end


def _is_term(reader: UnitReader, at: int, below: Line) -> bool:
    line = reader.lines[at]
    if not reader.is_block_start(at):
        return False
    if OPTION.match(line.text):
        return len(line.text) <= LONGEST_OPTION and not re.search(r"[.!?;]$", line.text)
    width = max(len(one.text) for one in reader.lines[at : min(reader.block_end(at), at + 20)])
    is_wrapped = len(line.text) + len(below.text.split()[0]) + 1 > width
    return len(line.text) <= LONGEST_LABEL and not is_wrapped and not re.search(r"[.!?;,]$", line.text)
