"""Real answers have the declared keys and types, and no others."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from shortlist.documents import Document
from shortlist.server.routes.answer_types import AnswerType
from shortlist.server.routes.api_document import OWN_MODULES
from tests.server.answer_checks import check_answers

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
    ("GET", "/status", None),
    ("GET", "/v1/mcp", None),
]


def test_real_answers_are_valid_and_have_no_other_keys(client: TestClient) -> None:
    check_answers(client, REQUESTS)


def test_a_declared_answer_has_the_name_of_its_class_without_the_suffix() -> None:
    class Parcel(AnswerType): ...

    class ParcelJson(AnswerType, base=Document, keys="id title", example={"id": "a"}): ...

    assert (Parcel.schema_name, Parcel.base, Parcel.examples) == ("Parcel", None, [])
    assert (ParcelJson.schema_name, ParcelJson.base, ParcelJson.keys) == ("Parcel", Document, "id title")
    assert ParcelJson.examples == [{"id": "a"}]


def test_every_declared_answer_is_documented_and_in_the_api_document(shared: TestClient) -> None:
    schemas = shared.get("/openapi.json").json()["components"]["schemas"]
    declared = [kind for kind in AnswerType.__subclasses__() if kind.__module__ in OWN_MODULES]
    assert len(declared) > 30
    assert [kind.__name__ for kind in declared if not kind.__doc__ or kind.schema_name not in schemas] == []
