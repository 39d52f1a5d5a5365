"""Servers that a command runs: what floods or breaks the streams is stopped."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import WEATHER, Agent, Servers, tool, until, with_agent
from tests.mcp.gateway.test_tool_checks import discover_and_status

pytestmark = pytest.mark.process

FLOODS = {
    "lines that are no messages": ("all work and no play\n", "1000 lines in a row that are not messages"),
    "a line without end": ("x" * 1000, "a line of more than 1 MiB"),
    "unsolicited messages": (
        '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n' * 100,
        "2000 lines in less than 10 seconds",
    ),
}


@pytest.mark.usefixtures("quick_to_give_up")
@pytest.mark.parametrize(("flood", "reason"), FLOODS.values(), ids=FLOODS)
def test_a_server_that_floods_stdout_is_stopped_and_reported_and_the_others_work(
    servers: Servers, flood: str, reason: str
) -> None:
    good = servers.add("good", WEATHER)
    bad = servers.add("bad", behavior={"flood": flood})
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        answer = await agent("discover", query="weather forecast rain")
        assert [item["id"] for item in answer["results"]] == ["good/get_forecast"]
        await until(lambda: reason in gateway.status()[1].get("problem", ""))
        assert not bad.is_alive()
        assert await agent.call("get_forecast", city="Ghent")

    with_agent(gateway, talk)
    assert good.starts


@pytest.mark.usefixtures("quick_to_give_up")
def test_a_server_that_floods_stdout_during_a_call_is_stopped(servers: Servers) -> None:
    bad = servers.add("bad", tool("flood"))

    async def talk(agent: Agent) -> None:
        reason = "Lost connection to bad during the call, as it floods its standard output: "
        assert reason in await agent.error("call", tool="flood")
        await until(lambda: not bad.is_alive())

    with_agent(servers.gateway(), talk)


def test_a_few_lines_that_are_not_messages_are_ignored(servers: Servers) -> None:
    banner = "Welcome!\n{not json\n[]\n" + '{"level": "info"}\n' + "\x00\xff\n" * 20
    servers.add("chatty", WEATHER, behavior={"first": banner})
    assert discover_and_status(servers)[0]["results"][0]["id"] == "chatty/get_forecast"
