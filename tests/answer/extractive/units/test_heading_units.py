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


def test_units_have_the_path_of_their_headings() -> None:
    text = (
        "FETCH(1)      User Commands      FETCH(1)\n\nOPTIONS\n       -q     Be quiet.\n\n"
        "   Network options\n       -4     Use IPv4."
        "\n\nEXIT STATUS\n       0      Success.\n\nfetch 2.1      June 2020      FETCH(1)\n"
    )
    assert [(unit.key, unit.headings) for unit in split_units(text) if unit.kind != "heading"] == [
        ("-q", ("FETCH(1)", "OPTIONS")),
        ("-4", ("FETCH(1)", "OPTIONS", "Network options")),
        ("0", ("FETCH(1)", "EXIT STATUS")),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# One\n## Two\n### Three\n## Four\nText of it.",
        "= One\n\n== Two\n\n=== Three\n\n== Four\n\nText of it.",
        "* One\n** Two\n*** Three\n** Four\nText of it.",
        "One\n===\n\nTwo\n---\n\nThree\n~~~~~\n\nFour\n----\n\nText of it.",
        "\\chapter{One}\n\\section{Two}\n\\subsection{Three}\n\\section{Four}\nText of it.",
    ],
)
def test_a_heading_ends_those_of_its_level_and_below(text: str) -> None:
    assert split_units(text)[-1].headings == ("One", "Four")


def test_headings_in_a_passage_follow_those_above_it() -> None:
    first, _, second = split_units("It is old.\n\n## Use\n\nIt is new.", context="Guide > Install > Linux")
    assert first.headings == ("Guide", "Install", "Linux")
    assert (second.headings, second.heading) == (("Guide", "Use"), "Use")


def test_a_long_line_with_gaps_is_no_foot_of_a_page_and_takes_no_quadratic_time() -> None:
    assert "heading" not in [unit.kind for unit in split_units("x   " * 25_000)]
