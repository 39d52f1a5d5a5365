"""Arguments of calls: parsed, and explained if they do not fit the schema."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.mcp.gateway.arguments import explain_problems

SCHEMAS: dict[str, Any] = {
    "refers to the network": {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    "refers to itself": {"$ref": "#"},
    "is no schema": {"type": "strong", "properties": {"a": 5}},
    "holds a pattern without end": {"properties": {"a": {"pattern": "^(a+)+$"}}},
    "holds a pattern that is none": {"properties": {"a": {"pattern": "("}}},
    "doubles with each step": {
        "$ref": "#/$defs/0",
        "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": {}},
    },
    "holds keys by a pattern": {"patternProperties": {"^(a+)+$": {"type": "string"}}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_cannot_be_checked_safely_explains_nothing(schema: dict[str, Any]) -> None:
    assert explain_problems("bad/tool", schema, {"a": "a" * 40 + "!"}) == ""


def test_arguments_that_do_not_fit_the_schema_are_explained() -> None:
    address = {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}, "required": ["zip"]}
    schema = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/address"}, "speed": {"enum": ["slow", "fast"]}, "n": {"minimum": 1}},
        "required": ["to"],
        "additionalProperties": False,
        "$defs": {"address": address},
    }
    assert explain_problems("post/send", schema, {"to": {"zip": "9000"}, "speed": "fast", "n": 2}) == ""
    wrong = {"to": {"zap": "x"}, "speed": "warp", "n": 0, "sped": 1}
    explained = explain_problems("post/send", schema, wrong)
    for sentence in (
        "Invalid arguments for post/send.",
        "to: 'zip' is a required property. 'zap' is unknown. Did you mean 'zip'?",
        "speed: 'warp' is not one of ['slow', 'fast'].",
        "'sped' is unknown. Did you mean 'speed'?",
        "n: 0 is less than the minimum of 1.",
    ):
        assert sentence in explained
    assert "does not match" in explain_problems("post/send", schema, {"to": {"zip": "B-9000"}})


def test_a_required_argument_with_a_default_is_not_missing() -> None:
    properties = {"city": {"type": "string"}, "unit": {"type": "string", "default": "C"}}
    schema = {"type": "object", "properties": properties, "required": ["city", "unit"]}
    assert explain_problems("weather/now", schema, {"city": "Ghent"}) == ""
    assert "'city' is a required property" in explain_problems("weather/now", schema, {"unit": "F"})
