"""Columns of metadata: they have what the rows have, after any merge."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.engine import BUILT_IN, MISSING
from shortlist.index.storage import columns
from shortlist.index.storage.columns import Columns, look_up

KEYS = ("a", "b", "a.b", "a.b.a", "kind", "kind.a", "source", "title", "", "a.", '"', "ä")


def mappings(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(KEYS), values, max_size=3)


SCALARS = st.sampled_from(
    (None, True, False, 0, 1, -2, 0.0, 1.0, 2.5, "", "1", "a", "ä", "\ud800", [], [1], [True, "a"])
)
VALUES = SCALARS | mappings(SCALARS | mappings(SCALARS))
ROWS = st.lists(st.tuples(mappings(VALUES).map(json.dumps), st.sampled_from("kl"), st.sampled_from("st")), max_size=5)


def values_of(found: Columns | None, key: str) -> list[str] | None:
    """The value of each passage as JSON, which tells True from 1."""
    assert found is not None
    column = found.find(key)
    return None if column is None else [show(column.values[code]) for code in column.codes.tolist()]


def show(value: Any) -> str:
    return "missing" if value is MISSING else json.dumps(value, sort_keys=True)


def expected(rows: list[tuple[str, str, str]], key: str) -> list[str]:
    return [
        show(look_up(json.loads(metadata), key, {"kind": kind, "source": source}.get(key, MISSING)))
        for metadata, kind, source in rows
    ]


@given(ROWS, st.sampled_from(KEYS))
def test_a_column_has_what_the_rows_have(rows: list[tuple[str, str, str]], key: str) -> None:
    found = values_of(Columns.of(rows), key)
    assert found == (None if key == "title" else expected(rows, key))


@given(st.lists(ROWS, min_size=1, max_size=3), st.randoms(use_true_random=False), st.sampled_from(KEYS))
def test_merged_columns_have_what_the_live_rows_have(parts: list[Any], draw: Any, key: str) -> None:
    dead = [draw.choice((None, np.array([draw.random() < 0.3 for _ in rows], dtype=bool))) for rows in parts]
    merged = Columns.merge([(Columns.of(rows), mask) for rows, mask in zip(parts, dead, strict=True)])
    assert merged is not None
    live = [
        row
        for rows, mask in zip(parts, dead, strict=True)
        for at, row in enumerate(rows)
        if mask is None or not mask[at]
    ]
    assert values_of(merged, key) == (None if key == "title" else expected(live, key))
    assert merged.find_fault() == ""


def test_a_key_with_too_many_values_is_left_to_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_VALUES", 2)
    few, many = ([(json.dumps({"n": number % count}), "k", "s") for number in range(6)] for count in (2, 3))
    assert values_of(Columns.of(few), "n") == ["0", "1"] * 3
    left_out = Columns.of(many)
    assert left_out is not None
    assert left_out.find("n") is None
    assert left_out.find("n.m") is None
    assert values_of(left_out, "kind") == ['"k"'] * 6
    merged = Columns.merge([(Columns.of(few), None), (left_out, None)])
    assert merged is not None
    assert merged.find("n") is None


def test_large_values_are_left_to_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROOM", 10)
    rows = [(json.dumps({"text": "x" * length}), "k", "s") for length in (7, 8 + 6)]
    assert values_of(Columns.of(rows[:1]), "text") is not None  # ["xxxxxxx"] has 11 bytes of 18
    assert values_of(Columns.of(rows), "text") is None  # and 29 of 26 with the other


def test_columns_are_not_merged_with_a_segment_that_has_none() -> None:
    assert Columns.merge([(Columns.of([("{}", "k", "s")]), None), (None, None)]) is None


def test_what_every_document_has_is_known() -> None:
    found = Columns.of([("{}", "k", "s")])
    assert [values_of(found, key) is None for key in BUILT_IN] == [
        True,
        True,
        False,
        False,
    ]  # id and title are in the rows


def test_a_segment_with_too_many_keys_has_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_KEYS", 3)  # kind, source and one more
    one, other = (Columns.of([(json.dumps({key: 1}), "k", "s")]) for key in "ab")
    assert Columns.of([('{"a": 1, "b": 1}', "k", "s")]) is None
    assert Columns.merge([(one, None), (one, None)]) is not None
    assert Columns.merge([(one, None), (other, None)]) is None
