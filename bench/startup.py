"""Run time of commands, and of the MCP server until it is initialized, each in its own process.

`python -m bench startup [CHECKOUT...]` measures other checkouts beside this one. The runs are interleaved, so that a
busy machine slows all of them alike. CPU time is reported too, since it depends less on what else the machine does.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import report
from tests.mcp.many_servers import make_servers

ROOT = Path(__file__).parents[1]
RUNS = 25
COMMANDS = {
    "version": ("--version",),
    "help": ("--help",),
    "search": ("search", "shop", "where is the parcel", "--json"),
    "search as text": ("search", "shop", "where is the parcel"),
    "usage error": ("search", "shop", "parcel", "-k", "0"),
}
SERVERS, TOOLS = (0, 5, 24), 22  # configured MCP servers whose lists are known, and the tools of each
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


def run(folders: list[Path]) -> None:
    checkouts = {commit_of(folder): folder.resolve() for folder in (ROOT, *folders)}
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home} | {
            f"SHORTLIST_{name}_DIR": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "CACHE")
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has bytecode
        build = ("build", "shop", "--kind", "catalog", "--root", str(ROOT / "examples" / "data" / "tools.yaml"))
        _measure(ROOT, build, environment)
        commands: dict[str, tuple[str, ...]] = dict(COMMANDS)
        for servers in SERVERS:
            config = _configure(Path(home) / str(servers), servers, environment)
            commands[f"mcp, {servers} servers"] = ("mcp", "--config", str(config))
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(RUNS):
            for command, arguments in commands.items():
                for name, checkout in checkouts.items():
                    times.setdefault((name, command), []).append(_measure(checkout, arguments, environment))
    figures: dict[str, dict[str, dict[str, float]]] = {name: {} for name in checkouts}
    for (name, command), values in times.items():
        wall, cpu = (round(1000 * statistics.median(column), 1) for column in zip(*values[1:], strict=True))
        fastest = round(1000 * min(value for value, _ in values), 1)
        figures[name][command] = {"wall_ms": wall, "fastest_ms": fastest, "cpu_ms": cpu}
        print(f"{name:24} {command:16} {wall:7.1f} ms wall, {fastest:7.1f} ms fastest, {cpu:7.1f} ms CPU")
    report.save("startup", {"runs": RUNS - 1, "commits": figures})


def _configure(folder: Path, servers: int, environment: dict[str, str]) -> Path:
    """A configuration of servers that were asked for their tools before; none of them can be started."""
    folder.mkdir()
    config, offers = make_servers(folder, servers, TOOLS)
    store = (
        "import json, sys\n"
        "from shortlist.mcp.gateway.dispatch import Gateway\n"
        "from shortlist.mcp.gateway.gateway_config import GatewayConfig\n"
        "catalog = Gateway(GatewayConfig([sys.argv[1]])).catalog\n"
        "for name, tools in json.load(sys.stdin).items():\n"
        "    catalog.update(catalog.servers[name], tools)\n"
    )
    subprocess.run(
        [sys.executable, "-c", store, str(config)], input=json.dumps(offers), env=environment, text=True, check=True
    )
    return config


def commit_of(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _measure(checkout: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of wall clock and of CPU that one run of a command takes; of the MCP server, until it is initialized."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "shortlist", *arguments],
        env=environment | {"PYTHONPATH": str(checkout / "src")},
        cwd=environment["HOME"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        if arguments[0] == "mcp":
            process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            process.stdin.flush()
            assert b"serverInfo" in process.stdout.readline()
            process.kill()
        process.stdout.read()
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
