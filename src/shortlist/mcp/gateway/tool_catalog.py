"""The tools behind the gateway: the last list of every server, on disk, so that no one waits for a server.

A tool is approved at first sight unless a check finds something: adding a server means trusting what it offers then. A
later change waits for the user unless it is harmless (see `tool_changes.py`). Processes share lists and approvals: a
change by one of them, or by the user, is seen by the others at their next look.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shlex
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import JsonFile, replace_text, stamp_of
from shortlist._paths import data_dir
from shortlist._text import closest, printable
from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.gateway_config import NO_RULES, Access, Permissions
from shortlist.mcp.gateway.tool_changes import Change, changes_between
from shortlist.mcp.gateway.tool_checks import doubt, refusal, visual_key
from shortlist.sources.mcp_servers.mcp_config import Server

FORMAT = 2
SHOWN = 300  # characters of a description in a review
MOST_NEAR = 3

# What is stored of a tool, and all that an agent is shown of it. The rest (icons, execution, _meta) is not checked.
KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

Entry = dict[str, Any]


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

    @property
    def description(self) -> str:
        return str(self.entry.get("description") or self.entry.get("title") or "")

    @property
    def schema(self) -> dict[str, Any]:
        schema = self.entry.get("inputSchema")
        return schema if isinstance(schema, dict) else {}

    def review(self) -> dict[str, Any]:
        """What the user sees before approving it."""
        changes = [change.to_dict() for change in self.changes]
        return {"tool": self.id, "reason": self.pending, "description": self.description[:SHOWN], "changes": changes}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server last offered, and what of it was refused."""

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
            self._files = {server.name: (_file(server, "listed"), _approved(server)) for server in servers}
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
        listed = _file(server, "listed")
        listed.parent.mkdir(parents=True, exist_ok=True)
        # If what was approved cannot be read, all tools are pending and say why.
        with contextlib.suppress(SourceError), _approved(server).changing() as known:
            for name, reason, _ in _review(tools, known):
                if not reason:
                    known[name] = tools[name]
        data = {"format": FORMAT, "server": server.name, "at": time.time(), "tools": tools, "refused": refused}
        replace_text(listed, json.dumps(data))
        self.look()

    def approve(self, tools: Iterable[Tool]) -> None:
        """Approve tools as they are now."""
        for server, some in itertools.groupby(tools, lambda tool: tool.server):
            with self._files[server][1].changing() as known:
                known |= {tool.name: tool.entry for tool in some}
        self.look()

    def look(self) -> bool:
        """Read what has changed on disk since the last look; whether anything did."""
        with self._lock:
            stamps = {name: stamp_of(listed, approved.path) for name, (listed, approved) in self._files.items()}
            if stamps == self._stamps:
                return False
            for name in [name for name, stamp in stamps.items() if stamp != (self._stamps or {}).get(name)]:
                self._look_at(name)
            self._stamps = stamps
            self._tools = {tool.id: tool for tools in self._reviewed.values() for tool in tools}
            self.digest = _hash([[tool.id, tool.entry] for tool in self._tools.values() if tool.is_offered])
            return True

    def _look_at(self, name: str) -> None:
        server, (listed, approved) = self.servers[name], self._files[name]
        listing = _read(listed) or self._listings.get(name)
        if listing is None:
            return
        wanted = {tool: entry for tool, entry in listing.tools.items() if server.offers(tool)}
        known, unknown = {}, ""
        try:
            known = approved.read()
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


def find_tool(name: str, tools: Mapping[str, Tool]) -> Tool:
    """The tool of an id in any usual spelling, or of a name that one server has. One that is pending or denied is an
    error, and so is an unknown one, with suggestions."""
    if not name.strip():
        raise InputError("Say which tool: server/tool, as discover shows it.")
    tool = tools.get(name)
    if tool is None:
        spellings = ("{0.server}.{0.name}", "{0.server}__{0.name}", "{0.server}:{0.name}", "mcp__{0.server}__{0.name}")
        found = [one for one in tools.values() if name in (spelling.format(one) for spelling in spellings)]
        found = found or [one for one in tools.values() if one.name == name]
        offered = [one for one in found if one.is_offered]
        if len(offered) > 1:
            several = ", ".join(one.id for one in offered[:5])
            raise InputError(f"{name!r} may be any of {several}: say which.")
        tool = next(iter(offered or found), None)
    if tool is None:
        near = _near(name, [one.id for one in tools.values() if one.is_offered])
        suggestion = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InputError(f"There is no tool {name[:80]!r}.{suggestion} discover finds tools.")
    quoted = shlex.quote(printable(tool.id, ""))  # its server chose the id, so it may hold anything
    if tool.access == "never":
        raise InputError(f"{tool.id} is denied by the user, who alone can permit it: shortlist mcp allow {quoted}")
    if tool.pending:
        raise InputError(
            f"{tool.id} is pending approval. {tool.pending} Only the user can approve it: "
            f"shortlist mcp approve {quoted}"
        )
    return tool


def _near(name: str, ids: Sequence[str]) -> list[str]:
    """The ids closest to a name, first those that differ only in case or in what cannot be seen."""
    seen = visual_key(name[:200])
    by_look: dict[str, str] = {}
    for id in ids:
        by_look.setdefault(visual_key(id), id)
        by_look.setdefault(visual_key(id.partition("/")[2]), id)
    near = [seen] if seen in by_look else []
    return list(dict.fromkeys(by_look[look] for look in [*near, *closest(seen, by_look, MOST_NEAR)]))[:MOST_NEAR]


def _review(tools: Mapping[str, Entry], known: Mapping[str, Entry]) -> Iterator[tuple[str, str, list[Change]]]:
    """Each tool, why it waits for approval, if it does, and what changed since it was approved: all of a new one."""
    firsts: dict[str, str] = {}  # for each look of a name the tool that had it first: an approved one before a new one
    if any(known.get(name) != entry for name, entry in tools.items()):
        for name in (*known, *tools):
            firsts.setdefault(visual_key(name), name)
    for name, entry in list(tools.items()):
        approved = known.get(name)
        if approved == entry:
            yield name, "", []
            continue
        first = firsts[visual_key(name)]
        reason, changes = doubt(entry, first), changes_between(approved or {"name": name}, entry)
        if approved and (not reason or reason == doubt(approved, first)):  # which the user has seen
            parts = dict.fromkeys(change.top for change in changes if change.waits)
            reason = f"Changed since it was approved: {', '.join(parts)}." if parts else ""
        yield name, reason, changes


def _hash(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def _file(server: Server, what: str) -> Path:
    """A file about a server: another program under the same name is another server."""
    return data_dir() / "mcp" / "servers" / f"{_hash([server.name, server.identity])}.{what}.json"


def _approved(server: Server) -> JsonFile:
    """The approved definitions of a server's tools, by name."""
    repair = ", so no tool of this server is approved. Repair it, or move it away and approve the tools again."
    return JsonFile(_file(server, "approved"), FORMAT, "tools", repair, server=server.name)


def _read(path: Path) -> Listing | None:
    """A list on disk; None for a missing or damaged one, which the server will replace."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            return None
        tools = {name: dict(entry) for name, entry in data["tools"].items() if entry["name"] == name}
        refused = {str(name): str(why) for name, why in data["refused"].items()}
        return Listing(float(data["at"]), tools, refused)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
