"""The service does what its OpenAPI document describes, and nothing else."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.server.conftest import Make

EXAMPLES = 8


@pytest.mark.parametrize("mode", GenerationMode)
def test_every_request_is_answered_as_documented(make: Make, mode: GenerationMode) -> None:
    app = make(server__allowed_hosts=["*"]).app
    described = schemathesis.openapi.from_asgi("/openapi.json", app)
    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        try_operation(found.ok(), mode)


def try_operation(operation: Any, mode: GenerationMode) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def answers_as_documented(case: Any) -> None:
        # no schema can describe which files exist, or which filters are valid: these are 422 too
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    with contextlib.suppress(Unsatisfiable):  # an operation without invalid requests
        answers_as_documented()


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
    }


def test_every_schema_of_an_answer_describes_its_fields(shared: TestClient) -> None:
    schemas = shared.get("/openapi.json").json()["components"]["schemas"]
    assert [name for name, schema in schemas.items() if not schema.get("description")] == ["HTTPValidationError"] * (
        "HTTPValidationError" in schemas
    )
    for name in ("Hit", "Hits", "Discovery", "Disclosure", "Document", "Answer", "Evidence", "Problem", "CorpusInfo"):
        missing = [key for key, field in schemas[name]["properties"].items() if not field.get("description")]
        assert (name, missing) == (name, [])


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/corpora", None),
    ("GET", "/v1/corpora/{name}", None),
    ("POST", "/v1/corpora/{name}/search", {"query": "refund", "facts": True}),
    ("POST", "/v1/corpora/{name}/discover", {"query": "refund", "level": "body"}),
    ("POST", "/v1/corpora/{name}/discover", {"query": "a moon rocket"}),
    ("POST", "/v1/corpora/{name}/explain", {"query": "refund", "id": "track"}),
    ("POST", "/v1/corpora/{name}/disclose", {"ids": ["refund"]}),
    ("POST", "/v1/corpora/{name}/ask", {"question": "Where is a shipment?"}),
    ("POST", "/v1/corpora/{name}/eval", {"cases": [{"query": "refund", "gold": ["refund"]}], "against": "lexical"}),
    ("POST", "/v1/corpora/{name}/lint", {}),
    ("POST", "/v1/corpora/{name}/feedback", {"query": "refund", "id": "refund"}),
    ("GET", "/v1/corpora/{name}/usage", None),
    ("GET", "/v1/corpora/{name}/documents", None),
    ("GET", "/v1/corpora/{name}/documents/{id}", None),
    ("POST", "/v1/corpora/{name}/documents", {"documents": [{"id": "x", "title": "X", "content": "x"}]}),
    ("GET", "/documents", None),
    ("POST", "/retrieve", {"query": "refund"}),
    ("GET", "/settings", None),
    ("GET", "/status", None),
    ("GET", "/v1/mcp", None),
]


def test_real_answers_are_valid_and_have_no_other_keys(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    for method, path, body in REQUESTS:
        answer = client.request(method, path.format(name="catalog", id="refund"), json=body)
        assert answer.status_code == 200, answer.text
        content = document["paths"][path][method.lower()]["responses"]["200"]["content"]
        schema = content["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())
        top = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if path != "/v1/corpora/{name}":  # an engine may report more about a corpus
            assert answer.json().keys() <= top["properties"].keys(), path
