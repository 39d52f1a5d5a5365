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
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist.errors import SourceError
from shortlist.index.atomic import replace_text
from shortlist.index.places import data_dir
from shortlist.serve.gateway.approvals import Approvals, Parts, approvals_file, changed_parts, parts_of
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
        self._places = {_file(server): server for server in servers}
        self._approvals = Approvals()
        self._lock = threading.Lock()
        self._stamps: dict[Path, tuple[int, ...]] = {}
        self._listings: dict[str, Listing] = {}
        self._tools: dict[str, Tool] = {}
        self.problem = ""  # why nothing can be approved
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
        with contextlib.suppress(SourceError):  # told by `problem`, and nothing is approved
            known = self._approvals.read().get(_key(server), {})
            firsts = _firsts(known, tools)
            new = [name for name in tools if name not in known]
            trusted = {name: parts[name] for name in new if not doubt(tools[name], firsts[looks(name)])}
            self._approvals.add(_key(server), trusted, only_new=True)
        data = {
            "format": FORMAT,
            "server": server.name,
            "at": time.time(),
            "tools": tools,
            "parts": parts,
            "refused": refused,
        }
        path = _file(server)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(data, ensure_ascii=True))
        self.look()

    def approve(self, tools: Iterable[Tool]) -> None:
        """Let tools be what they are now."""
        for tool in tools:
            self._approvals.add(_key(self.servers[tool.server]), {tool.name: tool.parts}, only_new=False)
        self.look()

    def look(self) -> bool:
        """Read what has changed on disk since the last look; whether anything did."""
        with self._lock:
            stamps = {path: _stamp(path) for path in [*self._places, approvals_file()]}
            if stamps == self._stamps:
                return False
            for path, server in self._places.items():
                if stamps[path] != self._stamps.get(path):
                    listing = _read(path)
                    if listing:
                        self._listings[server.name] = listing
            self._stamps = stamps
            self._judge()
            return True

    def _judge(self) -> None:
        self.problem, approved = "", {}
        try:
            approved = self._approvals.read()
        except SourceError as error:
            self.problem = str(error)
        tools: dict[str, Tool] = {}
        for name, listing in self._listings.items():
            server = self.servers[name]
            for found in _judged(server, listing, approved.get(_key(server), {})):
                tool = replace(found, held=self.problem) if self.problem else found
                tools[tool.id] = tool
        self._tools = tools
        told = sorted([tool.id, tool.parts] for tool in tools.values() if not tool.held)
        self.digest = blake2b(json.dumps(told).encode(), digest_size=16).hexdigest()


def _judged(server: Server, listing: Listing, known: Mapping[str, Parts]) -> Iterator[Tool]:
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


def _key(server: Server) -> str:
    return f"{server.name}@{server.identity}"


def _file(server: Server) -> Path:
    name = blake2b(_key(server).encode("utf-8", "replace"), digest_size=12).hexdigest()
    return data_dir() / "mcp" / "servers" / f"{name}.json"


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
        return found.st_mtime_ns, found.st_ino, found.st_size
    except OSError:
        return ()


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
