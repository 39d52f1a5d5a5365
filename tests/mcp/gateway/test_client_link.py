"""What a server learns about its client: name, capabilities and roots."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.server.lowlevel import Server
from mcp_types import (
    Implementation,
)

import shortlist
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from tests.mcp.conftest import (
    WAIT_SECONDS,
    WEATHER,
    Agent,
    Servers,
    Upstream,
    tool,
    with_agent,
)
from tests.mcp.gateway.test_relay import ERAS, Person


@ERAS
def test_a_server_is_told_who_the_client_is_and_what_it_cannot_do(servers: Servers, mode: str) -> None:
    servers.add("one", tool("client"), tool("ask"))

    async def talk(agent: Agent) -> None:
        client = json.loads(await agent.call("one/client"))
        assert client["info"] == {"name": f"editor (via shortlist {shortlist.__version__})", "version": "7.1"}
        assert client["capabilities"] == {"roots": {"listChanged": True}}
        assert await agent.call("one/ask") == '"Elicitation not supported"'

    with_agent(servers.gateway(), talk, mode=mode, client_info=Implementation(name="editor", version="7.1"))


def test_a_new_kind_of_client_starts_no_server_and_sees_what_is_offered_to_it_once_it_calls_one(
    servers: Servers,
) -> None:
    one = servers.add("one", WEATHER, behavior={"for_people": [tool("ask", "Asks a person which shelf is meant.")]})

    async def count(agent: Agent) -> int:
        await agent("discover", query="rain")
        async with asyncio.timeout(WAIT_SECONDS):
            while (row := (await agent("status"))["servers"][0])["state"] == "starting":
                await asyncio.sleep(0.05)
        return int(row["tools"])

    async def call_and_count(agent: Agent) -> list[int]:
        before = await count(agent)
        await agent.call("one/get_forecast", city="Ghent")
        return [before, await count(agent)]

    assert with_agent(servers.gateway(), count) == 1
    assert with_agent(servers.gateway(), count, **Person().options) == 1
    assert len(one.starts) == 1
    assert with_agent(servers.gateway(), call_and_count, **Person().options) == [1, 2]
    assert with_agent(servers.gateway(), count) == 1
    assert with_agent(servers.gateway(), count, **Person().options) == 2
    assert len(one.starts) == 2  # both lists are stored
    assert sorted(servers.gateway().catalog.tools) == ["one/ask", "one/get_forecast"]  # as the command line has it
    assert with_agent(servers.gateway(), count, elicitation_callback=Person().elicit) == 2
    assert len(one.starts) == 3  # since its lists differ, it is asked for every kind of client


def test_servers_get_the_roots_of_the_client_and_no_others(tmp_path: Path) -> None:
    from mcp_types import ListRootsResult, Root, RootsListChangedNotification

    entry = Upstream(tmp_path, "here").offers(tool("roots")).entry
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"here": entry}}))
    roots = ["file:///first", "file:///second"]

    async def listed(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": uri}) for uri in roots])

    def ours() -> Server[Any]:
        return make_server(AgentActions(Collection(Gateway(GatewayConfig([config])), StoredCorpora()), lambda: None))

    async def main() -> None:
        async with Client(ours(), mode="legacy", list_roots_callback=listed) as client:
            agent = Agent(client)
            assert json.loads(await agent.call("here/roots")) == ["file:///first", "file:///second"]
            roots[:] = ["file:///third"]
            await client.session.send_notification(RootsListChangedNotification())
            for _ in range(200):
                if json.loads(await agent.call("here/roots")) == ["file:///third"]:
                    break
                await asyncio.sleep(0.05)
            else:
                raise AssertionError("the new roots never came")
        for mode in ("legacy", "auto"):
            async with Client(ours(), mode=mode) as client:
                assert json.loads(await Agent(client).call("here/roots")) == []

    asyncio.run(main())
