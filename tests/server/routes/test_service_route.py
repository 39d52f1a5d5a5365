"""Valid requests are answered without FastAPI; all others get its answers."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from shortlist.server.routes.service_route import ServiceRoute
from tests.server.conftest import Make

SEARCH = "/v1/corpora/catalog/search"
BODY = json.dumps({"query": "parcel", "k": 1}).encode()


@pytest.mark.parametrize(
    ("method", "path"), [("POST", SEARCH), ("GET", "/health"), ("HEAD", "/health"), ("POST", "/v1/corpora/a/b/search")]
)
def test_a_valid_request_is_answered_without_fastapi(
    make: Make, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    async def fail(*_: Any) -> NoReturn:
        raise AssertionError("FastAPI is asked")

    monkeypatch.setattr(APIRoute, "get_route_handler", lambda _: fail)
    answer = make().request(method, path, content=BODY, headers={"Content-Type": "Application/JSON; charset=utf-8"})
    assert answer.status_code == (404 if "/a/b/" in path else 200)


@pytest.mark.parametrize(
    ("kind", "content", "status", "where"),
    [
        ("application/json", b'{"query": "parcel", "k": -1}', 422, "body.k"),
        ("application/json", b'{"query": "parcel", "l": 1}', 422, "body.l"),
        ("application/json", b'{"query": "parcel"', 422, "body.18"),
        ("application/json", b"[]", 422, "body"),
        ("application/json", b"", 422, "body"),
        ("application/json", b'{"query": NaN}', 400, None),
        ("text/plain", BODY, 422, "body"),
        ("application/vnd.shortlist+json", BODY, 200, None),
    ],
)
def test_fastapi_answers_what_is_not_valid(
    shared: TestClient, kind: str, content: bytes, status: int, where: str | None
) -> None:
    answer = shared.post(SEARCH, content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert answer.json().get("errors", [{"where": None}])[0]["where"] == where


def test_both_ways_give_the_same_answer(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [make().post(SEARCH, content=BODY, headers={"Content-Type": "application/json"}).json()]

    def leave_to_fastapi(self: ServiceRoute, path: str, *arguments: Any, **options: Any) -> None:
        APIRoute.__init__(self, path, *arguments, **options)
        self._start = self._end = ""

    monkeypatch.setattr(ServiceRoute, "__init__", leave_to_fastapi)
    answers.append(make().post(SEARCH, content=BODY, headers={"Content-Type": "application/json"}).json())
    assert answers[0] == answers[1]
    assert [hit["id"] for hit in answers[0]["hits"]] == ["track"]
