"""Failures are problem documents that say what is wrong, where, and how to fix it."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.conftest import TOOLS


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", "application/json"),
        (b"", "application/json"),
        (b'{"query": "x"}', "text/plain"),
        (b'{"query": "x"}', ""),
        (b'{"query": "\xff"}', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"query": "x", "k": ' + b"9" * 5000 + b"}", "application/json"),
    ],
)
@pytest.mark.parametrize("path", ["/retrieve", "/v1/corpora/catalog/search"])
def test_invalid_json_is_an_error(shared: TestClient, path: str, content: bytes, kind: str) -> None:
    answer = shared.post(path, content=content, headers={"Content-Type": kind})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_half_a_character_is_harmless(shared: TestClient) -> None:
    half: Any = {"content": b'{"query": "\\ud800 refund"}', "headers": {"Content-Type": "application/json"}}
    assert shared.post("/retrieve", **half).status_code == 422
    assert shared.post("/v1/corpora/catalog/search", **half).json()["query"] == "? refund"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/corpora/nothing/documents", 404),
        ("GET", "/v1/corpora/catalog/documents/nothing", 404),
        ("DELETE", "/documents/nothing", 404),
        ("PUT", "/retrieve", 405),
        ("DELETE", "/settings", 405),
        ("GET", "/docs/nothing.js", 404),
        ("GET", "/docs/..%2fhttp.py", 404),
    ],
)
def test_unknown_paths_and_methods_are_problems(shared: TestClient, method: str, path: str, status: int) -> None:
    answer = shared.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].endswith(".")
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/documents", "GET, HEAD, POST"),
        ("/documents/reload", "DELETE, POST"),
        ("/documents/refund", "DELETE"),
        ("/settings", "GET, HEAD, POST"),
        ("/status", "GET, HEAD"),
        ("/retrieve", "POST"),
        ("/v1/corpora/catalog/documents", "GET, HEAD, POST"),
        ("/v1/corpora/catalog/documents/refund", "DELETE, GET, HEAD"),
        ("/", "GET, HEAD"),
        ("/docs/docs.js", "GET, HEAD"),
        ("/mcp", "POST"),
    ],
)
def test_a11_allow_lists_every_method_of_a_path(shared: TestClient, path: str, methods: str) -> None:
    answer = shared.put(path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == methods


@pytest.mark.parametrize(
    ("path", "body", "where", "hint"),
    [
        ("/retrieve", {"query": "x", "temprature": 1}, "body.temprature", "did you mean 'temperature'?"),
        ("/retrieve", {"query": "x", "zzz": 1}, "body.zzz", "ignore_zero, llm_tools_cutoff, query, temperature"),
        ("/settings", {"llm_tool_cutoff": 1}, "body.llm_tool_cutoff", "did you mean 'llm_tools_cutoff'?"),
        ("/documents", TOOLS[0] | {"keyword": []}, "body.keyword", "did you mean 'keywords'?"),
        ("/index", {"documents": [TOOLS[0] | {"Titel": ""}]}, "body.documents.0.Titel", "did you mean 'title'?"),
        ("/v1/corpora/catalog/search", {"query": "x", "filters": {}}, "body.filters", "did you mean 'filter'?"),
        (
            "/v1/corpora/catalog/ask",
            {"question": "x", "history": [{"question": "a", "answr": "b", "answer": "c"}]},
            "body.history.0.answr",
            "did you mean 'answer'?",
        ),
    ],
)
def test_a11_a_typo_in_a_body_gets_a_suggestion(
    shared: TestClient, path: str, body: Any, where: str, hint: str
) -> None:
    answer = shared.post(path, json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["where"] == where
    assert hint in error["message"]
    assert error["message"] in answer.json()["detail"]


def test_an_unexpected_error_is_reported_without_its_traceback(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret place")

    monkeypatch.setattr("shortlist.compat.served_retriever.ServedRetriever.document_files", fail)
    answer = client.get("/document-files", headers={"X-Request-ID": "abc-1"})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "abc-1"
    assert "the secret place" in caplog.text
