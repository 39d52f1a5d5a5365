"""The main jobs, one after the other: `offline_jobs.py FOLDER`. `test_network.py` watches what they connect to."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SHORTLIST = [sys.executable, "-m", "shortlist"]
TOOL = {"name": "get_forecast", "description": "The weather forecast of a city.", "inputSchema": {"type": "object"}}


def run(*arguments: str) -> None:
    done = subprocess.run([*SHORTLIST, *arguments], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode in (0, 3), f"{arguments}: {done.stderr}"  # 3: nothing fits


def keep_some_tools(data: Path, count: int) -> None:
    """Keep the first example tools and the cases about them: our model takes seconds to encode all."""
    catalog, cases = data / "tools.yaml", data / "cases.jsonl"
    tools = yaml.safe_load(catalog.read_text("utf-8"))["documents"][:count]
    catalog.write_text(json.dumps({"documents": tools}), "utf-8")  # JSON is YAML
    names = {tool["id"] for tool in tools}
    lines = cases.read_text("utf-8").splitlines(keepends=True)
    cases.write_text("".join(line for line in lines if names & {*json.loads(line)["gold"]}), "utf-8")


def serve_and_search() -> None:
    """The service with a process that searches, and one request over loopback."""
    serve = [*SHORTLIST, "serve", "--port", "0", "--workers", "1", "--documents", "tools.yaml"]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr
        try:
            lines: list[str] = []
            while not (found := re.search(r"Serving on (http://127\.0\.0\.1:\d+)", lines[-1] if lines else "")):
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            url = found[1]
            request = urllib.request.Request(f"{url}/v1/corpora/catalog/search", b'{"query": "refund"}')
            request.add_header("Content-Type", "application/json")
            for _ in range(600):
                try:
                    with urllib.request.urlopen(request, timeout=60) as answer:
                        assert json.load(answer)
                    break
                except ConnectionError:
                    pass
        finally:
            process.terminate()
            process.stderr.read()


async def call_through_the_gateway() -> None:
    from mcp import Client, StdioServerParameters

    Path("offer.json").write_text(json.dumps({"tools": [TOOL]}), "utf-8")
    entry = {
        "command": sys.executable,
        "args": [str(ROOT / "tests" / "mcp" / "upstream.py"), str(Path("offer.json").resolve())],
    }
    Path("servers.json").write_text(json.dumps({"mcpServers": {"weather": entry}}), "utf-8")
    ours = StdioServerParameters(
        command=sys.executable, args=["-m", "shortlist", "mcp", "--config", "servers.json"], env=dict(os.environ)
    )
    async with Client(ours) as client:
        for _ in range(100):
            result: Any = await client.call_tool("discover", {"query": "weather forecast"})
            if "get_forecast" in str(result):
                return
            await asyncio.sleep(0.1)
    raise AssertionError(result)


def main() -> None:
    shutil.copytree(ROOT / "examples" / "data", sys.argv[1])
    os.chdir(sys.argv[1])
    keep_some_tools(Path(), 20)
    run("build", "notes", "--kind", "files", "--root", "docs", "--embedder", "default")
    run("search", "notes", "refund")
    run("build", "shop", "--kind", "catalog", "--root", "tools.yaml", "--embedder", "tools")
    run("discover", "shop", "refund a payment")
    run("query", "How long do refunds take?", "--corpus", "notes")
    run("eval", "shop", "cases.jsonl")
    serve_and_search()
    asyncio.run(call_through_the_gateway())


if __name__ == "__main__":
    main()
