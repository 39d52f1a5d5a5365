"""The page and its plots: well-formed, complete, safe, and without anything from elsewhere."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from shortlist.eval.reporting import plots


def svg(figure: plots.Figure | None) -> ElementTree.Element:
    assert figure is not None
    return ElementTree.fromstring(figure.svg)


def test_points_stand_where_their_values_say() -> None:
    drawn = svg(plots.lines("t", "x", "y", [plots.Series("a", [(0, 0.0), (5, 0.5), (10, 1.0)])]))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn.iter("circle")]
    left, right, top, bottom = 66, plots.WIDTH - 16, 14, plots.HEIGHT - 44
    assert dots == [(left, bottom), ((left + right) / 2, (top + bottom) / 2), (right, top)]


def test_a_logarithmic_axis_has_equal_steps_for_equal_ratios() -> None:
    drawn = svg(plots.lines("t", "x", "y", [plots.Series("a", [(1, 0.0), (10, 0.5), (100, 1.0)])], logarithmic=True))
    first, middle, last = (float(dot.attrib["cx"]) for dot in drawn.iter("circle"))
    assert middle - first == pytest.approx(last - middle)


def test_a_histogram_shows_shares_of_each_group_and_its_mark() -> None:
    drawn = svg(plots.histogram("t", "x", [("a", [0.0] * 3 + [30.0]), ("b", [30.0])], ("floor", 15.0)))
    heights = [float(bar.attrib["height"]) for bar in drawn.iter("rect")]
    full = plots.HEIGHT - 44 - 14 - plots.HEADROOM  # above the bars, the label of the mark
    assert heights == pytest.approx([0.75 * full, 0.25 * full, full], abs=0.2)
    (mark,) = (line for line in drawn.iter("line") if line.attrib["class"] == "mark")
    assert float(mark.attrib["x1"]) == pytest.approx((66 + plots.WIDTH - 16) / 2, abs=0.1)


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


def test_every_point_of_a_long_line_shows_its_value() -> None:
    points = [(float(at), 0.5) for at in range(plots.MOST_DOTS + 1)]
    drawn = svg(plots.lines("t", "k", "recall", [plots.Series("auto", points)]))
    titles = [dot.findtext("title") for dot in drawn.iter("circle")]
    assert (len(titles), titles[-1]) == (plots.MOST_DOTS + 1, f"auto: k {plots.MOST_DOTS}, recall 0.5")
