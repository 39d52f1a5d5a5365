"""Features of units and questions: what a reader compares."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.answer.extractive import features
from shortlist.answer.extractive.extract import rank_sentences
from shortlist.answer.extractive.signals import read_question
from shortlist.index.text.analyzers import get_analyzer
from shortlist.results import Evidence

ANALYZER = get_analyzer()


def describe(question: str, text: str, name: str = "") -> dict[str, dict[str, float]]:
    """The features of each unit of a passage, by its first words, and of the question as "question"."""
    read = read_question(question, ANALYZER, lambda terms: {}, 1)
    candidates = rank_sentences(read, [Evidence(1, "a", "a", "whole", text, 0.5, name=name)], ANALYZER)
    rows = features.describe_units(read, candidates, ANALYZER)
    about = features.describe_question(read, candidates, rows)
    units = {
        " ".join(one.text.split()[:2]): dict(zip(features.UNIT_FEATURES, map(float, row), strict=True))
        for one, row in zip(candidates, rows, strict=True)
    }
    return units | {"question": dict(zip(features.NONE_FEATURES, map(float, about), strict=True))}


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
    assert found["question"]["asks_default"] == 1


@pytest.mark.parametrize(("text", "missing"), [("Set max_size to 3 here.", 0.0), ("Set maximum sizes to 3.", 1.0)])
def test_symbols_of_the_question_that_no_passage_has_are_a_feature(text: str, missing: float) -> None:
    assert describe("What does max_size do?", text)["question"]["symbols_missing"] == missing


def test_log_odds_of_the_cross_encoder_are_bounded_and_compared_with_the_best() -> None:
    rows = features.describe_judged([0.5, 0.9, 1.0])
    columns = dict(zip(features.JUDGE_FEATURES, rows.T, strict=True))
    assert columns["judge"].tolist() == pytest.approx([0, math.log(9) / 4, features.MOST_LOG_ODDS / 4])
    assert columns["judge_behind"].max() == 0
    assert columns["judge_best"].tolist() == [0, 0, 1]
    assert features.describe_best(rows).tolist() == pytest.approx([columns["judge"][2], columns["judge"][1]])


def test_a_question_about_fewer_units_has_the_best_of_those() -> None:
    about = np.zeros(len(features.NONE_FEATURES), np.float32)
    units = np.zeros((2, len(features.UNIT_FEATURES)), np.float32)
    units[:, features.UNIT_FEATURES.index("covered")] = (0.25, 0.5)
    units[:, features.UNIT_FEATURES.index("names_missing")] = (0.25, 0.5)
    updated = dict(zip(features.NONE_FEATURES, features.update_question(about, units).tolist(), strict=True))
    assert (updated["best_covered"], updated["names_missing"]) == (0.5, 0.25)
