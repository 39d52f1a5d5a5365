"""Tables: rows of cells, with or without headers."""

from __future__ import annotations

import pytest

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


ROWS = [("Bergen", "Lars Holm (acting)"), ("Oslo", "Kari Lie")]
TABLES = {
    "grid": """
+--------+-----------+
| Region | Manager   |
+========+===========+
| Bergen | Lars Holm |
|        | (acting)  |
+--------+-----------+
| Oslo   | Kari Lie  |
+--------+-----------+
""",
    "simple": """
======  ===========
Region  Manager
======  ===========
Bergen  Lars Holm
        (acting)
Oslo    Kari Lie
======  ===========
""",
    "list": """
.. list-table:: Offices
   :header-rows: 1

   * - Region
     - Manager
   * - Bergen
     - Lars Holm
       (acting)
   * - Oslo
     - Kari Lie
""",
    "csv": """
.. csv-table::
   :header: "Region", "Manager"

   Bergen, "Lars Holm (acting)"
   Oslo, Kari Lie
""",
    "org": """
| Region | Manager            |
|--------+--------------------|
| Bergen | Lars Holm (acting) |
| Oslo   | Kari Lie           |
""",
    "asciidoc": """
|===
|Region |Manager

|Bergen |Lars Holm (acting)
|Oslo |Kari Lie
|===
""",
    "asciidoc cells": """
|===
|Region
|Manager

|Bergen
|Lars Holm (acting)

|Oslo
|Kari Lie
|===
""",
    "tex": r"""
\begin{tabular}{ll}
  \toprule
  \textbf{Region} & \textbf{Manager} \\ \midrule
  Bergen & Lars Holm
    (acting) \\
  Oslo & Kari~Lie \\ \bottomrule
\end{tabular}
""",
    "box": """
┌────────┬────────────────────┐
│ Region │ Manager            │
├────────┼────────────────────┤
│ Bergen │ Lars Holm (acting) │
├────────┼────────────────────┤
│ Oslo   │ Kari Lie           │
└────────┴────────────────────┘
""",
}


@pytest.mark.parametrize("form", TABLES)
def test_tables_of_every_form_have_the_same_rows(form: str) -> None:
    units = split_units(f"Offices are listed here.{chr(10)}{TABLES[form]}\nMore text follows.")
    rows = [unit for unit in units if unit.kind == "row"]
    assert [row.cells for row in rows] == ROWS
    assert {row.headers for row in rows} == {("Region", "Manager")}
    assert [row.key for row in rows] == ["Bergen", "Oslo"]
    assert [unit.text for unit in units if unit.kind == "sentence"] == [
        "Offices are listed here.",
        "More text follows.",
    ]


def test_rows_are_not_named_by_a_first_cell_that_repeats() -> None:
    rows = split_units("| Day | Room |\n|---|---|\n| Monday | 1 |\n| Monday | 2 |")[1:]
    assert [row.key for row in rows] == ["", ""]


@pytest.mark.parametrize(
    "text",
    [
        "| Oslo | Kari Lie |\n| Voss | Per Moe |",
        "Oslo | Kari Lie\nVoss | Per Moe",
        "+---+---+\n| Oslo | Kari Lie |\n+---+---+\n| Voss | Per Moe |",
    ],
)
def test_a_passage_that_begins_inside_of_a_table_has_its_headers(text: str) -> None:
    first, second = split_units(text, begins_inside=True, ends_inside=True, context="Offices > Region | Manager …")
    assert (first.kind, first.headers, first.cells) == ("row", ("Region", "Manager"), ("Oslo", "Kari Lie"))
    assert (second.kind, second.headings, second.key) == ("row", ("Offices",), "Voss")
