"""Paths into a result."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.errors import InputError
from shortlist.mcp.large_results.json_paths import join_key, parse_range, take
from shortlist.mcp.large_results.shapes import describe, find_rows

DATA = {
    "items": [{"id": 1, "name": "a", "tags": ["x"]}, {"id": 2, "name": "b"}, {"id": 3}],
    "a.b": {"c": [[1, 2], [3]]},
    "total": 3,
    "$defs": {"": "empty", "*": "star"},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("total", 3),
        ("$.total", 3),
        ("items[1].name", "b"),
        ("items[-1]", {"id": 3}),
        ("items[1:].id", [2, 3]),
        ("items[*].name", ["a", "b"]),
        ("items.*.id", [1, 2, 3]),
        ("items[0:2].tags[0]", ["x"]),
        ("..id", [1, 2, 3]),
        ("['a.b'].c[1][0]", 3),
        ('$["a.b"]..c', [[[1, 2], [3]]]),
        ("$", DATA),
        ("$defs['']", "empty"),
        ("$.$defs[*]", ["empty", "star"]),
    ],
)
def test_a_path_leads_to_a_value_or_to_all_values_that_have_it(path: str, expected: Any) -> None:
    assert take(DATA, path) == expected


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("itms", "no 'itms' at the top level. Did you mean 'items'?"),
        ("items[7]", "no '7' at items, which is a list of 3"),
        ("items.name", "no 'name' at items, which is a list of 3. Use [0]"),
        ("total.x", "no 'x' at total, which is 3"),
        ('[""]', "no '' at the top level"),
        ("items[x]", "not a JSON path"),
        (r'["\x"]', "not a JSON path"),
        ("..*", "not a JSON path"),
        (f"items[{'9' * 5_000}]", "not a JSON path"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error_that_says_what_is_there(path: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        take(DATA, path)
    assert reason in str(caught.value)


@pytest.mark.parametrize("key", ["Größe cm", "a.b", 'say "hi"', "it's", "C:\\new", "tab\t]", "", "$id", "日本"])
def test_the_path_of_every_key_leads_to_its_value(key: str) -> None:
    data = {key: [{key: 1}]}
    assert take(data, join_key(f"{join_key('', key)}[0]", key)) == 1
    rows, _ = find_rows(data)
    assert take(data, f"{rows}[0:20]") == data[key]
    assert take({key: 1}, describe("", {key: 1}, None).example) == 1
    assert take({'it\'s "1"': 1}, r"""['it\'s "1"']""") == 1


def test_ranges_are_of_lines_or_rows_and_start_at_one() -> None:
    assert parse_range("lines 5-60") == ("line", 5, 60)
    assert parse_range(" Row 7 ") == ("row", 7, 7)
    assert parse_range("rows") is None
    assert parse_range(f"lines {'9' * 5_000}") is None
    for wrong in ("lines 0-3", "rows 9-8"):
        with pytest.raises(InputError, match="not a range"):
            parse_range(wrong)
