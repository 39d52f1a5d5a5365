"""Entries of a document that a passage should not cut: definitions of a term, and rows of a table below its header."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from shortlist.index.text.headings import WITH_HEADINGS, is_manual_page
from shortlist.index.text.lines import DIRECTIVE, OPTION, TABLE_BORDER, Line, is_table_line, split_lines

LONGEST_LABEL = 80
LONGEST_HEADER = 240
MOST_TERMS = 20  # that share a description

# Texts in which indentation below a line makes that line the term of a definition. In code it is that of a block.
_LAID_OUT = frozenset({".txt", ".rst", ".rest", ".adoc", ".asciidoc", ""})
_WITH_TABLES = WITH_HEADINGS | _LAID_OUT | {".org", ".pdf"}
_HEADER_RULE = re.compile(r"(?:[\s:|+=-]*+[─═])*+(?=[\s:|+=-]*+$)[^─═]*?(?:--|==)")  # in linear time
_NO_TERM = re.compile(r"[.!?;,:{(\[=]$|[-*+•]\s|\d+[.)]\s|>>>|[#$>%]\s")
_ON_ONE_LINE = re.compile(r"(?:(--?\w(?:.{0,60}?\S)??)\s{2,}|(\S(?:.{0,40}?\S)??)\s{3,})(?=\S)")
_REMARK = re.compile(r"(?:version|deprecated|note|warning|tip|caution|important|code|sourcecode|seealso|rubric)")


# A paragraph that names what the next ones describe: a signature of a page made by Sphinx, or a name with its type.
NAMED = re.compile(r"(?!#)\S.*¶$|(?=\S*[_.])[A-Za-z][\w.-]+(?: \([a-z][a-z ]*\))?$|[a-z]\w* \([a-z][a-z ]*\)$")


class Entry(NamedTuple):
    """A part of a text that begins and ends with a line.

    A passage that begins inside of it needs its label; one that begins with a row of a table does, too.
    """

    start: int
    end: int
    label: str
    is_row: bool = False


class Entries:
    """The entries of a text, some of which are part of others."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = sorted(entries, key=lambda entry: (entry.start, -entry.end))
        self._parents: list[int] = []
        for at, entry in enumerate(self._entries):
            parent = at - 1
            while parent >= 0 and self._entries[parent].end <= entry.start:
                parent = self._parents[parent]
            self._parents.append(parent)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def find_around(self, place: int) -> list[Entry]:
        """The entries that contain a place, outermost first."""
        at = bisect_right(self._entries, place, key=lambda entry: entry.start) - 1
        around = []
        while at >= 0:
            if self._entries[at].end > place:
                around.append(self._entries[at])
            at = self._parents[at]
        return around[::-1]


def find_entries(text: str, source: str, headings: Collection[int] = ()) -> Entries:
    """The entries of a text; none starts with a heading."""
    suffix = PurePath(source).suffix.lower()
    is_manual = is_manual_page(text)
    if suffix not in _WITH_TABLES and not is_manual:
        return Entries()
    lines = split_lines(text)
    entries = [*_find_rows(text, lines), *_find_described(lines, headings)]
    if suffix in _LAID_OUT or is_manual:
        entries += (entry for entry in _find_definitions(text, lines) if entry.start not in headings)
    return Entries(entries)


def _find_rows(text: str, lines: Sequence[Line]) -> Iterator[Entry]:
    """The rows of tables, each with the header of its table as the label."""
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and is_table_line(lines[end].text):
            end += 1
        if end - at > 2:
            yield from _split_rows(text, lines[at:end])
        at = max(end, at + 1)


