"""Source code of a file: its comments, docstrings and named values; what else is in it is code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.comment_units import add_below_comment, add_comment
from shortlist.answer.extractive.units.unit_reader import UnitReader, show
from shortlist.index.text.lines import Line
from shortlist.index.text.source_code import GRAMMARS

_DATA = frozenset({".sql", ".json5", ".jsonc"})  # each line of these has a name and what is declared of it
SUFFIXES = frozenset(GRAMMARS) | _DATA | {".kt", ".swift", ".lua", ".r", ".pl", ".ps1", ".jl", ".css", ".scss", ".zsh"}

_LINE_COMMENT = re.compile(r"#(?!\w)|//|--(?=\s|$)")
_BLOCK_COMMENT = re.compile(r"/\*|[rRuU]?(\"{3}|'{3})")
_BESIDE = re.compile(r"\s(?:#|//|--)\s+\S+\s+\S")  # a comment of several words
_NAMED = re.compile(
    r"(?:(?:export|const|let|var|val|static|final|public|private|protected|pub|readonly|local|declare|#define)\s+)*"
    r"(?P<key>[\w.$-]+|\"[^\"]+\"|'[^']+')(?P<type>\s*:\s*[\w.\[\], |&<>]+(?==))?"
    r"(?:\s*=(?![=>])|\s*:\s|(?<=[A-Z_])\s)\s*\S"
)
_WORD = re.compile(r"(?P<key>\w+)\s+\S")
_OPENS = re.compile(r"[\s\w)\]>][({\[:]$")
_LEVEL = 10  # below all headings


def read_source(reader: UnitReader, at: int) -> int:
    """Read a passage of a file of source code."""
    if at or reader.suffix not in SUFFIXES:
        return 0
    comment: list[Line] = []
    code: list[Line] = []
    while at < len(reader.lines):
        line = reader.lines[at]
        end = at + 1
        if block := _BLOCK_COMMENT.match(line.text):
            end = _find_block_end(reader, at, block[1] or "*/")
        is_comment = bool(block or _LINE_COMMENT.match(line.text))
        kind, key = ("", "") if is_comment or not line.text else _read_statement(line, reader.suffix)
        if kind != "code":
            _add_code(reader, code)
            code = []
        if block or not (is_comment or key):
            add_comment(reader, comment)
            comment = []
        if block:
            _add_paragraphs(reader, reader.lines[at:end])
        elif is_comment:
            comment.append(line)
        elif line.text:
            reader.headings = [one for one in reader.headings if one[0] <= _LEVEL + line.indent]
            if kind == "code":
                code.append(line)
            else:
                add_below_comment(reader, kind, comment, line, show(line.text), key)
                comment = []
            if _OPENS.search(line.text):
                reader.push_heading(_LEVEL + 1 + line.indent, line.text[:-1].rstrip(" =(:"))
        at = end
    _add_code(reader, code)
    add_comment(reader, comment)
    return at


def _find_block_end(reader: UnitReader, at: int, closing: str) -> int:
    """The line after a comment or a docstring of several lines."""
    opening = reader.lines[at].text
    if closing in opening[opening.find(closing) + 3 :] or (closing == "*/" and closing in opening):
        return at + 1
    ends = (number for number in range(at + 1, len(reader.lines)) if closing in reader.lines[number].text)
    return next(ends, len(reader.lines) - 1) + 1


def _read_statement(line: Line, suffix: str) -> tuple[str, str]:
    """The kind of a line of code, and the name that it gives to a value.

    A value is what may answer if it is more than a step of a function: declared, constant or with a comment beside it.
    """
    named = _NAMED.match(line.text)
    has_comment = bool(_BESIDE.search(line.text))
    if _OPENS.search(line.text):
        return "code", ""
    if suffix in _DATA and (word := named or _WORD.match(line.text)):
        return "definition", word["key"].strip("\"'")
    if not named:
        return "item" if has_comment else "code", ""
    is_declared = bool(named["type"]) or named["key"].isupper() or named["key"][0] in "\"'" or not line.indent
    return ("definition", named["key"].strip("\"'")) if is_declared or has_comment else ("code", "")


def _add_paragraphs(reader: UnitReader, lines: Sequence[Line]) -> None:
    paragraph: list[Line] = []
    for line in lines:
        if not line.text:
            add_comment(reader, paragraph)
            paragraph = []
        else:
            paragraph.append(line)
    add_comment(reader, paragraph)


def _add_code(reader: UnitReader, lines: Sequence[Line]) -> None:
    if lines:
        reader.add("code", lines[0].start, lines[-1].end)
