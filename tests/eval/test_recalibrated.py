"""Cases of a corpus move its relevance to how often it is right there."""

from __future__ import annotations

import pytest

from shortlist import Document, build, search
from shortlist.eval import Case, calibrate_min_score
from shortlist.eval.calibration import LEAST_SLOPE, fit_relevance
from shortlist.retrieval.relevance import UNCHANGED

DRINKS = [
    Document(name, name, f"Brew a cup of {name}.")
    for name in ("assam", "oolong", "sencha", "matcha", "mocha", "ristretto")
]


def test_without_cases_nothing_changes() -> None:
    assert fit_relevance([]) == list(UNCHANGED)


def test_a_relevance_that_says_too_much_is_lowered_and_one_that_says_too_little_is_raised() -> None:
    assert fit_relevance([(0.8, False)] * 50)[1] < 0 < fit_relevance([(0.2, True)] * 50)[1]


def test_few_cases_change_little_and_the_order_never_turns_round() -> None:
    slope, shift = fit_relevance([(0.8, False)])
    assert slope == pytest.approx(1.0, abs=0.25)
    assert shift == pytest.approx(0.0, abs=0.25)
    assert fit_relevance([(0.9, False), (0.1, True)] * 200)[0] >= LEAST_SLOPE


def test_what_was_calibrated_before_is_not_calibrated_twice() -> None:
    cases = [(0.7, True), (0.7, False), (0.3, False)] * 20
    slope, shift = fit_relevance(cases)
    again = [(1 / (1 + ((1 - value) / value) ** slope * 2.718281828459045**-shift), right) for value, right in cases]
    assert fit_relevance(again, (slope, shift)) == pytest.approx([slope, shift], abs=1e-6)


def test_a_corpus_keeps_it_and_hits_show_it() -> None:
    corpus = build(DRINKS, in_memory=True)
    inside = [Case(f"a cup of {drink.id}", (drink.id,)) for drink in DRINKS]
    outside = [Case(query, ()) for query in ("repair the roof", "a flight to rome", "who wrote hamlet")]
    before = search(corpus, "a cup of oolong")[0].relevance
    calibrate_min_score(corpus, [*inside * 5, *outside * 5], persist=True)
    after = search(corpus, "a cup of oolong")[0].relevance
    assert before is not None
    assert after is not None
    assert after > before
