"""Upstream servers: their life cycle, configuration, approval and names."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager

import pytest

from shortlist.errors import SourceError
from shortlist.mcp.gateway import dispatch, upstream
from shortlist.mcp.gateway.upstream_session import UpstreamSession
from shortlist.mcp_client.server_failures import StderrTail
from tests.mcp.conftest import WEATHER, Agent, Servers, tool, until, with_agent

# Life cycle


def test_a_server_that_dies_in_a_call_is_reported_and_restarted(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "FIRST_PAUSE_SECONDS", 0.05)
    mortal = servers.add("mortal", tool("die", "Ends the process."), WEATHER)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        sentence = await agent.error("call", tool="mortal/die")
        assert "Lost connection to mortal during the call" in sentence
        assert await agent.call("mortal/get_forecast", city="Ghent") == 'get_forecast {"city": "Ghent"}'
        await until(lambda: gateway.status()[0]["state"] == "ready")

    with_agent(gateway, talk)
    assert len(mortal.starts) == 2
    assert not mortal.is_alive()


def test_a_server_that_keeps_failing_is_retried_with_growing_pauses_and_then_only_by_a_call(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(upstream, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(upstream, "MOST_FAILURES", 4)
    servers.entries["broken"] = {"command": "/nonexistent/server"}
    servers.write()
    gateway = servers.gateway()
    (one,) = gateway._upstreams.values()
    tell = one._set_state

    async def noted(state: upstream.UpstreamState) -> None:
        if state == "waiting":
            pauses.append(round(one._retry_at - asyncio.get_running_loop().time(), 2))
        await tell(state)

    monkeypatch.setattr(one, "_set_state", noted)

    async def talk(agent: Agent) -> None:
        answer = await agent("discover", query="anything")
        assert answer["abstained"]
        assert answer["note"].startswith("Unavailable: broken.")
        await until(lambda: one.state == "failed")
        (row,) = (await agent("status"))["servers"]
        assert (row["state"], row["tools"]) == ("failed", None)
        assert "No such file" in row["problem"]
        tried = one._failed_starts
        with pytest.raises(SourceError, match="No such file"):
            await one.connect()
        assert one._failed_starts > tried

    with_agent(gateway, talk)
    assert pauses[:3] == [0.01, 0.02, 0.04]


def test_one_who_waits_for_a_start_that_fails_at_once_gets_the_reason(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: UpstreamSession, stderr_tail: StderrTail) -> AbstractAsyncContextManager[None]:
        raise SourceError("no luck")

    def close_slowly(stderr_tail: StderrTail) -> None:
        time.sleep(0.2)
        close(stderr_tail)

    close = StderrTail.close
    monkeypatch.setattr(StderrTail, "close", close_slowly)
    monkeypatch.setattr(UpstreamSession, "open", fail)
    servers.add("weather", WEATHER)
    gateway = servers.gateway()

    async def refresh() -> None:
        await gateway.refresh()
        await gateway.close()

    asyncio.run(refresh())
    (row,) = gateway.status()
    assert (row["state"], row["problem"]) == ("waiting", "The server weather failed: no luck.")


def test_a_call_during_a_long_pause_says_how_long_it_lasts(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "FIRST_PAUSE_SECONDS", 30.0)
    servers.entries["broken"] = {"command": "/nonexistent/server"}
    servers.write()
    gateway = servers.gateway()
    (one,) = gateway._upstreams.values()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="anything")
        await until(lambda: one.state == "waiting")
        with pytest.raises(SourceError, match=r"in (30|29) seconds"):
            await one.connect()

    with_agent(gateway, talk)


def test_a_call_that_takes_too_long_is_canceled_and_the_server_keeps_running(servers: Servers) -> None:
    sleepy = servers.add("sleepy", tool("sleep", seconds={"type": "number"}), WEATHER, timeout_seconds=0.3)

    async def talk(agent: Agent) -> None:
        await agent.find("sleep")
        sentence = await agent.error("call", tool="sleep", arguments={"seconds": 1})
        assert "did not answer within 0.3 seconds" in sentence
        assert "timeout_seconds" in sentence

    with_agent(servers.gateway(), talk)
    assert len(sleepy.starts) == 1


def test_a_server_that_never_answers_is_given_up(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "START_SECONDS", 0.3)
    silent = servers.add("silent", behavior={"pause": 3600})
    servers.add("slow", behavior={"pause": 3600}, startup_timeout_sec=0.4)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="anything")
        await until(lambda: "did not answer within 0.3 seconds" in gateway.status()[0].get("problem", ""))
        await until(lambda: "did not answer within 0.4 seconds" in gateway.status()[1].get("problem", ""))

    with_agent(gateway, talk)
    assert not silent.is_alive()


# Configuration


# Approval


# Names


def test_an_idle_server_is_stopped_and_started_again_by_the_next_call(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "CONFIG_POLL_SECONDS", 0.02)
    monkeypatch.setattr(upstream, "IDLE_SECONDS", 0.2)
    brief = servers.add("brief", WEATHER, tool("sleep"))
    steady = servers.add("steady", tool("fail"), idle_timeout_seconds=0)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent.error("call", tool="steady/fail")
        for _ in range(2):
            assert await agent.call("brief/sleep", seconds=0.4) == 'sleep {"seconds": 0.4}'  # it is not idle meanwhile
            starts = len(brief.starts)
            await until(lambda: not brief.is_alive())
            await until(lambda: gateway.status()[0]["state"] == "idle")
        assert "problem" not in gateway.status()[0]
        results = await asyncio.gather(*(agent.call("brief/get_forecast", city="Ghent") for _ in range(5)))
        assert results == ['get_forecast {"city": "Ghent"}'] * 5
        assert (len(brief.starts), len(steady.starts)) == (starts + 1, 1)
        assert steady.is_alive()

    with_agent(gateway, talk)
    assert not steady.is_alive()


def test_a_server_is_not_idle_when_it_becomes_ready_however_long_it_took(servers: Servers) -> None:
    servers.add("slow", WEATHER, behavior={"pause": 0.5}, idle_timeout_seconds=0.4)
    gateway = servers.gateway()

    async def connect() -> None:
        one = gateway.find_upstream("slow")
        await one.connect()
        one.stop_if_idle()
        assert one.session
        await gateway.close()

    asyncio.run(connect())
