"""Options of a search: one set of defaults and checks, given as keywords or as one object."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import pytest

from shortlist import InputError, SearchOptions, discover, search
from shortlist.eval import evaluate_discovery, evaluate_selection
from shortlist.eval.cases import Case
from shortlist.retrieval.options import DESCRIPTIONS, combine_options

TEXTS = {"refund": "Send money back to a card.", "track": "Where a parcel is now.", "hours": "When the shop is open."}
NAMES = [each.name for each in fields(SearchOptions)]


def test_every_option_is_described_and_is_a_keyword_of_discover_with_the_same_default() -> None:
    assert list(DESCRIPTIONS) == NAMES
    parameters = inspect.signature(discover).parameters
    assert {name: parameters[name].default for name in NAMES} == {
        each.name: each.default for each in fields(SearchOptions)
    }


def test_options_do_what_the_keywords_do() -> None:
    options = SearchOptions(mode="lexical", strategy="top_k", max_k=2, min_relevance=None, level="body")
    by_keywords = discover(
        TEXTS, "money parcel", "lexical", strategy="top_k", max_k=2, min_relevance=None, level="body"
    )
    assert discover(TEXTS, "money parcel", options=options).to_dict() == by_keywords.to_dict()
    assert [item.body for item in by_keywords.results] == [TEXTS[item.id] for item in by_keywords.results]
    first = replace(options, k=1)
    assert search(TEXTS, "money parcel", options=first) == search(TEXTS, "money parcel", "lexical", 1)


def test_evaluations_take_the_options_of_discover() -> None:
    cases = [Case("money", ("refund",)), Case("parcel", ("track",)), Case("volcano", ())]
    options = SearchOptions(mode="lexical", strategy="top_k", max_k=1)
    by_keywords = evaluate_discovery(TEXTS, cases, "lexical", strategy="top_k", max_k=1)
    assert evaluate_discovery(TEXTS, cases, options=options).taxonomy == by_keywords.taxonomy
    chosen = evaluate_selection(TEXTS, cases, options=options)
    assert chosen.to_dict() == evaluate_selection(TEXTS, cases, "top_k", "lexical", max_k=1).to_dict()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "fast"}, "Unknown mode 'fast'"),
        ({"k": -1}, "k must be an integer of 0 or more, not -1"),
        ({"k": True}, "k must be an integer"),
        ({"max_k": 0}, "max_k must be an integer of 1 or more, not 0"),
        ({"min_relevance": "high"}, "min_relevance must be a number from 0 to 1, 'auto' or None, not 'high'"),
        ({"min_relevance": float("nan")}, "min_relevance must be a number from 0 to 1"),
        ({"min_relevance": 1.5}, "min_relevance must be a number from 0 to 1, 'auto' or None, not 1.5"),
        ({"min_relevance": -0.1}, "not -0.1"),
        ({"min_relevance": True}, "not True"),
        ({"rel": 1.5}, "rel and gap_ratio must be between 0 and 1"),
        ({"temperature": 0}, "temperature must be above 0"),
        ({"cutoff": 101}, "cutoff from 0 to 100"),
        ({"exact": 1}, "exact must be True or False, not 1"),
        ({"level": "all"}, "Unknown level 'all'"),
    ],
)
def test_wrong_values_are_errors_that_name_them(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SearchOptions(**wrong)


def test_options_beside_keywords_are_an_error() -> None:
    with pytest.raises(InputError, match="k=3 was passed beside options"):
        discover(TEXTS, "money", k=3, options=SearchOptions())
    with pytest.raises(InputError, match="options must be SearchOptions"):
        combine_options({"k": 3})  # type: ignore[arg-type]


def test_more_results_than_candidates_need_as_many_candidates() -> None:
    assert [SearchOptions(max_k=20).candidates, SearchOptions(k=0, max_k=5).candidates] == [20, 0]
