"""Our MCP gateway beside direct connections, FastMCP's proxy and mcp-hub, with the same servers of npm and PyPI.

`python -m bench gateway FOLDER` installs the servers and mcp-hub in FOLDER, if they are not there; this needs npm. The
rounds are interleaved, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import report
from tests.mcp.many_servers import count_tokens

ROUNDS = 5
CALLS = 30  # in each round
PATIENCE = 120.0  # seconds for the start of all servers

NPM = {
    "mcp-hub": "4.2.1",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking": "2026.8.31",
    "@playwright/mcp": "0.0.83",
    "chrome-devtools-mcp": "1.11.0",
    "@zereight/mcp-gitlab": "2.1.64",
    "firecrawl-mcp": "3.22.2",
    "@notionhq/notion-mcp-server": "2.5.2",
    "@upstash/context7-mcp": "4.1.1",
}
PYPI = {"mcp-server-git": "2026.10.19", "mcp-server-time": "2026.10.19"}

# The command lines, with the variables without which a server does not start; no request leaves this machine.
COMMANDS: dict[str, tuple[str, dict[str, str]]] = {
    "everything": ("mcp-server-everything", {}),
    "filesystem": ("mcp-server-filesystem {project}", {}),
    "memory": ("mcp-server-memory", {}),
    "thinking": ("mcp-server-sequential-thinking", {}),
    "playwright": ("playwright-mcp", {}),
    "chrome": ("chrome-devtools-mcp", {}),
    "gitlab": ("mcp-gitlab", {"GITLAB_PERSONAL_ACCESS_TOKEN": "none"}),
    "firecrawl": ("firecrawl-mcp", {"FIRECRAWL_API_KEY": "none"}),
    "notion": ("notion-mcp-server", {"NOTION_TOKEN": "none"}),
    "context7": ("context7-mcp", {}),
    "git": ("mcp-server-git", {}),
    "time": ("mcp-server-time", {}),
}
CALL = {"message": "hello"}  # of the tool echo of the server everything
QUERIES = (
    "take a screenshot of a web page", "read a file", "open a merge request", "what time is it in Tokyo",
    "crawl a website", "commit the changes", "remember a fact", "add the numbers", "create a page", "list the branches",
)  # fmt: skip

# With a client that stays connected. Given only the configuration, it starts the servers again for every request.
FASTMCP = """
import asyncio, json, sys
from fastmcp import Client
from fastmcp.server import create_proxy
from fastmcp.server.transforms.search import BM25SearchTransform

async def main():
    async with Client(json.load(open(sys.argv[1])), mode="legacy") as client:
        proxy = create_proxy(client)
        if sys.argv[2:]:
            proxy.add_transform(BM25SearchTransform())
        await proxy.run_async(show_banner=False)

