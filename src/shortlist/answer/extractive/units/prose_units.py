"""Prose: paragraphs of sentences, questions, labels and pairs of a key and its value."""

from __future__ import annotations

import re

from shortlist.answer.extractive.sentences import split_sentences
from shortlist.answer.extractive.units.list_units import begins_item
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import (
    END,
    FENCE,
    FULL_STOP,
    HEADING,
    KEY,
    VERB,
    UnitReader,
    show,
)


def read_paragraph(reader: UnitReader, at: int) -> int:
    """Read the lines up to the next unit of another kind."""
    end = at + 1
    while (line := reader.line(end)) and line.text and not _interrupts(reader, end):
        end += 1
    lines = reader.lines[at:end]
    width = max(len(line.text) for line in lines)
    reader.base = min(line.indent for line in lines)
    begin = lines[0].start
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else None
        if below and _is_wrapped(line.text, below.text, width):
            continue
        _add_prose(reader, begin, line.end, is_alone=len(lines) == 1)
        begin = below.start if below else begin
    if reader.contexts and reader.contexts[-1][1].endswith("?") and reader.units[-1].kind != "question":
        reader.contexts.pop()
    return end


def _interrupts(reader: UnitReader, at: int) -> bool:
    line = reader.lines[at]
    return bool(
        HEADING.match(line.text)
        or FENCE.match(line.text)
        or line.text.startswith((">>>", "|", ".. "))
        or (begins_item(reader, at) and not _is_wrapped_number(reader.lines[at - 1].text, line.text))
    )


def _add_prose(reader: UnitReader, start: int, end: int, is_alone: bool) -> None:
    for begin, stop in split_sentences(reader.text, start, end):
        text = reader.text[begin:stop]
        if text.endswith("?"):
            reader.add("question", begin, stop)
            reader.push_context(reader.base or 0, show(text))
        elif FULL_STOP.search(text) or stop != end:
            reader.add("sentence", begin, stop)
        elif (key := KEY.match(text)) and not text.endswith(":"):
            reader.add("definition", begin, stop, key=key.group().strip(": "))
        elif not text.endswith(":") and len(text) <= LONGEST_LABEL and not VERB.search(text):
            reader.add("label", begin, stop)
            if is_alone and not text[0].islower():
                reader.push_context(reader.base or 0, show(text))
        else:
            reader.add("sentence", begin, stop)


def _is_wrapped(text: str, below: str, width: int) -> bool:
    """Whether a sentence continues on the next line: its first word would not have fitted, or it is in lower case."""
    if re.match(r"(?:[A-Z]|\w{1,20}):\s", below) and END.search(text):
        return False
    if KEY.match(text) and KEY.match(below):
        return False
    first = below.split()[0]
    return below[0].islower() or len(text) + 1 + len(first) > 0.8 * width


def _is_wrapped_number(text: str, below: str) -> bool:
    return bool(re.match(r"\d", below)) and not END.search(text)
