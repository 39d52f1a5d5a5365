"""Prompts, resources and resource templates of the servers behind the gateway: the last lists, on disk.

Like a new tool, an entry is not offered if a check finds a risk in it; there is no approval for it.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shortlist._files import replace_text, stamp_of
from shortlist._paths import make_folder
from shortlist.errors import InputError
from shortlist.mcp.gateway.gateway_config import Permissions
from shortlist.mcp.gateway.tool_approvals import path_of
from shortlist.mcp.gateway.tool_checks import find_defect, find_risk
from shortlist.mcp_client.server_config import ServerConfig

FORMAT = 1
SCHEME = "shortlist-server://"  # before the name of a server and a URI of it
MOST_LISTED = 100  # resources of one server in the list of all; others can be read
MOST_LINKS = 1_000  # of results, that are remembered

# The capability, the request and the key of the answer of each list.
LISTS = (
    ("prompts", "ListPromptsRequest", "prompts"),
    ("resources", "ListResourcesRequest", "resources"),
    ("resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)

Entry = dict[str, Any]


class ServerOffer(NamedTuple):
    """An entry of a server."""

    server: str
    entry: Entry


class ServerOffers:
    """What some servers offer besides tools. Methods may be called from any thread."""

    def __init__(self, servers: Sequence[ServerConfig], permissions: Permissions) -> None:
        self._lock = threading.Lock()
        self._links: dict[tuple[str, str], str] = {}  # the server of a URI that a client received
        self.configure(servers, permissions)

    def configure(self, servers: Sequence[ServerConfig], permissions: Permissions) -> None:
        with self._lock:
            self._paths = {server.name: path_of(server, "offers") for server in servers}
            self._permissions = permissions
            self._stamps: dict[str, tuple[int, ...]] = {}
            self._lists: dict[str, dict[str, list[Entry]]] = {}
            self.hidden: Counter[str] = Counter()  # entries by server

    def update(self, server: ServerConfig, lists: Mapping[str, Sequence[Entry]]) -> bool:
        """Store what a server offers now; whether that is new."""
        path = path_of(server, "offers")
        written = json.dumps({"format": FORMAT, "server": server.name, **lists})
        with contextlib.suppress(OSError):
            if path.read_text("utf-8") == written:
                return False
        if not path.exists() and not any(lists.values()):
            return False
        make_folder(path.parent)
        replace_text(path, written)
        return True

    def _reload(self) -> None:
        for name, path in self._paths.items():
            stamp = stamp_of(path)
            if stamp == self._stamps.get(name):
                continue
            self._stamps[name] = stamp
            lists: dict[str, list[Entry]] = {}
            hidden = 0
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                data = json.loads(path.read_bytes())
                for _, _, key in LISTS if data["format"] == FORMAT else ():
                    lists[key] = [entry for entry in data[key] if self._is_offered(name, entry)]
                    hidden += len(data[key]) - len(lists[key])
            self._lists[name], self.hidden[name] = lists, hidden

    def _is_offered(self, server: str, entry: Entry) -> bool:
        if find_defect(entry) or find_risk(entry, entry["name"]):
            return False
        return self._permissions.access(server, entry["name"], None) != "never"

    def list_all(self, key: str) -> list[ServerOffer]:
        """The entries of a list of all servers."""
        with self._lock:
            self._reload()
            return [ServerOffer(name, entry) for name, lists in self._lists.items() for entry in lists.get(key, ())]

    def list_prompts(self) -> list[Entry]:
        """The prompts of all servers, each with the name of its server before its own."""
        return [entry | {"name": f"{server}/{entry['name']}"} for server, entry in self.list_all("prompts")]

    def find_prompt(self, name: str) -> ServerOffer:
        server, _, prompt = name.partition("/")
        for offered in self.list_all("prompts"):
            if (offered.server, offered.entry["name"]) == (server, prompt):
                return offered
        raise InputError(f"There is no prompt {name[:80]!r}. List the prompts for their names.")

    def list_resources(self) -> list[Entry]:
        """The first resources of each server. If several servers have the same URI, it has the server before it."""
        resources = self.list_all("resources")
        owners = Counter(entry["uri"] for _, entry in resources)
        counts: Counter[str] = Counter()
        listed = []
        for server, entry in resources:
            counts[server] += 1
            if counts[server] <= MOST_LISTED:
                uri = entry["uri"] if owners[entry["uri"]] == 1 else f"{SCHEME}{server}/{entry['uri']}"
                listed.append(entry | {"uri": uri})
        return listed

    def list_templates(self) -> list[Entry]:
        return [entry for _, entry in self.list_all("resourceTemplates")]

    def remember_links(self, client: str, server: str, result: Mapping[str, Any]) -> None:
        """Remember which server returned a link, so that the client can read it."""
        for block in result.get("content") or ():
            link = block.get("resource") if block.get("type") == "resource" else block
            if block.get("type") in ("resource", "resource_link") and isinstance(link.get("uri"), str):
                self._links.pop((client, link["uri"]), None)
                self._links[client, link["uri"]] = server
        while len(self._links) > MOST_LINKS:
            del self._links[next(iter(self._links))]

    def find_resource(self, client: str, uri: str) -> tuple[str, str]:
        """The server of a resource, and its URI there.

        It is the server that is named, that gave the client a link to it, that lists it, or that has a template for it.
        """
        if uri.startswith(SCHEME):
            server, _, uri = uri.removeprefix(SCHEME).partition("/")
            if server not in self._paths:
                raise InputError(f"There is no server {server[:80]!r}.")
            return server, uri
        if (client, uri) in self._links:
            return self._links[client, uri], uri
        for owners in (
            {server for server, entry in self.list_all("resources") if entry["uri"] == uri},
            {server for server, entry in self.list_all("resourceTemplates") if _matches(entry["uriTemplate"], uri)},
        ):
            if len(owners) > 1:
                several = " or ".join(f"{SCHEME}{server}/{uri}" for server in sorted(owners))
                raise InputError(f"Several servers have the resource {uri[:200]!r}. Use {several}.")
            if owners:
                return owners.pop(), uri
        raise InputError(f"No server offers the resource {uri[:200]!r}.")

    def find_template(self, template: str) -> str:
        """The server of a resource template."""
        for server, entry in self.list_all("resourceTemplates"):
            if entry["uriTemplate"] == template:
                return server
        raise InputError(f"There is no resource template {template[:200]!r}.")


def _matches(template: str, uri: str) -> bool:
    """Whether a template may produce a URI; variables match any characters."""
    parts = re.split(r"\{[^{}]*\}", template)
    if not uri.startswith(parts[0]) or not uri.endswith(parts[-1]):
        return False
    at = 0
    for part in parts:
        at = uri.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return len(parts) > 1