asyncio.run(main())
"""

Row = dict[str, float]


def run(folders: list[Path]) -> None:
    if not folders or shutil.which("npm") is None:
        print("gateway: give a folder for the servers; npm must be installed")
        return
    folder = folders[0].resolve()
    config, load = install(folder), os.getloadavg()[0]
    rows: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as home:
        for number in range(ROUNDS):
            for name, measure in VARIANTS.items():
                environment = _environment(Path(home), fresh=name == FIRST)
                row = asyncio.run(measure(config, environment, folder))
                rows.setdefault(name, []).append(row)
                print(f"round {number + 1}: {name}: {row}", flush=True)
    figures = {
        name: {key: round(statistics.median(row[key] for row in measured), 3) for key in measured[0]}
        for name, measured in rows.items()
    }
    report.show(figures, "shortlist")
    facts = {
        "servers": {**NPM, **PYPI},
        "rounds": ROUNDS,
        "calls per round": CALLS,
        "load average before": round(load, 1),
    }
    report.save("gateway", facts | {"rows": figures})


def install(
    folder: Path,
    npm: Mapping[str, str] = NPM,
    pypi: Mapping[str, str] = PYPI,
    commands: Mapping[str, tuple[str, dict[str, str]]] = COMMANDS,
    old_pypi: Mapping[str, str] | None = None,
) -> Path:
    """The configuration of the servers, which are installed first, without the browsers that some of them drive.

    `old_pypi` are those that need the first version of the SDK.
    """
    project = folder / "project"
    missing = [f"{name}@{version}" for name, version in npm.items() if _npm_version(folder, name) != version]
    if missing:
        no_browsers = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *missing]
        subprocess.run(command, check=True, env=os.environ | no_browsers)
    places: dict[str, Path] = {}
    for python, packages, others in (("python", pypi, ()), ("python-mcp-1", old_pypi or {}, ("mcp<2",))):
        scripts = folder / python / "bin"
        places |= {name: scripts / name for name in packages}
        if not all((scripts / name).exists() for name in packages):
            venv.create(folder / python, with_pip=True)
            wanted = [f"{name}=={version}" for name, version in packages.items()]
            subprocess.run([str(scripts / "pip"), "install", "--quiet", *wanted, *others], check=True)
    if not project.exists():
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    servers: dict[str, Any] = {}
    for name, (line, variables) in commands.items():
        program, *args = line.format(project=project).split()
        place = places.get(program, folder / "node_modules" / ".bin" / program)
        servers[name] = {"command": str(place), "env": variables, "args": args}
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def _npm_version(folder: Path, package: str) -> str:
    try:
        return str(json.loads((folder / "node_modules" / package / "package.json").read_text())["version"])
    except OSError:
        return ""


def _environment(home: Path, *, fresh: bool) -> dict[str, str]:
    """The variables of a process; our folders are new, or those that the first one filled."""
    if fresh:
        shutil.rmtree(home / "ours", ignore_errors=True)
    ours = {f"SHORTLIST_{kind}_DIR": str(home / "ours" / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    return {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home), "FASTMCP_LOG_LEVEL": "ERROR"} | ours


async def measure_direct(config: Path, environment: dict[str, str], folder: Path) -> Row:
    """An agent that connects to every server itself, to all at once."""
    from mcp import Client

    entries = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]
    began, over = time.perf_counter(), asyncio.Event()
    tools: dict[str, list[Any]] = {}
    first: dict[str, float] = {}
    latencies: list[float] = []

    async def connect(name: str, entry: dict[str, Any]) -> None:
        server = _start([entry["command"], *entry["args"]], environment | entry["env"], folder)
        async with Client(server, mode="legacy") as client:
            tools[name] = _plain((await client.list_tools()).tools)
            if name == "everything":
                await client.call_tool("echo", CALL)
                first["call"] = time.perf_counter() - began
                while len(tools) < len(entries):
                    await asyncio.sleep(0.005)
                latencies.extend(await _time(lambda _: client.call_tool("echo", CALL)))
                over.set()
            await over.wait()

    waiting = [asyncio.create_task(connect(name, entry)) for name, entry in entries.items()]
    while len(tools) < len(entries):
        _raise_errors(waiting)
        await asyncio.sleep(0.005)
    ready = time.perf_counter() - began
    await asyncio.gather(*waiting)
    tokens = sum(count_tokens(json.dumps(listed)) for listed in tools.values())
    count = sum(map(len, tools.values()))
    return _row(count, tokens, ready, first["call"], latencies)


def _raise_errors(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()


def _start(command: Sequence[str], environment: dict[str, str], folder: Path) -> Any:
    """A server over stdio, whose messages are not shown."""
    from mcp import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=command[0], args=[*command[1:]], env=environment, cwd=str(folder))
    return stdio_client(server, errlog=Path(os.devnull).open("w", encoding="utf-8"))


async def measure_first_start(config: Path, environment: dict[str, str], folder: Path) -> Row:
    """Our gateway, before it knows any server: ready when all their tools are known."""

    async def wait(client: Any) -> None:
        while any(row["tools"] is None for row in (await client.call_tool("status", {})).structured_content["servers"]):
            await asyncio.sleep(0.02)

    return await _measure_ours(config, environment, folder, wait)


async def measure_ours(config: Path, environment: dict[str, str], folder: Path) -> Row:
    """Our gateway, on any later start: ready when it has listed its tools."""
    return await _measure_ours(config, environment, folder)


async def _measure_ours(
    config: Path, environment: dict[str, str], folder: Path, wait: Callable[[Any], Awaitable[None]] | None = None
) -> Row:
    command = [sys.executable, "-m", "shortlist", "mcp", "--config", str(config)]
    call = ("call", {"tool": "everything/echo", "arguments": CALL})
    return await _measure_process(command, environment, folder, call, "discover", wait)


async def measure_fastmcp(config: Path, environment: dict[str, str], folder: Path) -> Row:
    command = [sys.executable, "-c", FASTMCP, str(config)]
    return await _measure_process(command, environment, folder, ("everything_echo", CALL))


async def measure_fastmcp_search(config: Path, environment: dict[str, str], folder: Path) -> Row:
    """FastMCP's proxy with its own search transform."""
    command = [sys.executable, "-c", FASTMCP, str(config), "search"]
    call = ("call_tool", {"name": "everything_echo", "arguments": CALL})
    return await _measure_process(command, environment, folder, call, "search_tools")


