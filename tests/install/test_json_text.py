"""Edits of one value in a JSON text that leave the rest unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shortlist.install import json_text

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


LISTS = [
    ('{"a": {"b": [1]}}', '{"a": {"b": [1, {"c": 2}]}}'),
    (
        '{\n  "a": {\n    "b": [\n      1 // one\n    ]\n  }\n}\n',
        '{\n  "a": {\n    "b": [\n      1,\n      {\n        "c": 2\n      } // one\n    ]\n  }\n}\n',
    ),
    (
        '{\n  "a": {\n    "b": [\n      1,\n    ],\n  }\n}\n',
        '{\n  "a": {\n    "b": [\n      1,\n      {\n        "c": 2\n      },\n    ],\n  }\n}\n',
    ),
]


@pytest.mark.parametrize(("text", "appended"), LISTS)
def test_an_item_is_appended_to_a_list_and_removed_again(text: str, appended: str) -> None:
    assert json_text.append(text, ["a", "b"], {"c": 2}) == appended
    assert json_text.remove(appended, ["a", "b"], 1) == text


@pytest.mark.parametrize("text", ["", "{}", '{\n  "a": {}\n}\n', '{"a": {"b": []}}'])
def test_a_list_that_is_missing_or_empty_is_written_and_the_last_item_takes_it_along(text: str) -> None:
    appended = json_text.append(text, ["a", "b"], 1)
    assert json_text.read(appended) == {"a": {"b": [1]}}
    assert json_text.read(json_text.remove(appended, ["a", "b"], 0)) == {"a": {}}


def test_trailing_commas_and_items_in_the_middle() -> None:
    text = '{\n  "a": [\n    1, // one\n    2,\n    3,\n  ],\n}\n'
    assert json_text.read(json_text.append(text, ["a"], 4)) == {"a": [1, 2, 3, 4]}
    assert json_text.remove(text, ["a"], 1) == '{\n  "a": [\n    1, // one\n    3,\n  ],\n}\n'
    with pytest.raises(ValueError, match="'a' is not a list"):
        json_text.append('{"a": 1}', ["a"], 1)
