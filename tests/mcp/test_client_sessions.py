"""The gateway stores what an agent calls and reads after a search, and ranks by it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.index.storage.usage_log import UsageLog
from shortlist.mcp import client_sessions
from shortlist.mcp.agent_server import AgentActions
from shortlist.mcp.client_sessions import client_address
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from tests.mcp.conftest import INVOICE, WEATHER, Agent, Servers, ask, begin_session, post, tool, with_agent

QUERY = "do I need an umbrella"  # which no description contains
SIMILAR = "will I need my umbrella"


def log_of(gateway: Gateway) -> UsageLog:
    return UsageLog(gateway.home / "usage.db")


def stored(log: UsageLog) -> list[tuple[str, list[tuple[str, str]]]]:
    """The queries in a log, each with the uses after it."""
    return [(one.query, [(use.id, use.outcome) for use in one.uses]) for one in log]


async def rank(agent: Agent, query: str, id: str) -> tuple[int, float]:
    """The rank of an item among what is shown, and its relevance."""
    found = await agent("discover", query=query, kind="tool")
    items = found["results"] + found["near"]
    at = next(at for at, item in enumerate(items) if item["id"] == id)
    return at, items[at]["relevance"]


@pytest.fixture
def office(servers: Servers) -> Servers:
    servers.add("weather", WEATHER, behavior={"strict": True})
    readable = INVOICE | {"annotations": {"readOnlyHint": True}}
    servers.add("office", readable, tool("pack", "Packs what I will need."), *map(tool, ("fail", "refuse", "die")))
    return servers


def test_a_called_tool_is_found_by_similar_queries_also_after_a_restart_until_it_is_forgotten(office: Servers) -> None:
    async def use(agent: Agent) -> tuple[int, float]:
        before = await rank(agent, SIMILAR, "weather/get_forecast")
        await rank(agent, QUERY, "weather/get_forecast")
        await agent.call("weather/get_forecast", city="Ghent")
        at, relevance = await rank(agent, SIMILAR, "weather/get_forecast")
        assert before[0] >= at
        assert before[1] < relevance
        return before

    async def look(agent: Agent) -> tuple[int, float]:
        return await rank(agent, SIMILAR, "weather/get_forecast")

    before = with_agent(office.gateway(), use)
    assert with_agent(office.gateway(), look)[1] > before[1]
    log = log_of(office.gateway())
    assert log.forget() == 4
    log.close()
    assert with_agent(office.gateway(), look) == before


def test_calls_are_stored_with_their_outcome_and_without_their_arguments(office: Servers) -> None:
    gateway = office.gateway()

    async def use(agent: Agent) -> None:
        await agent.call("weather/get_forecast", city="before any search")
        await agent("discover", query="get_forecast write_invoice fail refuse die", limit=10)
        assert "'city' is a required" in await agent.error("call", tool="weather/get_forecast", arguments={})
        assert "no tool" in await agent.error("call", tool="weather/get_forecst", arguments={})
        await agent("read", id="weather/get_forecast")
        assert stored(log_of(gateway))[0][1] == []
        await agent.call("weather__get_forecast", city="Secretville")
        await agent.client.call_tool("call_read", {"tool": "write_invoice", "arguments": {"order": "7"}})
        for name in ("fail", "refuse", "die"):
            await agent.error("call", tool=name)

    with_agent(gateway, use)
    ((_, uses),) = stored(log_of(gateway))
    assert uses == [
        ("weather/get_forecast", "called"),
        ("office/write_invoice", "called"),
        *((f"office/{name}", "failed") for name in ("fail", "refuse", "die")),
    ]
    assert b"Secretville" not in b"".join(path.read_bytes() for path in gateway.home.glob("usage.db*"))


def test_documents_and_skills_that_are_read_are_stored_in_their_own_logs(office: Servers, tmp_path: Path) -> None:
    skill = tmp_path / "home" / ".claude" / "skills" / "brew-tea"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: brew-tea\ndescription: Brew green tea in a pot.\n---\nBoil water.")
    shortlist.build({"tea-note": "Green tea is brewed at 70 degrees."}, "notes").close()
    gateway = office.gateway()

    async def use(agent: Agent) -> dict[str, Any]:
        found = await agent("discover", query="brew green tea")
        ids = {item["corpus"]: item["id"] for item in found["results"]}
        await agent("read", id=ids["notes"], corpus="notes")
        await agent("read", id=ids["notes"], corpus="notes", offset=5)
        await agent.client.read_resource(f"shortlist://skills/{ids['skills']}")
        return ids | await agent("status")

    shown = with_agent(gateway, use)
    with shortlist.open_corpus("notes") as notes:
        assert stored(notes.usage) == [("brew green tea", [("tea-note", "read")])]
    assert stored(UsageLog(gateway.home / "skills" / "usage.db")) == [("brew green tea", [(shown["skills"], "read")])]
    by_name = {row["name"]: row.get("learning") for row in shown["corpora"]}
    assert by_name["notes"] == by_name["skills"] == "on (searches: 1, uses: 1)"


def test_status_is_silent_about_use_until_there_is_some(office: Servers) -> None:
    async def use(agent: Agent) -> list[dict[str, Any]]:
        return list((await agent("status"))["corpora"])

    assert all("learning" not in row for row in with_agent(office.gateway(), use))


def test_tools_that_no_server_offers_are_left_out_since_their_calls_are_not_seen(office: Servers) -> None:
    document = shortlist.Document("oven", "Heat the oven", "Heats the oven for a cake.", kind="tool")
    shortlist.build([document], "kitchen").close()

    async def use(agent: Agent) -> None:
        (item, *_) = (await agent("discover", query="heat the oven"))["results"]
        assert item["corpus"] == "kitchen"
        await agent("read", id="oven", corpus="kitchen")

    with_agent(office.gateway(), use)
    with shortlist.open_corpus("kitchen") as kitchen:
        assert stored(kitchen.usage) == []


def test_a_damaged_log_stops_neither_search_nor_call(office: Servers, caplog: pytest.LogCaptureFixture) -> None:
    gateway = office.gateway()
    gateway.home.mkdir(parents=True, exist_ok=True)
    (gateway.home / "usage.db").write_bytes(b"nothing like a database" * 100)

    async def use(agent: Agent) -> None:
        await rank(agent, QUERY, "weather/get_forecast")
        await agent.call("weather/get_forecast", city="Ghent")
        assert "learning" not in (await agent("status"))["corpora"][0]

    with_agent(gateway, use)
    assert "usage.db" in caplog.text


def test_a_locked_log_delays_only_one_search(office: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.index.storage.usage_log.WAIT_SECONDS", 0.1)
    gateway = office.gateway()
    log = log_of(gateway)
    log.add("something")
    log.close()
    other = sqlite3.connect(log.path or "", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def use(agent: Agent) -> None:
        await rank(agent, QUERY, "weather/get_forecast")
        await agent.call("weather/get_forecast", city="Ghent")

    with_agent(gateway, use)
    other.close()
    assert stored(log) == [("something", [])]


def test_each_client_has_its_own_recent_searches_and_their_number_is_limited(
    office: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_sessions, "MOST_SESSIONS", 2)
    gateway = office.gateway()

    async def main() -> None:
        actions = AgentActions(Collection(gateway, StoredCorpora()), lambda: None)
        for client in ("10.0.0.1", "10.0.0.2"):
            client_address.set(client)
            await actions.discover(f"{QUERY} at {client}")
        await actions.call("weather/get_forecast", {"city": "Ghent"})
        client_address.set("10.0.0.3")
        await actions.call("weather/get_forecast", {"city": "Ghent"})
        client_address.set("10.0.0.1")  # whose session was the oldest of three
        await actions.call("weather/get_forecast", {"city": "Ghent"})
        await actions.close()

    asyncio.run(main())
    first, second = log_of(gateway)
    assert [use.outcome for use in first.uses + second.uses] == ["called"]
    assert second.uses
    assert first.session != second.session
    assert "10.0.0" not in first.session + second.session


def test_over_http_a_call_is_stored_with_the_search_before_it(
    office: Servers, start: Callable[..., TestClient]
) -> None:
    client = start()
    ask(client, "discover", query=QUERY, kind="tool")
    post(client, "call", tool="weather/get_forecast", arguments={"city": "Ghent"})
    ask(client, "discover", query=SIMILAR, kind="tool")
    log = log_of(office.gateway())
    first, second = log
    assert [use.id for use in first.uses] == ["weather/get_forecast"]
    assert first.session == second.session


def test_clients_at_one_address_are_told_apart_by_their_mcp_sessions(
    office: Servers, start: Callable[..., TestClient]
) -> None:
    client = start()
    first, second = begin_session(client), begin_session(client)
    for session in (first, second, first):
        client.headers["mcp-session-id"] = session
        ask(client, "discover", query=QUERY, kind="tool")
    post(client, "call", tool="weather/get_forecast", arguments={"city": "Ghent"})
    one, two, again = log_of(office.gateway())
    assert one.session == again.session != two.session
    assert (two.uses, [use.id for use in again.uses]) == ([], ["weather/get_forecast"])


# Hostile tools


def test_a_tempting_tool_that_always_fails_gains_nothing(servers: Servers) -> None:
    servers.add("weather", WEATHER, tool("fail", "Tells whether you need an umbrella."))

    async def use(agent: Agent) -> None:
        before = [await rank(agent, query, "weather/fail") for query in (QUERY, SIMILAR)]
        assert before[0][0] == 0
        for _ in range(10):
            await rank(agent, QUERY, "weather/fail")
            await agent.error("call", tool="weather/fail")
        assert [await rank(agent, query, "weather/fail") for query in (QUERY, SIMILAR)] == before

    with_agent(servers.gateway(), use)


def test_a_tool_that_changes_after_it_was_called_loses_what_was_learned(servers: Servers) -> None:
    plan = tool("plan", "Plans a day in the city.")
    weather = servers.add("weather", WEATHER, plan)

    async def learn(agent: Agent) -> tuple[int, float]:
        await rank(agent, QUERY, "weather/get_forecast")
        await agent.call("weather/get_forecast", city="Ghent")
        return await look(agent)

    async def list_again(agent: Agent) -> None:
        await agent.call("weather/plan")

    async def look(agent: Agent) -> tuple[int, float]:
        return await rank(agent, QUERY, "weather/get_forecast")

    learned = with_agent(servers.gateway(), learn)
    weather.offers(WEATHER | {"description": "Weather forecast for a city: rain, wind, temperature, air."}, plan)
    with_agent(servers.gateway(), list_again)
    catalog = servers.gateway().catalog
    catalog.approve(catalog.list_pending())
    changed = with_agent(servers.gateway(), look)
    log_of(servers.gateway()).forget()
    assert with_agent(servers.gateway(), look) == changed
    assert learned[1] > changed[1]
