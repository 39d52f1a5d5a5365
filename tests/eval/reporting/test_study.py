"""A study measures more on the cases of a report, and says the same as each measurement alone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from shortlist import Corpus
from shortlist.eval import (
    Case,
    calibrate_min_score,
    compare,
    distractor_robustness_curve,
    evaluate_discovery,
    evaluate_selection,
    html_page,
    sweep_selector,
)
from shortlist.eval.reporting.study import Step, study
from tests.eval.conftest import CASES


def test_a_study_is_what_each_measurement_says_alone(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, "lexical", 2, min_relevance=0.3)
    known = [case for case in CASES if case.gold and case.gold != ("receipt",)]
    found = study(shop, report, min_relevance=0.3)
    assert found.selection == evaluate_selection(shop, CASES, mode="lexical", k=2, min_relevance=0.3)
    assert found.sweep == sweep_selector(shop, CASES, "lexical", 2)
    nothing = [case for case in CASES if not case.gold]
    assert found.calibration == calibrate_min_score(shop, [*known, *nothing], "lexical", 2)
    assert found.curve == distractor_robustness_curve(shop, known, mode="lexical", k=2)
    assert [figure.title for figure in found.figures()] == [
        "Recall against k",
        "Precision and recall of the selection",
        "Best scores and the threshold",
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


NASTY = '<script>alert("x")</script> & warehouse'


def page_of(shop: Corpus, cases: list[Case]) -> str:
    report = evaluate_discovery(shop, cases, mode="lexical")
    known = [one.case for one in report.in_scope if one.outcome != "gold_missing"]
    return html_page(
        report,
        selection=evaluate_selection(shop, cases, mode="lexical"),
        sweep=sweep_selector(shop, cases, mode="lexical"),
        calibration=calibrate_min_score(shop, [*known, *(case for case in cases if not case.gold)], mode="lexical"),
        curve=distractor_robustness_curve(shop, known, [3, 5], mode="lexical", repeats=1),
        comparison=compare(report, report),
    )


class _Open(HTMLParser):
    """Whether every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_has_a_plot_for_everything_that_was_measured(shop: Corpus) -> None:
    page = page_of(shop, CASES)
    parser = _Open()
    parser.feed(page)
    assert parser.open == []
    assert page.count("<figure>") == 4
    for title in ("Recall against k", "Precision and recall", "Best scores and the threshold", "more distractors"):
        assert title in page
    assert page.count("<details>") == 4  # a miss each: low rank, not found, gold missing, false action
    assert "It contains &#x27;warehouse&#x27;, &#x27;pieces&#x27;." in page


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing(shop: Corpus) -> None:
    page = page_of(shop, [*CASES, Case(NASTY, ("stock",))])
    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; warehouse" in page
    assert not re.search(r"\b(?:src|href)\s*=|url\(|@import", page)
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page


def test_the_page_is_light_and_dark(shop: Corpus) -> None:
    page = page_of(shop, CASES)
    assert "color-scheme: light dark" in page
    assert "@media (prefers-color-scheme: dark)" in page


def test_the_same_evaluation_gives_the_same_page(shop: Corpus) -> None:
    assert page_of(shop, CASES) == page_of(shop, CASES)


def test_a_page_about_a_report_alone_has_one_plot(shop: Corpus) -> None:
    page = html_page(evaluate_discovery(shop, CASES, mode="lexical"))
    assert page.count("<figure>") == 1
    nothing = html_page(evaluate_discovery(shop, [Case("zebra")], mode="lexical"))
    assert nothing.count("<figure>") == 0