async def _measure_process(
    command: Sequence[str],
    environment: dict[str, str],
    folder: Path,
    call: tuple[str, dict[str, Any]],
    search: str = "",
    wait: Callable[[Any], Awaitable[None]] | None = None,
) -> Row:
    from mcp import Client

    began = time.perf_counter()
    async with asyncio.timeout(PATIENCE), Client(_start(command, environment, folder), mode="legacy") as client:
        return await _measure_client(client, began, call, search, wait)


async def measure_hub(config: Path, environment: dict[str, str], folder: Path) -> Row:
    """mcp-hub is a service: ready when it lists the tools of all servers."""
    from mcp import Client
    from mcp.client.sse import sse_client

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(folder / "node_modules" / ".bin" / "mcp-hub"), "--port", str(port), "--config", str(config)]
    began = time.perf_counter()
    hub = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(PATIENCE):
            await _wait_for_hub(port)
            async with Client(sse_client(f"http://127.0.0.1:{port}/mcp"), mode="legacy") as client:
                return await _measure_client(client, began, ("everything__echo", CALL))
    finally:
        hub.terminate()
        hub.wait(PATIENCE)


async def _wait_for_hub(port: int) -> None:
    import httpx2

    async with httpx2.AsyncClient() as client:
        while True:
            try:
                health = (await client.get(f"http://127.0.0.1:{port}/api/health")).json()
                if health["state"] == "ready" and all(one["status"] == "connected" for one in health["servers"]):
                    return
            except (httpx2.TransportError, KeyError, ValueError):
                pass
            await asyncio.sleep(0.02)


async def _measure_client(
    client: Any,
    began: float,
    call: tuple[str, dict[str, Any]],
    search: str = "",
    wait: Callable[[Any], Awaitable[None]] | None = None,
) -> Row:
    tools = _plain((await client.list_tools()).tools)
    if wait:
        await wait(client)
    ready = time.perf_counter() - began
    result = await client.call_tool(*call)
    assert "hello" in str(result.content), result
    first = time.perf_counter() - began
    latencies = await _time(lambda _: client.call_tool(*call))
    row = _row(len(tools), count_tokens(json.dumps(tools)), ready, first, latencies)
    if search:
        found = await _time(lambda at: client.call_tool(search, {"query": QUERIES[at % len(QUERIES)]}))
        row |= {"discover ms": 1000 * statistics.median(found)}
    return row


async def _time(ask: Callable[[int], Awaitable[Any]]) -> list[float]:
    seconds = []
    for number in range(CALLS):
        began = time.perf_counter()
        result = await ask(number)
        seconds.append(time.perf_counter() - began)
        assert not result.is_error, result
    return seconds


def _row(tools: int, tokens: int, ready: float, first: float, latencies: Sequence[float]) -> Row:
    shown = {"tools": tools, "tokens": tokens, "ready s": ready, "first call s": first}
    return {key: float(value) for key, value in shown.items()} | {"call ms": 1000 * statistics.median(latencies)}


def _plain(tools: Sequence[Any]) -> list[dict[str, Any]]:
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]


FIRST = "shortlist, first start"
VARIANTS = {
    "direct connections": measure_direct,
    FIRST: measure_first_start,
    "shortlist": measure_ours,
    "FastMCP proxy": measure_fastmcp,
    "FastMCP proxy with BM25 search": measure_fastmcp_search,
    "mcp-hub": measure_hub,
}
