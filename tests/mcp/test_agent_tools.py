"""The agent's view: six tools that never change, results with reasons, errors that a model can act on."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent, Tool

import shortlist
from shortlist import REFUSAL
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.tool_definitions import DEFINITIONS
from shortlist.retrieval.agent_actions import LONGEST_READ
from tests.mcp.conftest import INVOICE, TEXT, WEATHER, Agent, Servers, text_of, tool, with_agent
from tests.mcp.many_servers import count_tokens

ACTS = ["discover", "read", "call_read", "call", "ask", "status"]


def written(tools: list[Tool]) -> str:
    return json.dumps([one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in tools])


# Tools


def test_the_six_tools_are_the_same_to_the_byte_whatever_is_upstream(servers: Servers) -> None:
    async def listed(agent: Agent) -> str:
        before = written((await agent.client.list_tools()).tools)
        await agent("discover", query="anything")
        tools = (await agent.client.list_tools(cache_mode="bypass")).tools
        assert [one.name for one in tools] == ACTS
        assert written(tools) == before
        return before

    alone = with_agent(Gateway(GatewayConfig(has_servers=False)), listed)
    servers.add("weather", WEATHER)
    servers.add("billing", INVOICE)
    assert with_agent(servers.gateway(), listed) == alone == json.dumps(list(DEFINITIONS))


def test_the_tools_have_hints_and_cost_few_tokens() -> None:
    tools = [Tool.model_validate(definition) for definition in DEFINITIONS]
    assert {one.name for one in tools if one.annotations and one.annotations.read_only_hint} == {*ACTS} - {"call"}
    assert {one.name for one in tools if one.output_schema} == {*ACTS} - {"call", "call_read"}  # theirs vary
    assert count_tokens(written(tools)) <= 970


def test_the_instructions_summarize_what_is_available_and_are_short(
    servers: Servers, handbook: str, skill: Path
) -> None:
    servers.add("weather", WEATHER, tool("get_tide", "When the sea is high."))
    servers.add("billing", INVOICE)
    with_agent(servers.gateway(), lambda agent: agent("status"))

    async def read_instructions(agent: Agent) -> str:
        return agent.client.instructions or ""

    with_agent(servers.gateway(), lambda agent: agent("discover", query="anything"))
    instructions = with_agent(servers.gateway(), read_instructions)
    assert instructions.startswith(
        "Available: 3 tools of 2 servers (weather 2, billing 1), 1 skill, 2 documents (handbook 2)."
    )
    assert count_tokens(instructions) < 150


# discover


def test_a_found_tool_comes_with_what_a_call_of_it_needs_and_nothing_twice(servers: Servers) -> None:
    output = {"type": "object", "properties": {"rain": {"type": "boolean"}}}
    dialect = {"$schema": "https://json-schema.org/draft-07/schema#", "title": "Arguments"}
    listed = WEATHER | {"inputSchema": dialect | WEATHER["inputSchema"], "outputSchema": output}
    servers.add("weather", listed)
    servers.add("billing", INVOICE)

    async def talk(agent: Agent) -> None:
        found = await agent("discover", query="will it rain in the city")
        relevance = found["results"][0].pop("relevance")
        assert 0.26 <= relevance == round(relevance, 2) <= 1
        item = {"id": "weather/get_forecast", "kind": "tool", "access": "write", "text": WEATHER["description"]}
        item |= {"input_schema": WEATHER["inputSchema"], "returns": "{rain: boolean}"}
        near = [{key: one[key] for key in one if key != "relevance"} for one in found.pop("near")]
        assert found == {"abstained": False, "results": [item]}
        line = INVOICE["description"]
        assert near in ([], [{"id": "billing/write_invoice", "kind": "tool", "text": line}])
        shown = await agent("read", id="weather/get_forecast")
        assert (shown["input_schema"], shown["output_schema"]) == (listed["inputSchema"], output)

    with_agent(servers.gateway(), talk)


def test_without_a_match_discover_abstains_with_a_reason(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    answer = with_agent(servers.gateway(), lambda agent: agent("discover", query="xylqz"))
    assert answer["abstained"]
    assert answer["results"] == []
    assert answer["reason"]


def test_without_servers_the_agent_learns_where_to_add_some(skill: Path) -> None:
    own = Path(os.environ["SHORTLIST_CONFIG_DIR"]) / "mcp.json"
    advice = f"No MCP server is configured. Add servers to {own}."

    async def talk(agent: Agent) -> None:
        assert (await agent("discover", query="rain", kind="tool"))["note"] == advice
        assert "note" not in await agent("discover", query="bring a release to production")
        assert (await agent.error("call", tool="get_forecast")).endswith(f"Find tools with discover. {advice}")
        (skill / "SKILL.md").unlink()

    with_agent(Gateway(GatewayConfig()), talk)
    answer = with_agent(Gateway(GatewayConfig()), lambda agent: agent("discover", query="rain"))
    assert (answer["results"], answer["note"]) == ([], advice)


def test_tools_skills_and_documents_are_found_together_or_apart(servers: Servers, handbook: str, skill: Path) -> None:
    servers.add("weather", WEATHER)

    async def talk(agent: Agent) -> None:
        assert await agent.find("how many days of leave a year") == ["leave.md"]
        assert await agent.find("bring a release to production") == ["deploy"]
        assert await agent.find("bring a release to production", kind="tool") == []
        assert await agent.find("rain in the city", kind="tool") == ["weather/get_forecast"]
        assert await agent.find("days of leave", kind="document") == ["leave.md"]
        assert len(await agent.find("canteen leave release rain", limit=1)) <= 1
        for wrong in ({"kind": "prompt"}, {"limit": 0}, {"limit": "many"}, {"query": " "}, {"top": 3}):
            sentence = await agent.error("discover", **({"query": "leave"} | wrong))
            assert next(iter(wrong)) in sentence

    with_agent(servers.gateway(), talk)


def test_a_damaged_corpus_is_reported_and_the_others_are_searched(servers: Servers, handbook: str) -> None:
    from shortlist.index.corpus_paths import corpus_dir

    servers.add("weather", WEATHER)
    (corpus_dir(handbook) / "corpus.db").write_bytes(b"no database at all" * 100)

    async def talk(agent: Agent) -> None:
        assert await agent.find("rain in the city") == ["weather/get_forecast"]
        (row,) = [row for row in (await agent("status"))["corpora"] if row["name"] == handbook]
        assert row["problem"]

    with_agent(servers.gateway(), talk)


# read


def test_an_item_is_read_in_full_in_part_or_with_its_neighbors(servers: Servers, handbook: str, skill: Path) -> None:
    servers.add("weather", WEATHER)

    async def talk(agent: Agent) -> None:
        await agent("discover", query="rain")
        shown = await agent("read", id="get_forecast")
        assert (shown["text"], shown["input_schema"]) == (WEATHER["description"], WEATHER["inputSchema"])
        shown = await agent("read", id="deploy")
        assert (shown["kind"], shown["files"]) == ("skill", ["check.sh"])
        assert "Run it." in shown["text"]
        first = await agent("read", id="long.md", corpus=handbook)
        assert first["next_offset"] == len(first["text"]) == LONGEST_READ
        second = await agent("read", id="long.md", offset=first["next_offset"])
        assert second["text"] in (Path("handbook") / "long.md").read_text()
        (hit,) = (await agent("discover", query="Paragraph 1234 describes", kind="document", limit=1))["results"]
        near = await agent("read", id="long.md", locator=hit["locator"])
        assert "Paragraph 1234 describes" in near["text"]
        assert len(near["text"]) < 5_000

    with_agent(servers.gateway(), talk)


def test_an_item_that_cannot_be_read_is_an_error_with_a_suggestion(servers: Servers, handbook: str) -> None:
    servers.add("weather", WEATHER)
    mapping = {"leave.md": "the same id in another corpus"}
    shortlist.build(mapping, "other").close()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="rain")
        assert "Did you mean 'weather/get_forecast'?" in await agent.error("read", id="get_forcast")
        assert "in several corpora: handbook, other" in await agent.error("read", id="leave.md")
        assert (await agent("read", id="leave.md", corpus="other"))["text"] == "the same id in another corpus"
        assert "Did you mean 'handbook'?" in await agent.error("read", id="leave.md", corpus="handbok")
        assert "No passage" in await agent.error("read", id="leave.md", corpus=handbook, locator="page=9")
        assert "offset" in await agent.error("read", id="long.md", offset=-1)
        assert "'corpus' must be a string, not [1]" in await agent.error("read", id="long.md", corpus=[1])
        assert "read needs a non-empty 'id'" in await agent.error("read")

    with_agent(servers.gateway(), talk)


# call


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_result_of_a_call_is_passed_on_unchanged(servers: Servers, mode: str) -> None:
    offered = [tool(name) for name in ("structured", "blocks", "fail", "break", "refuse", "get_forecast")]
    one = servers.add("one", *offered)

    async def talk(agent: Agent) -> None:
        async with Client(StdioServerParameters(**one.entry)) as direct:
            for name in ("structured", "blocks", "fail", "get_forecast"):
                result = await agent.client.call_tool("call", {"tool": f"one/{name}"})
                assert without_stamp(result) == without_stamp(await direct.call_tool(name)), name
        assert "invalid result" in await agent.error("call", tool="break")
        assert "no, for the key is None" in await agent.error("call", tool="refuse")
        assert await agent.call("structured")  # and the server is still the same

    with_agent(servers.gateway(), talk, mode=mode)


def without_stamp(result: CallToolResult) -> dict[str, Any]:
    """A result without what new versions of the protocol add: the name of the server that answered."""
    data = result.model_dump(by_alias=True, mode="json")
    meta = {key: value for key, value in (data.pop("_meta") or {}).items() if not key.endswith("/serverInfo")}
    return data | {"_meta": meta}


def test_the_server_decides_about_arguments_and_its_error_is_explained(servers: Servers) -> None:
    servers.add("lax", WEATHER)
    servers.add("strict", WEATHER, behavior={"strict": True})

    async def talk(agent: Agent) -> None:
        assert await agent.call("lax/get_forecast", citty="Ghent") == 'get_forecast {"citty": "Ghent"}'
        assert await agent.call("strict/get_forecast", city=5) == 'get_forecast {"city": 5}'
        failed = await agent.client.call_tool("call", {"tool": "strict/get_forecast", "arguments": {"citty": "Ghent"}})
        assert failed.is_error
        theirs, ours = failed.content
        assert isinstance(theirs, TextContent)
        assert isinstance(ours, TextContent)
        assert theirs.text == "missing: city"
        assert "'citty' is unknown. Did you mean 'city'?" in ours.text
        assert '"required": ["city"]' in ours.text
        assert "with call" in await agent.error("weather/get_forecast", city="Ghent")

    with_agent(servers.gateway(), talk)


def test_arguments_may_be_the_json_text_of_an_object(servers: Servers) -> None:
    servers.add("weather", WEATHER)

    async def talk(agent: Agent) -> Any:
        answer = await agent.client.call_tool("call", {"tool": "get_forecast", "arguments": '{"city": "Ghent"}'})
        assert "not valid JSON" in await agent.error("call", tool="get_forecast", arguments="{city")
        assert "must be an object, not [1]" in await agent.error("call", tool="get_forecast", arguments=[1])
        return text_of(answer)

    assert with_agent(servers.gateway(), talk) == 'get_forecast {"city": "Ghent"}'


# ask, status, resources


def test_a_question_is_answered_from_documents_with_their_sources_or_refused(servers: Servers, handbook: str) -> None:
    servers.add("weather", tool("leave", "Employees have 99 days of leave a year.", x=TEXT))

    async def talk(agent: Agent) -> None:
        answer = await agent("ask", question="How many days of leave do employees have a year?")
        assert "28 days" in answer["answer"]
        assert not answer["refused"]
        assert any(source["source"].endswith("leave.md") for source in answer["sources"])
        assert [source["cited"] for source in answer["sources"]] == sorted(
            (source["cited"] for source in answer["sources"]), reverse=True
        )
        assert answer["sources"][0]["place"]
        assert 0 <= answer["confidence"] <= 1
        refused = await agent("ask", question="Who painted the Sistine Chapel?", corpus=handbook)
        assert (refused["refused"], refused["answer"]) == (True, REFUSAL)

    with_agent(servers.gateway(), talk)


def test_without_documents_the_error_of_ask_says_how_to_add_some(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    sentence = with_agent(servers.gateway(), lambda agent: agent.error("ask", question="Why?"))
    assert "shortlist ingest" in sentence


def test_an_unexpected_error_is_reported_without_details(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("with internal details")

    servers.add("weather", WEATHER)
    monkeypatch.setattr(Collection, "corpora", fail)
    sentence = with_agent(servers.gateway(), lambda agent: agent.error("discover", query="rain"))
    assert sentence == "Unexpected error in discover (RuntimeError)."


def test_old_and_new_versions_of_the_protocol_work(servers: Servers) -> None:
    servers.add("weather", WEATHER)

    async def version(mode: Any) -> str:
        door = AgentActions(Collection(servers.gateway(), StoredCorpora()), lambda: None)
        async with Client(make_server(door), mode=mode) as client:
            assert (await Agent(client).find("rain in the city")) == ["weather/get_forecast"]
            return client.protocol_version

    assert asyncio.run(version("legacy")) < asyncio.run(version("auto"))
