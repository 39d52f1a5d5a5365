"""Clients of the gateway over HTTP, all at once, each with roots of its own and a person who answers questions.

`python -m bench sessions` counts what went wrong: calls that failed or were canceled though no one canceled them, and
answers with the roots or the person of another client. Half of the clients end their session in between and begin
another one.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, ListRootsResult, Root

from bench import report
from shortlist.mcp_client.project_trust import trust
from tests.mcp.conftest import WEATHER, Servers, text_of, tool
from tests.server.conftest import Service

CLIENTS, CALLS = 64, 2_000
PATIENCE = 120.0  # seconds for a request
AT_ONCE = 2  # calls of one client


class Person:
    """A client whose answers are its own."""

    def __init__(self, number: int) -> None:
        self.shelf, self.root = f"shelf {number}", f"file:///{number}"

    async def elicit(self, context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"shelf": self.shelf})

    async def list_roots(self, context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": self.root})])

    async def talk(self, url: str, calls: int, outcomes: Counter[str]) -> None:
        """A session with a number of calls, whose outcomes are counted."""
        async with (
            httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode="legacy",
                elicitation_callback=self.elicit,
                list_roots_callback=self.list_roots,
                read_timeout_seconds=PATIENCE,
            ) as client,
        ):
            for first in range(0, calls, AT_ONCE):
                kinds = [("roots", "ask", "get_forecast")[n % 3] for n in range(first, min(first + AT_ONCE, calls))]
                outcomes.update(await asyncio.gather(*(self._call(client, kind) for kind in kinds)))

    async def _call(self, client: Client, kind: str) -> str:
        arguments = {"city": "Ghent"} if kind == "get_forecast" else {}
        try:
            result = await client.call_tool("call", {"tool": f"one/{kind}", "arguments": arguments})
        except Exception as error:
            return f"failed: {error}"[:100]
        text = text_of(result)
        if result.is_error:
            return f"failed: {text}"[:100]
        right = {
            "roots": json.dumps([self.root]),
            "ask": json.dumps({"action": "accept", "content": {"shelf": self.shelf}}),
            "get_forecast": 'get_forecast {"city": "Ghent"}',
        }
        return "right" if text == right[kind] else f"wrong {kind}: {text}"[:100]


async def talk_all(url: str, clients: int = CLIENTS, calls: int = CALLS) -> Counter[str]:
    outcomes: Counter[str] = Counter()

    async def talk(number: int) -> None:
        share = calls // clients + (number < calls % clients)
        parts = [share // 2, share - share // 2] if number % 2 else [share]
        for part in parts:
            try:
                await Person(number).talk(url, part, outcomes)
            except Exception as error:
                outcomes[f"session failed: {error}"[:100]] += 1

    await asyncio.gather(*(talk(number) for number in range(clients)))
    return outcomes


def run(_: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for kind in ("data", "config", "cache"):
            os.environ[f"SHORTLIST_{kind.upper()}_DIR"] = str(folder / kind)
        servers = Servers(folder)
        one = servers.add("one", WEATHER, tool("roots"), tool("ask"))
        (folder / "settings.yaml").write_text("mcp:\n  config: [servers.json]\n")
        trust(servers.config, servers.config.read_bytes())
        service = Service(folder)
        began = time.perf_counter()
        outcomes = asyncio.run(talk_all(f"{service.url}/mcp"))
        seconds = time.perf_counter() - began
        errors = [line for line in service.lines if "Traceback" in json.dumps(line)]
        for line in errors[:3]:
            print(json.dumps(line, indent=1))
        code = service.end()[0]
        figures = {
            "clients": CLIENTS,
            "calls": CALLS,
            "seconds": round(seconds, 1),
            "outcomes": dict(outcomes),
            "starts of the server": len(one.starts),
            "processes left": one.count_alive(),
            "errors in the log": len(errors),
            "exit code of the service": code,
        }
    print(json.dumps(figures, indent=2))
    report.save("sessions", figures)
