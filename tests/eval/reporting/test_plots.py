"""The page and its plots: well-formed, complete, safe, and without anything from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

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
from shortlist.eval.reporting import plots
from tests.eval.conftest import CASES

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
    for title in ("Recall against k", "Precision and recall", "Best scores, and the floor", "more distractors"):
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


def svg(figure: plots.Figure | None) -> ElementTree.Element:
    assert figure is not None
    return ElementTree.fromstring(figure.svg)


def test_points_stand_where_their_values_say() -> None:
    drawn = svg(plots.lines("t", "x", "y", [plots.Series("a", [(0, 0.0), (5, 0.5), (10, 1.0)])]))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn.iter("circle")]
    left, right, top, bottom = 52, plots.WIDTH - 16, 14, plots.HEIGHT - 44
    assert dots == [(left, bottom), ((left + right) / 2, (top + bottom) / 2), (right, top)]


def test_a_logarithmic_axis_has_equal_steps_for_equal_ratios() -> None:
    drawn = svg(plots.lines("t", "x", "y", [plots.Series("a", [(1, 0.0), (10, 0.5), (100, 1.0)])], logarithmic=True))
    first, middle, last = (float(dot.attrib["cx"]) for dot in drawn.iter("circle"))
    assert middle - first == pytest.approx(last - middle)


def test_a_histogram_shows_shares_of_each_group_and_its_mark() -> None:
    drawn = svg(plots.histogram("t", "x", [("a", [0.0] * 3 + [30.0]), ("b", [30.0])], ("floor", 15.0)))
    heights = [float(bar.attrib["height"]) for bar in drawn.iter("rect")]
    full = plots.HEIGHT - 44 - 14
    assert heights == pytest.approx([0.75 * full, 0.25 * full, full], abs=0.2)
    (mark,) = (line for line in drawn.iter("line") if line.attrib["class"] == "mark")
    assert float(mark.attrib["x1"]) == pytest.approx((52 + plots.WIDTH - 16) / 2, abs=0.1)


def test_a_plot_says_in_words_what_it_shows() -> None:
    points = [(1, 0.25), (10, 0.5), (100, 1.0)]
    drawn = svg(
        plots.lines("A < B", "k", "recall", [plots.Series("us & them", points), plots.Series("one", [(7, 0.5)])])
    )
    said = "A < B. us & them: recall 0.25 at k 1, 1 at 100. one: recall 0.5 at k 7"
    assert (drawn.attrib["role"], drawn.attrib["aria-label"]) == ("img", said)
    drawn = svg(plots.histogram("t", "score", [("a", [1.0, 3.0]), ("b", [])], ("floor", 2.0)))
    assert drawn.attrib["aria-label"] == "t. a: score 1 to 3. floor 2"


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    assert plots.lines("t", "x", "y", []) is None
    assert plots.histogram("t", "x", [("a", [])]) is None


def test_one_value_alone_can_be_drawn() -> None:
    svg(plots.lines("t", "x", "y", [plots.Series("a", [(3, 0.5)])]))
    svg(plots.histogram("t", "x", [("a", [2.0])]))
