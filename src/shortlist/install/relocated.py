"""Which servers of an agent can come behind ours instead, and how do they come back?

They are kept in our own `mcp.json`, which the gateway reads, and as they were, by the file they are from, in
`moved.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist.install import toml_text
from shortlist.install.agent_config import Configuration, Data
from shortlist.install.agents import Agent
from shortlist.install.file_changes import Change
from shortlist.sources.mcp_servers.mcp_config import Server, servers_of

LOOPBACK = ("localhost", "127.0.0.1", "::1")

# What Codex says of a server, and the word that others have for it.
CODEX = {
    **dict.fromkeys(("command", "args", "env", "cwd", "url", "enabled", "enabled_tools", "disabled_tools")),
    "http_headers": "headers",
    "tool_timeout_sec": "timeout_seconds",
    "startup_timeout_sec": "",  # is nobody else's business
}
CODEX_VARIABLES = ("env_vars", "env_http_headers", "bearer_token_env_var")


class Moves:
    """Servers that are moved in one run, of any number of agents."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        self._own = Configuration(folder / "mcp.json", private=True)
        self._kept = Configuration(folder / "moved.json", "moved", private=True)

    def take(self, agent: Agent, file: Path, name: str, entry: Any) -> str | None:
        """Move a server behind the gateway; why not, if it cannot be."""
        try:
            told = _for_gateway(agent, name, entry, self._home)
        except ValueError as error:
            return str(error)
        if self._own.servers.get(name, told) != told:
            return "another server of that name is there already"
        self._own.put([name], told)
        self._kept.put([str(file), name], entry)
        return None

    def give_back(self, file: Path) -> Data:
        """The servers that were moved out of a file, as they were; they are no longer kept for it."""
        taken: Data = self._kept.servers.get(str(file), {})
        if not taken:
            return {}
        self._kept.drop(str(file))
        elsewhere = {name for servers in self._kept.servers.values() for name in servers}
        for name in taken:
            if name in self._own.servers and name not in elsewhere:
                self._own.drop(name)
        return dict(taken)

    def changes(self) -> list[Change]:
        return [change for change in (self._own.change(), self._kept.change()) if change.is_one]


def _for_gateway(agent: Agent, name: str, entry: Any, home: Path) -> Data:
    """An entry in the words that the gateway knows; a ValueError says why it cannot be."""
    if not isinstance(entry, Mapping):
        raise ValueError("it is no mapping")
    told = _from_codex(entry) if agent.form is toml_text else dict(entry)
    if "command" not in told and not told.get("headers") and urlsplit(str(told.get("url"))).hostname not in LOOPBACK:
        raise ValueError("it may need a sign-in that only the agent can do")
    found = next(servers_of({"mcpServers": {name: told}}, home, "the configuration"), None)
    if found is None:
        raise ValueError("it is switched off")
    if not isinstance(found, Server):
        raise ValueError(found.reason)
    return told


def _from_codex(entry: Mapping[str, Any]) -> Data:
    if any(key in entry for key in CODEX_VARIABLES):
        raise ValueError("Codex hands the variables that it needs to no other server")
    unknown = [key for key in entry if key not in CODEX]
    if unknown:
        raise ValueError(f"only Codex understands its '{unknown[0]}'")
    return {CODEX[key] or key: value for key, value in entry.items() if CODEX[key] != ""}
