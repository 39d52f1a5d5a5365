"""Stored sign-ins: tokens are refreshed once, and a revoked one is reported."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import httpx2
import pytest

from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.stored_sign_in import StoredSignIn
from tests.mcp.conftest import Agent, Servers, until, with_agent
from tests.mcp_client.authorization import (
    SCOPES,
    Protected,
    configure,
    log_in,
    open_with,
    protected_server,
    status_of,
    try_log_in,
    visit,
)

pytestmark = pytest.mark.process


def test_a_running_gateway_asks_for_a_sign_in_and_uses_it_without_a_restart(notes: Protected, servers: Servers) -> None:
    command = f"shortlist mcp login notes --config {servers.config}"
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        found = await agent("discover", query="add a note")
        assert found["results"] == []
        assert f"The server notes needs sign-in: run {command}" in found["note"]
        assert "Unavailable" not in found["note"]
        status = await agent("status")
        assert status["servers"][0]["state"] == "needs sign-in"
        assert command in status["servers"][0]["problem"]
        assert command in await agent.error("call", tool="notes/add_note", arguments={"text": "x"})
        assert set(notes.authorizations) == {""}

        assert "Signed in to notes: 2 tools." in await asyncio.to_thread(log_in, servers)
        assert (await agent("status"))["servers"][0]["state"] != "needs sign-in"
        assert await agent.call("notes/add_note", text="milk") == "added milk"
        assert (await agent("status"))["servers"][0]["state"] == "ready"
        assert "note" not in await agent("discover", query="add a note")

    with_agent(gateway, talk)
    assert len(notes.authority.clients) == 1


def test_expired_tokens_are_refreshed_before_and_refused_ones_after_a_request(
    notes: Protected, servers: Servers
) -> None:
    notes.authority.lifetime = 0
    log_in(servers)

    async def talk(agent: Agent) -> None:
        before = notes.authority.refreshes
        assert await agent.call("notes/add_note", text="one") == "added one"
        assert notes.authority.refreshes > before  # the client knows that the token has expired
        notes.authority.lifetime = 3600
        assert await agent.call("notes/add_note", text="two") == "added two"
        for _ in range(3):  # at first the tools may be listed at the same time, with a refresh of their own
            before = notes.authority.refreshes
            assert await agent.call("notes/add_note", text="three") == "added three"
            if notes.authority.refreshes == before:
                break
        assert notes.authority.refreshes == before
        notes.authority.access.clear()
        assert await agent.call("notes/add_note", text="four") == "added four"
        assert notes.authority.refreshes == before + 1  # the server refused the token

    with_agent(servers.gateway(), talk)
    assert notes.authority.stolen == []


def test_a_revoked_sign_in_is_reported_with_the_command_that_renews_it(notes: Protected, servers: Servers) -> None:
    log_in(servers)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        assert await agent.call("notes/add_note", text="one") == "added one"
        notes.authority.access.clear()
        notes.authority.refresh.clear()
        message = await agent.error("call", tool="notes/add_note", arguments={"text": "two"})
        assert "The server notes needs sign-in: run shortlist mcp login notes" in message
        assert "may or may not" not in message
        await until(lambda: gateway.status()[0]["state"] == "needs sign-in")
        assert "needs sign-in" in (await agent("discover", query="add a note"))["note"]

    with_agent(gateway, talk)
    log_in(servers)
    assert status_of(servers)["tools"] == 2


def test_an_authorization_server_that_fails_is_not_reported_as_a_missing_sign_in(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(servers)

    async def fail(*_: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(notes.authority, "load_refresh_token", fail)
    notes.authority.access.clear()
    row = status_of(servers)
    assert "HTTP 500" in row["problem"]
    assert "login" not in row["problem"]


def test_a_configured_authorization_header_is_used_instead_of_a_sign_in(notes: Protected, servers: Servers) -> None:
    configure(servers, url=notes.url, headers={"authorization": "Bearer mine"})
    row = status_of(servers)
    assert "HTTP 401" in row["problem"]
    assert "login" not in row["problem"]
    assert set(notes.authorizations) == {"Bearer mine"}
    assert "Authorization header" in try_log_in(servers)[1]


def test_connections_that_refresh_at_once_use_each_refresh_token_once(notes: Protected, servers: Servers) -> None:
    notes.authority.lifetime = 0
    log_in(servers)
    before = notes.authority.refreshes

    async def use(_: int) -> None:
        async with httpx2.AsyncClient(auth=StoredSignIn(ServerConfig("notes", url=notes.url))) as http:
            answers = await asyncio.gather(*(http.get(notes.url, headers={"Accept": "a/b"}) for _ in range(3)))
            assert {answer.status_code for answer in answers} == {406}

    async def main() -> None:
        await asyncio.gather(*map(use, range(3)))

    asyncio.run(main())
    assert notes.authority.refreshes >= before + 3
    assert notes.authority.stolen == []


@pytest.mark.process
def test_processes_that_refresh_at_once_share_the_new_token(notes: Protected, servers: Servers) -> None:
    log_in(servers)
    notes.authority.access.clear()
    notes.authority.pause = 0.5
    before = notes.authority.refreshes
    command = [sys.executable, "-m", "shortlist", "mcp", "status", "--refresh", "--json"]
    checks = [subprocess.Popen([*command, "--config", str(servers.config)], stdout=subprocess.PIPE) for _ in range(2)]
    rows = [json.loads(check.communicate()[0])["servers"][0] for check in checks]
    assert [row["tools"] for row in rows] == [2, 2]
    assert (notes.authority.refreshes, notes.authority.stolen) == (before + 1, [])


def test_a_canceled_request_does_not_lose_the_refreshed_token(notes: Protected, servers: Servers) -> None:
    notes.authority.pause = 0.2
    log_in(servers)
    notes.authority.access.clear()

    async def main() -> None:
        async with httpx2.AsyncClient(auth=StoredSignIn(ServerConfig("notes", url=notes.url))) as http:
            request = asyncio.create_task(http.get(notes.url))
            await until(lambda: notes.authority.asked)
            request.cancel()
            assert (await http.get(notes.url, headers={"Accept": "a/b"})).status_code == 406

    asyncio.run(main())
    assert (notes.authority.refreshes, notes.authority.stolen) == (1, [])


def test_more_scopes_are_asked_for_with_the_command_that_the_error_names(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_with(monkeypatch, visit)
    with protected_server(scopes=SCOPES) as notes:
        configure(servers, url=notes.url)
        code, text = try_log_in(servers, "--scopes", SCOPES[0])
        assert code == 1
        assert "needs a sign-in with more scopes" in text
        log_in(servers, "--scopes", " ".join(SCOPES))
        assert status_of(servers)["tools"] == 2
