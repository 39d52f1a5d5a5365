"""Edits of one value in a JSON, TOML or YAML text that leave the rest unchanged."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from shortlist.install import json_text, toml_text, yaml_text

ENTRY = {"command": "shortlist", "args": ["mcp"]}


def test_a_member_is_added_after_comments_in_the_layout_of_the_text() -> None:
    text = """\
// top
{
    "inputs": [], /* none */
    "servers": {
        "a": {"command": "x"} // the first
        // the end
    }
}
"""
    assert (
        json_text.put(text, ["servers", "new"], ENTRY)
        == """\
// top
{
    "inputs": [], /* none */
    "servers": {
        "a": {"command": "x"}, // the first
        // the end
        "new": {
            "command": "shortlist",
            "args": [
                "mcp"
            ]
        }
    }
}
"""
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "new": 1\n  }\n}\n'),
        ("// nothing yet\n", '// nothing yet\n{\n  "s": {\n    "new": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "new": 1\n  }\n}'),
        ('{"s":{"a":2}}', '{"s":{"a":2, "new": 1}}'),
        ('{"s": {}, "t": 3}', '{"s": {"new": 1}, "t": 3}'),
        ('{\n\t"s": {}\n}', '{\n\t"s": {\n\t\t"new": 1\n\t}\n}'),
        ('{\n  "s": {\n    "a": 2,\n  },\n}', '{\n  "s": {\n    "a": 2,\n    "new": 1,\n  },\n}'),
        ('{\n  "s": {"a": 2}\n}', '{\n  "s": {"a": 2, "new": 1}\n}'),
        ('{\n  "s": { // none\n  }\n}', '{\n  "s": { // none\n    "new": 1\n  }\n}'),
        ('{\n  "a": 1\n}', '{\n  "a": 1,\n  "s": {\n    "new": 1\n  }\n}'),
        ('{"s": {"new": "old", "b": 2}} // x', '{"s": {"new": 1, "b": 2}} // x'),
    ],
)
def test_a_value_is_put_into_texts_of_any_layout(before: str, after: str) -> None:
    assert json_text.put(before, ["s", "new"], 1) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"s": {"new": 1}}', '{"s": {}}'),
        ('{"s": {"new": 1, "b": 2}}', '{"s": {"b": 2}}'),
        ('{"s": {"b": 2, "new": 1}}', '{"s": {"b": 2}}'),
        (
            '{\n  "s": {\n    "a": 1, // a\n    "new": 1\n    // end\n  }\n}',
            '{\n  "s": {\n    "a": 1 // a\n    // end\n  }\n}',
        ),
        ('{\n  "s": {\n    "new": {\n      "x": []\n    },\n    "b": 2,\n  }\n}', '{\n  "s": {\n    "b": 2,\n  }\n}'),
        ('{\n  "s": {\n    // about\n    "new": 1\n  }\n}', '{\n  "s": {\n    // about\n  }\n}'),
    ],
)
def test_a_member_is_dropped_from_texts_of_any_layout(before: str, after: str) -> None:
    assert json_text.drop(before, ["s", "new"]) == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1', "line 1 column 8"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3 column 3"),
        ('{"a": }', "line 1 column 7"),
        ("{a: 1}", "property name enclosed in double quotes: line 1 column 2"),
        ('{"a" 1}', "line 1 column 6"),
        ('{"a": nope}', "line 1 column 7"),
        ('{"a": [1 2]}', "line 1 column 10"),
        ("{} {}", "line 1 column 4"),
        ("[]", "not an object but list"),
        ('{"a": "x}', "line 1 column 7"),
    ],
)
def test_an_invalid_text_is_an_error_with_its_position(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        json_text.read(text)


def test_nothing_is_put_into_a_value_that_is_not_an_object() -> None:
    with pytest.raises(ValueError, match="'s' is not an object"):
        json_text.put('{"s": []}', ["s", "new"], 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


@given(data=OBJECTS, indent=st.sampled_from([None, 2, "\t"]), key=st.text(max_size=5), value=JSON)
def test_dropping_what_was_put_restores_the_text(data: Any, indent: Any, key: str, value: Any) -> None:
    assume(key not in data)
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    assert json_text.read(text) == data
    longer = json_text.put(text, [key], value)
    assert list(json.loads(longer).items()) == [*data.items(), (key, value)]
    assert json_text.drop(longer, [key]) == text
    inside = json_text.put(longer, [key], {"deep": {}})
    assert json_text.read(json_text.put(inside, [key, "deep", "er"], value))[key] == {"deep": {"er": value}}


CONFIG = '''\
# mine
model = "o" # stays

[mcp_servers.a] # one
command = "x"
args = [
  "[mcp_servers.shortlist]", # no header
  ["y"],
]
text = """
[mcp_servers.shortlist]
"""

[mcp_servers."b c".env]
K = 'v'
'''
TABLE = '\n[mcp_servers.shortlist]\ncommand = "shortlist"\nargs = ["mcp"]\n'


def test_a_table_is_added_at_the_end_and_dropped_again() -> None:
    path = ["mcp_servers", "shortlist"]
    assert toml_text.put(CONFIG, path, ENTRY) == CONFIG + TABLE
    assert toml_text.drop(CONFIG + TABLE, path) == CONFIG
    assert toml_text.put("", path, ENTRY) == TABLE[1:]
    assert toml_text.put("a = 1", path, ENTRY) == "a = 1\n" + TABLE


def test_a_table_in_the_middle_is_dropped_with_its_subtables() -> None:
    middle = "[mcp_servers.shortlist]\n# ours\ncommand = 'x'\n\n[mcp_servers.shortlist.env]\nK = 'v' # ours\n\n# of b\n"
    text = f"[a]\nx = 1\n\n{middle}[b]\ny = 2\n"
    assert toml_text.drop(text, ["mcp_servers", "shortlist"]) == "[a]\nx = 1\n\n# of b\n[b]\ny = 2\n"


def test_values_in_a_table_are_changed_and_added() -> None:
    text = "[mcp_servers.shortlist]\ncommand = 'old' # note\nenabled = true\n\n[other]\n"
    changed = toml_text.put(text, ["mcp_servers", "shortlist", "command"], "new\\path")
    assert changed == '[mcp_servers.shortlist]\ncommand = "new\\\\path" # note\nenabled = true\n\n[other]\n'
    longer = toml_text.put(changed, ["mcp_servers", "shortlist", "args"], ["mcp"])
    assert longer == changed.replace("enabled = true\n", 'enabled = true\nargs = ["mcp"]\n')
    inline = toml_text.put("[mcp_servers]\nshortlist = { command = 'x' }\n", ["mcp_servers", "shortlist"], ENTRY)
    assert inline == '[mcp_servers]\nshortlist = {command = "shortlist", args = ["mcp"]}\n'
    env = toml_text.put(inline, ["mcp_servers", "shortlist", "env"], {"K": "v"})
    assert env == inline.replace("}\n", ', env = {K = "v"}}\n')
    assert toml_text.drop(inline, ["mcp_servers", "shortlist"]) == "[mcp_servers]\n"
    dotted = toml_text.put("mcp_servers.shortlist.command = 'x'\n", ["mcp_servers", "shortlist", "args"], [])
    assert tomllib.loads(dotted) == {"mcp_servers": {"shortlist": {"command": "x", "args": []}}}


def test_tables_in_any_order_are_changed_and_dropped() -> None:
    text = "[mcp_servers.a]\nb = 1\n\n[z]\nq = 1\n\n[mcp_servers.shortlist]\nx = 1\n"
    assert toml_text.drop(text, ["mcp_servers", "shortlist"]) == "[mcp_servers.a]\nb = 1\n\n[z]\nq = 1\n"
    assert toml_text.put(text, ["mcp_servers", "shortlist", "x"], 2) == text.replace("x = 1", "x = 2")
    assert toml_text.put(text, ["mcp_servers", "new"], {"y": 1}) == text + "\n[mcp_servers.new]\ny = 1\n"


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=6)
STRINGS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)


@given(
    tables=st.dictionaries(KEYS, st.dictionaries(KEYS, STRINGS | st.lists(STRINGS), max_size=3), max_size=4), key=KEYS
)
def test_tables_of_any_name_are_put_and_dropped(tables: dict[str, Any], key: str) -> None:
    assume(key not in tables)
    text = ""
    for name, values in tables.items():
        text = toml_text.put(text, ["servers", name], values)
    assert tomllib.loads(text) == ({"servers": tables} if tables else {})
    longer = toml_text.put(text, ["servers", key], ENTRY)
    assert tomllib.loads(longer) == {"servers": {**tables, key: ENTRY}}
    assert toml_text.drop(longer, ["servers", key]) == text
    for name in tables:
        longer = toml_text.drop(longer, ["servers", name])
    assert tomllib.loads(longer) == {"servers": {key: ENTRY}}


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
