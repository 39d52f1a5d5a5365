"""The tools behind the gateway: the last list of every server, on disk, so that no one waits for a server.

Processes share it: what one of them reads from a server or what the user approves, the others see at their next look.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist._files import replace_text, stamp_of
from shortlist._paths import data_dir
from shortlist.errors import SourceError
from shortlist.mcp.gateway.approvals import Entry, approved_file, hash_of
from shortlist.mcp.gateway.permissions import NO_RULES, Access, Permissions
from shortlist.mcp.gateway.tool_changes import Change, changes_between
from shortlist.mcp.gateway.tool_checks import doubt, looks, refusal
from shortlist.sources.mcp_servers.mcp_config import Server

FORMAT = 2
SHOWN = 300  # characters of a description in a review

# What is stored of a tool, and all that an agent is shown of it. The rest (icons, execution, _meta) is not checked.
KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a server: what the user permits it, why it waits for approval, if it does, and what changed in it."""

    server: str
    entry: Entry
    access: Access = "write"
    pending: str = ""
    changes: tuple[Change, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def is_offered(self) -> bool:
        """Whether an agent may find and call it."""
        return not self.pending and self.access != "never"

    def review(self) -> dict[str, Any]:
        """What the user sees before approving it."""
        changes = [change.to_dict() for change in self.changes]
        return {"tool": self.id, "reason": self.pending, "description": self.description[:SHOWN], "changes": changes}

    @property
    def description(self) -> str:
        return str(self.entry.get("description") or self.entry.get("title") or "")

    @property
    def schema(self) -> dict[str, Any]:
        schema = self.entry.get("inputSchema")
        return schema if isinstance(schema, dict) else {}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offered when it was last asked, and what of it could not be taken."""

    at: float
    tools: dict[str, Entry] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Catalog:
    """The tools of some servers. Methods may be called from any thread."""

    def __init__(self, servers: Sequence[Server], permissions: Permissions = NO_RULES) -> None:
        self._lock = threading.Lock()
        self.digest = ""  # changes with what is offered
        self.configure(servers, permissions)

    def configure(self, servers: Sequence[Server], permissions: Permissions) -> None:
        """Hold the tools of these servers from now on."""
        with self._lock:
            self.servers = {server.name: server for server in servers}
            self._permissions = permissions
            self._files = {server.name: (_file(server, "listed"), _file(server, "approved")) for server in servers}
            self._stamps: dict[str, tuple[int, ...]] | None = None  # nothing was looked at yet
            self._listings: dict[str, Listing] = {}
            self._reviewed: dict[str, list[Tool]] = {}
            self._tools: dict[str, Tool] = {}
        self.look()

    def tools(self) -> dict[str, Tool]:
        """By id, those that are not offered too."""
        return self._tools

    def offered(self) -> list[Tool]:
        return [tool for tool in self._tools.values() if tool.is_offered]

    def pending(self) -> list[Tool]:
        """The tools that wait for the user's approval."""
        return [tool for tool in self._tools.values() if tool.pending and tool.access != "never"]

    def listing(self, server: str) -> Listing | None:
        return self._listings.get(server)

    def take(self, server: Server, entries: Iterable[Mapping[str, Any]]) -> None:
        """Store what a server offers now, and approve what is new or changed in a harmless way."""
        tools: dict[str, Entry] = {}
        refused: dict[str, str] = {}
        for given in entries:
            entry = {key: given[key] for key in KEPT if given.get(key) is not None}
            name = str(given.get("name"))
            if not server.offers(name):
                continue
            if why := refusal(entry):
                refused[name[:40]] = why
            elif name in tools:
                refused[name] = "Another tool of the server has the same name; the first was taken."
            else:
                tools[name] = entry
        listed, approved = _file(server, "listed"), _file(server, "approved")
        listed.parent.mkdir(parents=True, exist_ok=True)
        # If what was approved cannot be read, all tools are pending and say why.
        with contextlib.suppress(SourceError), approved_file(approved, server.name).changing() as known:
            for name, reason, _ in _review(tools, known):
                if not reason:
                    known[name] = tools[name]
        data = {"format": FORMAT, "server": server.name, "at": time.time(), "tools": tools, "refused": refused}
        replace_text(listed, json.dumps(data))
        self.look()

    def approve(self, tools: Iterable[Tool]) -> None:
        """Approve tools as they are now."""
        for server, some in itertools.groupby(tools, lambda tool: tool.server):
            with approved_file(self._files[server][1], server).changing() as known:
                known |= {tool.name: tool.entry for tool in some}
        self.look()

    def look(self) -> bool:
        """Read what has changed on disk since the last look; whether anything did."""
        with self._lock:
            stamps = {name: stamp_of(*files) for name, files in self._files.items()}
            if stamps == self._stamps:
                return False
            for name in [name for name, stamp in stamps.items() if stamp != (self._stamps or {}).get(name)]:
                self._look_at(name)
            self._stamps = stamps
            self._tools = {tool.id: tool for tools in self._reviewed.values() for tool in tools}
            self.digest = hash_of([[tool.id, tool.entry] for tool in self._tools.values() if tool.is_offered])
            return True

    def _look_at(self, name: str) -> None:
        server, (listed, approved) = self.servers[name], self._files[name]
        listing = _read(listed) or self._listings.get(name)
        if listing is None:
            return
        wanted = {tool: entry for tool, entry in listing.tools.items() if server.offers(tool)}
        known, unknown = {}, ""
        try:
            known = approved_file(approved, name).read()
        except SourceError as error:
            unknown = str(error)
        tools = []
        for tool, reason, changes in _review(wanted, known):
            entry = wanted[tool]
            access = self._permissions.access(name, tool, entry.get("annotations"))
            if tool not in known:
                reason = unknown or reason or "It was not approved."
            tools.append(Tool(name, entry, access, reason, tuple(changes)))
        self._listings[name], self._reviewed[name] = listing, tools


def _review(tools: Mapping[str, Entry], known: Mapping[str, Entry]) -> Iterator[tuple[str, str, list[Change]]]:
    """Each tool, why it waits for approval, if it does, and what changed since it was approved: all of a new one."""
    firsts = _firsts(known, tools) if any(known.get(name) != entry for name, entry in tools.items()) else {}
    for name, entry in list(tools.items()):
        approved = known.get(name)
        if approved == entry:
            yield name, "", []
            continue
        first = firsts[looks(name)]
        reason, changes = doubt(entry, first), changes_between(approved or {"name": name}, entry)
        if approved and (not reason or reason == doubt(approved, first)):  # which the user has seen
            parts = dict.fromkeys(change.top for change in changes if change.waits)
            reason = f"Changed since it was approved: {', '.join(parts)}." if parts else ""
        yield name, reason, changes


def _firsts(known: Iterable[str], listed: Iterable[str]) -> dict[str, str]:
    """For each look of a name the tool that had it first: one that was approved or, of new ones, the first listed."""
    firsts: dict[str, str] = {}
    for name in itertools.chain(known, listed):
        firsts.setdefault(looks(name), name)
    return firsts


def _file(server: Server, what: str) -> Path:
    """Where something is kept of a server: another program under the same name is another server."""
    return data_dir() / "mcp" / "servers" / f"{hash_of([server.name, server.identity])}.{what}.json"


def _read(path: Path) -> Listing | None:
    """A list on disk; None for one that is not there or damaged, which the server will replace."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            return None
        tools = {name: dict(entry) for name, entry in data["tools"].items() if entry["name"] == name}
        refused = {str(name): str(why) for name, why in data["refused"].items()}
        return Listing(float(data["at"]), tools, refused)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
