"""Upstream servers that behave as a test wants, and an agent that uses the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from fastapi.testclient import TestClient
from mcp import Client
from mcp_types import CallToolResult, TextContent

import shortlist
from shortlist.cli import run
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings

UPSTREAM = Path(__file__).with_name("upstream.py")
WAIT_SECONDS = 60.0  # to wait for something, also on a busy machine
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}

T = TypeVar("T")


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema}


TEXT = {"type": "string"}
WEATHER = tool("get_forecast", "Weather forecast for a city: rain, wind, temperature.", city=TEXT)
INVOICE = tool("write_invoice", "Write an invoice for an order as PDF.", order=TEXT)


class Upstream:
    """A server of a test, whose tools can change while it runs."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._offer = folder / f"{name}.json"
        self.entry: dict[str, Any] = {"command": sys.executable, "args": [str(UPSTREAM), str(self._offer)]}

    def offers(self, *tools: dict[str, Any], **behavior: Any) -> Upstream:
        self._offer.write_text(json.dumps({"tools": tools, **behavior}), "utf-8")
        return self

    @property
    def starts(self) -> list[int]:
        """The process ids of all its starts."""
        file = self._offer.with_suffix(".starts")
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def is_alive(self) -> bool:
        return self.count_alive() > 0

    def count_alive(self) -> int:
        return sum(_is_alive(pid) for pid in self.starts)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Servers:
    """The servers of a test, and the file that configures them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.config = folder / "servers.json"
        self.entries: dict[str, Any] = {}

    def add(self, name: str, *tools: dict[str, Any], behavior: dict[str, Any] | None = None, **more: Any) -> Upstream:
        made = Upstream(self._folder, name).offers(*tools, **(behavior or {}))
        self.entries[name] = made.entry | more
        self.write()
        return made

    def write(self) -> None:
        self.config.write_text(json.dumps({"mcpServers": self.entries}), "utf-8")

    def gateway(self) -> Gateway:
        return Gateway(GatewayConfig([self.config]))


class Agent:
    """An MCP client that checks and unpacks results."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, act: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call that succeeds."""
        result = await self.client.call_tool(act, arguments)
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def error(self, act: str, /, **arguments: Any) -> str:
        """The message of a tool call that fails."""
        result = await self.client.call_tool(act, arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    async def call(self, tool: str, **arguments: Any) -> str:
        """The text of the result of a found tool."""
        result = await self.client.call_tool("call", {"tool": tool, "arguments": arguments})
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def find(self, query: str, **more: Any) -> list[str]:
        return [item["id"] for item in (await self("discover", query=query, **more))["results"]]

    async def wait_for(self, query: str, *ids: str) -> None:
        """Search until these are found: a server may take a while to start."""
        async with asyncio.timeout(WAIT_SECONDS):
            while await self.find(query) != list(ids):
                await asyncio.sleep(0.1)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the skills and servers of the user."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "SHORTLIST_LLM"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def with_agent(gateway: Gateway, use: Callable[[Agent], Awaitable[T]], *corpora: str, **options: Any) -> T:
    """The result of a conversation with our server in this process; the options are those of the client."""

    async def main() -> T:
        actions = AgentActions(Collection(gateway, StoredCorpora(corpora)), lambda: None)
        async with asyncio.timeout(2 * WAIT_SECONDS), Client(make_server(actions), **options) as client:
            return await use(Agent(client))

    return asyncio.run(main())


async def until(is_so: Callable[[], Any]) -> None:
    """Wait until a condition holds."""
    for _ in range(int(WAIT_SECONDS / 0.02)):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the condition never held")


def run_command(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command that runs in this process."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = run(list(arguments))
    return code, output.getvalue()


@pytest.fixture
def start(servers: Servers) -> Iterator[Callable[..., TestClient]]:
    running: list[TestClient] = []

    def begin(**given: Any) -> TestClient:
        values = {
            "documents.auto_reload": False,
            "documents.embedder": "none",
            "mcp.config": (str(servers.config),),
        }
        keys = {key.replace("__", "."): value for key, value in given.items()}
        given = {key: value for key, value in (values | keys).items() if value is not None}
        app = create_app(load_settings(given=given, environment={}))
        running.append(TestClient(app, base_url="http://localhost:9200").__enter__())
        return running[-1]

    yield begin
    while running:
        running.pop().__exit__(None, None, None)


def ask(client: TestClient, act: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured result of one of our tools over HTTP."""
    return dict(post(client, act, **arguments)["structuredContent"])


def post(client: TestClient, act: str, /, session: str = "", **arguments: Any) -> dict[str, Any]:
    """The result of a tool call over HTTP."""
    request = REQUEST | {"method": "tools/call", "params": {"name": act, "arguments": arguments}}
    answer = client.post("/mcp", json=request, headers=HEADERS | ({"Mcp-Session-Id": session} if session else {}))
    assert answer.status_code == 200, answer.text
    lines = answer.text.splitlines()  # of JSON or, in a session, of a stream of events
    (data,) = [line.removeprefix("data: ") for line in lines if line.startswith(("{", "data: {"))]
    return dict(json.loads(data)["result"])


def begin_session(client: TestClient, **capabilities: Any) -> str:
    """The id of a new session over HTTP."""
    about = {"name": "t", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": about}
    answer = client.post("/mcp", json=REQUEST | {"method": "initialize", "params": params}, headers=HEADERS)
    return str(answer.headers["mcp-session-id"])


@pytest.fixture
def handbook(tmp_path: Path) -> str:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(
        "# Leave\n\nEmployees have 28 days of leave a year.\n\n# Notice\n\nThree months.\n"
    )
    (folder / "long.md").write_text("".join(f"Paragraph {n} describes the canteen.\n\n" for n in range(2000)))
    shortlist.build(shortlist.CorpusSource.from_files(folder), "handbook").close()
    return "handbook"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude" / "skills" / "deploy"
    folder.mkdir(parents=True)
    (folder / "check.sh").write_text("true\n")
    (folder / "SKILL.md").write_text("---\nname: deploy\ndescription: Bring a release to production.\n---\n\nRun it.\n")
    return folder
