"""Units: which may be quoted, and what they describe."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.unit import LONGEST, Unit


@pytest.mark.parametrize("kind", ["heading", "code", "signature", "question", "half", "introduction", "label"])
def test_what_only_is_the_context_of_others_is_no_answer(kind: str) -> None:
    assert not Unit(kind, 0, 4, "Text").is_answer


def test_a_unit_that_is_too_long_to_quote_is_no_answer() -> None:
    assert Unit("sentence", 0, LONGEST, "x" * LONGEST).is_answer
    assert not Unit("sentence", 0, LONGEST + 1, "x" * (LONGEST + 1)).is_answer


def test_the_subjects_are_the_names_in_the_key_or_else_in_the_subject() -> None:
    assert Unit("definition", 0, 1, "x", key="-v, --dry-run", subject="git.log").subjects == {"-v", "--dry-run"}
    assert Unit("sentence", 0, 1, "x", subject="os.path.join").subjects == {"os.path.join"}
    assert Unit("sentence", 0, 1, "x").subjects == frozenset()
