"""Directives of reStructuredText: objects with their fields, and what is no text."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.splitting import split_units


def test_the_fields_of_a_setting_are_definitions() -> None:
    units = split_units(
        ".. confval:: cache_dir\n\n   :type: path\n   :default: ``~/.cache``\n\n   Where files are kept."
    )
    assert [(unit.kind, unit.key, unit.context) for unit in units[1:]] == [
        ("definition", "type", "cache_dir"),
        ("definition", "default", "cache_dir"),
        ("sentence", "", "cache_dir"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        ".. option:: -w <n>, --workers <n>\n\n   Workers to start.",
        ".. option:: -w <n>\n.. option:: --workers <n>\n\n   Workers to start.",
        ".. option:: -w <n>\n            --workers <n>\n\n   Workers to start.",
    ],
)
def test_a_description_belongs_to_all_names_above_it(text: str) -> None:
    sentence = split_units(text)[-1]
    assert (sentence.text, sentence.subjects >= {"-w", "--workers"}) == ("Workers to start.", True)


@pytest.mark.parametrize(
    "text", [".. _target:", ".. image:: a.png\n   :width: 10", ".. only a comment", ".. toctree::\n\n   a\n   b"]
)
def test_what_readers_do_not_see_is_no_answer(text: str) -> None:
    code, sentence = split_units(f"{text}\n\nIt runs.")
    assert (code.kind, sentence.kind, sentence.context) == ("code", "sentence", "")
