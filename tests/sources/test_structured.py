"""The data of JSON and YAML files, and the entries of a list as they were written."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import SourceError
from shortlist.sources.structured import load, split_entries, to_json


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "text", "data", "is_json"),
    [
        ("a.json", '{"n": 1}', {"n": 1}, True),
        ("a.yaml", '{"n": 1}', {"n": 1}, True),
        ("a.yaml", "{n: 1}", {"n": 1}, False),
        ("a.yml", "n: 1", {"n": 1}, False),
        ("a.json", "\ufeff[1]", [1], True),
    ],
)
def test_json_has_its_text_and_yaml_has_none(tmp_path: Path, name: str, text: str, data: Any, is_json: bool) -> None:
    found, written = load(write(tmp_path, name, text.encode()))
    assert found == data
    assert written == (text.removeprefix("\ufeff") if is_json else None)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.json", b"n: 1", "is not valid JSON"),
        ("a.json", b"[" * 100_000, "is not valid JSON"),
        ("a.yaml", b"n: [1", "is not valid YAML"),
        ("a.yaml", b"\xff", "cannot be read"),
    ],
)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=rf"{name} {reason}"):
        load(write(tmp_path, name, data))


def test_a_file_may_have_another_encoding_and_must_exist(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "n: é".encode("latin-1"))
    assert load(path, "latin-1") == ({"n": "é"}, None)
    with pytest.raises(SourceError, match="cannot be read: unknown encoding"):
        load(path, "klingon")
    with pytest.raises(SourceError, match=r"other\.json cannot be read: No such file"):
        load(tmp_path / "other.json")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(values), st.sampled_from([None, 0, 2]))
def test_entries_are_exactly_as_they_were_written(entries: list[Any], indent: int | None) -> None:
    text = json.dumps({"x": [1, {"list": 2}], "a": {"list": entries}}, indent=indent)
    parts = split_entries(text, ["a", "list"])
    assert [json.loads(part) for part in parts] == entries
    assert all(part in text for part in parts)


def test_dates_of_yaml_become_text_and_other_types_are_an_error() -> None:
    assert to_json({"b": datetime.date(2025, 3, 14), "a": "é"}) == '{"b": "2025-03-14", "a": "é"}'
    with pytest.raises(TypeError, match="type set cannot be stored"):
        to_json({"a": {1}})
