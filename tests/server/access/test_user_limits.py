"""Limits of users: the rate, the requests at a time, and the sessions of agents."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist._settings import Limits
from shortlist.server.access import user_limits
from shortlist.server.access.named_tokens import create_token
from shortlist.server.access.user_limits import Rate, UserLimits
from tests.mcp.conftest import HEADERS
from tests.server.conftest import Make, until

GRANTS: Any = {"catalog": {"read": ["staff"]}}
OPERATOR = {"Authorization": "Bearer the-one-token"}


def sign(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(name, ['staff'], None)}"}


def test_the_requests_of_a_minute_are_granted_at_once_and_then_steadily(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    limits = UserLimits(Limits(requests_per_minute=6), lambda: now)
    assert [limits.enter("ada") for _ in range(7)] == [0.0] * 6 + [10.0]
    assert limits.enter("eve") == 0.0
    now += 4
    assert limits.enter("ada") == 6.0
    now += 6
    assert [limits.enter("ada") for _ in range(2)] == [0.0, 10.0]
    now += 3600
    assert [limits.enter("ada") for _ in range(7)] == [0.0] * 6 + [10.0]
    monkeypatch.setattr(user_limits, "MOST_KEYS", 2)
    for name in ("bob", "cy"):
        limits.enter(name)
    assert limits.enter("ada") == 0.0  # the rate of who was away longest is forgotten


def test_a_stream_is_none_of_the_requests_at_a_time() -> None:
    limits = UserLimits(Limits(concurrent_requests=1))
    assert [limits.enter("ada", is_stream=is_stream) for is_stream in (True, False, True, False)] == [
        0.0,
        0.0,
        0.0,
        1.0,
    ]


def test_a_user_who_sends_too_much_is_told_when_to_try_again(make: Make) -> None:
    client = make(access__grants=GRANTS, limits__requests_per_minute=2, server__token="the-one-token")
    ada, eve = sign("ada"), sign("eve")
    path = "/v1/corpora/catalog"
    assert [client.get(path, headers=ada).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get(path, headers=ada)
    assert 0 < int(refused.headers["Retry-After"]) <= 30
    assert "token:ada" in refused.json()["detail"]
    assert client.get(path, headers=eve).status_code == 200
    assert {client.get(path, headers=OPERATOR).status_code for _ in range(5)} == {200}
    bob = sign("bob")
    assert [client.get("/mcp", headers=bob).status_code for _ in range(3)] == [405, 405, 429]
    assert {client.get("/health", headers=ada).status_code for _ in range(5)} == {200}


def test_without_grants_the_address_counts(make: Make) -> None:
    client = make(limits__requests_per_minute=1)
    assert [client.get("/v1/corpora").status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("settings", [{}, {"access__grants": GRANTS}])
def test_an_address_that_sends_wrong_tokens_is_limited(make: Make, settings: dict[str, Any]) -> None:
    client = make(**settings, server__token="the-one-token", limits__wrong_tokens_per_minute=3)
    other = TestClient(client.app, "http://localhost:9200", client=("192.0.2.7", 50_000))
    path, wrong = "/v1/corpora", {"Authorization": "Bearer wrong"}
    assert {client.get(path).status_code for _ in range(5)} == {401}  # a missing token is not a guess
    assert [client.get(path, headers=wrong).status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    refused = client.get(path, headers=OPERATOR)  # else a guess would show that it is right
    assert (refused.status_code, 0 < int(refused.headers["Retry-After"]) <= 20) == (429, True)
    assert "testclient" in refused.json()["detail"]
    assert [other.get(path, headers=headers).status_code for headers in (OPERATOR, wrong)] == [200, 401]
    assert client.get("/health", headers=wrong).status_code == 200
    assert client.get(path, headers=OPERATOR).status_code == 200  # it was accepted from the other address
    assert client.get(path, headers=wrong).status_code == 429


def test_rates_are_remembered_of_a_limited_number_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_limits, "MOST_KEYS", 2)
    rate = Rate(1, lambda: 0.0)
    for address in ("a", "b", "c"):
        rate.take(address)
    assert [rate.find_wait(address) for address in ("a", "b", "c")] == [0.0, 60.0, 60.0]


def test_a_user_has_a_number_of_requests_at_a_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make(access__grants=GRANTS, limits__concurrent_requests=1)
    ada, eve, started, release = sign("ada"), sign("eve"), threading.Event(), threading.Event()

    def wait(*_: Any, **__: Any) -> Any:
        started.set()
        release.wait(60)
        raise OSError("over")

    monkeypatch.setattr("shortlist.server.routes.corpora_routes.search", wait)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(client.post, "/v1/corpora/catalog/search", json={"query": "a"}, headers=ada)
        assert started.wait(60)
        refused = client.get("/v1/corpora", headers=ada)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert client.get("/v1/corpora", headers=eve).status_code == 200
        release.set()
        assert slow.result(60).status_code == 503
    until(lambda: client.get("/v1/corpora", headers=ada).status_code == 200)


def test_a_further_session_ends_the_one_that_its_user_did_not_use_for_longest(make: Make) -> None:
    client = make(access__grants=GRANTS, limits__sessions_per_user=2, mcp__upstream=False)
    ada, eve = sign("ada"), sign("eve")

    def send(headers: dict[str, str], method: str, session: str = "", **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        more = {"Mcp-Session-Id": session} if session else {}
        return client.post("/mcp", json=body, headers=HEADERS | headers | more)

    def begin(headers: dict[str, str]) -> str:
        about = {"name": "test", "version": "1"}
        begun = send(headers, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        return str(begun.headers["Mcp-Session-Id"])

    of_eve, first, second = begin(eve), begin(ada), begin(ada)
    assert send(ada, "tools/list", first).status_code == 200
    third = begin(ada)
    assert [send(ada, "tools/list", session).status_code for session in (first, second, third)] == [200, 404, 200]
    assert send(eve, "tools/list", of_eve).status_code == 200
