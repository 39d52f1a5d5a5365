"""Code: fences, directives, consoles, and lines that look like it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.unit_reader import DIRECTIVE, END, FENCE, ON_ONE_LINE, OPTION, Line, UnitReader

_CODE_DIRECTIVES = re.compile(r"(?:code|sourcecode|doctest|test|literalinclude|productionlist|math|parsed-literal)")
CODE = re.compile(
    r"(?:>>>|\.\.\.(?:\s|$)|[$%]\s|//|/\*|#!|@\w+|</?\w[^>]*>|[}\])]+[;,]?$)"
    r"|.*[;{]$"
    r"|[\w.\[\]'\"]+(?:,\s*[\w.]+)*\s*[-+*/|]?=\s*\S"
    r"|[\w.]+\(.*\)[;:]?$"
    r"|[a-z][\w.+-]*\s(?:\S+\s)?(?:--?\w|\[[-A-Z{]|\{)"
    r"|\"[^\"]+\":\s|[\[({].*[\])}],?$"
    r"|(?:if|for|while|with|try|else|elif|except|finally)\b.*:$"
    r"|(?:def|class|import|from|return|raise|yield|assert|const|let|var|function|public|private|static|void|int|sudo|pip"
    r"|npm|git|docker|curl|export|echo|cd|make|SELECT|INSERT|UPDATE|CREATE)\s.*[^.,]$"
)


def read_fence(reader: UnitReader, at: int) -> int:
    """Read code between fences."""
    fence = FENCE.match(reader.lines[at].text)
    if not fence:
        return 0
    closing = (n for n in range(at + 1, len(reader.lines)) if reader.lines[n].text.startswith(fence.group()))
    return add_code(reader, at, next(closing, len(reader.lines) - 1) + 1)


def read_directive(reader: UnitReader, at: int) -> int:
    """Read a directive of reStructuredText: code, or the signature or heading of what follows."""
    directive = DIRECTIVE.match(reader.lines[at].text)
    if not directive:
        return 0
    name, argument = directive.groups()
    end, indent = at + 1, reader.lines[at].indent
    is_code = bool(_CODE_DIRECTIVES.match(name))
    while end < len(reader.lines) and (
        re.match(r":[\w-]+:(?:\s|$)", reader.lines[end].text)
        or (is_code and (not reader.lines[end].text or reader.lines[end].indent > indent))
    ):
        end += 1
    if is_code:
        return add_code(reader, at, end)
    reader.add("signature" if argument else "heading", reader.lines[at].start, reader.lines[at].end)
    if not name.startswith("version"):
        reader.push_context(indent, argument)
    return end


def read_console(reader: UnitReader, at: int) -> int:
    """Read what a user types at a prompt."""
    is_prompt = reader.lines[at].text.startswith((">>>", "$ ", "% "))
    return add_code(reader, at, reader.block_end(at)) if is_prompt else 0


def read_code(reader: UnitReader, at: int) -> int:
    """Read a block that looks like code."""
    return add_code(reader, at, reader.block_end(at)) if _is_code(reader, at) else 0


def read_open_fence(reader: UnitReader) -> int:
    """Read the code at the beginning of a passage that begins between two fences."""
    fences = [at for at, line in enumerate(reader.lines) if FENCE.match(line.text)]
    if len(fences) % 2 == 0 or not FENCE.fullmatch(reader.lines[fences[0]].text):
        return 0
    before = [line for line in reader.lines[: fences[0]] if line.text]
    return add_code(reader, 0, fences[0] + 1) if looks_like_code(before) else 0


def add_code(reader: UnitReader, at: int, end: int) -> int:
    """Add some lines as code."""
    reader.add("code", reader.lines[at].start, reader.lines[end - 1].end)
    return end


def _is_code(reader: UnitReader, at: int) -> bool:
    before = reader.line(at - 1)
    if before and before.text and reader.units and reader.units[-1].kind == "definition":
        return False
    block = reader.lines[at : reader.block_end(at)]
    return looks_like_code(block) or is_indented_code(reader, at, block) or reader.heading == "SYNOPSIS"


def is_indented_code(reader: UnitReader, at: int, block: Sequence[Line]) -> bool:
    """Whether a block is indented further than prose, and is none."""
    if reader.base is None or block[0].indent < reader.base + 4 or not reader.is_block_start(at):
        return False
    is_prose = any(END.search(line.text) or OPTION.match(line.text) for line in block)
    return not is_prose and not any(ON_ONE_LINE.match(line.text) for line in block)


def looks_like_code(lines: Sequence[Line]) -> bool:
    """Whether at least half of the lines are code, and the last one does not end like a sentence."""
    if not lines or re.search(r"[a-z]{2}[.!?][\"')]*$", lines[-1].text):
        return False
    return 2 * sum(bool(CODE.match(line.text)) for line in lines) >= len(lines)
