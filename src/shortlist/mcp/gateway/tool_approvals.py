"""What the user has approved of each server's tools: the definitions, on disk, and the review of a list by them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from shortlist._files import JsonFile
from shortlist._paths import data_dir
from shortlist.errors import SourceError
from shortlist.mcp.gateway.tool_changes import DefinitionChange, find_changes
from shortlist.mcp.gateway.tool_checks import find_risk
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.safety.prompt_injection import plain_key, visual_key

FORMAT, HISTORY_FORMAT = 2, 1
MOST_FORMS = 8  # earlier forms of a tool that stay approved, the latest first
NEW_DAYS = 7  # for which a new tool is announced, unless the user approves it before

# Why a tool is pending approval, unless a check found something.
CHANGED = "Changed since it was approved"
NEW = "It is new on a server that was known before."
NOT_APPROVED = "It was not approved."

Entry = dict[str, Any]


class ToolReview(NamedTuple):
    """Why a tool is pending approval, if it is, what changed in it (all of a new one), and since which approval."""

    reason: str = ""
    changes: tuple[DefinitionChange, ...] = ()
    approved: Entry | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a tool that is pending can be used as it was approved."""
        waiting = [change for change in self.changes if change.waits]
        return self.reason.startswith(CHANGED) and all(change.is_extra for change in waiting)


class KnownTools(NamedTuple):
    """The approved form of each tool of a server, and the record of each: its earlier `forms`, and since when it is
    `new`. The record of no name has the time of the `first` list. A problem means that nothing is known."""

    approved: dict[str, Entry]
    history: dict[str, Entry]
    problem: str = ""

    def forms(self, name: str) -> list[Entry]:
        """All forms of a tool that were approved, the current one first."""
        earlier = self.history.get(name, {}).get("forms")
        return [self.approved[name], *(earlier if isinstance(earlier, list) else [])] if name in self.approved else []

    def time(self, name: str, key: str) -> float:
        value = self.history.get(name, {}).get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    @property
    def is_later(self) -> bool:
        """Whether today is a later day than that of the first list."""
        first = self.time("", "first")
        return not first or date.fromtimestamp(first) < date.today()

    def is_new(self, name: str) -> bool:
        return time.time() - self.time(name, "new") < NEW_DAYS * 24 * 3600

    def add(self, entry: Entry) -> None:
        """Approve a form of a tool; the earlier ones stay approved."""
        name = entry["name"]
        record = {key: value for key, value in self.history.get(name, {}).items() if key not in ("new", "forms")}
        earlier = [form for form in self.forms(name) if form != entry][:MOST_FORMS]
        if earlier or name in self.history:
            self.history[name] = record | {"forms": earlier}
        self.approved[name] = entry

    def review(self, tools: Mapping[str, Entry], others: Iterable[str]) -> Iterator[tuple[str, ToolReview]]:
        """The tools of a list by name. `others` are the names of tools of other servers.

        Servers share names, so a name that differs from one of these in case or separators only is harmless.
        """
        firsts: dict[str, str] = {}  # the first tool of each look: an approved one before a new one
        looks: dict[str, str] = {}
        if any(self.approved.get(name) != entry for name, entry in tools.items()):
            looks = {visual_key(name): name for name in others}
            for name in (*self.approved, *tools):
                firsts.setdefault(visual_key(name), name)

        def find_look(name: str) -> str:
            """The name that a name looks like; often itself."""
            first, other = firsts[visual_key(name)], looks.get(visual_key(name), name)
            return other if first == name and plain_key(other) != plain_key(name) else first

        for name, entry in tools.items():
            forms = self.forms(name)
            if entry in forms:
                yield name, ToolReview()
            elif forms:
                first = find_look(name)
                risk = find_risk(entry, first)
                # an earlier form is approved as it was, but what changed since then is compared with the current one
                yield name, _compare(forms[0], entry, risk if risk != find_risk(forms[0], first) else "")
            else:
                reason = self.problem or find_risk(entry, find_look(name))
                everything = (replace(change, waits=True) for change in find_changes({"name": name}, entry))
                yield name, ToolReview(reason or (NEW if self.is_later else NOT_APPROVED), tuple(everything))


def _compare(approved: Entry, now: Entry, risk: str) -> ToolReview:
    changes = tuple(find_changes(approved, now))
    parts = dict.fromkeys(change.top for change in changes if change.waits)
    return ToolReview(risk or (f"{CHANGED}: {', '.join(parts)}." if parts else ""), changes, approved)


class Approvals:
    """The files with what is approved of a server."""

    def __init__(self, server: ServerConfig) -> None:
        repair = ", so no tool of this server is approved. Repair it, or move it away and approve the tools again."
        self._approved = JsonFile(path_of(server, "approved"), FORMAT, "tools", repair, server=server.name)
        repair = ", so only the latest form of a tool is approved. Repair it, or move it away."
        self._history = JsonFile(path_of(server, "history"), HISTORY_FORMAT, "tools", repair, server=server.name)
        self.paths = self._approved.path, self._history.path

    def read(self) -> KnownTools:
        try:
            approved = self._approved.read()
        except SourceError as error:
            return KnownTools({}, {}, str(error))
        try:
            return KnownTools(approved, self._history.read())
        except SourceError as error:
            return KnownTools(approved, {}, str(error))

    @contextlib.contextmanager
    def _changing(self) -> Iterator[KnownTools]:
        with self._approved.changing() as approved, self._history.changing() as history:
            yield KnownTools(approved, history)

    def approve(self, entries: Iterable[Entry]) -> None:
        with self._changing() as known:
            for entry in entries:
                known.add(entry)

    def update(self, tools: Mapping[str, Entry], new_tools: str, others: Iterable[str], *, was_listed: bool) -> bool:
        """Approve what is first seen or changed in a harmless way; whether there are new tools to announce."""
        has_news = False
        with self._changing() as known:
            if "" not in known.history:
                known.history[""] = {"first": 0.0 if known.approved or was_listed else time.time()}
            for name, review in list(known.review(tools, others)):
                is_new = review.reason == NEW
                if review.reason not in ("", NEW, NOT_APPROVED) or (is_new and new_tools == "hold"):
                    continue
                if tools[name] != known.approved.get(name):
                    known.add(tools[name])
                if is_new and new_tools != "allow":
                    known.history[name] = known.history.get(name, {}) | {"new": time.time()}
                    has_news = True
        return has_news


def hash_of(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def key_of_server(server: ServerConfig) -> str:
    """The start of the names of files about a server: another program under the same name is another server."""
    return hash_of([server.name, server.identity])


def path_of(server: ServerConfig, what: str) -> Path:
    """A file about a server."""
    return data_dir() / "mcp" / "servers" / f"{key_of_server(server)}.{what}.json"
