"""What an agent reads from `discover`: forty questions in people's words over the tools of 24 servers of npm and PyPI.

`python -m bench discover FOLDER` installs the servers in FOLDER, if they are not there; this needs npm. Each server is
started once, offline, to list its tools. The questions were written before any of them was searched for.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import Client

from bench import report
from bench.gateway import COMMANDS, NPM, PYPI, install
from shortlist.eval import load_cases
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.catalog_index import CatalogIndex
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig

CASES = Path(__file__).parent / "cases" / "real_servers.jsonl"
DEVELOPMENT = CASES.with_stem("real_servers_dev")  # other questions, with which settings may be chosen

MORE_NPM = {
    "mongodb-mcp-server": "3.0.4",
    "mcp-server-kubernetes": "4.1.7",
    "@sentry/mcp-server": "0.36.0",
    "airtable-mcp-server": "1.14.0",
    "@modelcontextprotocol/server-github": "2025.4.8",
    "@modelcontextprotocol/server-slack": "2025.4.25",
    "@brave/brave-search-mcp-server": "2.1.4",
    "@elastic/mcp-server-elasticsearch": "0.3.1",
    "@modelcontextprotocol/server-postgres": "0.6.2",
    "@modelcontextprotocol/server-google-maps": "0.6.2",
}
MORE_PYPI = {"mcp-server-fetch": "2026.10.24"}
OLD_PYPI = {"mcp-server-sqlite": "2025.4.25"}
MORE_COMMANDS: dict[str, tuple[str, dict[str, str]]] = {
    "mongodb": ("mongodb-mcp-server", {"MDB_MCP_TELEMETRY": "disabled"}),
    "kubernetes": ("mcp-server-kubernetes", {}),
    "sentry": ("sentry-mcp --access-token=none --agent-provider=openai", {"OPENAI_API_KEY": "none"}),
    "airtable": ("airtable-mcp-server", {"AIRTABLE_API_KEY": "none"}),
    "github": ("mcp-server-github", {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}),
    "slack": ("mcp-server-slack", {"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"}),
    "brave": ("brave-search-mcp-server", {"BRAVE_API_KEY": "none"}),
    "elasticsearch": ("mcp-server-elasticsearch", {"ES_URL": "http://127.0.0.1:9", "ES_API_KEY": "none"}),
    "postgres": ("mcp-server-postgres postgresql://127.0.0.1:9/none", {}),
    "maps": ("mcp-server-google-maps", {"GOOGLE_MAPS_API_KEY": "none"}),
    "fetch": ("mcp-server-fetch", {}),
    "sqlite": ("mcp-server-sqlite --db-path {project}/test.db", {}),
}

Row = dict[str, Any]


def run(folders: list[Path]) -> None:
    if not folders:
        print("discover: give a folder for the servers; npm must be installed")
        return
    config = install(folders[0].resolve(), NPM | MORE_NPM, PYPI | MORE_PYPI, COMMANDS | MORE_COMMANDS, OLD_PYPI)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {f"SHORTLIST_{kind}_DIR": str(Path(home) / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
        os.environ |= {"HOME": home, "XDG_CONFIG_HOME": home}
        os.chdir(home)
        asyncio.run(_list_all(config))
        facts, rows, others = asyncio.run(_ask_all(config))
    for row in rows:
        print(f"{row['rank'] or '-':>2}  {row['characters']:6,}  {row['query']}: {', '.join(row['returned'])}")
    figures = facts | _summarize(rows) | {"development": _summarize(others)}
    print(json.dumps(figures, indent=1))
    report.save("discover", figures | {"rows": rows})


async def _list_all(config: Path) -> None:
    gateway = Gateway(GatewayConfig([config]))
    await gateway.refresh()
    for row in gateway.status():
        if row["tools"] is None:
            print(f"{row['name']} did not start: {row.get('problem')}")
    await gateway.close()


async def _ask_all(config: Path) -> tuple[Row, list[Row], list[Row]]:
    gateway = Gateway(GatewayConfig([config]))
    actions = AgentActions(Collection(gateway, StoredCorpora(), with_skills=False, learning="off"), lambda: None)
    await asyncio.to_thread(_embed, gateway)
    async with Client(make_server(actions)) as client:
        rows, others = [
            [await _ask(client, case.query, set(case.gold)) for case in load_cases(cases)]
            for cases in (CASES, DEVELOPMENT)
        ]
        tools = gateway.catalog.list_offered()
        size = sum(len(json.dumps(tool.entry, ensure_ascii=False)) for tool in tools)
        unknown = {id for case in load_cases(CASES) for id in case.gold} - {tool.id for tool in tools}
        return (
            {
                "servers": len({tool.server for tool in tools}),
                "tools": len(tools),
                "characters of all definitions": size,
                "expected tools that no server offers": sorted(unknown),
            },
            rows,
            others,
        )


def _embed(gateway: Gateway) -> None:
    """Wait until the tools are indexed with the trained model, as they are after a while."""
    index = CatalogIndex(gateway.tools_folder, gateway.catalog, shared=gateway.shared_folder)
    while index.corpus().config.embedder != "tools":
        time.sleep(1)
    index.close()


async def _ask(client: Client, query: str, expected: set[str]) -> Row:
    answer = await client.call_tool("discover", {"query": query})
    text = "".join(getattr(block, "text", "") for block in answer.content)
    found = answer.structured_content or {}
    returned = [item["id"] for item in found["results"]]
    right = [item for item in found["results"] if item["id"] in expected]
    return {
        "query": query,
        "expected": sorted(expected),
        "returned": returned,
        "near": [item["id"] for item in found["near"]],
        "rank": returned.index(right[0]["id"]) + 1 if right else None,
        "callable": any("input_schema" in item for item in right),
        "characters": len(text),
    }


def _summarize(rows: list[Row]) -> Row:
    servers: dict[str, Counter[str]] = {}
    for row in rows:
        found = row["returned"][row["rank"] - 1] if row["rank"] else row["expected"][0]
        counted = servers.setdefault(found.partition("/")[0], Counter())
        counted.update(questions=1, first=row["rank"] == 1, returned=bool(row["rank"]))
    by_server: Mapping[str, Any] = {name: dict(counted) for name, counted in sorted(servers.items())}
    return {
        "questions": len(rows),
        "right first": sum(row["rank"] == 1 for row in rows),
        "right among the returned": sum(bool(row["rank"]) for row in rows),
        "right among the closest matches": sum(
            not row["rank"] and bool({*row["near"]} & {*row["expected"]}) for row in rows
        ),
        "callable without another request": sum(row["callable"] for row in rows),
        "mean characters": round(statistics.mean(row["characters"] for row in rows)),
        "most characters": max(row["characters"] for row in rows),
        "by server": by_server,
    }
