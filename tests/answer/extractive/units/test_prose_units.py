"""Paragraphs: sentences, questions, labels, and pairs of a key and its value."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.splitting import split_units


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Name: Ada\nBorn: 1815", "definition definition"),
        ("OPTIONS\n       Options start with\n       a dash.", "heading sentence"),
        ("One line is wrapped here,\n1894 being the year. Yes.", "sentence sentence"),
        ("Part one\nHome | Up | Part two. Next.", "label sentence sentence"),
        ("Is it so? It is.", "question sentence"),
        ("Opening hours\n\nWe open at nine.", "label sentence"),
    ],
)
def test_a_paragraph_is_split_into_units(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_wrapped_lines_are_one_sentence() -> None:
    first, _ = split_units("One line is wrapped here,\n1894 being the year. Yes.")
    assert first.text == "One line is wrapped here, 1894 being the year."


def test_a_question_is_the_context_of_its_answer_alone() -> None:
    question, answer, other = split_units("Is it free?\n\nIt is.\n\nWe open at nine.")
    assert (question.is_answer, answer.context, other.context) == (False, "Is it free?", "")


@pytest.mark.parametrize("name", ["max_jobs (integer)", "gc.auto", "Time limit"])
def test_a_name_alone_is_the_context_of_the_paragraphs_below(name: str) -> None:
    assert [unit.context for unit in split_units(f"{name}\n\nIt is 4.\n\nIt may be 0.")][1:] == [name, name]


def test_a_pair_has_its_key() -> None:
    assert [(unit.key, unit.text) for unit in split_units("Name: Ada\nBorn: 1815")] == [
        ("Name", "Name: Ada"),
        ("Born", "Born: 1815"),
    ]
