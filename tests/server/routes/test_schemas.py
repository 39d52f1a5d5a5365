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
