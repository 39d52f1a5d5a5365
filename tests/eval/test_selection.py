from __future__ import annotations

import json
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, Hit, InputError
from shortlist.eval import Case, evaluate_selection, sweep_selector
from shortlist.eval.selection import MEASURES, Point, Sweep
from shortlist.results import to_raw_score
from tests.eval.conftest import CASES


def keep_two(hits: list[Hit]) -> list[Hit]:
    return hits[:2]


def test_measures_of_a_selection_are_what_their_definitions_say(shop: Corpus) -> None:
    """Two are kept where two are found: track; cancel and stock; nothing; invoice; nothing; stock."""
    report = evaluate_selection(shop, CASES, keep_two, mode="lexical")
    assert [one.selected for one in report.choices] == [
        ("track",),
        ("cancel", "stock"),
        (),
        ("invoice",),
        (),
        ("stock",),
    ]
    assert report.strategy == "keep_two"
    assert report.conditional_commit_rate == 1.0  # of the two whose gold was found
    assert report.precision == pytest.approx((1 + 1 / 2 + 0 + 0) / 4)
    assert report.recall == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert report.f1 == pytest.approx((1 + 2 * 1 / (2 + 1) + 0 + 0) / 4)
    assert report.mean_size == pytest.approx((1 + 2 + 1 + 1) / 4)
    assert report.abstention_accuracy == 1 / 2
    assert report.false_abstention_rate == 1 / 4


def test_the_commit_rate_leaves_out_what_retrieval_did_not_bring(shop: Corpus) -> None:
    report = evaluate_selection(shop, CASES, strategy="conservative", mode="lexical", max_k=1)
    assert report.conditional_commit_rate == 1 / 2  # track was kept; of cancel and stock only cancel
    assert evaluate_selection(shop, CASES, mode="lexical", k=1).conditional_commit_rate == 1.0


def test_choices_are_those_of_discover(shop: Corpus) -> None:
    options = {"strategy": "conservative", "mode": "lexical", "min_relevance": 0.4, "max_k": 2, "rel": 0.3}
    report = evaluate_selection(shop, CASES, **options)  # type: ignore[arg-type]
    for one in report.choices:
        found = shortlist.discover(shop, one.case.query, **options)  # type: ignore[arg-type]
        assert one.selected == tuple(item.id for item in found.results)


def test_a_measure_that_no_case_speaks_of_is_none(shop: Corpus) -> None:
    report = evaluate_selection(shop, [Case("where is the parcel", ("track",))], mode="lexical")
    assert report.abstention_accuracy is None
    nothing = evaluate_selection(shop, [Case("zebra")], mode="lexical")
    assert (nothing.precision, nothing.mean_size, nothing.conditional_commit_rate) == (None, None, None)
    assert json.loads(json.dumps(nothing.to_dict(), allow_nan=False))["abstention_accuracy"]["value"] == 1.0


def test_a_sweep_gives_for_every_setting_what_evaluating_it_gives(shop: Corpus) -> None:
    sweep = sweep_selector(
        shop, CASES, mode="lexical", max_k_grid=(1, 2), rel_grid=(0.2, 1.0), min_score_grid=(None, 0.9)
    )
    assert len(sweep.points) == 8
    for point in sweep.points:
        how: dict[str, Any] = {"max_k": point.max_k, "rel": point.rel, "min_relevance": to_raw_score(point.min_score)}
        report = evaluate_selection(shop, CASES, "conservative", mode="lexical", **how)
        assert point.measures == pytest.approx({name: report.measures[name] for name in MEASURES})


def point(max_k: int, recall: float, precision: float, f1: float = 0.0, size: float = 1.0) -> Point:
    measures = {**dict.fromkeys(MEASURES, 0.0), "recall": recall, "precision": precision, "f1": f1, "mean_size": size}
    return Point(max_k, 0.9, None, measures)


def test_the_frontier_holds_what_nothing_beats_in_precision_and_recall_at_once() -> None:
    points = [point(1, 0.5, 0.9), point(2, 0.5, 0.8), point(3, 0.7, 0.6), point(4, 0.6, 0.6), point(5, 0.9, 0.1)]
    assert [one.max_k for one in Sweep("auto", "conservative", points).frontier()] == [1, 3, 5]


def test_the_best_of_a_sweep_has_most_and_of_equals_selects_fewer() -> None:
    points = [point(1, 0.1, 0.9, 0.5, 3.0), point(2, 0.1, 0.8, 0.7, 2.0), point(3, 0.2, 0.6, 0.7, 1.5)]
    sweep = Sweep("auto", "conservative", points)
    assert sweep.best().max_k == 3
    assert sweep.best("precision").max_k == 1
    assert sweep.best("mean_size").max_k == 3
    with pytest.raises(InputError, match="'beauty' is not a measure"):
        sweep.best("beauty")


def test_the_table_of_a_sweep_is_rows_and_prints_as_columns(shop: Corpus) -> None:
    table = sweep_selector(shop, CASES, mode="lexical", max_k_grid=(1,), rel_grid=(0.5, 1.0)).table()
    assert [(row["max_k"], row["rel"]) for row in table] == [(1, 0.5), (1, 1.0)]
    lines = str(table).splitlines()
    assert lines[0].split()[:4] == ["max_k", "rel", "min_score", "conditional_commit_rate"]
    assert lines[1].split()[:4] == ["1", "0.5", "-", "0.5"]
    assert str(type(table)()) == ""


def test_what_cannot_be_judged_is_a_sentence(shop: Corpus) -> None:
    with pytest.raises(InputError, match="There are no cases"):
        evaluate_selection(shop, [])
    with pytest.raises(InputError, match="A sweep needs cases with gold"):
        sweep_selector(shop, [Case("jazz")])


def test_e7_a_selection_is_measured_given_retrieval_and_overall(shop: Corpus) -> None:
    """Kept are track (right), cancel (stock was found and not kept), nothing, and invoice instead of receipt."""
    report = evaluate_selection(shop, CASES, mode="lexical", max_k=1)
    assert (report.cases, report.retrieved) == (6, 2)
    assert (report.selection_precision, report.selection_recall, report.selection_f1) == (1 / 2, 1 / 2, 1 / 2)
    assert (report.precision, report.recall, report.f1) == (1 / 4, 1 / 4, 1 / 4)


def test_e7_recall_given_retrieval_is_against_the_gold_that_was_retrieved(shop: Corpus) -> None:
    case = Case("where is the parcel", ("track", "invoice"))
    report = evaluate_selection(shop, [case], mode="lexical")
    assert (report.selection_recall, report.selection_f1) == (1.0, 1.0)
    assert report.recall == 1 / 2
    assert report.f1 == pytest.approx(2 * 1 / (1 + 2))
