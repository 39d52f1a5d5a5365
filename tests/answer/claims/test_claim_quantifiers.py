"""Quantifiers that a passage lacks."""

from __future__ import annotations

import pytest

from shortlist.answer.claims.claim_quantifiers import find_quantifier
from tests.answer.claims.comparing import compare


@pytest.mark.parametrize(
    ("claim", "word"),
    [("Rooms are closed.", ""), ("All rooms are closed.", "all"), ("Only rooms are closed.", "only"),
     ("Rooms are closed every week.", "")],
)  # fmt: skip
def test_a_quantifier_that_the_closest_sentence_lacks_is_found(claim: str, word: str) -> None:
    assert find_quantifier(compare(claim, "Rooms are closed at night. All staff may enter the garden.")) == word
