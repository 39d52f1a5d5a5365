"""Servers and clients of npm and PyPI: what a client gets through the gateway is what it gets from the server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, TextContent

from tests.mcp.conftest import WAIT_SECONDS, WEATHER, Agent, Servers, tool
from tests.mcp.gateway.test_relay import OFFERS
from tests.mcp.test_agent_server import environment, over_stdio
from tests.mcp.test_agent_tools import without_stamp

pytestmark = [pytest.mark.slow, pytest.mark.extras]

NPM = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/inspector@0.15.0",
    "@playwright/mcp@0.0.83",
)
PYPI = ("mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PAGE = "data:text/html,<title>Tea</title><h1>Green tea</h1><p>is brewed at 70 degrees.</p>"
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+Z-]+")  # which differs between two calls


class Place(NamedTuple):
    """Where the servers and clients are installed, and the folder that the servers work on."""

    bin: Path
    python: Path
    fastmcp: Path
    folder: Path

    def entries(self) -> dict[str, dict[str, Any]]:
        browser = ["--headless", "--isolated", "--no-sandbox", "--executable-path", shutil.which("chromium") or ""]
        servers: dict[str, dict[str, Any]] = {
            "everything": {"command": str(self.bin / "mcp-server-everything")},
            "filesystem": {"command": str(self.bin / "mcp-server-filesystem"), "args": [str(self.folder)]},
            "time": {"command": str(self.python / "mcp-server-time"), "args": ["--local-timezone", "UTC"]},
            "git": {"command": str(self.python / "mcp-server-git"), "args": ["--repository", str(self.folder)]},
            "playwright": {"command": str(self.bin / "playwright-mcp"), "args": browser},
        }
        if shutil.which("chromium") is None:
            del servers["playwright"]
        return servers


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    if shutil.which("npm") is None or shutil.which("git") is None:
        pytest.skip("npm or git is missing.")
    home = tmp_path_factory.mktemp("installed")
    folder = home / "project"
    for name in ("python", "fastmcp"):
        venv.create(home / name, with_pip=True)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (
        ["npm", "install", "--prefix", str(home), "--no-audit", "--no-fund", *NPM],
        [str(home / "python" / "bin" / "pip"), "install", "--quiet", *PYPI],
        [str(home / "fastmcp" / "bin" / "pip"), "install", "--quiet", "fastmcp"],
        ["git", "init", "--quiet", "--initial-branch=main", str(folder)],
    ):
        subprocess.run(command, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    (folder / "notes.md").write_text("# Tea\n\nGreen tea is brewed at 70 degrees.\n")
    (folder / "pixel.png").write_bytes(base64.b64decode(PIXEL))
    (folder / "large.txt").write_text("".join(f"line {number}\n" for number in range(1_500)))
    for command in (["add", "."], ["commit", "--quiet", "-m", "Plant the tree"]):
        subprocess.run(
            ["git", *identity, "-C", str(folder), *command],
            check=True,
            env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull},
        )
    (folder / "notes.md").write_text("# Tea\n\nBlack tea is brewed at 95 degrees.\n")
    return Place(home / "node_modules" / ".bin", home / "python" / "bin", home / "fastmcp" / "bin", folder)


def calls_of(place: Place) -> list[tuple[str, str, dict[str, Any]]]:
    folder = str(place.folder)
    notes, repository = f"{folder}/notes.md", {"repo_path": folder}
    annotated = [
        ("everything", "get-annotated-message", {"messageType": kind, "includeImage": image})
        for kind in ("error", "success", "debug")
        for image in (True, False)
    ]
    cities = [("everything", "get-structured-content", {"location": city}) for city in ("New York", "Chicago")]
    everything: list[tuple[str, str, dict[str, Any]]] = [
        ("everything", "echo", {"message": "hello"}),
        ("everything", "get-sum", {"a": 2, "b": 40}),
        ("everything", "get-tiny-image", {}),
        ("everything", "get-resource-links", {"count": 3}),
        ("everything", "get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        ("everything", "get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
        (
            "everything",
            "gzip-file-as-resource",
            {"name": "a.gz", "data": "data:text/plain,hi", "outputType": "resource"},
        ),
        ("everything", "gzip-file-as-resource", {"name": "b.gz", "data": "data:text/plain,hi"}),
        ("everything", "trigger-long-running-operation", {"duration": 1, "steps": 2}),
        ("everything", "trigger-elicitation-request", {}),
        ("everything", "trigger-sampling-request", {"prompt": "Name a color.", "maxTokens": 9}),
        ("everything", "get-roots-list", {}),
        ("everything", "get-sum", {"a": "two"}),
        ("everything", "echo", {}),
        ("everything", "get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
    ]
    files: list[tuple[str, str, dict[str, Any]]] = [
        ("filesystem", "read_text_file", {"path": notes}),
        ("filesystem", "read_text_file", {"path": f"{folder}/large.txt", "head": 5}),
        ("filesystem", "read_text_file", {"path": f"{folder}/large.txt"}),
        ("filesystem", "read_media_file", {"path": f"{folder}/pixel.png"}),
        ("filesystem", "read_multiple_files", {"paths": [notes, f"{folder}/none.md"]}),
        ("filesystem", "list_directory", {"path": folder}),
        ("filesystem", "list_directory_with_sizes", {"path": folder}),
        ("filesystem", "directory_tree", {"path": folder, "excludePatterns": [".git"]}),
        ("filesystem", "search_files", {"path": folder, "pattern": "*.md"}),
        ("filesystem", "get_file_info", {"path": f"{folder}/large.txt"}),
        ("filesystem", "list_allowed_directories", {}),
        ("filesystem", "edit_file", {"path": notes, "edits": [{"oldText": "Black", "newText": "Red"}], "dryRun": True}),
        ("filesystem", "create_directory", {"path": f"{folder}/new"}),
        ("filesystem", "read_text_file", {"path": f"{folder}/none.md"}),
        ("filesystem", "read_text_file", {"path": "/etc/hostname"}),
        ("filesystem", "read_text_file", {"file": notes}),
    ]
    history: list[tuple[str, str, dict[str, Any]]] = [
        ("git", "git_status", repository),
        ("git", "git_log", repository),
        ("git", "git_diff_unstaged", repository),
        ("git", "git_diff_staged", repository),
        ("git", "git_show", repository | {"revision": "HEAD"}),
        ("git", "git_branch", repository | {"branch_type": "local"}),
        ("git", "git_show", repository | {"revision": "nowhere"}),
        ("git", "git_log", {}),
    ]
    clock = {"source_timezone": "Europe/Brussels", "time": "12:30", "target_timezone": "Asia/Tokyo"}
    times: list[tuple[str, str, dict[str, Any]]] = [
        ("time", "get_current_time", {"timezone": "Asia/Tokyo"}),
        ("time", "convert_time", clock),
        ("time", "convert_time", clock | {"time": "noon"}),
        ("time", "get_current_time", {"timezone": "Moon/Base"}),
    ]
    pages: list[tuple[str, str, dict[str, Any]]] = [
        ("playwright", "browser_navigate", {"url": PAGE}),
        ("playwright", "browser_snapshot", {}),
        ("playwright", "browser_take_screenshot", {"type": "png", "filename": "page.png"}),
        ("playwright", "browser_evaluate", {"function": "() => document.title"}),
        ("playwright", "browser_tabs", {"action": "list"}),
        ("playwright", "browser_click", {"element": "nothing", "target": "e999"}),
        ("playwright", "browser_close", {}),
    ]
    return [*everything, *annotated, *cities, *files, *history, *times, *pages]


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sample(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="red"), model="m")


async def list_roots(context: Any) -> ListRootsResult:
    return ListRootsResult.model_validate({"roots": [{"uri": "file:///srv/tea", "name": "tea"}]})


CLIENT: dict[str, Any] = {
    "elicitation_callback": elicit,
    "sampling_callback": sample,
    "list_roots_callback": list_roots,
    "mode": "legacy",
}


@asynccontextmanager
async def connect_both(place: Place, name: str, config: Path) -> AsyncIterator[tuple[Client, Agent]]:
    """A client of a server, and one of the gateway in front of it."""
    entry = place.entries()[name]
    config.write_text(json.dumps({"mcpServers": {name: entry}}), encoding="utf-8")
    async with (
        asyncio.timeout(5 * WAIT_SECONDS),
        Client(StdioServerParameters(**entry), **CLIENT) as direct,
        Client(over_stdio(config), **CLIENT) as ours,
    ):
        agent = Agent(ours)
        while (await agent("status"))["servers"][0]["tools"] is None:
            await asyncio.sleep(0.2)
        yield direct, agent


def simplify(result: dict[str, Any]) -> Any:
    """A result without the times in it."""
    return json.loads(TIME.sub("T", json.dumps(result)))


@pytest.mark.parametrize("name", ["everything", "filesystem", "git", "time", "playwright"])
def test_each_result_through_the_gateway_equals_the_direct_one(place: Place, tmp_path: Path, name: str) -> None:
    if name not in place.entries():
        pytest.skip("chromium is missing.")
    compared = 0

    async def main() -> None:
        nonlocal compared
        async with connect_both(place, name, tmp_path / "servers.json") as (direct, agent):
            for _, tool, arguments in (call for call in calls_of(place) if call[0] == name):
                through = await agent.client.call_tool("call", {"tool": f"{name}/{tool}", "arguments": arguments})
                expected = simplify(without_stamp(await direct.call_tool(tool, arguments)))
                given = simplify(without_stamp(through))
                extra = given["content"][len(expected["content"]) :]
                assert all(expected["isError"] and "Invalid arguments for" in block["text"] for block in extra)
                given["content"] = given["content"][: len(expected["content"])]
                assert given == expected, (tool, arguments)
                compared += 1

    asyncio.run(main())
    assert compared == len([call for call in calls_of(place) if call[0] == name])


def test_at_least_forty_calls_are_compared(place: Place) -> None:
    assert len(calls_of(place)) >= 40


def test_everything_is_offered_through_the_gateway_as_it_is_directly(place: Place, tmp_path: Path) -> None:
    async def main() -> None:
        async with connect_both(place, "everything", tmp_path / "servers.json") as (direct, agent):
            tools = [one.name for one in (await direct.list_tools()).tools]
            assert len(tools) == 17
            async with asyncio.timeout(WAIT_SECONDS):
                while (await agent("status"))["servers"][0]["tools"] != len(tools):
                    await asyncio.sleep(0.2)
                while not (prompts := (await agent.client.list_prompts(cache_mode="bypass")).prompts):
                    await asyncio.sleep(0.2)
            expected = (await direct.list_prompts()).prompts
            assert [one.name for one in prompts] == [f"everything/{one.name}" for one in expected]
            listed = (await agent.client.list_resources(cache_mode="bypass")).resources
            assert [one.uri for one in listed] == [one.uri for one in (await direct.list_resources()).resources]
            for one in listed:
                ours = simplify((await agent.client.read_resource(one.uri)).model_dump(mode="json"))
                assert ours == simplify((await direct.read_resource(one.uri)).model_dump(mode="json"))
            given = {"city": "Ghent", "state": "BE"}
            got = await agent.client.get_prompt("everything/args-prompt", given)
            assert got.messages == (await direct.get_prompt("args-prompt", given)).messages
            links = await agent.client.call_tool("call", {"tool": "everything/get-resource-links"})
            uri = next(block.uri for block in links.content if block.type == "resource_link")
            assert (await agent.client.read_resource(uri)).contents

    asyncio.run(main())


FASTMCP = """
import asyncio, json, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def elicit(message, response_type, params, context):
    return {"shelf": "left"}

