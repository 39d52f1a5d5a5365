"""Prose: paragraphs of sentences, questions, labels and pairs of a key and its value."""

from __future__ import annotations

import re
from dataclasses import replace

from shortlist.answer.extractive.lexicon import get_lexicon
from shortlist.answer.extractive.units.definition_units import is_column_row
from shortlist.answer.extractive.units.entry_units import begins_entry
from shortlist.answer.extractive.units.list_units import begins_item
from shortlist.answer.extractive.units.note_units import find_note
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import (
    END,
    FENCE,
    FULL_STOP,
    HEADING,
    KEY,
    ON_ONE_LINE,
    QUESTION_MARKS,
    VERB,
    UnitReader,
    show,
)
from shortlist.index.text.entries import NAMED
from shortlist.index.text.languages import ENGLISH
from shortlist.index.text.lines import OPTION


def read_paragraph(reader: UnitReader, at: int) -> int:
    """Read the lines up to the next unit of another kind."""
    end = at + 1
    while (line := reader.line(end)) and line.text and not _interrupts(reader, end):
        end += 1
    note, first = reader.note, len(reader.units)
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
    reader.note = note
    _join_terms(reader, first)
    if reader.contexts and reader.contexts[-1][1].endswith(QUESTION_MARKS) and reader.units[-1].kind != "question":
        reader.contexts.pop()
    return end


def _join_terms(reader: UnitReader, first: int) -> None:
    """Make definitions of the labels of a paragraph, each with the sentence on the next line: text of <dt> and <dd>."""
    units, term = reader.units[first:], ""
    for at, unit in enumerate(units):
        above = units[at - 1] if at else None
        if unit.kind != "sentence" or not above or not FULL_STOP.search(unit.text) or " | " in unit.text:
            term = "" if unit.kind != "sentence" else term
        elif above.kind == "label" and (at == 1 or units[at - 2].kind != "label"):
            term = above.text
            text = show(reader.text[above.start : unit.end])
            units[at] = replace(unit, kind="definition", start=above.start, text=text, key=term)
        elif term:
            units[at] = replace(unit, context=f"{unit.context} {term}".strip(), subject=term)
    defined = {unit.start for unit in units if unit.kind == "definition"}
    reader.units[first:] = [unit for unit in units if unit.kind != "label" or unit.start not in defined]


def _interrupts(reader: UnitReader, at: int) -> bool:
    line = reader.lines[at]
    return bool(
        HEADING.match(line.text)
        or FENCE.match(line.text)
        or line.text.startswith((">>>", "|", ".. "))
        or at == reader.note_end
        or begins_entry(reader, at)
        or is_column_row(reader, at)
        or (OPTION.match(line.text) and ON_ONE_LINE.match(line.text) and line.indent > reader.lines[at - 1].indent)
        or (begins_item(reader, at) and not _is_wrapped_number(reader.lines[at - 1].text, line.text))
    )


def _add_prose(reader: UnitReader, start: int, end: int, is_alone: bool) -> None:
    for begin, stop in reader.split_sentences(start, end):
        text = reader.text[begin:stop]
        reader.note = find_note(text) or reader.note  # the rest of the paragraph belongs to it
        if text.endswith(QUESTION_MARKS):
            reader.add("question", begin, stop)
            reader.push_context(reader.base or 0, show(text))
        elif FULL_STOP.search(text) or stop != end:
            reader.add("sentence", begin, stop)
        elif (key := KEY.match(text)) and not text.endswith((":", "：")):
            reader.add("definition", begin, stop, key=key.group().strip(":： "))
        elif not text.endswith((":", "：")) and _is_label(text, reader.language):
            reader.add("label", begin, stop)
            if is_alone and (not text[0].islower() or NAMED.match(text)):
                reader.push_context(reader.base or 0, show(text))
        else:
            reader.add("sentence", begin, stop)


def _is_label(text: str, language: str) -> bool:
    """Whether a text without an end mark is a label: short, and without a verb where those are known."""
    if language == ENGLISH:
        return len(text) <= LONGEST_LABEL and not VERB.search(text)
    return len(text) <= (LONGEST_LABEL // 2 if get_lexicon(language).is_spaced else LONGEST_LABEL // 4)


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
