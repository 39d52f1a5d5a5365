"""Learning from use with servers of npm and PyPI, through the official client and our server as a process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import venv
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client

from shortlist.index.storage.usage_log import UsageLog
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from tests.mcp.conftest import WAIT_SECONDS, Agent
from tests.mcp.test_agent_server import over_stdio

pytestmark = [pytest.mark.slow, pytest.mark.extras]

# Pinned, since the ranking depends on their descriptions.
NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")
PYPI = ("mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19")

QUERY = "what did my colleagues do recently"  # no description has a word of it
SIMILAR = "what were my colleagues doing lately"
OTHERS = ("what have my colleagues done lately", "what did colleagues do this week")  # one use alone is not enough

T = TypeVar("T")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The file that configures four servers, which are installed first."""
    if shutil.which("npm") is None or shutil.which("git") is None:
        pytest.skip("npm or git is missing.")
    venv.create(tmp_path / "python", with_pip=True)
    python, scripts = tmp_path / "python" / "bin", tmp_path / "node_modules" / ".bin"
    folder = tmp_path / "project"
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (
        ["npm", "install", "--prefix", str(tmp_path), "--no-audit", "--no-fund", *NPM],
        [str(python / "pip"), "install", "--quiet", *PYPI],
        ["git", "init", "--quiet", str(folder)],
        ["git", *identity, "-C", str(folder), "commit", "--quiet", "--allow-empty", "-m", "Plant the tree"],
    ):
        subprocess.run(command, check=True, env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull})
    servers = {
        "everything": {"command": str(scripts / "mcp-server-everything")},
        "filesystem": {"command": str(scripts / "mcp-server-filesystem"), "args": [str(folder)]},
        "time": {"command": str(python / "mcp-server-time")},
        "git": {"command": str(python / "mcp-server-git"), "args": ["--repository", str(folder)]},
    }
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def with_process(config: Path, use: Callable[[Agent], Awaitable[T]]) -> T:
    """The result of a conversation with our server in a process of its own, once it knows all tools."""

    async def main() -> T:
        async with asyncio.timeout(3 * WAIT_SECONDS), Client(over_stdio(config)) as client:
            agent = Agent(client)
            while any(row["tools"] is None for row in (await agent("status"))["servers"]):
                await asyncio.sleep(0.2)
            return await use(agent)

    return asyncio.run(main())


async def find_both(agent: Agent) -> list[dict[str, Any]]:
    return [await agent("discover", query=query, kind="tool") for query in (QUERY, SIMILAR)]


def ids(found: dict[str, Any], part: str) -> list[str]:
    return [item["id"] for item in found[part]]


def test_a_tool_that_was_called_is_found_by_other_words_until_that_is_forgotten(config: Path) -> None:
    async def learn(agent: Agent) -> list[dict[str, Any]]:
        cold = await find_both(agent)
        assert [found["abstained"] for found in cold] == [True, True]
        found = await agent("discover", query=QUERY, kind="tool")
        assert ids(found, "near")[0] == "git/git_log"
        for query in (QUERY, *OTHERS):
            await agent("discover", query=query, kind="tool")
            assert "Plant the tree" in await agent.call("git/git_log", repo_path=str(config.parent / "project"))
        warm = await agent("discover", query=SIMILAR, kind="tool")
        assert ids(warm, "results") == ["git/git_log"]
        assert ids(await agent("discover", query="time in Tokyo", kind="tool"), "results")[0].startswith("time/")
        return cold

    cold = with_process(config, learn)
    for found in with_process(config, find_both):
        assert ids(found, "results") == ["git/git_log"]
    log = UsageLog(Gateway(GatewayConfig([config])).home / "usage.db")
    assert log.facts()["uses"] == 1 + len(OTHERS)
    log.forget()
    log.close()
    assert with_process(config, find_both) == cold
