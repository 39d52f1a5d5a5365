"""Headings: marked, underlined, of manual pages, or in capitals."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.splitting import split_units


@pytest.mark.parametrize(
    "text",
    [
        "# Title\nText of it.",
        "Title\n=====\n\nText of it.",
        "TITLE\n       Text of it.",
        "   Title\n       Text of it.",
    ],
)
def test_a_heading_is_that_of_what_follows(text: str) -> None:
    heading, sentence = split_units(text)
    assert (heading.kind, heading.is_answer) == ("heading", False)
    assert (sentence.kind, sentence.heading.casefold()) == ("sentence", "title")


def test_the_head_of_a_manual_page_is_a_heading() -> None:
    (unit,) = split_units("ls(1)   User Commands   ls(1)")
    assert unit.kind == "heading"


def test_a_heading_ends_the_context_of_what_precedes_it() -> None:
    units = split_units("Opening hours\n\nWe open at nine.\n\n# Prices\n\nTea is free.")
    assert [(unit.text, unit.context, unit.heading) for unit in units if unit.kind == "sentence"] == [
        ("We open at nine.", "Opening hours", ""),
        ("Tea is free.", "", "Prices"),
    ]


@pytest.mark.parametrize("text", ["#hashtag is no heading.", "STOP.", "-V", "NASA\nlaunched it."])
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert "heading" not in [unit.kind for unit in split_units(text)]
