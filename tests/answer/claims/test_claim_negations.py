"""Negations that only one side has."""

from __future__ import annotations

import pytest

from shortlist.answer.claims.claim_negations import find_negation
from tests.answer.claims.comparing import compare


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ("No leave is granted in December.", ""),
        ("Leave is granted in December.", "no"),
        ("The company was not founded by Ada.", "not"),
        ("Nobody leads it.", "nobody"),
    ],
)
def test_a_negation_of_the_claim_or_of_the_passage_alone_is_found(claim: str, word: str) -> None:
    passage = "No leave is granted in December. The company was founded by Ada. She leads it."
    assert find_negation(compare(claim, passage)) == word
