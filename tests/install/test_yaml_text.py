"""Edits of one value in a YAML text that leave the rest unchanged."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from shortlist.install import yaml_text

ENTRY = {"command": "shortlist", "args": ["mcp"]}


YAML = """\
# mine
model: m  # the model

s:
  # the first
  a: # net
    cmd: x
    args:
      - y
    text: |
      one
      two
    # inside
  # the end
z: 1
"""


def test_a_member_of_yaml_is_added_before_the_others_and_removed_again() -> None:
    added = yaml_text.put(YAML, ["s", "new"], ENTRY)
    new = "  new:\n    command: shortlist\n    args:\n    - mcp\n"
    assert added == YAML.replace("  a: # net\n", f"{new}  a: # net\n")
    assert yaml_text.drop(added, ["s", "new"]) == YAML


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "s:\n  new: 1\n"),
        ("# nothing yet\n", "# nothing yet\ns:\n  new: 1\n"),
        ("a: 1", "a: 1\ns:\n  new: 1\n"),
        ("s:\n", 's: {"new": 1}\n'),
        ("s: # none\nb: 1\n", 's: {"new": 1} # none\nb: 1\n'),
        ("s: {}\n", 's: {"new": 1}\n'),
        ("s: {a: 2} # x\nb: 1\n", 's: {"a": 2, "new": 1} # x\nb: 1\n'),
        ("{s: {a: 2}}", '{s: {"a": 2, "new": 1}}'),
        ("s:\n    a: 2\n", "s:\n    new: 1\n    a: 2\n"),
        ("s:\n  new: [2] # x\n  b: 3\n", "s:\n  new: 1 # x\n  b: 3\n"),
        ("s:\n  new:\n  - 2\n  b: 3\n", "s:\n  new: 1\n  b: 3\n"),
        ("s:\n  new:\n    c: 2\n    # c\n  b: 3\n", "s:\n  new: 1\n    # c\n  b: 3\n"),
    ],
)
def test_a_value_is_put_into_yaml_of_any_layout(before: str, after: str) -> None:
    assert yaml_text.put(before, ["s", "new"], 1) == after
    assert yaml.safe_load(after)["s"]["new"] == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s:\n  new: 1\n", "s: {}\n"),
        ("s: {new: 1, b: 2} # x\n", 's: {"b": 2} # x\n'),
        ("s:\n  b: 2\n  new: |\n    one\n\n    two\n", "s:\n  b: 2\n"),
        ("s:\n  new: 1\n  # b\n  b: 2", "s:\n  # b\n  b: 2"),
        ("s:\n  b: 2 # b\n  new:\n  - 1\nz: 3\n", "s:\n  b: 2 # b\nz: 3\n"),
    ],
)
def test_a_member_of_yaml_is_removed_with_its_lines(before: str, after: str) -> None:
    assert yaml_text.drop(before, ["s", "new"]) == after


@pytest.mark.parametrize("text", ["- a\n", "a: [", "a: 1\n---\nb: 2\n", "a: !!python/object:os.x {}"])
def test_yaml_that_is_no_mapping_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a mapping|line 1|line 2|expected"):
        yaml_text.read(text)


names = st.text("abc:#'\"- {[&*!|>%@`\n\u00e9", min_size=1, max_size=6)


scalars = st.none() | st.booleans() | st.integers() | names


@given(
    st.dictionaries(
        names, st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(names, inner)), max_size=4
    ),
    st.dictionaries(names, scalars, min_size=1, max_size=3),
    st.booleans(),
)
def test_edits_of_yaml_agree_with_the_data(others: dict[str, Any], entry: dict[str, Any], flow: bool) -> None:
    data = {"first": 1, "s": others, "z": [1]}
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=flow or None)
    assume("new" not in others)
    added = yaml_text.put(text, ["s", "new"], entry)
    assert yaml.safe_load(added) == data | {"s": others | {"new": entry}}
    assert yaml.safe_load(yaml_text.drop(added, ["s", "new"])) == data
    changed = yaml_text.put(added, ["s", "new", next(iter(entry))], "other")
    assert yaml.safe_load(changed)["s"]["new"] == entry | {next(iter(entry)): "other"}
