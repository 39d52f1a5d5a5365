"""Tables: rows of cells, with or without headers."""

from __future__ import annotations

from shortlist.answer.extractive.units.splitting import split_units


def test_the_headers_of_a_table_belong_to_every_row() -> None:
    header, *rows = split_units("| Name | Born |\n|---|---|\n| Ada | 1815 |\n| Alan | 1912 |")
    assert (header.kind, header.is_answer) == ("heading", False)
    assert [(row.kind, row.cells, row.headers) for row in rows] == [
        ("row", ("Ada", "1815"), ("Name", "Born")),
        ("row", ("Alan", "1912"), ("Name", "Born")),
    ]


def test_a_first_row_with_numbers_is_no_header() -> None:
    assert [(unit.kind, unit.headers) for unit in split_units("Ada | 1815\nAlan | 1912")] == [("row", ())] * 2


def test_a_line_of_keys_and_values_is_a_row() -> None:
    (row,) = split_units("name: Ada | born: 1815")
    assert (row.kind, row.cells) == ("row", ("name: Ada", "born: 1815"))
    assert [unit.kind for unit in split_units("It is red | blue.")] == ["sentence"]


def test_a_row_that_was_cut_is_no_answer_and_an_escaped_bar_ends_no_cell() -> None:
    _, row, cut = split_units("| Name | Born |\n|---|---|\n| Ada \\| L. | 1815 |\n| Alan |")
    assert row.cells == ("Ada \\| L.", "1815")
    assert (cut.kind, cut.is_answer) == ("half", False)
