"""Real answers of the retriever's routes have the declared keys and types, and so have the examples."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
from fastapi.testclient import TestClient

from tests.server.answer_checks import check_answers

REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/documents", None),
    ("GET", "/document-files", None),
    ("POST", "/retrieve", {"query": "refund"}),
    ("POST", "/retrieve", {"query": "the"}),
    ("GET", "/settings", None),
]


def test_real_answers_are_valid_and_have_no_other_keys(client: TestClient) -> None:
    check_answers(client, REQUESTS)


def test_a_retrieved_document_has_its_scores(shared: TestClient) -> None:
    schemas = shared.get("/openapi.json").json()["components"]["schemas"]
    fields = {"id", "title", "content", "keywords", "metadata"}
    assert schemas["CatalogDocument"]["properties"].keys() == fields
    assert schemas["RetrievedDocument"]["properties"].keys() == fields | {"bm25_score", "softmax_score"}


def test_every_example_in_the_openapi_document_is_valid(shared: TestClient) -> None:
    document = shared.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    parts = {name: schema["allOf"][-1] if "allOf" in schema else schema for name, schema in schemas.items()}
    examples = [(name, example) for name, schema in parts.items() for example in schema.get("examples", ())]
    assert len(examples) >= 15
    for name, example in examples:
        jsonschema.validate(example, document | {"$ref": f"#/components/schemas/{name}"})
