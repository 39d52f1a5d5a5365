"""English word lists and patterns: what they match, and what they must not."""

from __future__ import annotations

import re

import pytest

from shortlist.answer.extractive.english import (
    CAUSES,
    DATES,
    KINDS,
    NEGATION,
    PATHS,
    find_measure,
    load_base_forms,
    load_opposites,
)
from shortlist.index.text.analyzers import stemmer


@pytest.mark.parametrize(
    ("question", "amount", "other"),
    [
        ("How much does it cost?", "It is £5.", "It is five miles."),
        ("How long is the tour?", "It takes two hours.", "It costs £5."),
    ],
)
def test_a_question_for_an_amount_is_answered_by_its_unit(question: str, amount: str, other: str) -> None:
    measure = find_measure(question)
    assert measure is not None
    assert measure.search(amount)
    assert not measure.search(other)


def test_a_question_for_something_else_has_no_measure() -> None:
    assert find_measure("Who founded the company?") is None


def test_opposites_are_mutual_and_are_stems() -> None:
    stem = stemmer().stemWord
    opposites = load_opposites()
    assert stem("smallest") in opposites[stem("largest")]
    for word, others in opposites.items():
        assert word not in others
        assert all(word in opposites[other] for other in others)


def test_irregular_forms_have_the_base_form_of_their_word() -> None:
    stem = stemmer().stemWord
    forms = load_base_forms()
    assert forms[stem("began")] == forms[stem("begun")] == stem("begin")
    assert "opened" not in forms


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (DATES, "It opened in 1894.", "It has 189 rooms."),
        (CAUSES, "It is closed because of rain.", "It is closed."),
        (NEGATION, "It doesn’t open.", "It opens at noon."),
        (PATHS, "Edit ~/.bashrc first.", "Read and/or write."),
        (KINDS["why"], "why is it closed", "when is it closed"),
        (KINDS["who"], "who closed it", "how is it closed"),
    ],
)
def test_patterns_match_what_they_are_for(pattern: re.Pattern[str], matching: str, other: str) -> None:
    assert pattern.search(matching)
    assert not pattern.search(other)
