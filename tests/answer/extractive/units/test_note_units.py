"""Remarks: notes, warnings, and changes between versions."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.note_units import find_note
from shortlist.answer.extractive.units.splitting import split_units


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        ("Changed in version 3.6: It may be a path.", "changed"),
        ("New in version 2.1.", "added"),
        ("(Added in 2.1.)", "added"),
        ("Since v1.4", "added"),
        ("Deprecated since version 3.4, removed in 4.0: Use open.", "deprecated"),
        ("Removed in version 4.0.", "removed"),
        ("Note: It is slow.", "note"),
        ("**Warning:** It deletes files.", "warning"),
        ("Note that it is slow.", ""),
        ("Since it is slow, wait.", ""),
        ("New in town.", ""),
    ],
)
def test_remarks_are_told_from_their_beginning(sentence: str, note: str) -> None:
    assert find_note(sentence) == note


@pytest.mark.parametrize(
    "text",
    [
        "It runs.\n\n.. warning:: Do not stop it.\n\nIt ends.",
        "It runs.\n\n.. warning::\n\n   Do not stop it.\n\nIt ends.",
        "It runs.\n\n!!! warning\n    Do not stop it.\n\nIt ends.",
        "It runs.\n\n[WARNING]\n====\nDo not stop it.\n====\n\nIt ends.",
        "It runs.\n\n### Warning\n\nDo not stop it.\n\nIt ends.",
        "It runs.\n\nWarning\n\nDo not stop it.\n\nIt ends.",
    ],
)
def test_a_box_is_a_remark_and_what_follows_is_not(text: str) -> None:
    units = [unit for unit in split_units(text, context="Guide") if unit.kind == "sentence"]
    assert [(unit.text, unit.note) for unit in units] == [
        ("It runs.", ""),
        ("Do not stop it.", "warning"),
        ("It ends.", ""),
    ]
    assert {unit.headings for unit in units} == {("Guide",)}


def test_the_rest_of_a_paragraph_belongs_to_its_remark() -> None:
    text = "It takes a name. Changed in version 2: It may be empty. Then all are taken.\n\nIt ends."
    assert [unit.note for unit in split_units(text)] == ["", "changed", "changed", ""]


def test_a_change_is_one_unit_with_its_version() -> None:
    text = (
        ".. option:: --jobs\n\n   The default is 4.\n\n"
        "   .. versionchanged:: 3.0\n      It may be ``auto``.\n\n   .. versionadded:: 2.1\n"
    )
    units = [unit for unit in split_units(text) if unit.kind == "sentence"]
    assert [(unit.text, unit.note, unit.subject) for unit in units] == [
        ("The default is 4.", "", "--jobs"),
        ("Changed in version 3.0: It may be ``auto``.", "changed", "--jobs"),
        ("Added in version 2.1.", "added", "--jobs"),
    ]
