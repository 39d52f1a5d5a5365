"""Real answers have the declared keys and types, and no others."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

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
