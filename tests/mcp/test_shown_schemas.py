"""Schemas as a model reads them: without what repeats, or in one line."""

from __future__ import annotations

from typing import Any

from shortlist.mcp.shown_schemas import LONGEST_OUTPUT, describe_output, shorten_input

TEXT = {"type": "string"}


def test_dialects_and_titles_that_repeat_names_go_and_arguments_of_these_names_stay() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft-07/schema#",
        "title": "create_noteArguments",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "note_id": {"title": "Note Id", **TEXT},
            "title": {"title": "The headline", **TEXT},
            "tags": {"type": "array", "items": {"title": "Tags", "anyOf": [{"title": "Tags", **TEXT}]}},
            "$schema": {"enum": [False, {"title": "Tags"}]},
        },
        "required": ["note_id"],
    }
    assert shorten_input(schema) == {
        "type": "object",
        "properties": {
            "note_id": TEXT,
            "title": {"title": "The headline", **TEXT},
            "tags": {"type": "array", "items": {"anyOf": [TEXT]}},
            "$schema": {"enum": [False, {"title": "Tags"}]},
        },
        "required": ["note_id"],
    }


def test_an_output_schema_is_one_line_however_long_or_recursive_it_is() -> None:
    tree: dict[str, Any] = {"properties": {"name": TEXT, "inner": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    schema = {"properties": {"tree": {"$ref": "#/$defs/Tree"}, "at": {"type": ["string", "null"]}}}
    line = describe_output(schema | {"$defs": {"Tree": tree}})
    assert line == "{tree: {name: string, inner: [object]}, at: string | null}"
    assert describe_output({"anyOf": [{"type": "integer"}, {}, {"$ref": "elsewhere"}]}) == "integer | any"
    wide = describe_output({"properties": {f"column_{number}": TEXT for number in range(100)}})
    assert len(wide) == LONGEST_OUTPUT + 1
