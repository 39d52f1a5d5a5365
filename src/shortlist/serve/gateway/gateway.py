"""All servers as one: what they offer, found and called by name, whichever of them are running."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shortlist.errors import InputError, SourceError
from shortlist.eval.hostile import instructions
from shortlist.serve.gateway.arguments import check, parsed
from shortlist.serve.gateway.catalog import Catalog, Tool
from shortlist.serve.gateway.config import Configured, configured
from shortlist.serve.gateway.index import Index
from shortlist.serve.gateway.names import find_tool
from shortlist.serve.gateway.upstream import Upstream
from shortlist.sources.mcp import WORDS
from shortlist.sources.mcp_config import Server

STARTED_AT_ONCE = 4  # in the background; whoever is called starts at once
OUTDATED = 24 * 3600.0  # seconds after which a list is read again although nobody calls the server
LOOK_AGAIN = 3600.0  # seconds after which it is looked whether any is
FIRST_LIST = 3.0  # seconds that are waited for servers of which nothing is known yet


class Gateway:
    """The servers of a configuration. Nothing is started before it is needed."""

    def __init__(self, found: Configured) -> None:
        self.home = found.home
        self.problems = found.problems
        self.catalog = Catalog(found.servers)
        self.index = Index(found.home / "tools", self.catalog)
        self._upstreams = {server.name: Upstream(server, self._take) for server in found.servers}
        self._starting: asyncio.Task[None] | None = None
        self._woken = 0.0

    @classmethod
    def of(cls, files: Sequence[str | Path] = ()) -> Gateway:
        return cls(configured(files))

    def wake(self) -> None:
        """Begin to read the lists that are missing or old, a few servers at a time."""
        now = time.time()
        if self._starting is None or (self._starting.done() and now - self._woken > LOOK_AGAIN):
            self._woken = now
            listings = {name: self.catalog.listing(name) for name in self._upstreams}
            outdated = [name for name, known in listings.items() if known is None or now - known.at > OUTDATED]
            self._starting = asyncio.create_task(self._start(outdated))

    async def settle(self, seconds: float = FIRST_LIST) -> dict[str, str]:
        """Wait a moment for servers of which nothing is known; the states of those of which nothing is known still."""
        self.wake()
        new = [one for one in self._upstreams.values() if self.catalog.listing(one.server.name) is None]
        waiting = [asyncio.ensure_future(one.settled()) for one in new if one.state in ("idle", "starting")]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for task in late:
                task.cancel()
        return {one.server.name: one.state for one in new if self.catalog.listing(one.server.name) is None}

    async def _learned(self) -> bool:
        """Whether a moment's wait brings something to know of servers of which nothing is known."""
        unknown = [name for name in self._upstreams if self.catalog.listing(name) is None]
        return bool(unknown) and len(await self.settle()) < len(unknown)

    async def refresh(self) -> None:
        """Ask every server now what it offers."""
        await self._start(list(self._upstreams))

    def find(self, name: str) -> Tool:
        self.catalog.look()
        return find_tool(name, self.catalog.tools())

    async def call(self, name: str, arguments: Any) -> tuple[Tool, dict[str, Any]]:
        """Run a tool that is what was approved, with arguments that fit it; the tool, and what its server answered."""
        try:
            tool = await asyncio.to_thread(self.find, name)
        except InputError:
            if not await self._learned():
                raise
            tool = await asyncio.to_thread(self.find, name)
        given = parsed(tool.id, arguments)
        await asyncio.to_thread(check, tool.id, tool.schema, given)
        upstream = self._upstreams[tool.server]
        await upstream.refresh()
        now = self.find(tool.id)  # it may have changed since the catalog was written
        if now.parts != tool.parts:
            await asyncio.to_thread(check, now.id, now.schema, given)
        return now, await upstream.call(now.name, given)

    def status(self) -> list[dict[str, Any]]:
        """Each server: its state, how many tools it offers and how many are held back, and what is wrong with it."""
        self.catalog.look()
        rows: list[dict[str, Any]] = []
        for name, one in self._upstreams.items():
            tools = [tool for tool in self.catalog.tools().values() if tool.server == name]
            held = sum(bool(tool.held) for tool in tools)
            known = self.catalog.listing(name)
            row: dict[str, Any] = {"name": name, "state": one.state, "tools": len(tools) - held, "held": held}
            if known is None:
                row["tools"] = None
            elif known.refused:
                row["refused"] = dict(list(known.refused.items())[:10])
            if one.problem and one.state != "ready":
                row["problem"] = _as_data(one.problem)
            rows.append(row)
        rows += [{"name": each.id, "state": "broken", "tools": None, "problem": each.reason} for each in self.problems]
        return rows

    async def close(self) -> None:
        if self._starting:
            self._starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._starting
        await asyncio.gather(*(one.close() for one in self._upstreams.values()))
        await asyncio.to_thread(self.index.close)

    async def _start(self, names: Sequence[str]) -> None:
        gate = asyncio.Semaphore(STARTED_AT_ONCE)

        async def start(one: Upstream) -> None:
            async with gate:
                with contextlib.suppress(SourceError):  # told by its status
                    await one.refresh()

        await asyncio.gather(*(start(self._upstreams[name]) for name in names))

    async def _take(self, server: Server, entries: list[dict[str, Any]]) -> None:
        await asyncio.to_thread(self.catalog.take, server, entries)


def _as_data(problem: str) -> str:
    """What is wrong with a server, without its own words if they speak to the model."""
    told, _, words = problem.partition(WORDS)
    return f"{told} What it said is left out: it speaks to the model." if any(instructions(words)) else problem
