"""Files of source code: comments, docstrings and named values."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.splitting import split_units

PYTHON = '''"""Backs up the photos.

Keeps the last seven
archives. Runs at night.
"""
import os

MAX_DEPTH = 64  # folders below this are skipped
# Seconds to wait.
WAIT = 30


class Backup:
    keep: int = 7

    def run(self, path):
        """Copy the files."""
        count = 3
        # never delete the last one
        for one in path:  # links are not followed
            print(one)
'''
SQL = """-- Kept for ten years.
CREATE TABLE orders (
    id serial PRIMARY KEY,
    status text NOT NULL,  -- open or paid
    /* in the currency
       of the shop. */
    total numeric
);
"""
JSON5 = """{
  // the shop in town
  shop: "Main",
  limits: {
    "max items": 30, // for each order
  },
}"""


@pytest.mark.parametrize(
    ("text", "suffix", "answers"),
    [
        (
            PYTHON,
            ".py",
            [
                ("", "", "Backs up the photos."),
                ("", "", "Keeps the last seven archives."),
                ("", "", "Runs at night."),
                ("MAX_DEPTH", "", "MAX_DEPTH = 64  # folders below this are skipped"),
                ("WAIT", "", "Seconds to wait.\nWAIT = 30"),
                ("keep", "class Backup", "keep: int = 7"),
                ("", "def run(self, path)", "Copy the files."),
                ("", "def run(self, path)", "never delete the last one"),
                ("", "def run(self, path)", "for one in path:  # links are not followed"),
            ],
        ),
        (
            SQL,
            ".sql",
            [
                ("", "", "Kept for ten years."),
                ("id", "CREATE TABLE orders", "id serial PRIMARY KEY,"),
                ("status", "CREATE TABLE orders", "status text NOT NULL,  -- open or paid"),
                ("", "CREATE TABLE orders", "in the currency of the shop."),
                ("total", "CREATE TABLE orders", "total numeric"),
            ],
        ),
        (
            JSON5,
            ".json5",
            [
                ("shop", "", 'the shop in town\nshop: "Main",'),
                ("max items", "limits", '"max items": 30, // for each order'),
            ],
        ),
    ],
)
def test_comments_and_named_values_of_a_file_answer(
    text: str, suffix: str, answers: list[tuple[str, str, str]]
) -> None:
    units = split_units(text, suffix=suffix)
    assert [(unit.key, unit.heading, unit.text) for unit in units if unit.is_answer] == answers
    assert {unit.kind for unit in units if not unit.is_answer} == {"code"}


def test_units_of_source_code_are_places_in_the_file() -> None:
    units = split_units(PYTHON, suffix=".py")
    shown = {unit.text: PYTHON[unit.start : unit.end] for unit in units}
    assert shown["Keeps the last seven archives."] == "Keeps the last seven\narchives."
    assert shown["never delete the last one"] == "never delete the last one"
    assert shown["Seconds to wait.\nWAIT = 30"] == "# Seconds to wait.\nWAIT = 30"


@pytest.mark.parametrize("suffix", [".py", ".sql", ".c"])
def test_a_comment_that_does_not_end_is_read_to_the_end(suffix: str) -> None:
    mark = '"""' if suffix == ".py" else "/*"
    assert [unit.text for unit in split_units(f"{mark} It is\nopen.", suffix=suffix)] == ["It is open."]
