"""Servers of agents that move behind the gateway, and back.

They move to our own `mcp.json`, which the gateway reads; `moved.json` has their original entries, by file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist._http import is_loopback
from shortlist.install.agent_config import AgentConfig, Change, Data
from shortlist.install.agents import Agent
from shortlist.sources.mcp_servers.mcp_config import Server, servers_of


class Relocation:
    """The servers that are moved in one run, of any number of agents."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        self._own = AgentConfig(folder / "mcp.json", private=True)
        self._originals = AgentConfig(folder / "moved.json", "moved", private=True)

    def move(self, agent: Agent, file: Path, name: str, entry: Any) -> str | None:
        """Move a server behind the gateway; the reason, if it cannot be moved."""
        try:
            converted = _convert(agent, name, entry, self._home)
        except ValueError as error:
            return str(error)
        if self._own.servers.get(name, converted) != converted:
            return "the gateway already has another server of that name"
        self._own.put([name], converted)
        self._originals.put([str(file), name], entry)
        return None

    def restore(self, file: Path) -> Data:
        """The servers that were moved out of a file, as they were; they are no longer stored for it."""
        moved: Data = dict(self._originals.servers.get(str(file), {}))
        if moved:
            self._originals.drop(str(file))
        elsewhere = {name for servers in self._originals.servers.values() for name in servers}
        for name in moved:
            if name in self._own.servers and name not in elsewhere:
                self._own.drop(name)
        return moved

    def changes(self) -> list[Change]:
        return [change for change in (self._own.change(), self._originals.change()) if change.is_needed]


def _convert(agent: Agent, name: str, entry: Any, home: Path) -> Data:
    """An entry as the gateway reads it; a ValueError says why it cannot be moved."""
    if not isinstance(entry, Mapping):
        raise ValueError("it is not a mapping")
    converted = dict(entry)
    if keys := agent.gateway_keys:
        if unknown := [key for key in entry if key not in keys]:
            raise ValueError(f"only {agent.title} supports its '{unknown[0]}'")
        converted = {keys[key]: value for key, value in entry.items() if keys[key]}
    is_remote = not is_loopback(urlsplit(str(converted.get("url"))).hostname or "")
    if "command" not in converted and not converted.get("headers") and is_remote:
        raise ValueError("it may need a sign-in that only the agent can do")
    server = next(servers_of({"mcpServers": {name: converted}}, home, "the configuration"), None)
    if server is None:
        raise ValueError("it is disabled")
    if not isinstance(server, Server):
        raise ValueError(server.reason)
    return converted
