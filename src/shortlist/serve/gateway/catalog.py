"""What is known of the tools upstream? The last list of every server, on disk, so that nobody waits for a server.

Processes share it: what one of them reads from a server or what the user approves, the others see at their next look.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shortlist._files import replace_text
from shortlist._paths import data_dir
from shortlist.errors import SourceError
from shortlist.serve.gateway.approvals import Parts, add_approved, changed_parts, hash_of, parts_of, read_approved
from shortlist.serve.gateway.doubts import doubt, looks, refusal
from shortlist.sources.mcp_config import Server

FORMAT = 1

# What is kept of a tool, and all that an agent is shown of it. The rest (icons, _meta) nobody has looked at.
KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a server; `held` says why it is held back."""

    server: str
    entry: Entry
    parts: Parts
    held: str = ""

    @property
    def id(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def name(self) -> str:
        return str(self.entry["name"])

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
    parts: dict[str, Parts] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Catalog:
    """The tools of some servers. Methods may be called from any thread."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = {server.name: server for server in servers}
        self._files = {server.name: (_file(server, "listed"), _file(server, "approved")) for server in servers}
        self._lock = threading.Lock()
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._listings: dict[str, Listing] = {}
        self._judged: dict[str, list[Tool]] = {}
        self._digests: dict[str, str] = {}
        self._tools: dict[str, Tool] = {}
        self.digest = ""  # changes with what is offered
        self.look()

    def tools(self) -> dict[str, Tool]:
        """By id, those that are held back too."""
        return self._tools

    def offered(self) -> list[Tool]:
        return [tool for tool in self._tools.values() if not tool.held]

    def held(self) -> list[Tool]:
        return [tool for tool in self._tools.values() if tool.held]

    def listing(self, server: str) -> Listing | None:
        return self._listings.get(server)

    def take(self, server: Server, entries: Iterable[Mapping[str, Any]]) -> None:
        """Keep what a server offers now, and approve what is seen for the first time and harmless to look at."""
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
        parts = {name: parts_of(entry) for name, entry in tools.items()}
        listed, approved = self._files[server.name]
        listed.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(SourceError):  # told by the tools, which are all held back then
            known = read_approved(approved)
            firsts = _firsts(known, tools)
            new = [name for name in tools if name not in known]
            trusted = {name: parts[name] for name in new if not doubt(tools[name], firsts[looks(name)])}
            add_approved(approved, server.name, trusted, only_new=True)
        data = {
            "format": FORMAT,
            "server": server.name,
            "at": time.time(),
            "tools": tools,
            "parts": parts,
            "refused": refused,
        }
        replace_text(listed, json.dumps(data))
        self.look()

    def approve(self, tools: Iterable[Tool]) -> None:
        """Let tools be what they are now."""
        for server, some in itertools.groupby(tools, lambda tool: tool.server):
            new = {tool.name: tool.parts for tool in some}
            add_approved(self._files[server][1], server, new, only_new=False)
        self.look()

    def look(self) -> bool:
        """Read what has changed on disk since the last look; whether anything did."""
        with self._lock:
            stamps = {name: _stamp(*files) for name, files in self._files.items()}
            changed = [name for name, stamp in stamps.items() if stamp != self._stamps.get(name)]
            for name in changed:
                self._look_at(name)
            self._stamps = stamps
            if changed:
                self._tools = {tool.id: tool for tools in self._judged.values() for tool in tools}
                self.digest = hash_of(self._digests)
            return bool(changed)

    def _look_at(self, name: str) -> None:
        listed, approved = self._files[name]
        listing = _read(listed) or self._listings.get(name)
        if listing is None:
            return
        try:
            tools = list(_judge(self.servers[name], listing, read_approved(approved)))
        except SourceError as error:
            tools = [replace(tool, held=str(error)) for tool in _judge(self.servers[name], listing, {})]
        self._listings[name], self._judged[name] = listing, tools
        self._digests[name] = hash_of([[tool.id, tool.parts] for tool in tools if not tool.held])


def _judge(server: Server, listing: Listing, known: Mapping[str, Parts]) -> Iterator[Tool]:
    """The tools of a server, each held back if it is not what was approved."""
    firsts: dict[str, str] = {}
    for name, entry in listing.tools.items():
        if not server.offers(name):
            continue
        held, parts = "", listing.parts[name]
        if name not in known:
            firsts = firsts or _firsts(known, listing.tools)
            held = doubt(entry, firsts[looks(name)]) or "It was not approved."
        elif changed := changed_parts(parts, known[name]):
            held = f"It has changed since it was approved: {', '.join(changed)}."
        yield Tool(server.name, entry, parts, held)


def _firsts(known: Iterable[str], listed: Iterable[str]) -> dict[str, str]:
    """For each look of a name the tool that had it first: one that was approved or, of new ones, the first listed."""
    firsts: dict[str, str] = {}
    for name in itertools.chain(known, listed):
        firsts.setdefault(looks(name), name)
    return firsts


def _file(server: Server, what: str) -> Path:
    """Where something is kept of a server: another program under the same name is another server."""
    return data_dir() / "mcp" / "servers" / f"{hash_of([server.name, server.identity])}.{what}.json"


def _stamp(*paths: Path) -> tuple[int, ...]:
    """What changes with files."""
    found: list[int] = []
    for path in paths:
        try:
            status = path.stat()
            found += status.st_mtime_ns, status.st_ino, status.st_size
        except OSError:
            found.append(0)
    return tuple(found)


def _read(path: Path) -> Listing | None:
    """A list on disk; None for one that is not there or damaged, which the server will replace."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            return None
        tools = {name: dict(entry) for name, entry in data["tools"].items() if entry["name"] == name}
        parts = {name: dict(data["parts"][name]) for name in tools}
        refused = {str(name): str(why) for name, why in data["refused"].items()}
        return Listing(float(data["at"]), tools, parts, refused)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
