"""Servers upstream that do what a test wants, and an agent that speaks to us with the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig

UPSTREAM = Path(__file__).with_name("upstream.py")
PATIENCE = 60.0  # seconds for what will come, on a machine that is busy with other things

T = TypeVar("T")


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema}


TEXT = {"type": "string"}
WEATHER = tool("get_forecast", "Weather forecast for a city: rain, wind, temperature.", city=TEXT)
INVOICE = tool("write_invoice", "Write an invoice for an order as PDF.", order=TEXT)


class Upstream:
    """A server of a test: what it offers can be changed while it runs."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._offer = folder / f"{name}.json"
        self.entry: dict[str, Any] = {"command": sys.executable, "args": [str(UPSTREAM), str(self._offer)]}

    def offers(self, *tools: dict[str, Any], **behaviour: Any) -> Upstream:
        self._offer.write_text(json.dumps({"tools": tools, **behaviour}), "utf-8")
        return self

    @property
    def starts(self) -> list[int]:
        """The process ids of all its starts."""
        file = self._offer.with_suffix(".starts")
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def lives(self) -> bool:
        return any(_lives(pid) for pid in self.starts)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Servers:
    """The servers of a test, and the file that configures them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.config = folder / "servers.json"
        self.entries: dict[str, Any] = {}

    def add(self, name: str, *tools: dict[str, Any], behaviour: dict[str, Any] | None = None, **more: Any) -> Upstream:
        made = Upstream(self._folder, name).offers(*tools, **(behaviour or {}))
        self.entries[name] = made.entry | more
        self.write()
        return made

    def write(self) -> None:
        self.config.write_text(json.dumps({"mcpServers": self.entries}), "utf-8")

    def gateway(self) -> Gateway:
        return Gateway(GatewayConfig([self.config]))


class Agent:
    """Asks over MCP, and reads the answers."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, act: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer to an act that works."""
        result = await self.client.call_tool(act, arguments)
        assert not result.is_error, said(result)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def error(self, act: str, /, **arguments: Any) -> str:
        """What is said of an act that fails."""
        result = await self.client.call_tool(act, arguments)
        assert result.is_error, said(result)
        return said(result)

    async def call(self, tool: str, **arguments: Any) -> str:
        return str((await self("call", tool=tool, arguments=arguments))["text"])

    async def found(self, query: str, **more: Any) -> list[str]:
        return [item["id"] for item in (await self("discover", query=query, **more))["results"]]


def said(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No skills and no servers but those of the test."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "SHORTLIST_LLM"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def with_agent(gateway: Gateway, use: Callable[[Agent], Awaitable[T]], *corpora: str) -> T:
    """What comes of talking to us in this process."""

    async def main() -> T:
        door = AgentActions(Collection(gateway, StoredCorpora(corpora)), lambda: None)
        async with asyncio.timeout(2 * PATIENCE), Client(make_server(door)) as client:
            return await use(Agent(client))

    return asyncio.run(main())


async def until(look: Callable[[], Any]) -> None:
    """Wait until something is so."""
    for _ in range(int(PATIENCE / 0.02)):
        if look():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")
