"""Headings of each format, and the path of headings at each place."""

from __future__ import annotations

import pytest

from shortlist.index.text.headings import heading_paths, is_manual_page


def test_a_heading_ends_those_of_its_level_and_below() -> None:
    text = "# A\n### C\n## B\n# D\n####### seven\n#none\n#\n    # code\n~~~\n# E\n```\n# F\n~~~~\n```x``` y\n## G ##\n"
    starts, paths = heading_paths(text, "a.md")
    assert paths == ["", "A", "A > C", "A > B", "D", "D > G"]
    assert [text[start:].split("\n")[0] for start in starts] == ["# A", "### C", "## B", "# D", "## G ##"]


def test_a_paragraph_that_is_marked_as_a_heading_is_cut_short() -> None:
    assert heading_paths("# " + "x" * 10_000, "a.md")[1] == ["", "x" * 120]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("One\n===\n\nTwo\n---\n\nThree\n---\n", "a.rst"),
        ("Title page\n\n===\nOne\n===\n\nTwo\n~~~\n\nThree\n~~~~~\n", "a.txt"),
        ("* One\n** Two\n** Three\n", "a.org"),
        ("= One\n\n== Two\n\n== Three\n", "a.adoc"),
        ("\\section{One}\n\\subsection{Two}\n\\subsection*{Three}\n", "a.tex"),
    ],
)
def test_formats_mark_headings_in_their_way(text: str, source: str) -> None:
    starts, paths = heading_paths(text, source)
    if source == "a.rst":
        assert paths == ["", "One", "One > Two"]  # the rule below Three is too short
    else:
        assert paths == ["", "One", "One > Two", "One > Three"]
    assert all(text[start] in "OT*=\\" for start in starts)


def test_the_sections_of_a_manual_page_are_headings() -> None:
    page = (
        "ls(1)    Commands    ls(1)\n\nNAME\n       ls - list\n\nOPTIONS\n   Sorting\n       -r  Reverse.\n\n"
        "ls 9    2020    ls(1)\n"
    )
    assert is_manual_page(page)
    assert not is_manual_page("ls(1) is a command.\n")
    assert heading_paths(page, "ls.txt")[1] == [
        "",
        "ls(1)",
        "ls(1) > NAME",
        "ls(1) > OPTIONS",
        "ls(1) > OPTIONS > Sorting",
    ]


def test_the_heading_of_a_box_is_not_one_of_a_section() -> None:
    assert heading_paths("# A\n\n### Note\n\nText.\n", "a.md")[1] == ["", "A"]


def test_the_mark_of_a_link_is_no_part_of_a_heading() -> None:
    assert heading_paths("# A¶\n", "a.html")[1] == ["", "A"]


def test_code_has_no_headings() -> None:
    assert heading_paths("One\n===\n# Two\n", "a.py") == ([], [""])


def test_empty_lines_before_a_heading_take_no_quadratic_time() -> None:
    assert heading_paths("\n" * 100_000 + "\\section{One}\n", "a.tex") == ([100_000], ["", "One"])
