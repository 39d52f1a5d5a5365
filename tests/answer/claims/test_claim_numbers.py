"""Numbers that a passage lacks, or has for something else."""

from __future__ import annotations

import pytest

from shortlist.answer.claims.claim_numbers import find_misplaced_number, find_missing_numbers
from tests.answer.claims.comparing import compare


def test_a_number_that_neither_the_passage_nor_an_open_question_has_is_missing() -> None:
    passage = "Staff have twenty-five days of leave."
    assert list(find_missing_numbers(compare("Staff have 25 days.", passage))) == []
    assert list(find_missing_numbers(compare("Staff have 26 days.", passage))) == ["26"]
    assert list(find_missing_numbers(compare("In 2031 staff have leave.", passage, question="What about 2031?"))) == []


@pytest.mark.parametrize(
    ("claim", "misplaced"),
    [
        ("Leave is 27 days.", ""),
        ("Leave is 27 weeks.", "27"),
        ("Leave is 8 days.", "8"),
        ("Passwords have at least 14 characters.", ""),
        ("Passwords have at most 14 characters.", "14"),
    ],
)
def test_a_number_with_another_unit_limit_or_subject_is_misplaced(claim: str, misplaced: str) -> None:
    passage = "Leave is 27 days, sick pay lasts 8 days. Passwords have at least 14 characters."
    assert find_misplaced_number(compare(claim, passage)) == misplaced
