"""All servers as one: their tools, found and called by name, whichever of them are running."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shortlist._text import count_of
from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.arguments import check, parse
from shortlist.mcp.gateway.gateway_config import Configuration, Configured
from shortlist.mcp.gateway.tool_catalog import Catalog, Tool, find_tool
from shortlist.mcp.gateway.tool_search import Index
from shortlist.mcp.gateway.upstream import Roots, Upstream
from shortlist.sources.mcp_servers.mcp_client import WORDS
from shortlist.sources.mcp_servers.mcp_config import Server
from shortlist.sources.tools.prompt_injection import find_orders

log = logging.getLogger("shortlist.mcp")

STARTED_AT_ONCE = 4  # in the background; one that is called starts at once
OUTDATED = 24 * 3600.0  # seconds after which a list is read again although the server is not called
LOOK_AGAIN = 3600.0  # seconds between searches for such lists
FOLLOW = 2.0  # seconds between looks at the configuration
FIRST_LIST = 3.0  # seconds to wait for servers without a list


class Gateway:
    """The servers of a configuration. Nothing is started before it is needed.

    The configuration is followed: a server that was added or approved is there at the next look, one that was removed,
    changed or is no longer trusted is stopped.
    """

    def __init__(self, configuration: Configuration | None = None, home: Path | None = None) -> None:
        self._configuration = configuration
        self._stamps = configuration.stamps() if configuration else ()
        found = configuration.read() if configuration else Configured()
        self.home = configuration.home if configuration else home or Path()
        self.pending_files, self.problems, self._permissions = found.pending, found.problems, found.permissions
        self.catalog = Catalog(found.servers, found.permissions)
        self.index = Index(self.home / "tools", self.catalog)
        self.roots = Roots(self._send_roots_changed)
        self._upstreams = {server.name: self._upstream(server) for server in found.servers}
        self._starting: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._following = asyncio.Lock()
        self._woken = 0.0

    @classmethod
    def of(cls, files: Sequence[str | Path] = (), *, needs_trust: bool = False) -> Gateway:
        return cls(Configuration(files, needs_trust=needs_trust))

    def _upstream(self, server: Server) -> Upstream:
        return Upstream(server, self._take, self.roots)

    async def _take(self, server: Server, entries: list[dict[str, Any]]) -> None:
        await asyncio.to_thread(self.catalog.take, server, entries)

    async def _send_roots_changed(self) -> None:
        await asyncio.gather(*(one.send_roots_changed() for one in self._upstreams.values()))

    async def follow(self) -> None:
        """Apply what changed in the configuration, or in what is trusted, since the last look."""
        async with self._following:
            stamps = self._configuration.stamps() if self._configuration else ()
            if self._configuration and stamps != self._stamps:
                self._stamps = stamps
                await self._apply(await asyncio.to_thread(self._configuration.read, strict=False), self._configuration)

    async def _apply(self, found: Configured, configuration: Configuration) -> None:
        unreadable = {problem.source or problem.id for problem in found.problems}
        before = self._upstreams
        # A file of the user may be half written: until it can be read again, its servers stay.
        servers = {
            name: one.server
            for name, one in before.items()
            if str(one.server.file) in unreadable and one.server.project is None and not configuration.needs_trust
        }
        servers |= {server.name: server for server in found.servers}
        self.pending_files, self.problems = found.pending, found.problems
        self._permissions = self._permissions if "permissions" in unreadable else found.permissions
        same = {name: one for name, one in before.items() if servers.get(name) == one.server}
        self._upstreams = {name: same.get(name) or self._upstream(server) for name, server in servers.items()}
        await asyncio.to_thread(self.catalog.configure, list(servers.values()), self._permissions)
        if self._starting:  # else all are started when they are first needed
            for name in self._outdated(servers.keys() - same.keys()):
                self._upstreams[name].wake()
        await asyncio.gather(*(one.close() for name, one in before.items() if name not in same))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW)
            try:
                await self.follow()
            except Exception:  # the next change is applied all the same
                log.exception("The configuration of MCP servers could not be applied.")

    def wake(self) -> None:
        """Begin to read the lists that are missing or old, a few servers at a time."""
        now = time.time()
        if self._watching is None and self._configuration:
            self._watching = asyncio.create_task(self._watch())
        if self._starting is None or (self._starting.done() and now - self._woken > LOOK_AGAIN):
            self._woken = now
            self._starting = asyncio.create_task(self._start(self._outdated(self._upstreams)))

    def _outdated(self, names: Iterable[str]) -> list[str]:
        """The servers whose list is missing or old."""
        listings = {name: self.catalog.listing(name) for name in names}
        return [name for name, known in listings.items() if known is None or time.time() - known.at > OUTDATED]

    def _unlisted(self) -> list[Upstream]:
        return [one for name, one in self._upstreams.items() if self.catalog.listing(name) is None]

    async def settle(self, seconds: float = FIRST_LIST) -> dict[str, str]:
        """Wait a moment for servers without a list; the states of those that are still without one."""
        await self.follow()
        self.wake()
        waiting = [asyncio.ensure_future(one.settle()) for one in self._unlisted() if one.state in ("idle", "starting")]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for task in late:
                task.cancel()
        return {one.server.name: one.state for one in self._unlisted()}

    async def _start(self, names: Iterable[str]) -> None:
        gate = asyncio.Semaphore(STARTED_AT_ONCE)

        async def start(one: Upstream) -> None:
            async with gate:
                with contextlib.suppress(SourceError):  # its status has the reason
                    await one.refresh()

        await asyncio.gather(*(start(self._upstreams[name]) for name in names))

    async def refresh(self) -> None:
        """Ask every server now what it offers."""
        await self._start(self._upstreams)

    def find(self, name: str) -> Tool:
        self.catalog.look()
        return find_tool(name, self.catalog.tools())

    async def call(self, name: str, arguments: Any, *, only_reads: bool = False) -> tuple[Tool, dict[str, Any]]:
        """Run a tool that is as it was approved, with arguments that fit it; the tool, and its server's answer.

        With `only_reads`, only one that is marked read-only by its server, or that the user permits as such.
        """
        await self.follow()
        try:
            tool = await asyncio.to_thread(self.find, name)
        except InputError:
            unlisted = len(self._unlisted())
            if not unlisted or len(await self.settle()) >= unlisted:
                raise
            tool = await asyncio.to_thread(self.find, name)
        given = await asyncio.to_thread(_checked, tool, arguments, only_reads)
        upstream = self._upstreams.get(tool.server)
        if upstream is None:
            raise SourceError(f"The server {tool.server} is no longer configured.")
        await upstream.refresh()
        now = self.find(tool.id)  # it may have changed since the catalog was written
        if now.entry != tool.entry:
            await asyncio.to_thread(_checked, now, given, only_reads)
        return now, await upstream.call(now.name, given)

    def status(self) -> list[dict[str, Any]]:
        """Each server: its state, the number of its tools, and what is wrong with it."""
        self.catalog.look()
        rows: list[dict[str, Any]] = []
        for name, one in self._upstreams.items():
            tools = [tool for tool in self.catalog.tools().values() if tool.server == name]
            known = self.catalog.listing(name)
            row: dict[str, Any] = {
                "name": name,
                "state": one.state,
                "tools": None if known is None else sum(tool.is_offered for tool in tools),
                "read_only": sum(tool.is_offered and tool.access == "read" for tool in tools),
                "pending": sum(bool(tool.pending) for tool in tools),
                "denied": sum(tool.access == "never" for tool in tools),
            }
            if known and known.refused:
                row["refused"] = dict(list(known.refused.items())[:10])
            if one.problem and one.state != "ready":
                problem, _, words = one.problem.partition(WORDS)
                speaks_to_model = any(find_orders(words))
                hidden = f"{problem} What it said is left out: it speaks to the model."
                row["problem"] = hidden if speaks_to_model else one.problem
            rows.append(row)
        rows += [{"name": each.id, "state": "broken", "tools": None, "problem": each.reason} for each in self.problems]
        return rows

    def pending_notes(self) -> list[str]:
        """Sentences about what waits for the user, for an agent to pass on; it cannot approve anything itself."""
        notes = [pending.reason for pending in self.pending_files]
        if count := len(self.catalog.pending()):
            pending = count_of(count, "tool", "is pending approval")
            notes.append(f"{pending}. The user can review them: shortlist mcp approve")
        return notes

    async def close(self) -> None:
        for task in filter(None, (self._watching, self._starting)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.gather(*(one.close() for one in self._upstreams.values()))
        await asyncio.to_thread(self.index.close)


def _checked(tool: Tool, arguments: Any, only_reads: bool) -> dict[str, Any]:
    """The arguments, if the tool may be called and they fit it."""
    if only_reads and tool.access != "read":
        raise InputError(f"{tool.id} is not marked read-only, so call_read does not run it. Use call.")
    given = parse(tool.id, arguments)
    check(tool.id, tool.schema, given)
    return given
