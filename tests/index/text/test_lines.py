"""Lines with their indentation, and those of tables."""

from __future__ import annotations

import pytest

from shortlist.index.text.lines import is_table_line, split_lines


def test_a_line_has_its_place_and_its_column() -> None:
    text = "one\n\n\ttwo "
    assert [(line.indent, line.text, text[line.start : line.end]) for line in split_lines(text)] == [
        (0, "one", "one"),
        (0, "", ""),
        (8, "two", "two"),
    ]


@pytest.mark.parametrize("text", ["| a |", "a | b", "+---+---+", "+===+===+", "┌──┬──┐", "│ a │"])
def test_rows_and_borders_are_lines_of_tables(text: str) -> None:
    assert is_table_line(text)


@pytest.mark.parametrize("text", ["", "|", "a|b", "+ one", "---"])
def test_other_lines_are_not(text: str) -> None:
    assert not is_table_line(text)
