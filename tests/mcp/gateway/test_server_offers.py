"""What servers offer besides tools: which server has a resource, and what is hidden."""

from __future__ import annotations

import json

import pytest
from mcp import MCPError
from mcp_types import (
    BlobResourceContents,
    TextResourceContents,
)

from tests.mcp.conftest import (
    WEATHER,
    Agent,
    Servers,
    tool,
    until,
    with_agent,
)
from tests.mcp.gateway.test_relay import ERAS, OFFERS, RESOURCES, count_offers


@ERAS
def test_resources_are_listed_and_read_from_the_server_that_has_them(servers: Servers, mode: str) -> None:
    servers.add("one", tool("blocks"), behavior=OFFERS | {"resources": [*RESOURCES, {"uri": "only://1", "name": "o"}]})
    servers.add("two", tool("blocks"), behavior=OFFERS, env={"API_KEY": "s3cr3t-of-the-shop"})

    async def read(agent: Agent, uri: str) -> str:
        text, blob = (await agent.client.read_resource(uri)).contents
        assert isinstance(text, TextResourceContents)
        assert isinstance(blob, BlobResourceContents)
        assert (text.meta, blob.blob) == ({"n": 1}, "aGk=")
        return text.text

    async def talk(agent: Agent) -> None:
        await agent.find("blocks")
        await until(lambda: count_offers() == 2)
        listed = (await agent.client.list_resources(cache_mode="bypass")).resources
        uris = ["shortlist-server://one/note://1", "only://1", "shortlist-server://two/note://1"]
        assert [resource.uri for resource in listed] == uris
        templates = (await agent.client.list_resource_templates(cache_mode="bypass")).resource_templates
        assert [one.uri_template for one in templates] == ["shortlist://{corpus}/{+id}", *["note://{n}/page"] * 2]
        assert [await read(agent, uri) for uri in uris] == ["one has it", "one has it", "two has it"]
        for uri in ("note://1", "note://8/page"):
            with pytest.raises(MCPError, match=f"Several servers have .*Use shortlist-server://one/{uri} or"):
                await read(agent, uri)
        with pytest.raises(MCPError, match="No server offers the resource 'other://1'"):
            await read(agent, "other://1")
        assert (await agent.client.call_tool("call", {"tool": "two/blocks"})).content
        assert [await read(agent, f"note://{n}") for n in (1, 2, 3)] == ["two has it"] * 3  # as it linked to them
        assert (await agent("read", id="note://1"))["text"] == "two has it"
        with pytest.raises(MCPError, match=r"no such resource, and the key is \*\*\*") as caught:
            await read(agent, "shortlist-server://two/none://1")
        assert caught.value.code == -32002

    with_agent(servers.gateway(), talk, mode=mode)


def test_a_denied_server_gives_no_prompts_and_no_resources(servers: Servers) -> None:
    servers.add("one", WEATHER, behavior=OFFERS)
    with_agent(servers.gateway(), lambda agent: agent.call("one/get_forecast", city="Ghent"))
    rules = {"mcpServers": servers.entries, "permissions": {"one": "never"}}
    servers.config.write_text(json.dumps(rules))

    async def talk(agent: Agent) -> None:
        assert (await agent.client.list_prompts()).prompts == []
        assert (await agent.client.list_resources()).resources == []
        with pytest.raises(MCPError, match="one is denied by the user"):
            await agent.client.read_resource("shortlist-server://one/note://1")

    with_agent(servers.gateway(), talk)
