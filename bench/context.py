"""Tokens that an agent reads for 50 MCP servers, with and without the gateway, and its start-up time."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import report
from tests.mcp.many_servers import compare_tokens, fill_catalog, make_servers

ROUNDS = 5


def run(folders: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("DATA", "CONFIG", "CACHE"):
            os.environ[f"SHORTLIST_{kind}_DIR"] = str(Path(folder) / kind.lower())
        config, offers = make_servers(Path(folder))
        fill_catalog(config, offers)
        figures = compare_tokens(offers) | asyncio.run(_times(config))
    for name, value in figures.items():
        print(f"{name:52} {value}")
    report.save("context", figures)


async def _times(config: Path) -> dict[str, Any]:
    from mcp import Client, StdioServerParameters

    imports, starts, finds = [], [], []
    environment = {key: value for key, value in os.environ.items() if key.startswith(("SHORTLIST", "PYTHON"))}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "shortlist", "mcp", "--config", str(config)], env=environment
    )
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import mcp"], check=True)
        imports.append(time.perf_counter() - began)
        began = time.perf_counter()
        async with Client(parameters, mode="legacy") as client:
            starts.append(time.perf_counter() - began)
            began = time.perf_counter()
            answer = await client.call_tool("discover", {"query": "archive the invoice of a customer"})
            finds.append(time.perf_counter() - began)
            assert answer.structured_content
            assert answer.structured_content["results"], answer.structured_content
    return {
        "import of the SDK s": round(statistics.median(imports), 3),
        "start to completed initialize s": round(statistics.median(starts), 3),
        "initialize against import": round(statistics.median(starts) / statistics.median(imports), 2),
        "first discover after initialize s": round(statistics.median(finds), 3),
        "load average": round(os.getloadavg()[0], 1),
    }
