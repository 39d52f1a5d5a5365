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
    read_directive,
    read_fence,
    read_open_fence,
)
from shortlist.answer.extractive.units.definition_units import read_definition
from shortlist.answer.extractive.units.heading_units import read_heading
from shortlist.answer.extractive.units.list_units import read_list
from shortlist.answer.extractive.units.prose_units import read_paragraph
from shortlist.answer.extractive.units.signature_units import read_signature
from shortlist.answer.extractive.units.table_units import read_table
from shortlist.answer.extractive.units.unit import ANSWERS, Unit
from shortlist.answer.extractive.units.unit_reader import FULL_STOP, OPTION, UnitReader

# Each reads the unit that begins at a line and returns the line after it, or 0 if it is of another kind. The first that
# can read a line does; prose is what no other kind is.
KINDS: tuple[Callable[[UnitReader, int], int], ...] = (
    read_fence,
    read_directive,
    read_console,
    read_table,
    read_heading,
    read_list,
    read_signature,
    read_code,
    read_definition,
    read_paragraph,
)


def split_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, heading and table row, also of those in a list."""
    spans: list[tuple[int, int]] = []
    for unit in split_units(text):
        if unit.kind == "row":
            spans.append((unit.start, unit.end))
        elif unit.kind != "list":
            spans += split_sentences(text, unit.start, unit.end)
    return spans


def split_units(text: str, *, begins_inside: bool = False, ends_inside: bool = False) -> list[Unit]:
    """The units of a passage, which may begin or end inside of a sentence. A list comes before its items."""
    units = _read_units(text)
    answers = [at for at, unit in enumerate(units) if unit.kind not in ("heading", "signature")]
    if begins_inside and answers and not text[: units[answers[0]].start].strip():
        first = units[answers[0]].start
        units = [replace(unit, kind="half") if unit.start == first and _is_cut(unit) else unit for unit in units]
    if ends_inside and units:
        units = [_check_end(unit, units, text) for unit in units]
    return units


def _is_cut(unit: Unit) -> bool:
    """Whether a unit at the beginning of a passage that begins inside of one may have begun before it."""
    return unit.kind in ("sentence", "question", "row", "definition") and not OPTION.match(unit.text)


def _check_end(unit: Unit, units: Sequence[Unit], text: str) -> Unit:
    is_last = unit.end >= len(text.rstrip())
    if not is_last or unit.kind not in ANSWERS or unit.kind == "row" or FULL_STOP.search(unit.text):
        return unit
    others = [one for one in units if one.kind == "item" and one.group == unit.group and one is not unit]
    if unit.kind in ("item", "list") and not any(FULL_STOP.search(one.text) for one in others[:-1] or others):
        return unit
    return replace(unit, kind="half")


def _read_units(text: str) -> list[Unit]:
    reader = UnitReader(text)
    at = read_open_fence(reader)
    while at < len(reader.lines):
        line = reader.lines[at]
        if not line.text:
            at += 1
            continue
        reader.contexts = [(indent, context) for indent, context in reader.contexts if line.indent >= indent]
        at = next(end for read in KINDS if (end := read(reader, at)))
    return reader.units
