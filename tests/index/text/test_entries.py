"""Entries that a passage should not cut."""

from __future__ import annotations

import pytest

from shortlist.index.text.entries import find_entries


@pytest.mark.parametrize(
    ("text", "source", "labels"),
    [
        ("intro\n\n  -a, --all\n      Show it.\n\n      More of it.\n\n  -b  Other.\n", "a.txt", ["-a, --all"]),
        ("intro\n\n-a\n--all\n    Show it. More of it.\n", "a.txt", ["-a, --all"]),
        (".. option:: --all\n\n   More of it.\n", "a.rst", ["--all"]),
        ("Term\n  Outer.\n\n  inner\n    More of it.\n", "a.txt", ["Term", "inner"]),
        ("| A | B |\n|---|---|\n| c | d |\n| e | More of it |\n", "a.md", ["A | B"]),
        ("+---+---+\n| A | B |\n+===+===+\n| c | d |\n+---+---+\n| e | More of it |\n+---+---+\n", "a.rst", ["A | B"]),
        ("# T\n\njoin(a, b)¶\n\nJoin both.\n\nMore of it.\n\nsplit(a)¶\n\nSplit it.\n", "a.html", ["join(a, b)"]),
        ("# T\n\nmax_jobs (integer)\n\nMore of it.\n\n# U\n\nText.\n", "a.html", ["max_jobs (integer)"]),
        ("# T\n\nmax_jobs (integer)\n\nThe limit.\n\n# U\n\nMore of it.\n", "a.html", []),
        (".. note::\n\n   More of it.\n", "a.rst", []),
        ("def f():\n    More of it.\n", "a.py", []),
        ("One sentence.\n    More of it.\n", "a.txt", []),
        ("One sentence. More of it.\n", "a.txt", []),
    ],
)
def test_a_place_is_in_the_entries_of_its_terms_or_its_table(text: str, source: str, labels: list[str]) -> None:
    headings = [at for at, character in enumerate(text) if character == "#"]
    around = find_entries(text, source, headings).find_around(text.index("More of it"))
    assert [entry.label for entry in around] == labels
    assert all(entry.start <= text.index("More of it") < entry.end for entry in around)


def test_a_heading_is_no_term() -> None:
    text = "NAME\n    ls lists files\n"
    assert find_entries(text, "a.txt").find_around(8)
    assert not find_entries(text, "a.txt", {0})


def test_a_long_line_of_rules_takes_no_quadratic_time() -> None:
    rows = "| a | b |\n" + "|" + "-" * 100_000 + "x\n| c | More of it |\n"
    assert [entry.label for entry in find_entries(rows, "a.md").find_around(rows.index("More of it"))] == [""]
