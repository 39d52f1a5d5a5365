"""The OpenAPI document: references, events, and descriptions of every field."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from fastapi.testclient import TestClient

from shortlist.server.routes.answer_types import AnswerType
from shortlist.server.routes.api_document import add_schemas, read_field_docs


def test_every_reference_in_the_document_can_be_resolved(shared: TestClient) -> None:
    document = shared.get("/openapi.json").json()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert {"Problem", "FieldProblem"} <= references <= document["components"]["schemas"].keys()
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"401", "403", "421", "503"} <= operation["responses"].keys()


def test_a11_event_streams_are_described_event_by_event(shared: TestClient) -> None:
    document = shared.get("/openapi.json").json()
    found = {}
    for path, operations in document["paths"].items():
        stream = (
            operations.get("post", {}).get("responses", {}).get("200", {}).get("content", {}).get("text/event-stream")
        )
        if stream:
            events = [schema["properties"] for schema in stream["itemSchema"]["oneOf"]]
            refs = {one["event"]["const"]: one["data"]["contentSchema"]["$ref"] for one in events}
            found[path.rpartition("/")[2]] = {name: ref.rpartition("/")[2] for name, ref in refs.items()}
    progress = {"progress": "ProgressEvent", "error": "Problem"}
    asked = {"evidence": "Evidence", "step": "StepEvent", "text": "TextEvent", "answer": "Answer"}
    assert found == {
        "ask": {**asked, "error": "Problem"},
        "eval": {**progress, "answer": "Evaluation"},
        "lint": {**progress, "answer": "LintReport"},
        "build": {**progress, "answer": "BuildReport"},
    }


def test_the_summary_of_an_operation_is_the_first_sentence_of_its_description(shared: TestClient) -> None:
    paths = shared.get("/openapi.json").json()["paths"]
    assert paths["/v1/corpora/{name}/search"]["post"]["summary"] == "Rank documents, best first"
    operations = [operation for methods in paths.values() for operation in methods.values()]
    assert [each["operationId"] for each in operations if not each["description"].startswith(each["summary"])] == []


def test_every_schema_of_an_answer_describes_its_fields(shared: TestClient) -> None:
    schemas = shared.get("/openapi.json").json()["components"]["schemas"]
    assert [name for name, schema in schemas.items() if not schema.get("description")] == ["HTTPValidationError"] * (
        "HTTPValidationError" in schemas
    )
    for name in ("Hit", "Hits", "Discovery", "Disclosure", "Document", "Answer", "Evidence", "Problem", "CorpusInfo"):
        missing = [key for key, field in schemas[name]["properties"].items() if not field.get("description")]
        assert (name, missing) == (name, [])


@dataclass
class Wheel:
    """A wheel."""

    size: int
    """Its diameter in inches."""


@dataclass
class Car:
    """A car."""

    _shown: ClassVar[str] = "wheels count"
    wheels: list[Wheel]
    """All of them."""
    secret: str = ""

    @property
    def count(self) -> int:
        """Their number."""
        return len(self.wheels)


class CarJson(AnswerType, base=Car, example={"wheels": [], "count": 0, "color": "red"}):
    """A car with its color."""

    color: str = "red"
    """Of its doors."""


def test_a_schema_has_what_is_shown_with_its_descriptions_and_examples() -> None:
    components: dict[str, Any] = {}
    add_schemas(components, [CarJson])
    car, wheel = components["Car"], components["Wheel"]
    assert (car["description"], car["examples"]) == ("A car with its color.", CarJson.examples)
    assert {name: field["description"] for name, field in car["properties"].items()} == {
        "wheels": "All of them.",
        "count": "Their number.",
        "color": "Of its doors.",
    }
    assert car["properties"]["wheels"]["items"] == {"$ref": "#/components/schemas/Wheel"}
    assert car["required"] == ["wheels", "count"]
    assert wheel["properties"]["size"] == {
        "description": "Its diameter in inches.",
        "title": "Size",
        "type": "integer",
    }
    assert "$defs" not in car


def test_the_docstrings_below_fields_are_read() -> None:
    assert read_field_docs(__name__)["Wheel"] == {"size": "Its diameter in inches."}
    assert read_field_docs(__name__)["Car"] == {"wheels": "All of them."}
