"""The shape of a large result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shortlist.mcp.large_results.shapes import LONGEST_SHAPE, Shape, describe, parse_data, parse_table


def shape_of(text: str) -> Shape:
    data = parse_data(text)
    return describe(text, data, None if data is not None else parse_table(text))


ROWS: list[dict[str, Any]] = [{"id": 1, "by": {"name": "Ada"}}, {"id": 2, "tags": []}]
TEXTS = {
    "JSON": (json.dumps(ROWS), "JSON: [2 × {id: number, tags: [], by: {name: string}}]", "[0:20]"),
    "JSON in an object": (json.dumps({"n": None, "rows": ROWS}), "JSON: {n: null, rows: [2 ×", "rows[0:20]"),
    "JSON after a sentence": (f"Found 2 issues:\n{json.dumps(ROWS, indent=1)}", "JSON: [2 ×", "[0:20]"),
    "lines of JSON": ("\n".join(map(json.dumps, ROWS)), "JSON: [2 ×", "[0:20]"),
    "CSV": ('city,"rain, mm"\nGhent,3\n"Paris, F",4\n', "A table of 2 rows: city, rain, mm", "rows 1-20"),
    "Markdown table": ("| a | b |\n|---|---|\n| 1 | 2 |\n", "A table of 1 row: a, b", "rows 1-20"),
    "Markdown": ("# Start\n\ntext\n\n## End\n", "5 lines. Headings: Start (line 1), End (line 5)", "lines 1-5"),
    "page": ('- main\n  - heading "Prices" [level=1] [ref=e3]\n', 'Headings: "Prices" (line 2)', "lines 1-2"),
    "log": ("ok\nERROR no disk\nfine\nfailed twice", "4 lines. 2 lines with errors, the first is line 2", "lines 1-4"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_shape_names_rows_keys_columns_headings_and_errors(name: str) -> None:
    text, expected, example = TEXTS[name]
    shape = shape_of(text)
    assert expected in shape.text
    assert shape.example == example


def test_a_shape_is_short_however_wide_the_data_is() -> None:
    wide: Any = {f"key {number}": {f"inner {each}": [{}] for each in range(99)} for number in range(99)}
    assert len(shape_of(json.dumps(wide)).text) <= LONGEST_SHAPE + 1
    assert parse_data("[" * 100_000) is None


def test_no_text_is_too_strange_for_a_shape() -> None:
    field = "x" * 200_000  # the csv module refuses fields of more than 131,072 characters
    assert shape_of(f'a,"{field}"\nb,c\nd,e').text == "3 lines"
    lines = "\n".join(["x" * 9_000] * 19)
    assert shape_of(f'a,b\nc,"{lines}').text == "20 lines"
    assert shape_of("\n" * 20_000 + "end").text == "20,001 lines"
    assert shape_of('a\n heading "one\ntwo"\n heading "three"').text == '4 lines. Headings: "three" (line 4)'