def _split_rows(text: str, table: Sequence[Line]) -> Iterator[Entry]:
    """The rows between the borders of a table, or its lines; the first one includes the header."""
    has_borders = bool(TABLE_BORDER.match(table[0].text))
    rules = [at for at, line in enumerate(table) if _HEADER_RULE.match(line.text) or TABLE_BORDER.match(line.text)]
    ends = [*(at for at in rules[1:] if at), len(table)] if has_borders else list(range(1, len(table) + 1))
    has_header = has_borders or rules[:1] == [1]
    header = table[1 if has_borders else 0].text if has_header else ""
    label = " | ".join(cell.strip() for cell in re.split(r"[|│]", header.strip("|│ ")))[:LONGEST_HEADER]
    begin = 0
    for end in ends[(1 if has_borders else 2) if has_header else 0 :]:
        yield Entry(_line_start(text, table[begin].start), table[end - 1].end, label, is_row=bool(begin and label))
        begin = end


def _find_described(lines: Sequence[Line], headings: Collection[int]) -> Iterator[Entry]:
    """The paragraphs below a name that are not indented, up to the next name or heading."""
    label, start, end = "", 0, 0
    for number, line in enumerate(lines):
        is_alone = not (number and lines[number - 1].text) and not (number + 1 < len(lines) and lines[number + 1].text)
        is_name = line.indent == 0 and bool(NAMED.match(line.text)) and (is_alone or line.text.endswith("¶"))
        if label and end > start + len(label) + 1 and (is_name or line.start in headings):
            yield Entry(start, end, label)
        if is_name or line.start in headings:
            label, start = line.text.rstrip("¶")[: 2 * LONGEST_LABEL] if is_name else "", line.start
        end = line.end if line.text else end
    if label and end > start + len(label) + 1:
        yield Entry(start, end, label)


def _find_definitions(text: str, lines: Sequence[Line]) -> Iterator[Entry]:
    """The terms with what is indented below them, or follows on their line, each with the term as its label."""
    shown = [at for at, line in enumerate(lines) if line.text]
    number = 0
    while number < len(shown):
        at = shown[number]
        line = lines[at]
        last = number + 1  # the first line that is not one of further options of this description
        labels = [_find_label(line.text)]
        while last < len(shown) and OPTION.match(line.text) and 0 < len(labels) < MOST_TERMS:
            more = lines[shown[last]]
            if more.indent != line.indent or not OPTION.match(more.text) or _ON_ONE_LINE.match(more.text):
                break
            labels.append(more.text)
            last += 1
        is_start = at == 0 or not lines[at - 1].text or lines[at - 1].indent != line.indent
        if labels[0] and is_start and (end := _find_end(lines, shown, number, last)):
            label = ", ".join(labels)[: 2 * LONGEST_LABEL]
            yield Entry(_line_start(text, line.start), end, label)
        number = last


def _find_end(lines: Sequence[Line], shown: Sequence[int], number: int, last: int) -> int:
    """The end of the last line that belongs to a term, or 0 if none does."""
    line = lines[shown[number]]
    match = _ON_ONE_LINE.match(line.text)
    below = lines[shown[last]] if last < len(shown) else None
    is_near = last < len(shown) and (
        shown[last] == shown[last - 1] + 1 or OPTION.match(line.text) or line.text[0] == "."
    )
    is_term = bool(below and is_near and below.indent >= line.indent + 2)
    if match and is_term and below and below.indent != line.indent + match.end():
        return 0
    if not match and not is_term:
        return 0
    end = last
    while end < len(shown) and lines[shown[end]].indent > line.indent:
        end += 1
    return lines[shown[end - 1]].end


def _find_label(text: str) -> str:
    """The term in a line, or nothing if it cannot be one."""
    if directive := DIRECTIVE.match(text):
        return "" if _REMARK.match(directive[1]) else directive[2]
    if match := _ON_ONE_LINE.match(text):
        return match[1] or match[2]
    is_long = len(text) > (2 * LONGEST_LABEL if OPTION.match(text) else LONGEST_LABEL)
    return "" if is_long or (_NO_TERM.search(text) and not OPTION.match(text)) or is_table_line(text) else text


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
