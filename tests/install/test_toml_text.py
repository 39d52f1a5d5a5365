"""Edits of one value in a TOML text that leave the rest unchanged."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from shortlist.install import toml_text

ENTRY = {"command": "shortlist", "args": ["mcp"]}


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
