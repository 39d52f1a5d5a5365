"""The catalog: approved tools on disk, and the names by which they are found."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist._paths import data_dir
from shortlist.errors import InputError
from shortlist.mcp.gateway import tool_catalog
from shortlist.mcp.gateway.tool_catalog import Tool, find_tool
from tests.mcp.conftest import WEATHER, Agent, Servers, with_agent


def test_on_a_full_disk_known_tools_are_called_and_changed_ones_are_not(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    weather = servers.add("weather", WEATHER)

    async def call(agent: Agent) -> str:
        return await agent.call("weather/get_forecast", city="Ghent")

    async def fail_to_call(agent: Agent) -> str:
        return await agent.error("call", tool="weather/get_forecast", arguments={"city": "Ghent"})

    async def find(agent: Agent) -> None:
        await agent.wait_for("will it rain in the city", "weather/get_forecast")

    with_agent(servers.gateway(), find)

    def fail(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(tool_catalog, "replace_text", fail)
    assert with_agent(servers.gateway(), call) == 'get_forecast {"city": "Ghent"}'
    weather.offers(WEATHER | {"description": "Another one."})
    assert f"cannot be stored in {data_dir()}" in with_agent(servers.gateway(), fail_to_call)


def test_without_readable_approvals_all_tools_are_pending(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    gateway = servers.gateway()
    with_agent(gateway, lambda agent: agent.find("forecast"))
    (approved,) = Path(os.environ["SHORTLIST_DATA_DIR"]).rglob("*.approved.json")
    approved.write_text("{")

    async def talk(agent: Agent) -> None:
        assert await agent.find("forecast of rain") == []
        assert "cannot be read" in await agent.error("call", tool="get_forecast", arguments={"city": "Ghent"})

    with_agent(servers.gateway(), talk)
    assert approved.read_text() == "{"


def test_another_program_under_the_same_name_is_another_server(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    with_agent(servers.gateway(), lambda agent: agent.find("forecast"))
    servers.entries["weather"]["args"] = [*servers.entries["weather"]["args"], "--other"]
    servers.write()
    assert "weather" not in servers.gateway().catalog.listings


def named(*names: str) -> dict[str, Tool]:
    tools = [Tool(name.split("/")[0], {"name": name.split("/", 1)[1]}) for name in names]
    return {one.id: one for one in tools}


@pytest.mark.parametrize(
    "written", ["git/commit", "git.commit", "git__commit", "git:commit", "mcp__git__commit", "commit"]
)
def test_a_tool_is_found_by_every_usual_spelling(written: str) -> None:
    assert find_tool(written, named("git/commit", "git/push", "hub/push")).id == "git/commit"


def test_a_bare_name_must_be_unambiguous_and_a_similar_one_is_suggested() -> None:
    tools = named("git/commit", "git/push", "hub/push", "a/b/c")
    assert find_tool("a/b/c", tools).id == "a/b/c"
    for wrong, sentence in {
        "push": "'push' is ambiguous: git/push, hub/push.",
        "Commit": "Did you mean 'git/commit'?",
        "com\u200bmit": "Did you mean 'git/commit'?",
        "git/comit": "Did you mean 'git/commit'?",
        "something else entirely": "Find tools with discover",
        " ": "The name of the tool is empty",
    }.items():
        with pytest.raises(InputError, match=None) as caught:
            find_tool(wrong, tools)
        assert sentence in str(caught.value)


@given(st.text(max_size=30))
def test_any_unknown_name_is_an_error_with_advice(name: str) -> None:
    with pytest.raises(InputError, match=r"(discover|shows it|ids)\.$"):
        find_tool(name, named("git/commit", "hub/push"))


def test_the_same_name_on_two_servers_is_two_tools(servers: Servers) -> None:
    servers.add("one", WEATHER)
    servers.add("two", WEATHER)

    async def talk(agent: Agent) -> Any:
        assert sorted(await agent.find("weather forecast")) == ["one/get_forecast", "two/get_forecast"]
        assert "ambiguous" in await agent.error("call", tool="get_forecast", arguments={"city": "Ghent"})
        return await agent.call("two/get_forecast", city="Ghent")

    assert with_agent(servers.gateway(), talk) == 'get_forecast {"city": "Ghent"}'
