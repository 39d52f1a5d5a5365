"""Code: fences, consoles, and lines that look like it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shortlist.answer.extractive.units.unit_reader import END, FENCE, ON_ONE_LINE, UnitReader
from shortlist.index.text.lines import OPTION, Line

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


def read_console(reader: UnitReader, at: int) -> int:
    """Read what a user types at a prompt."""
    if reader.lines[at].text.startswith(">>>"):
        return _add_examples(reader, at)
    is_prompt = reader.lines[at].text.startswith(("$ ", "% "))
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


def _add_examples(reader: UnitReader, at: int) -> int:
    """Add each example: what is typed, up to the result that it prints."""
    end, begin = reader.block_end(at), at
    for number in range(at, end):
        is_result = not reader.lines[number].text.startswith((">>>", "..."))
        is_last = number + 1 == end or (is_result and reader.lines[number + 1].text.startswith(">>>"))
        if is_last:
            reader.add("example" if is_result else "code", reader.lines[begin].start, reader.lines[number].end)
            begin = number + 1
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
