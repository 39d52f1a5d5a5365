"""The gateway: which servers start when, and how a call finds its tool."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist.mcp.gateway import dispatch as gateways
from shortlist.mcp.gateway import tool_catalog, upstream, upstream_listing
from shortlist.mcp.gateway.dispatch import CallFailed
from tests.mcp.conftest import INVOICE, WEATHER, Agent, Servers, begin_session, post, tool, until, with_agent


def test_no_server_starts_before_it_is_needed_and_a_known_one_only_when_it_is_called(servers: Servers) -> None:
    weather, billing = servers.add("weather", WEATHER), servers.add("billing", INVOICE)

    async def first(agent: Agent) -> None:
        await agent.client.list_resource_templates()
        assert not weather.starts
        assert not billing.starts
        assert await agent.find("will it rain in the city") == ["weather/get_forecast"]
        await until(lambda: billing.starts)

    with_agent(servers.gateway(), first)
    assert (len(weather.starts), len(billing.starts)) == (1, 1)
    assert not weather.is_alive()
    assert not billing.is_alive()

    async def again(agent: Agent) -> None:
        assert await agent.find("will it rain in the city") == ["weather/get_forecast"]
        assert (len(weather.starts), len(billing.starts)) == (1, 1)
        for number in ("1", "2", "3"):
            assert await agent.call("write_invoice", order=number) == f'write_invoice {{"order": "{number}"}}'
        assert (len(weather.starts), len(billing.starts)) == (1, 2)  # and warm from the first call on

    with_agent(servers.gateway(), again)
    assert not billing.is_alive()


def test_a_slow_server_delays_no_search_and_is_added_when_it_is_ready(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "FIRST_LIST_SECONDS", 0.1)
    servers.add("weather", WEATHER)
    slow = servers.add("slow", INVOICE, behavior={"pause": 1.0})
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        gateway.wake()
        await until(lambda: "weather" in gateway.catalog.listings)
        answer = await agent("discover", query="will it rain in the city")
        assert [item["id"] for item in answer["results"]] == ["weather/get_forecast"]
        if "slow" not in gateway.catalog.listings:
            assert "Not ready yet: slow" in answer["note"]
        await until(lambda: "slow" in gateway.catalog.listings)
        answer = await agent("discover", query="write an invoice")
        assert [item["id"] for item in answer["results"]] == ["slow/write_invoice"]
        assert "note" not in answer

    with_agent(gateway, talk)
    assert len(slow.starts) == 1


def test_the_last_known_catalog_is_served_when_its_server_is_gone(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    with_agent(servers.gateway(), lambda agent: agent.find("rain"))
    servers._folder.joinpath("weather.json").unlink()

    async def talk(agent: Agent) -> None:
        assert await agent.find("will it rain in the city") == ["weather/get_forecast"]
        sentence = await agent.error("call", tool="get_forecast", arguments={"city": "Ghent"})
        assert sentence.startswith("weather/get_forecast is not available. The server weather failed")
        assert "again" not in sentence  # an agent would call it in a loop

    with_agent(servers.gateway(), talk)


def test_a_call_of_a_server_that_failed_says_why(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    servers.entries["broken"] = {"command": "/nonexistent/server"}
    servers.entries["unset"] = {"command": "x", "env": {"KEY": "${NO_SUCH_VARIABLE}"}}
    servers.write()

    async def talk(agent: Agent) -> None:
        for name in ("broken/x", "mcp__broken__x"):
            sentence = await agent.error("call", tool=name)
            assert sentence.startswith(f"'{name}' is not available. The server broken failed: ")
            assert "No such file" in sentence
        assert "No such file" in await agent.error("read", id="broken/x")
        assert "NO_SUCH_VARIABLE" in await agent.error("call", tool="unset/x")
        assert "There is no tool 'weather/x'" in await agent.error("call", tool="weather/x")

    with_agent(servers.gateway(), talk)


def test_searches_wait_once_for_a_server_that_hangs(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "FIRST_LIST_SECONDS", 0.5)
    waits: list[str] = []
    wait = upstream.Upstream.wait_for_start

    async def noted(self: upstream.Upstream) -> None:
        waits.append(self.server.name)
        await wait(self)

    servers.add("weather", WEATHER)
    hanging = servers.add("hanging", behavior={"pause": 3600})
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        gateway.wake()
        await until(lambda: "weather" in gateway.catalog.listings)
        await until(lambda: hanging.starts)
        monkeypatch.setattr(upstream.Upstream, "wait_for_start", noted)
        for _ in range(3):
            answer = await agent("discover", query="will it rain in the city")
            assert [item["id"] for item in answer["results"]] == ["weather/get_forecast"]
            assert "Not ready yet: hanging." in answer["note"]
        answer = await agent("discover", query="write an invoice")
        assert (answer["abstained"], answer["reason"]) == (True, "Some servers have not listed their tools yet.")
        assert (answer["near"], "confidence_reason" in answer) == ([], False)
        assert waits == ["hanging"]
        sentence = await agent.error("call", tool="hanging/x")
        assert sentence.startswith("'hanging/x' is not available. The server hanging is not ready yet")
        assert "the tools of hanging are not known yet" in await agent.error("call", tool="get_forcast")
        assert waits == ["hanging"]
        servers.entries["hanging"]["startup_timeout_sec"] = 600
        servers.write()
        await agent("discover", query="will it rain in the city")
        assert waits == ["hanging", "hanging"]
        assert "600 seconds" in await agent.error("call", tool="hanging/x")

    with_agent(gateway, talk)
    assert not hanging.is_alive()


def test_servers_that_hang_do_not_keep_others_from_starting(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "START_SLOT_SECONDS", 0.2)
    for number in range(gateways.MOST_STARTS):
        servers.add(f"hanging{number}", behavior={"pause": 3600})
    servers.add("weather", WEATHER)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent.wait_for("will it rain in the city", "weather/get_forecast")

    with_agent(gateway, talk)


def test_a_call_looks_its_tool_up_once_and_connects_once(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    servers.add("weather", WEATHER)
    gateway = servers.gateway()
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*given: Any, **options: Any) -> Any:
            counts[name] += 1
            return real(*given, **options)

        monkeypatch.setattr(owner, name, counted)

    async def talk(agent: Agent) -> None:
        monkeypatch.setattr(tool_catalog, "FRESH_SECONDS", 0.0)
        assert await agent.call("weather/get_forecast", city="Ghent")
        count(gateways, "find_tool")
        count(gateways, "_check_access")
        count(upstream.Upstream, "connect")
        assert await agent.call("weather/get_forecast", city="Bruges") == 'get_forecast {"city": "Bruges"}'
        assert counts == {"find_tool": 1, "_check_access": 1, "connect": 1}
        counts.clear()
        monkeypatch.setattr(tool_catalog, "FRESH_SECONDS", 60.0)  # what was read a moment ago is not read again
        assert await agent.call("weather/get_forecast", city="Bruges") == 'get_forecast {"city": "Bruges"}'
        assert counts == {"_check_access": 1, "connect": 1}
        counts.clear()
        monkeypatch.setattr(tool_catalog, "FRESH_SECONDS", 0.0)
        monkeypatch.setattr(upstream_listing, "RELIST_SECONDS", -1.0)  # the list is read again, so the tool may differ
        assert await agent.call("weather/get_forecast", city="Bruges") == 'get_forecast {"city": "Bruges"}'
        assert counts == {"find_tool": 2, "_check_access": 2, "connect": 1}

    with_agent(gateway, talk)


def test_the_outcome_of_a_call_names_its_tool(servers: Servers) -> None:
    servers.add("weather", WEATHER, tool("fail"), tool("die"))
    gateway = servers.gateway()

    async def main() -> None:
        outcome = await gateway.call("get_forecast", {"city": "Ghent"})
        assert (outcome.tool.id, outcome.explanation) == ("weather/get_forecast", "")
        assert outcome.result["content"] == [{"type": "text", "text": 'get_forecast {"city": "Ghent"}'}]
        failed = await gateway.call("fail", {})
        assert (failed.tool.id, failed.result["isError"]) == ("weather/fail", True)
        with pytest.raises(CallFailed, match="Lost connection to weather") as caught:
            await gateway.call("die", {})
        assert caught.value.tool.id == "weather/die"
        await gateway.close()

    asyncio.run(main())


def test_servers_of_a_client_are_not_closed_during_its_call_and_the_idle_ones_of_many_clients_are(
    servers: Servers, start: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "MOST_PRIVATE_CLIENTS", 1)
    monkeypatch.setattr(gateways, "CONFIG_POLL_SECONDS", 0.02)
    one = servers.add("one", tool("sleep"))
    client = start()
    sessions = [begin_session(client, elicitation={}) for _ in range(3)]

    def sleep(session: str) -> Any:
        result = post(client, "call", session, tool="one/sleep", arguments={"seconds": 0.5})
        return result["content"][0]["text"]

    with ThreadPoolExecutor() as pool:
        for _ in range(2):  # the second time, servers start again
            assert list(pool.map(sleep, sessions)) == ['sleep {"seconds": 0.5}'] * 3
    asyncio.run(until(lambda: one.count_alive() == 2))  # of the latest client, and of those that share one
