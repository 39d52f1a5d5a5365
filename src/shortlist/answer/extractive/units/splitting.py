"""Splits a passage into units: each kind of unit has a module that reads it.

A passage is read line by line. Lines that are wrapped belong together, whatever their indentation. Headings, code,
signatures, questions and halves of sentences are no answers, but they are the context of what follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shortlist.answer.extractive.sentences import split_sentences
from shortlist.answer.extractive.units.code_units import (
    read_code,
    read_console,
    read_fence,
    read_open_fence,
)
from shortlist.answer.extractive.units.definition_units import read_definition
from shortlist.answer.extractive.units.directive_units import read_directive
from shortlist.answer.extractive.units.entry_units import read_entry
from shortlist.answer.extractive.units.heading_units import read_heading
from shortlist.answer.extractive.units.list_units import read_list
from shortlist.answer.extractive.units.note_units import read_note
from shortlist.answer.extractive.units.prose_units import read_paragraph
from shortlist.answer.extractive.units.setting_units import read_settings
from shortlist.answer.extractive.units.signature_units import read_signature
from shortlist.answer.extractive.units.source_units import read_source
from shortlist.answer.extractive.units.table_units import read_table
from shortlist.answer.extractive.units.unit import ANSWERS, Unit
from shortlist.answer.extractive.units.unit_reader import FULL_STOP, UnitReader
from shortlist.index.text.headings import CONTINUED
from shortlist.index.text.languages import ENGLISH
from shortlist.index.text.lines import OPTION

# Each reads the unit that begins at a line and returns the line after it, or 0 if it is of another kind. The first that
# can read a line does; prose is what no other kind is.
KINDS: tuple[Callable[[UnitReader, int], int], ...] = (
    read_settings,
    read_source,
    read_fence,
    read_directive,
    read_console,
    read_table,
    read_note,
    read_heading,
    read_list,
    read_entry,
    read_signature,
    read_code,
    read_definition,
    read_paragraph,
)


def split_spans(text: str, language: str = ENGLISH) -> list[tuple[int, int]]:
    """Start and end of each sentence, heading and table row, also of those in a list."""
    spans: list[tuple[int, int]] = []
    for unit in split_units(text, language=language):
        if unit.kind == "row":
            spans.append((unit.start, unit.end))
        elif unit.kind != "list":
            spans += split_sentences(text, unit.start, unit.end, language)
    return spans


def split_units(
    text: str,
    *,
    begins_inside: bool = False,
    ends_inside: bool = False,
    language: str = ENGLISH,
    context: str = "",
    suffix: str = "",
) -> list[Unit]:
    """The units of a passage, which may begin or end inside of a sentence. A list comes before its items.

    `context` is the path of headings above the passage, as it was indexed; `suffix` is that of its file, such as ".py".
    """
    units = _read_units(UnitReader(text, language, context, suffix))
    answers = [at for at, unit in enumerate(units) if unit.kind not in ("heading", "signature")]
    if begins_inside and answers and not text[: units[answers[0]].start].strip():
        first = units[answers[0]].start
        units = [
            replace(unit, kind="half") if unit.start == first and _is_cut(unit, text, context) else unit
            for unit in units
        ]
    if ends_inside and units:
        units = [_check_end(unit, units, text) for unit in units]
    return units


def _is_cut(unit: Unit, text: str, context: str) -> bool:
    """Whether a unit at the beginning of a passage that begins inside of one may have begun before it."""
    if unit.kind not in ("sentence", "question", "row", "definition"):
        return False
    if unit.kind == "row" and (unit.text.startswith(("|", "│")) or (unit.headers and context.endswith(CONTINUED))):
        return False
    if unit.kind == "definition":  # an indented passage begins with a line, and inside of a term if that is above it
        is_line = text[:1].isspace() and not context.endswith(CONTINUED)
        return not (OPTION.match(unit.text) or is_line)
    return True


def _check_end(unit: Unit, units: Sequence[Unit], text: str) -> Unit:
    is_last = unit.end >= len(text.rstrip())
    if not is_last or unit.kind not in ANSWERS or unit.kind == "row" or FULL_STOP.search(unit.text):
        return unit
    others = [one for one in units if one.kind == "item" and one.group == unit.group and one is not unit]
    if unit.kind in ("item", "list") and not any(FULL_STOP.search(one.text) for one in others[:-1] or others):
        return unit
    return replace(unit, kind="half")


def _read_units(reader: UnitReader) -> list[Unit]:
    at = read_open_fence(reader)
    while at < len(reader.lines):
        line = reader.lines[at]
        if not line.text:
            at += 1
            continue
        if at >= reader.note_end:
            reader.note = ""
        reader.contexts = [(indent, context) for indent, context in reader.contexts if line.indent >= indent]
        at = next(end for read in KINDS if (end := read(reader, at)))
    return reader.units
