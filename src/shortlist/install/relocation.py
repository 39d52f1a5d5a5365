"""Servers of agents that move behind the gateway, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist._http import is_loopback
from shortlist.install.agent_config import AgentConfig, Data, FileChange
from shortlist.install.agents import Agent
from shortlist.mcp_client.server_config import TIME_LIMIT_KEYS, ServerConfig, servers_of
from shortlist.mcp_client.server_entries import ALLOW, DENY, fingerprint, is_off, normalize, variables_in

# Keys of an entry that the gateway reads, or that concern only how the agent shows a server or asks before it calls.
READ = {"command", "args", "env", "cwd", "url", "headers", "oauth", *ALLOW, *DENY}
READ |= {key for keys in TIME_LIMIT_KEYS.values() for key in keys}
OMITTED = {"alwaysAllow", "alwaysLoad", "alwaysLoadTools", "autoApprove", "bundled", "description", "disabled"}
OMITTED |= {"display_name", "enabled", "gallery", "name", "required", "role", "source", "timeout", "trust", "type"}
OMITTED |= {"version"}
DISABLED = "it is disabled"


class Relocation:
    """Servers of agents that are moved to our own `mcp.json`, which the gateway reads, or back, in one run.

    `moved.json` has their original entries, by file. A server that several agents have is one entry in `mcp.json`.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        self._own = AgentConfig(folder / "mcp.json", private=True)
        self._originals = AgentConfig(folder / "moved.json", "moved", private=True)

    @property
    def variables(self) -> list[str]:
        """The environment variables that the servers need."""
        return sorted(variables_in([self._own.servers_in(folder) for folder in self._own.list_folders()]))

    def move(self, agent: Agent, file: Path, name: str, entry: Any, folder: str | None = None) -> str | None:
        """Move a server behind the gateway, for one folder or for all; the reason, if it cannot be moved."""
        try:
            converted = self._convert(agent, name, entry)
        except ValueError as error:
            return str(error)
        if self._find(name, converted, folder) is None:
            if name in self._own.servers_in(folder):
                return "the gateway already has another server of that name"
            self._own.put([name], converted, folder)
        self._originals.put([str(file), name], entry, folder)
        return None

    def find_sign_in(self, name: str, entry: Any, folder: str | None) -> str | None:
        """Our name of a moved server that is remote and has no headers that could authorize requests."""
        own = self._find(name, entry, folder) or name
        found = self._own.servers_in(folder).get(own, {})
        is_local = "command" in found or is_loopback(urlsplit(str(found.get("url"))).hostname or "")
        return None if is_local or found.get("headers") else own

    def restore(self, file: Path) -> dict[str | None, Data]:
        """The servers that were moved out of a file, as they were, by their folder; they are no longer stored for
        it."""
        return {folder: moved for folder in self._originals.list_folders() if (moved := self._restore(file, folder))}

    def _restore(self, file: Path, folder: str | None) -> Data:
        originals = self._originals.servers_in(folder)
        moved: Data = dict(originals.get(str(file), {}))
        if moved:
            self._originals.drop(str(file), folder)
        elsewhere = {self._find(name, servers[name], folder) for servers in originals.values() for name in servers}
        for name, entry in moved.items():
            own = self._find(name, entry, folder) or name  # which the user may have edited
            if own in self._own.servers_in(folder) and own not in elsewhere:
                self._own.drop(own, folder)
        return moved

    def changes(self) -> list[FileChange]:
        return [change for change in (self._own.change(), self._originals.change()) if change.is_needed]

    def _find(self, name: str, entry: Any, folder: str | None) -> str | None:
        """The name of the same server in our file."""
        wanted, known = fingerprint(entry), self._own.servers_in(folder)
        names = sorted(known, key=lambda one: one != name)  # this name first
        return next((one for one in names if wanted and fingerprint(known[one]) == wanted), None)

    def _convert(self, agent: Agent, name: str, entry: Any) -> Data:
        """An entry as the gateway reads it; a ValueError says why it cannot be moved."""
        if is_off(entry):
            raise ValueError(DISABLED)
        plain: Data = normalize(entry)
        unknown = [key for key in plain if plain[key] and key not in READ | OMITTED]
        if isinstance(plain.get("tools"), Mapping):  # the permissions of Codex
            unknown.append("tools")
        if unknown:
            raise ValueError(f"only {agent.title} supports its '{unknown[0]}'")
        converted = {key: value for key, value in plain.items() if key in READ and value}
        if agent.timeout_unit and isinstance(timeout := plain.get("timeout"), int | float):
            converted["timeout_seconds"] = timeout * agent.timeout_unit
        if plain.get("type") == "sse" or (agent.url_is_sse and entry.get("url") and not plain.get("type")):
            converted["type"] = "sse"
        if agent.has_plain_variables:
            converted = _replace_variables(converted)
        server = next(servers_of({"mcpServers": {name: converted}}, self._home, "the configuration"), None)
        if not isinstance(server, ServerConfig):
            raise ValueError(server.reason if server else "it is not a server")
        return converted


def _replace_variables(value: Any) -> Any:
    """A value with $NAME written as ${NAME}."""
    if isinstance(value, Mapping):
        return {key: _replace_variables(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_replace_variables(each) for each in value]
    if isinstance(value, str) and "$(" in value:
        raise ValueError(f"it runs a command in {value!r}")
    return re.sub(r"\$(\w+)", r"${\1}", value) if isinstance(value, str) else value
