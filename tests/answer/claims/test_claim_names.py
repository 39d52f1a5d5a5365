"""Names that a passage lacks."""

from __future__ import annotations

from shortlist.answer.claims.claim_names import find_missing_names
from tests.answer.claims.comparing import compare


def test_a_name_in_no_passage_is_missing() -> None:
    passage = "Jane Doe was born in London."
    assert find_missing_names(compare("She was born in London.", passage)) == []
    assert find_missing_names(compare("William Smith was born in London.", passage)) == ["William Smith"]


def test_a_passage_without_a_title_that_begins_with_a_pronoun_may_lack_one_name() -> None:
    claim, passage = "William Smith was born in London.", "He was born in London."
    assert find_missing_names(compare(claim, passage, title="")) == []
    assert find_missing_names(compare(claim, passage, title="John Miller")) == ["William Smith"]