async def sample(messages, params, context):
    return "red"

async def main(command, environment):
    seen, logs = [], []

    async def progress(done, total, message):
        seen.append(done)

    async def log(message):
        logs.append(message.logger)

    transport = StdioTransport(command[0], command[1:], env=environment)
    client = Client(
        transport, elicitation_handler=elicit, sampling_handler=sample, progress_handler=progress, log_handler=log
    )
    async with client:
        said = []
        for name in ("ask", "sample", "steps", "log", "blocks"):
            result = await client.call_tool("call", {"tool": f"one/{name}"})
            said.append(result.content[0].text if result.content[0].type == "text" else result.content[0].type)
        prompts = [prompt.name for prompt in await client.list_prompts()]
        text = (await client.read_resource("note://1"))[0].text
    print(json.dumps({"said": said, "seen": sorted(seen), "logs": logs, "prompts": prompts, "text": text}))

asyncio.run(main(*map(json.loads, sys.argv[1:])))
"""


def test_the_client_of_fastmcp_hears_and_is_asked(place: Place, servers: Servers) -> None:
    servers.add("one", *map(tool, ("ask", "sample", "steps", "log", "blocks")), behavior=OFFERS)
    command = [sys.executable, "-m", "shortlist", "mcp", "--config", str(servers.config)]
    given = [json.dumps(command), json.dumps(environment())]
    run = subprocess.run([str(place.fastmcp / "python"), "-c", FASTMCP, *given], capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    heard = json.loads(run.stdout)
    assert json.loads(heard["said"][0]) == {"action": "accept", "content": {"shelf": "left"}}
    assert json.loads(heard["said"][1])["content"]["text"] == "red"
    assert heard["said"][2:] == ["steps were reported", "the level is debug", "image"]
    assert (heard["seen"], heard["logs"]) == ([1, 2, 3], ["one/shelf", "one/shelf"])
    assert (heard["prompts"], heard["text"]) == (["one/greet"], "one has it")


def test_the_inspector_calls_lists_and_reads(place: Place, servers: Servers) -> None:
    servers.add("one", WEATHER, tool("blocks"), behavior=OFFERS)

    arguments = ["-m", "shortlist", "mcp", "--config", str(servers.config)]
    ours = {"command": sys.executable, "args": arguments, "env": environment()}
    config = servers.config.with_name("inspector.json")
    config.write_text(json.dumps({"mcpServers": {"shortlist": ours}}))

    def inspect(method: str, *arguments: str) -> dict[str, Any]:
        where = ["--config", str(config), "--server", "shortlist"]
        run = subprocess.run(
            [str(place.bin / "mcp-inspector"), "--cli", *where, "--method", method, *arguments],
            capture_output=True,
            timeout=300,
        )
        assert run.returncode == 0, run.stderr.decode()[-2000:]
        return dict(json.loads(run.stdout))

    assert [one["name"] for one in inspect("tools/list")["tools"]][3] == "call"
    call = ("--tool-name", "call", "--tool-arg", "tool=one/get_forecast", 'arguments={"city": "Ghent"}')
    result = inspect("tools/call", *call)
    assert result == {"content": [{"type": "text", "text": 'get_forecast {"city": "Ghent"}'}]}
    assert [one["name"] for one in inspect("prompts/list")["prompts"]] == ["one/greet"]
    got = inspect("prompts/get", "--prompt-name", "one/greet", "--prompt-args", "who=Ada")
    assert got["messages"][0]["content"]["text"] == "greet {'who': 'Ada'}"
    assert [one["uri"] for one in inspect("resources/list")["resources"]] == ["note://1"]
    assert inspect("resources/read", "--uri", "note://1")["contents"][0]["text"] == "one has it"
