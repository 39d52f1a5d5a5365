"""HTML for notebooks: everything is escaped, and bars and marks are where they belong."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from shortlist.display import html_tables
from shortlist.display.html_tables import bar, card, cut, fold, html, join, mark, table

HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\u202e"


def tags_of(text: str) -> list[str]:
    """The tags in a text, which must all be closed."""
    opened, tags = list[str](), list[str]()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert {name for name, _ in attrs} <= {"style", "title"}
            tags.append(tag)
            if tag != "br":
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(text)
    assert opened == []
    return tags


def test_a_hostile_text_stays_a_text_wherever_it_is() -> None:
    parts = [mark(HOSTILE, [(0, 8)]), fold(HOSTILE, HOSTILE), table([HOSTILE], [[HOSTILE]]), bar(0.5, HOSTILE)]
    page = card(HOSTILE, [HOSTILE, html_tables.badge(HOSTILE)], *parts, html_tables.pairs({HOSTILE: HOSTILE}))
    assert "script" not in tags_of(page)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page


def test_what_is_html_already_is_not_escaped_again() -> None:
    assert html(html("a < b")) == html("a < b") == "a &lt; b"
    assert join(["<", html("<")]) == "&lt;&lt;"


@pytest.mark.parametrize(("share", "width"), [(0.25, "25.0%"), (-1.0, "0.0%"), (7.0, "100.0%")])
def test_a_bar_is_as_long_as_its_value_within_limits(share: float, width: str) -> None:
    assert f"width:{width};height:100%" in bar(share, "x")


def test_a_bar_shows_the_interval_from_its_start_to_its_end() -> None:
    assert "left:20.0%;width:50.0%" in bar(0.4, "x", 0.2, 0.7)


def test_marked_spans_may_overlap_and_end_after_the_text() -> None:
    marked = mark("abcdef", [(3, 99), (1, 4)])
    assert tags_of(marked) == ["mark", "mark"]
    assert marked.count("bcd") == 1
    assert marked.startswith("a<mark")
    assert marked.endswith(">ef</mark>")


def test_a_long_text_is_cut_between_words() -> None:
    assert cut("one two  three\nfour", 12) == "one two…"
    assert cut("one\n two", 12) == "one two"
