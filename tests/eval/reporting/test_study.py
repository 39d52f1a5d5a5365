"""A study measures more on the cases of a report, and says the same as each measurement alone."""

from __future__ import annotations

import json

from shortlist import Corpus
from shortlist.eval import (
    Case,
    calibrate_min_score,
    compare,
    distractor_robustness_curve,
    evaluate_discovery,
    evaluate_selection,
    sweep_selector,
)
from shortlist.eval.reporting.study import Step, study
from tests.eval.conftest import CASES


def test_a_study_is_what_each_measurement_says_alone(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, "lexical", 2, min_score=1.0)
    known = [case for case in CASES if case.gold and case.gold != ("receipt",)]
    found = study(shop, report, min_score=1.0)
    assert found.selection == evaluate_selection(shop, CASES, mode="lexical", k=2, min_score=1.0)
    assert found.sweep == sweep_selector(shop, CASES, "lexical", 2)
    nothing = [case for case in CASES if not case.gold]
    assert found.calibration == calibrate_min_score(shop, [*known, *nothing], "lexical", 2)
    assert found.curve == distractor_robustness_curve(shop, known, mode="lexical", k=2)
    assert [figure.title for figure in found.figures()] == [
        "Recall against k",
        "Precision and recall of the selection",
        "Best scores, and the floor",
        "The same questions, more distractors",
    ]
    assert all(figure.html() in found.html() for figure in found.figures())


def test_what_the_cases_say_nothing_about_is_left_out(shop: Corpus) -> None:
    nothing = study(shop, evaluate_discovery(shop, [Case("left luggage")], "lexical"))
    assert (nothing.sweep, nothing.calibration, nothing.curve, nothing.figures()) == (None, None, None, [])
    with_gold = study(shop, evaluate_discovery(shop, CASES[:2], "lexical"), curve=False)
    assert (with_gold.sweep is None, with_gold.calibration, with_gold.curve) == (False, None, None)


def test_a_study_as_data_holds_what_went_wrong_and_the_numbers_of_every_plot(shop: Corpus) -> None:
    first, second = (evaluate_discovery(shop, CASES, "lexical", k) for k in (5, 5))
    found = study(shop, second, compare(first, second), curve=False)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["metrics"] == {name: value.to_dict() for name, value in second.metrics.items()}
    assert [row["query"] for row in data["misses"]] == [one.case.query for one in second.misses]
    assert data["misses"][0]["why"]["above"][0]["id"] == "cancel"
    assert [row["recall"] for row in data["recall_at"]] == [recall for _, recall in second.recall_curve()]
    assert data["comparison"]["metrics"]["mrr"]["p_value"] == 1.0
    assert found.calibration is not None
    assert data["calibration"]["scores"]["out_of_scope"] == found.calibration.out_of_scope
    assert [plot["names"] for plot in data["plots"]] == [
        ["lexical", "lexical"],
        ["frontier", "other settings"],
        ["something applies", "nothing applies"],
    ]


def test_a_study_tells_how_far_it_is(shop: Corpus) -> None:
    steps: list[Step] = []
    study(shop, evaluate_discovery(shop, CASES, "lexical"), tell=steps.append)
    names = list(dict.fromkeys(step.name for step in steps))
    assert names == ["evaluating selection", "sweeping settings", "calibrating the threshold", "adding distractors"]
    shares = [step.share for step in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (1 / len(CASES) / 4, 1.0)
