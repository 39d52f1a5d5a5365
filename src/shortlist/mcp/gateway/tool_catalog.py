"""The tools behind the gateway: the last list of every server, on disk, so that no one waits for a server.

A tool is approved when it is first seen unless a check finds a risk: adding a server means trusting what it offers
then. Later changes need the user's approval unless they are harmless (see `tool_changes.py`), and `new_tools` decides
about tools that are added on a later day. Every form of a tool that was approved stays approved. Processes share lists
and approvals: a change by one of them, or by the user, is seen by the others when they next reload.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import shlex
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shortlist._files import replace_text, stamp_of
from shortlist._paths import data_dir, make_folder
from shortlist._text import closest, count_of, printable, suggest
from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.gateway_config import Access, Permissions
from shortlist.mcp.gateway.tool_approvals import Approvals, Entry, hash_of, key_of_server, path_of
from shortlist.mcp.gateway.tool_changes import DefinitionChange
from shortlist.mcp.gateway.tool_checks import describe_name, find_defect
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.safety.prompt_injection import visual_key

log = logging.getLogger("shortlist.mcp")

FORMAT = 2  # of a stored list
FRESH_SECONDS = 1.0  # for which calls do not look for what other processes have stored
SHOWN = 300  # characters of a description in a review
MOST_NAMED = 5

MOST_SUGGESTIONS = 3
SEPARATORS = ("/", ".", "__", ":")  # between a server and its tool; before both, "mcp__" is permitted

# What is stored of a tool, and all that an agent sees of it. The rest (icons, execution, _meta) is not checked.
STORED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


class UnknownTool(InputError):
    """No server offers a tool of this name."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a server as an agent sees it: its permission, why it is pending approval (empty if it is not), and what
    changed in it.

    If only additions are pending, it is used as it was approved, and `listed` is what its server offers now.
    """

    server: str
    entry: Entry
    access: Access = "write"
    pending: str = ""
    changes: tuple[DefinitionChange, ...] = ()
    is_usable: bool = False  # although it is pending
    is_new: bool = False  # added to a known server, and not yet approved by the user
    approved: Entry | None = None  # the form that was last approved, if any was
    listed: Entry = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def is_offered(self) -> bool:
        """Whether an agent may find and call it."""
        return (not self.pending or self.is_usable) and self.access != "never"

    @property
    def description(self) -> str:
        return str(self.entry.get("description") or self.entry.get("title") or "")

    @property
    def schema(self) -> dict[str, Any]:
        return self.entry.get("inputSchema") or {}

    def review(self) -> dict[str, Any]:
        """What the user sees before approving it."""
        changes = [change.to_dict() for change in self.changes]
        text = str(self.listed.get("description") or self.listed.get("title") or "")
        return {"tool": self.id, "reason": self.pending, "description": text[:SHOWN], "changes": changes}


class Listing(NamedTuple):
    """What a server last offered, when, and which tools were rejected and why."""

    at: float
    tools: dict[str, Entry]
    refused: dict[str, str]


class ToolCatalog:
    """The tools of some servers. Methods may be called from any thread.

    What a server offers may depend on what its client can be asked, so there is a list for each such variant. The
    catalog has the tools of all of them, or those for one client. A server that listed the same to all is expected to
    list that to others, too, so it is not started for a client of another variant.
    """

    def __init__(self, servers: Sequence[ServerConfig], permissions: Permissions) -> None:
        self._lock = threading.Lock()
        self._read_at = 0.0
        self._variant: str | None = None
        self.configure(servers, permissions)

    def use_variant(self, variant: str) -> None:
        """Contain the tools for clients of one variant from now on. Until a server has listed those, all are used."""
        with self._lock:
            if variant == self._variant:
                return
            self._variant = variant
            stored = _list_stored()
            for name, server in self.servers.items():
                if self._stamps and stored.get(key_of_server(server)) != [_listing_of(server, variant)]:
                    self._stamps.pop(name, None)  # so that it is read again
        self.reload()

    def configure(self, servers: Sequence[ServerConfig], permissions: Permissions) -> None:
        """Contain the tools of these servers from now on."""
        with self._lock:
            self.servers = {server.name: server for server in servers}
            self._permissions = permissions
            self._approvals = {server.name: Approvals(server) for server in servers}
            self._stamps: dict[str, tuple[int, ...]] | None = None  # none were read yet
            self.listings: dict[str, Listing] = {}
            self._by_server: dict[str, list[Tool]] = {}
        self.reload()

    def list_offered(self) -> list[Tool]:
        return [tool for tool in self.tools.values() if tool.is_offered]

    def list_pending(self) -> list[Tool]:
        """The tools that are pending approval."""
        return [tool for tool in self.tools.values() if tool.pending and tool.access != "never"]

    def list_held(self) -> list[Tool]:
        """The tools that are pending approval and cannot be used until then."""
        return [tool for tool in self.list_pending() if not tool.is_offered]

    def list_new(self) -> list[Tool]:
        """The tools that were added to known servers and are to be announced."""
        return [tool for tool in self.list_offered() if tool.is_new]

    def find_copied(self, tool: Tool) -> Tool | None:
        """The tool of another server whose name a tool has."""
        key = visual_key(tool.name)
        others = (one for one in self.tools.values() if one.server != tool.server and not one.is_new)
        return next((one for one in others if visual_key(one.name) == key), None)

    def announce(self, new: Sequence[Tool]) -> str:
        """What to report about new tools."""
        named = []
        for tool in new[:MOST_NAMED]:
            copied = self.find_copied(tool)
            named.append(describe_name(tool.id) + (f" (the same name as {describe_name(copied.id)})" if copied else ""))
        more = f" and {len(new) - MOST_NAMED} more" if len(new) > MOST_NAMED else ""
        counted = count_of(len(new), "new tool")
        return f"{counted} of known servers: {', '.join(named)}{more}. The user can review this: shortlist mcp approve"

    def update(self, server: ServerConfig, entries: Iterable[Mapping[str, Any]], variant: str = "") -> None:
        """Store what a server offers now, and approve what is new or changed in a harmless way."""
        tools: dict[str, Entry] = {}
        refused: dict[str, str] = {}
        for given in entries:
            entry = {key: given[key] for key in STORED if given.get(key) is not None}
            name = str(given.get("name"))
            if not server.offers(name):
                continue
            if defect := find_defect(entry):
                refused[name[:40]] = defect
            elif name in tools:
                refused[name] = "Another tool of the server has the same name; the first one is used."
            else:
                tools[name] = entry
        listed, has_news = _listing_of(server, variant), False
        data = {"format": FORMAT, "server": server.name, "at": time.time(), "tools": tools, "refused": refused}
        try:
            make_folder(listed.parent)
            # If the approvals cannot be read, all tools are pending with that reason.
            with contextlib.suppress(SourceError):
                others = self._list_other_names(server.name)
                has_news = Approvals(server).update(tools, server.new_tools, others, was_listed=listed.exists())
            replace_text(listed, json.dumps(data))
            path_of(server, "failed").unlink(missing_ok=True)
        except OSError as error:  # the disk is full or read-only; what is stored may still be right
            known = _read_listing(listed)
            if known is None or known.tools != tools:
                raise SourceError(f"Its tools cannot be stored in {listed}: {error.strerror}.") from error
        self.reload()
        if has_news:
            log.warning("%s", self.announce([tool for tool in self.list_new() if tool.server == server.name]))

    def record_failure(self, server: ServerConfig, reason: str) -> None:
        """Store why the last attempt to start a server failed, until it lists its tools."""
        path = path_of(server, "failed")
        with contextlib.suppress(OSError):
            make_folder(path.parent)
            replace_text(path, json.dumps(reason))

    def read_failures(self) -> dict[str, str]:
        """Why servers failed at the last attempt, by name."""
        failures = {}
        for name, server in self.servers.items():
            with contextlib.suppress(OSError, ValueError):
                failures[name] = str(json.loads(path_of(server, "failed").read_bytes()))
        return failures

    def approve(self, tools: Iterable[Tool]) -> None:
        """Approve tools as they are now, and announce them no longer."""
        for server, some in itertools.groupby(tools, lambda tool: tool.server):
            self._approvals[server].approve(tool.listed for tool in some)
        self.reload()

    @property
    def is_fresh(self) -> bool:
        """Whether the files were compared a moment ago."""
        return time.monotonic() - self._read_at < FRESH_SECONDS

    def reload(self) -> None:
        """Read what has changed on disk since the last time."""
        with self._lock:
            self._read_at = time.monotonic()
            stored = _list_stored()
            listings = {name: stored.get(key_of_server(server), []) for name, server in self.servers.items()}
            stamps = {name: stamp_of(*listings[name], *self._approvals[name].paths) for name in self.servers}
            if stamps == self._stamps:
                return
            for name in [name for name, stamp in stamps.items() if stamp != (self._stamps or {}).get(name)]:
                self._reload_server(name, listings[name])
            self._stamps = stamps
            # By id, including those that are not offered.
            self.tools: dict[str, Tool] = {tool.id: tool for tools in self._by_server.values() for tool in tools}
            self.digest = hash_of(
                [[tool.id, tool.entry] for tool in self.list_offered()]
            )  # changes with what is offered

    def has_list(self, name: str, variant: str) -> bool:
        """Whether the tools of a server are known that clients of a variant are offered."""
        server = self.servers[name]
        stored = _list_stored().get(key_of_server(server), [])
        return _listing_of(server, variant) in stored or _is_same(list(filter(None, map(_read_listing, stored))))

    def _read_listings(self, name: str, paths: list[Path]) -> Listing | None:
        """The list for this variant, else what is in all of them, which is outdated if they differ."""
        if self._variant is not None:
            own = _read_listing(_listing_of(self.servers[name], self._variant))
            if own:
                return own
        found = sorted(filter(None, map(_read_listing, paths)), key=lambda listing: listing.at)
        if not found:
            return None
        tools = {tool: entry for listing in found for tool, entry in listing.tools.items()}
        is_outdated = self._variant is not None and not _is_same(found)
        return Listing(0.0 if is_outdated else found[-1].at, tools, found[-1].refused)

    def _list_other_names(self, server: str) -> list[str]:
        """The names of the tools of the other servers."""
        return [tool.name for other, tools in self._by_server.items() if other != server for tool in tools]

    def _reload_server(self, name: str, paths: list[Path]) -> None:
        listing = self._read_listings(name, paths) or self.listings.get(name)
        if listing is None:
            return
        offered = {tool: entry for tool, entry in listing.tools.items() if self.servers[name].offers(tool)}
        known = self._approvals[name].read()
        tools = []
        for tool, review in known.review(offered, self._list_other_names(name)):
            entry = offered[tool]
            # Until a change is approved, a tool is not more than it was.
            before = review.approved if review.reason and review.approved else entry
            access = self._permissions.access(name, tool, before.get("annotations"))
            shown = before if review.is_usable else entry
            state = (review.reason, review.changes, review.is_usable, known.is_new(tool))
            tools.append(Tool(name, shown, access, *state, known.approved.get(tool), entry))
        self.listings[name], self._by_server[name] = listing, tools


def find_tool(name: str, tools: Mapping[str, Tool]) -> Tool:
    """The tool of an id in any usual spelling, or of a name that only one server has. A pending, denied or unknown tool
    is an error."""
    if not name.strip():
        raise InputError("The name of the tool is empty. Use server/tool, as discover shows it.")
    tool = tools.get(name)
    if tool is None:
        spelled = name.removeprefix("mcp__"), name
        found = [one for one in tools.values() if any(one.server + end + one.name in spelled for end in SEPARATORS)]
        found = found or [one for one in tools.values() if one.name == name]
        offered = [one for one in found if one.is_offered]
        if len(offered) > 1:
            several = ", ".join(one.id for one in offered[:5])
            raise InputError(f"{name!r} is ambiguous: {several}. Use one of these ids.")
        tool = next(iter(offered or found), None)
    if tool is None:
        suggestion = suggest(_suggest(name, [one.id for one in tools.values() if one.is_offered]))
        raise UnknownTool(f"There is no tool {name[:80]!r}.{suggestion} Find tools with discover.")
    quoted = shlex.quote(printable(tool.id, ""))  # its server chose the id, so it may contain anything
    if tool.access == "never":
        raise InputError(f"{tool.id} is denied by the user. Only the user can permit it: shortlist mcp allow {quoted}")
    if not tool.is_offered:
        command = f"shortlist mcp approve {quoted}"
        raise InputError(f"{tool.id} is pending approval. {tool.pending} Only the user can approve it: {command}")
    return tool


def _suggest(name: str, ids: Sequence[str]) -> list[str]:
    """The ids that look most like a name, with or without their server."""
    keys = {visual_key(part): id for id in reversed(ids) for part in (id.partition("/")[2], id)}
    return list(dict.fromkeys(keys[key] for key in closest(visual_key(name[:200]), keys, MOST_SUGGESTIONS)))


def _listing_of(server: ServerConfig, variant: str) -> Path:
    return path_of(server, f"listed-{variant}" if variant else "listed")


def _list_stored() -> dict[str, list[Path]]:
    """The stored lists of all servers, by key."""
    found: dict[str, list[Path]] = {}
    for path in sorted((data_dir() / "mcp" / "servers").glob("*.listed*.json")):
        found.setdefault(path.name.partition(".")[0], []).append(path)
    return found


def _is_same(listings: Sequence[Listing]) -> bool:
    """Whether lists for several variants have the same tools."""
    return len({frozenset(listing.tools) for listing in listings}) == 1


def _read_listing(path: Path) -> Listing | None:
    """The stored list; None for a missing or damaged one, which the server will replace."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        data = json.loads(path.read_bytes())
        tools = {name: dict(entry) for name, entry in data["tools"].items() if entry["name"] == name}
        refused = {str(name): str(reason) for name, reason in data["refused"].items()}
        return Listing(float(data["at"]), tools, refused) if data["format"] == FORMAT else None
    return None
