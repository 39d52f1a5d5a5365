"""A question as weighted terms, and the signals that a sentence answers it."""

from __future__ import annotations

from shortlist.answer.extractive.signals import contains_opposite, count_fitting, coverage, find_options, read_question
from shortlist.index.text.analyzers import get_analyzer


def test_coverage_is_the_share_of_the_weight_of_a_question() -> None:
    question = read_question("How tall is the castle tower?", get_analyzer(), lambda terms: {}, 1)
    assert question.kind == "number"
    assert coverage(question, frozenset(question.weights)) == 1.0
    assert coverage(question, frozenset(["tower"])) == 0.5
    assert count_fitting(question, "The tower is 90 metres tall.", get_analyzer()) == 1


def test_options_and_opposites_are_found() -> None:
    assert find_options("Use -v or --dry-run, not a-b.") == {"-v", "--dry-run"}
    assert contains_opposite(["increas"], frozenset(["decreas"]))
