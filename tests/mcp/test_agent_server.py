"""The official client over stdio and HTTP, with our server and three upstream servers as processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi.testclient import TestClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import shortlist
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp_client.project_trust import trust
from shortlist.server.routes.mcp_routes import Managers
from tests.mcp.conftest import (
    HEADERS,
    INVOICE,
    REQUEST,
    WAIT_SECONDS,
    WEATHER,
    Agent,
    Servers,
    Upstream,
    ask,
    run_command,
    tool,
    until,
    with_agent,
)
from tests.mcp.many_servers import SERVERS, TOOLS, fill_catalog, make_servers
from tests.mcp.test_agent_tools import ACTS, written
from tests.server.conftest import Service


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.startswith(("SHORTLIST", "PYTHON"))}


def over_stdio(config: Path) -> StdioServerParameters:
    command = ["-m", "shortlist", "mcp", "--config", str(config)]
    return StdioServerParameters(command=sys.executable, args=command, env=environment())


@pytest.fixture
def trio(servers: Servers) -> tuple[Servers, dict[str, Upstream]]:
    """Servers of which one is slow, one dies during a call, and the tools of one change."""
    made = {
        "slow": servers.add("slow", WEATHER, behavior={"pause": 0.5}),
        "mortal": servers.add("mortal", tool("die", "Ends it all."), tool("greet", "Says hello to a person.")),
        "changing": servers.add("changing", INVOICE, tool("become", tools={"type": "array"})),
    }
    return servers, made


async def use_all(agent: Agent, listed: list[str]) -> None:
    """List, discover, read, and call through to all three."""
    tools = (await agent.client.list_tools()).tools
    assert [one.name for one in tools] == ACTS
    listed.append(written(tools))
    await agent.wait_for("rain and wind in a city", "slow/get_forecast")
    assert (await agent("read", id="slow/get_forecast"))["input_schema"] == WEATHER["inputSchema"]
    assert await agent.call("slow/get_forecast", city="Ghent") == 'get_forecast {"city": "Ghent"}'
    assert "Lost connection" in await agent.error("call", tool="mortal/die")
    assert await agent.call("mortal/greet") == "greet {}"
    changed = INVOICE | {"inputSchema": {"type": "object", "properties": {"account": {"type": "string"}}}}
    await agent.call("changing/become", tools=[changed])
    for _ in range(100):
        if "1 tool is pending approval" in (await agent("discover", query="invoice")).get("note", ""):
            break
        await asyncio.sleep(0.1)
    sentence = await agent.error("call", tool="changing/write_invoice", arguments={"account": "7"})
    assert "Changed since it was approved: input." in sentence
    _, approved = run_command("mcp", "approve", "changing", "--yes", "--config", "servers.json", "--json")
    assert json.loads(approved)["approved"] == ["changing/write_invoice"]
    assert await agent.call("changing/write_invoice", account="7") == 'write_invoice {"account": "7"}'


def test_the_official_client_over_stdio_reaches_all_servers(trio: tuple[Servers, dict[str, Upstream]]) -> None:
    servers, upstream = trio
    listed: list[str] = []

    async def main() -> None:
        async with Client(over_stdio(servers.config)) as client:
            await use_all(Agent(client), listed)
        async with Client(over_stdio(servers.config)) as client:
            assert client.instructions
            assert client.instructions.startswith("Available: 4 tools of 3 servers")
            listed.append(written((await client.list_tools()).tools))

    asyncio.run(main())
    assert listed[0] == listed[1]
    assert not any(one.is_alive() for one in upstream.values())


@pytest.fixture
def service(servers: Servers, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    started: list[Service] = []

    def start(**more: str) -> Service:
        (tmp_path / "settings.yaml").write_text("mcp:\n  config: [servers.json]\n")
        trust(servers.config, servers.config.read_bytes())
        started.append(Service(tmp_path, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def over_http(url: str, use: Callable[[Agent], Awaitable[None]], **headers: str) -> None:
    async def main() -> None:
        http = httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS, trust_env=False)
        async with http, Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
            await use(Agent(client))

    asyncio.run(main())


def test_the_official_client_over_http_reaches_all_servers(
    trio: tuple[Servers, dict[str, Upstream]], service: Callable[..., Service]
) -> None:
    running = service(SHORTLIST_TOKEN="let-me-in")
    listed: list[str] = []
    over_http(running.url, lambda agent: use_all(agent, listed), Authorization="Bearer let-me-in")
    assert running.http.post("/mcp", json=REQUEST, headers=HEADERS).status_code == 401
    code, out = running.end()
    assert (code, out) == (0, "")
    assert not any(one.is_alive() for one in trio[1].values())


def test_a_server_of_the_official_sdk_over_http_is_an_upstream_like_any_other(servers: Servers, tmp_path: Path) -> None:
    offer = tmp_path / "offer.json"
    offer.write_text(json.dumps({"tools": [WEATHER]}))
    program = Path(__file__).parents[1] / "sources" / "mcp_server.py"
    with subprocess.Popen(
        [sys.executable, str(program), str(offer), "http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        servers.entries["remote"] = {"url": f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"}
        servers.write()

        async def talk(agent: Agent) -> None:
            assert await agent.find("will it rain in the city") == ["remote/get_forecast"]
            assert await agent.call("get_forecast", city="Ghent") == 'get_forecast {"city": "Ghent"}'
            process.kill()
            process.wait()
            sentence = await agent.error("call", tool="get_forecast", arguments={"city": "Ghent"})
            assert "Lost connection" in sentence or "is not available" in sentence  # the gateway may notice it first
            assert "The server remote failed" in await agent.error(
                "call", tool="get_forecast", arguments={"city": "Ghent"}
            )

        with_agent(servers.gateway(), talk)


# Over HTTP, in this process


def test_mcp_is_behind_the_same_access_control(servers: Servers, start: Callable[..., TestClient]) -> None:
    servers.add("weather", WEATHER)
    client = start(server__token="let-me-in")
    token = {"Authorization": "Bearer let-me-in"}
    assert client.post("/mcp", json=REQUEST, headers=HEADERS).status_code == 401
    assert client.post("/mcp", json=REQUEST, headers=HEADERS | {"Host": "evil.example"} | token).status_code == 421
    origin = {"Origin": "https://evil.example"}
    assert client.post("/mcp", json=REQUEST, headers=HEADERS | origin | token).status_code == 403
    answer = client.post("/mcp", json=REQUEST, headers=HEADERS | token)
    assert [one["name"] for one in answer.json()["result"]["tools"]] == ACTS
    assert client.get("/mcp", headers=token).status_code == 405
    assert client.post("/mcp", content="{broken", headers=HEADERS | token).status_code == 400


def test_only_served_corpora_are_found(servers: Servers, start: Callable[..., TestClient]) -> None:
    servers.add("weather", WEATHER)
    for name in ("open", "closed"):
        shortlist.build({f"{name}-note": f"The {name} door leads to the garden."}, name).close()
    found = ask(start(), "discover", query="door to the garden", limit=5)
    assert {item.get("corpus") for item in found["results"] + found["near"]} >= {"open", "closed"}
    found = ask(start(server__corpora=("open",)), "discover", query="door to the garden", limit=5)
    assert {item["corpus"] for item in found["results"]} == {"open"}
    assert "closed" not in json.dumps(found)


def test_what_was_added_to_the_catalog_is_found(servers: Servers, start: Callable[..., TestClient]) -> None:
    servers.add("weather", WEATHER)
    client = start()
    refund = {"id": "refund", "title": "Refund a payment", "content": "Send money back."}
    client.post("/v1/corpora/catalog/documents", json={"documents": [refund]})
    (item,) = ask(client, "discover", query="refund a payment")["results"]
    assert (item["id"], item["corpus"]) == ("refund", "catalog")


def test_anonymous_clients_reach_no_upstream_server(servers: Servers, start: Callable[..., TestClient]) -> None:
    weather = servers.add("weather", WEATHER)
    for given in ({"server__host": "0.0.0.0", "server__allow_anonymous": True}, {"mcp__upstream": False}):
        client = start(**given)
        assert ask(client, "status")["servers"] == []
        assert ask(client, "discover", query="weather forecast")["results"] == []
    assert weather.starts == []


def test_mcp_can_be_disabled_and_is_loaded_only_when_used(start: Callable[..., TestClient]) -> None:
    assert start(mcp__enabled=False).post("/mcp", json=REQUEST, headers=HEADERS).status_code == 404
    code = (
        "import sys\nfrom shortlist.server.application import create_app\nfrom fastapi.testclient import TestClient\n"
        "with TestClient(create_app()) as client:\n    assert client.get('http://localhost/health').is_success\n"
        "assert 'mcp' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=WAIT_SECONDS)


def test_without_the_package_the_error_has_the_command_that_installs_it(
    servers: Servers, start: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.add("weather", WEATHER)
    monkeypatch.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
    answer = start().post("/mcp", json=REQUEST, headers=HEADERS)
    assert answer.status_code == 501
    assert 'pip install "shortlist[mcp]"' in answer.json()["detail"]


class OpenManager:
    """A manager of the SDK that answers a message only when its client is gone."""

    def __init__(self, error: Exception | None = None) -> None:
        self.messages: list[dict[str, Any]] = []
        self._error = error

    async def handle_request(self, scope: Any, receive: Any, send: Any) -> None:
        message = json.loads((await receive())["body"])
        self.messages.append(message)
        if message.get("method") != "notifications/cancelled":
            assert (await receive())["type"] == "http.disconnect"
            await asyncio.sleep(0.1)  # the SDK hands a message on only after it has answered
        elif self._error:
            raise self._error


def send_and_disconnect(message: dict[str, Any], manager: OpenManager) -> list[str]:
    """The methods of the messages that reach a session if its client disconnects before its message is answered."""
    received = iter([{"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(received, {"type": "http.disconnect"})

    async def send(_: Any) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"mcp-session-id", b"1")]}
    managers: Any = Managers(manager, OpenManager(), None)  # type: ignore[arg-type]
    asyncio.run(managers.answer(scope, receive, send))
    return [message.get("method", "answer") for message in manager.messages]


def test_a_client_that_disconnects_cancels_its_request_but_not_with_an_answer() -> None:
    call = REQUEST | {"method": "tools/call", "params": {"name": "status"}}
    manager = OpenManager()
    assert send_and_disconnect(call, manager) == ["tools/call", "notifications/cancelled"]
    assert manager.messages[1]["params"]["requestId"] == call["id"]
    # The number of a question of the server may be that of a request of the client.
    answer = {"jsonrpc": "2.0", "id": call["id"], "result": {"action": "accept", "content": {}}}
    assert send_and_disconnect(answer, OpenManager()) == ["answer"]
    refusal = {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32600, "message": "no"}}
    assert send_and_disconnect(refusal, OpenManager()) == ["answer"]


@pytest.mark.parametrize("error", [anyio.ClosedResourceError(), anyio.BrokenResourceError()])
def test_a_session_that_has_ended_has_nothing_to_cancel(error: Exception) -> None:
    assert send_and_disconnect(REQUEST, OpenManager(error)) == ["tools/list", "notifications/cancelled"]


# Shutdown


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_and_its_servers(servers: Servers, how: signal.Signals) -> None:
    weather = servers.add("weather", WEATHER)
    process = subprocess.Popen(
        [sys.executable, "-m", "shortlist", "mcp", "--config", str(servers.config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout
        watch = threading.Timer(WAIT_SECONDS, process.kill)
        watch.start()
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        call = {"name": "discover", "arguments": {"query": "rain"}}
        for message in (
            {"id": 1, "method": "initialize", "params": params},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert [one["id"] for one in answers] == [1, 2]
        asyncio.run(until(weather.is_alive))
        process.send_signal(how)
        code = process.wait(WAIT_SECONDS)
        watch.cancel()
    assert code == (0 if how == signal.SIGTERM else 130)
    asyncio.run(until(lambda: not weather.is_alive()))


# Many


def test_fifty_servers_with_two_thousand_tools_are_found_from_the_catalog_before_any_server_is_started(
    tmp_path: Path,
) -> None:
    config, offers = make_servers(tmp_path)
    fill_catalog(config, offers)

    async def talk(agent: Agent) -> None:
        assert f"{TOOLS:,} tools of {SERVERS} servers" in (agent.client.instructions or "")
        wanted = offers["server37"][11]
        (first, *_) = (await agent("discover", query=f"{wanted['name']} in server37", limit=10))["results"]
        assert first["id"] == f"server37/{wanted['name']}"
        assert first["input_schema"] == wanted["inputSchema"]
        rows = (await agent("status"))["servers"]
        assert [row["state"] for row in rows] == ["idle"] * SERVERS

    with_agent(Gateway(GatewayConfig([config])), talk)
