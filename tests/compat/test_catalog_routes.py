"""The routes of the catalog: their answers and their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.conftest import TOOLS, Make, ids, write_catalog

SHAPE = {"success", "message", "documents", "total_retrieved", "cutoff_percentage", "settings"}


def test_retrieve_equals_the_retriever(shared: TestClient) -> None:
    answer = shared.post("/retrieve", json={"query": "send the money back"}).json()
    assert set(answer) == SHAPE
    assert answer["success"] is True
    (document,) = answer["documents"]
    assert set(document) == {"id", "title", "content", "keywords", "metadata", "bm25_score", "softmax_score"}
    assert (document["id"], document["keywords"], document["metadata"]) == ("refund", ["chargeback"], {})
    assert (answer["total_retrieved"], answer["cutoff_percentage"]) == (1, 10.0)


def test_options_of_a_call_are_for_this_call_only(shared: TestClient) -> None:
    options = {"temperature": 10, "ignore_zero": False, "llm_tools_cutoff": 0}
    answer = shared.post("/retrieve", json={"query": "parcel", **options}).json()
    assert answer["settings"] == options
    assert len(answer["documents"]) == 3
    assert len(shared.post("/retrieve", json={"query": "parcel"}).json()["documents"]) == 1


@pytest.mark.parametrize("query", ["", "the of and", "?!"])
def test_a_query_without_a_searchable_word_has_the_same_shape(shared: TestClient, query: str) -> None:
    answer = shared.post("/retrieve", json={"query": query})
    assert answer.status_code == 200
    assert set(answer.json()) == SHAPE
    assert (answer.json()["success"], answer.json()["documents"]) == (False, [])


def test_an_empty_catalog_has_the_same_shape(make: Make, tmp_path: Path) -> None:
    client = make(documents__source=str(write_catalog(tmp_path / "none.json", [])))
    answer = client.post("/retrieve", json={"query": "refund"})
    assert (answer.status_code, answer.json()["message"]) == (200, "No documents indexed")
    assert client.get("/documents").json() == {"success": True, "documents": [], "count": 0}
    assert client.get("/ready").status_code == 200


def test_documents_without_a_searchable_word_are_accepted(client: TestClient) -> None:
    empty = [{"id": "blank", "title": "", "content": ""}, {"id": "stop", "title": "the", "content": "of"}]
    assert client.post("/index", json={"documents": empty}).status_code == 200
    assert client.post("/retrieve", json={"query": "refund"}).status_code == 200
    client.post("/documents", json=TOOLS[0])
    assert ids(client.post("/retrieve", json={"query": "refund"})) == ["refund"]


def test_a_document_is_added_found_replaced_and_deleted(client: TestClient) -> None:
    one = {"id": "a/b?c", "title": "Café", "content": "Bestelle Kaffee"}
    added = client.post("/documents", json=one).json()
    assert added == {
        "success": True, "message": "1 added.", "count": 4, "added": 1, "changed": 0, "removed": 0, "unchanged": 0,
    }  # fmt: skip
    assert ids(client.post("/retrieve", json={"query": "kaffee"})) == ["a/b?c"]
    assert client.post("/documents", json={**one, "content": "Tee"}).json()["message"] == "1 changed."
    assert ids(client.post("/retrieve", json={"query": "kaffee"})) == []
    assert client.post("/documents", json=[{**one, "content": "Tee"}]).json()["message"] == "Nothing changed."
    assert client.delete("/documents/a%2Fb%3Fc").json()["count"] == 3
    assert client.delete("/documents/a%2Fb%3Fc").status_code == 404
    assert ids(client.get("/documents")) == ["refund", "track", "invoice"]


def test_documents_are_listed_in_pages_and_by_a_text_they_contain(shared: TestClient) -> None:
    assert shared.get("/documents").json()["count"] == 3
    page = shared.get("/documents", params={"offset": 1, "limit": 1}).json()
    assert (page["count"], [document["id"] for document in page["documents"]]) == (3, ["track"])
    held = shared.get("/documents", params={"q": "ORDER"}).json()
    assert (held["count"], [document["id"] for document in held["documents"]]) == (1, ["invoice"])
    assert shared.get("/documents", params={"q": "100%_'"}).json()["count"] == 0


def test_index_replaces_all_uses_the_file_or_rebuilds(client: TestClient) -> None:
    one = {"id": "one", "title": "One", "content": "alone"}
    assert client.post("/index", json={"documents": [one]}).json()["count"] == 1
    assert client.post("/index").json()["message"] == "Nothing changed."
    assert ids(client.get("/documents")) == ["one"]
    assert ids(client.post("/retrieve", json={"query": "alone"})) == ["one"]
    assert client.post("/index", json={"from_file": True}).json()["count"] == 3
    assert client.post("/index", json={"documents": []}).json()["count"] == 0


def test_an_invalid_document_stops_the_others(client: TestClient) -> None:
    nan = '[{"id": "ok", "title": "", "content": ""}, {"id": "x", "title": "", "content": "", "metadata": {"n": NaN}}]'
    answer = client.post("/documents", content=nan, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "finite numbers" in answer.json()["detail"]
    assert client.get("/documents").json()["count"] == 3


def test_settings_are_changed_one_by_one(client: TestClient) -> None:
    assert client.post("/settings", json={"temperature": 2}).json() == {
        "temperature": 2.0, "ignore_zero": True, "llm_tools_cutoff": 10.0,
    }  # fmt: skip
    assert client.post("/settings", json={"llm_tools_cutoff": 0}).json()["temperature"] == 2.0
    assert client.post("/settings", json={}).json() == client.get("/settings").json()
    assert client.post("/retrieve", json={"query": "refund"}).json()["settings"]["llm_tools_cutoff"] == 0.0


INVALID_QUESTIONS: list[dict[str, Any]] = [
    {"question": "x" * 8_001},
    {"history": [{"question": "x" * 8_001, "answer": ""}]},
    {"k": 0},
    {"k": 21},
    {"threshold": 2},
    {"min_relevance": 2},
    {"min_relevance": 0.1, "threshold": 0.1},
    {"llm": "mine"},
    {"history": [{"question": "a", "answer": "b"}] * 51},
    {"history": [{"question": "a", "answer": "x" * 50_001}]},
]
INVALID_EVALUATIONS: list[dict[str, Any]] = [
    {"k": 0}, {"k": 101}, {"mode": "best"}, {"cases": 7}, {"cases": ["a"]}, {"unknown": "skip"}, {"extra": 1},
]  # fmt: skip
BAD = [
    ("POST", "/retrieve", {}),
    ("POST", "/retrieve", {"query": 7}),
    ("POST", "/retrieve", {"query": "x", "tempreature": 1}),
    ("POST", "/retrieve", {"query": "x", "temperature": 0}),
    ("POST", "/retrieve", {"query": "x", "temperature": "2"}),
    ("POST", "/retrieve", {"query": "x", "ignore_zero": 1}),
    ("POST", "/settings", {"ignore_zero": "yes"}),
    ("POST", "/retrieve", []),
    ("POST", "/documents", {"id": " ", "title": "", "content": ""}),
    ("POST", "/documents", {"id": "x", "title": "x"}),
    ("POST", "/documents", {"id": "x", "title": "x", "content": "x", "keywords": [1]}),
    ("POST", "/index", {"documents": {}}),
    ("POST", "/settings", {"temperature": None}),
    ("POST", "/settings", {"llm_tools_cutoff": 101}),
    ("POST", "/settings", {"cutoff": 1}),
    ("POST", "/switch-document-file", {}),
    ("POST", "/v1/corpora/catalog/search", {"query": "x", "mode": "guess"}),
    ("POST", "/v1/corpora/catalog/search", {"query": "x", "filter": {"a": {"$near": 1}}}),
    ("POST", "/v1/corpora/catalog/discover", {"query": "x", "strategy": "best"}),
    ("POST", "/v1/corpora/catalog/discover", {"query": "x", "min_relevance": "low"}),
    *(("POST", "/v1/corpora/catalog/ask", {"question": "x", **wrong}) for wrong in INVALID_QUESTIONS),
    *(("POST", "/v1/corpora/catalog/eval", {"cases": "", **wrong}) for wrong in INVALID_EVALUATIONS),
    ("POST", "/v1/corpora/catalog/lint", {"k": 0}),
]


def test_an_error_in_a_document_is_reported_once(shared: TestClient) -> None:
    wrong = {"id": "a", "title": "A"}
    for body, place in ((wrong, "body.content"), ([wrong], "body.0.content")):
        answer = shared.post("/documents", json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"] == f"The request is not valid. {place}: Field required."


@pytest.mark.parametrize(("method", "path", "body"), BAD)
def test_an_invalid_body_is_422_with_the_place(shared: TestClient, method: str, path: str, body: Any) -> None:
    answer = shared.request(method, path, json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (said["status"], said["title"], said["instance"]) == (422, "Unprocessable Content", path)
    assert said["detail"].endswith(".")
    assert said["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/documents", "/settings", "/status", "/health", "/ready", "/metrics", "/document-files",
     "/v1/corpora", "/v1/corpora/catalog/documents", "/v1/corpora/catalog/documents/refund"],
)  # fmt: skip
def test_a11_head_is_answered_like_get(shared: TestClient, path: str) -> None:
    got, head = shared.get(path), shared.head(path)
    assert head.status_code == got.status_code == 200
    assert head.headers["content-type"] == got.headers["content-type"]


def test_status_has_sizes_settings_and_latencies(client: TestClient) -> None:
    client.post("/retrieve", json={"query": "refund"})
    status = client.get("/status").json()
    assert (status["status"], status["documents"], status["index"]["passages"]) == ("ok", 3, 3)
    assert status["index"]["generation"] == 1
    assert status["latency"]["requests"] == 1
    (row,) = status["latency"]["series"]
    assert row["p50_ms"] == row["p99_ms"] == status["latency"]["p95_ms"] > 0
    client.post("/documents", json=TOOLS[0] | {"title": "Other"})
    assert client.get("/status").json()["index"]["generation"] == 2


def test_metrics_count_by_route_and_status(client: TestClient) -> None:
    for query in ("refund", "parcel", 7):
        client.post("/retrieve", json={"query": query})
    client.get("/somewhere/else")
    text = client.get("/metrics").text
    assert 'shortlist_requests_total{method="POST",route="/retrieve",status="200"} 2.0' in text
    assert 'shortlist_requests_total{method="POST",route="/retrieve",status="422"} 1.0' in text
    assert 'shortlist_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'shortlist_request_seconds_count{route="/retrieve"} 3.0' in text
    assert "shortlist_index_documents 3.0" in text


def test_the_api_reference_loads_nothing_from_elsewhere(shared: TestClient) -> None:
    page = shared.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    texts = [page.text, shared.get("/docs/docs.js").text, shared.get("/docs/docs.css").text]
    assert all(texts)
    assert not any("//" in text.replace("// The OpenAPI", "") for text in texts)
