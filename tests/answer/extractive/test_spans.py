"""What a question asks for is found inside the sentence that answers."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.signals import read_question
from shortlist.answer.extractive.spans import find_span
from shortlist.index.text.analyzers import get_analyzer


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How many days of leave are there?", "Annual leave is 27 days.", "27 days"),
        ("How many moons does Mars have?", "In 1877, Mars had two moons in 3 books.", "two moons"),
        ("How much memory may a sort use?", "The default value is four megabytes (4MB) for a sort.", None),
        ("How long is the bridge?", "The bridge is 1,200 m long.", "1,200 m"),
        ("When was the company founded?", "They founded the company in 2014 in Otley.", "2014"),
        ("Who founded the company?", "The company was founded by Ines Halloran in Otley.", "Ines Halloran"),
        ("Which version added the method?", "The method is new in version 3.8 of it.", "3.8"),
        ("What is the company?", "The company of 2014 sells 3 tools.", None),
        ("How many days?", "No number is here.", None),
        ("How many of the 27 days are left?", "There are 27 days.", None),
    ],
)
def test_the_number_date_name_or_version_is_found(question: str, text: str, expected: str | None) -> None:
    analyzer = get_analyzer()
    span = find_span(read_question(question, analyzer, lambda terms: {}, 1), text, analyzer)
    assert (text[slice(*span)] if span else None) == expected


def test_other_languages_have_no_span() -> None:
    analyzer = get_analyzer()
    question = read_question("Wie viele Tage?", analyzer, lambda terms: {}, 1, "de")
    assert find_span(question, "Es sind 27 Tage.", analyzer) is None
