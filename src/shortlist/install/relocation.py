"""Servers of agents that move behind the gateway, and back.

They go to our own `mcp.json`, which the gateway reads; `moved.json` has their original entries, by file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist.install import toml_text
from shortlist.install.agent_config import Change, Configuration, Data
from shortlist.install.agents import Agent
from shortlist.sources.mcp_servers.mcp_config import Server, servers_of

LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Codex's keys of a server, and those of others for them; "" is left out.
CODEX = {
    **{key: key for key in ("command", "args", "env", "cwd", "url", "enabled", "enabled_tools", "disabled_tools")},
    "http_headers": "headers",
    "tool_timeout_sec": "timeout_seconds",
    "startup_timeout_sec": "",
}
CODEX_VARIABLES = ("env_vars", "env_http_headers", "bearer_token_env_var")


class Relocation:
    """The servers that are moved in one run, of any number of agents."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        self._own = Configuration(folder / "mcp.json", private=True)
        self._originals = Configuration(folder / "moved.json", "moved", private=True)

    def take(self, agent: Agent, file: Path, name: str, entry: Any) -> str | None:
        """Move a server behind the gateway; the reason, if it cannot be moved."""
        try:
            converted = _for_gateway(agent, name, entry, self._home)
        except ValueError as error:
            return str(error)
        if self._own.servers.get(name, converted) != converted:
            return "another server of that name is there already"
        self._own.put([name], converted)
        self._originals.put([str(file), name], entry)
        return None

    def give_back(self, file: Path) -> Data:
        """The servers that were moved out of a file, as they were; they are no longer stored for it."""
        taken: Data = dict(self._originals.servers.get(str(file), {}))
        if taken:
            self._originals.drop(str(file))
        elsewhere = {name for servers in self._originals.servers.values() for name in servers}
        for name in taken:
            if name in self._own.servers and name not in elsewhere:
                self._own.drop(name)
        return taken

    def changes(self) -> list[Change]:
        return [change for change in (self._own.change(), self._originals.change()) if change.is_one]


def _for_gateway(agent: Agent, name: str, entry: Any, home: Path) -> Data:
    """An entry as the gateway reads it; a ValueError says why it cannot be moved."""
    if not isinstance(entry, Mapping):
        raise ValueError("it is no mapping")
    converted = dict(entry)
    if agent.form is toml_text:
        if any(key in entry for key in CODEX_VARIABLES):
            raise ValueError("Codex hands the variables that it needs to no other server")
        if unknown := [key for key in entry if key not in CODEX]:
            raise ValueError(f"only Codex understands its '{unknown[0]}'")
        converted = {CODEX[key]: value for key, value in entry.items() if CODEX[key]}
    is_remote = urlsplit(str(converted.get("url"))).hostname not in LOOPBACK
    if "command" not in converted and not converted.get("headers") and is_remote:
        raise ValueError("it may need a sign-in that only the agent can do")
    found = next(servers_of({"mcpServers": {name: converted}}, home, "the configuration"), None)
    if found is None:
        raise ValueError("it is switched off")
    if not isinstance(found, Server):
        raise ValueError(found.reason)
    return converted
