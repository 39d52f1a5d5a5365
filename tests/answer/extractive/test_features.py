"""Features of units and questions: what a reader compares."""

from __future__ import annotations

from shortlist.answer.extractive import features
from shortlist.answer.extractive.extract import rank_sentences
from shortlist.answer.extractive.signals import read_question
from shortlist.index.text.analyzers import get_analyzer
from shortlist.results import Evidence

ANALYZER = get_analyzer()


def describe(question: str, text: str, name: str = "") -> dict[str, dict[str, float]]:
    """The features of each unit of a passage, by its first words."""
    read = read_question(question, ANALYZER, lambda terms: {}, 1)
    candidates = rank_sentences(read, [Evidence(1, "a", "a", "whole", text, 0.5, name=name)], ANALYZER)
    rows = features.describe_units(read, candidates, ANALYZER)
    return {
        " ".join(one.text.split()[:2]): dict(zip(features.UNIT_FEATURES, map(float, row), strict=True))
        for one, row in zip(candidates, rows, strict=True)
    }


def test_an_amount_of_what_is_counted_is_a_feature() -> None:
    found = describe("How many workers are started?", "It starts 4 idle workers. The port of workers is 80.")
    assert [found[key]["amount"] for key in ("It starts", "The port")] == [1, 0]
    assert [found[key]["no_amount"] for key in ("It starts", "The port")] == [0, 1]


def test_a_note_on_a_change_counts_unless_a_version_is_asked_for() -> None:
    text = "The default protocol is 4. Changed in version 3.8: The default protocol is 4."
    assert describe("What is the default protocol?", text)["Changed in"]["change"] == 1
    assert describe("Which version made protocol 4 the default?", text)["Changed in"]["change"] == 0
    assert describe("What is the default protocol?", text)["The default"]["change"] == 0


def test_words_that_say_what_is_wanted_are_features() -> None:
    found = describe("What is the default size?", "The default size is 3. The size can grow.")
    assert (found["The default"]["default_said"], found["The size"]["default_said"]) == (1, 0)
    assert found["The size"]["default_unsaid"] == 1
