"""Checks real answers of a service against its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]


def check_answers(client: TestClient, requests: Iterable[tuple[str, str, Any]]) -> None:
    """Each request (method, path, body) is answered with valid data and without keys that are not declared."""
    document = client.get("/openapi.json").json()
    for method, path, body in requests:
        answer = client.request(method, path.format(name="catalog", id="refund"), json=body)
        assert answer.status_code == 200, answer.text
        content = document["paths"][path][method.lower()]["responses"]["200"]["content"]
        schema = content["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())
        top = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if path != "/v1/corpora/{name}":  # an engine may report more about a corpus
            assert answer.json().keys() <= top["properties"].keys(), path
