"""Terms with their descriptions, on one line or below."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.definition_units import read_definition
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit_reader import UnitReader


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("       -v, --verbose\n              Explain what is done.", "definition"),
        ("-q     Be quiet.  Print nothing.\n\n-v     Be loud.", "definition sentence definition"),
    ],
)
def test_options_and_their_descriptions_are_definitions(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_the_term_is_the_key_and_the_context_of_further_sentences() -> None:
    first, more, other = split_units("-q     Be quiet.  Print nothing.\n\n-v     Be loud.")
    assert (first.key, first.text) == ("-q", "-q Be quiet.")
    assert (more.text, more.context, more.subjects) == ("Print nothing.", "-q", frozenset({"-q"}))
    assert other.subjects == {"-v"}


def test_what_introduces_a_definition_is_its_context() -> None:
    units = split_units("The options are:\n\n-q     Be quiet.")
    assert [(unit.kind, unit.context) for unit in units] == [("introduction", ""), ("definition", "The options are:")]


@pytest.mark.parametrize("text", ["A sentence.\n    It goes on.", "Term\nnot indented", "x" * 81 + "\n    Too long."])
def test_what_is_no_term_is_left_to_others(text: str) -> None:
    assert read_definition(UnitReader(text), 0) == 0
