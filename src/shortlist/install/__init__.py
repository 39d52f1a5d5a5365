"""The entry in an agent's configuration that starts `shortlist mcp`; everything else there stays as it is.

Other servers of an agent can be moved behind the gateway, and back.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist._http import is_loopback
from shortlist.errors import InputError
from shortlist.install.agent_config import NAME, AgentConfig, Change, Data
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.sources.mcp_servers.mcp_config import Server, servers_of

# Agents pass few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")


class Relocation:
    """Servers of agents that are moved to our own `mcp.json`, which the gateway reads, or back, in one run.

    `moved.json` has their original entries, by file.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self._home = home
        self._own = AgentConfig(folder / "mcp.json", private=True)
        self._originals = AgentConfig(folder / "moved.json", "moved", private=True)

    def move(self, agent: Agent, file: Path, name: str, entry: Any) -> str | None:
        """Move a server behind the gateway; the reason, if it cannot be moved."""
        try:
            converted = self._convert(agent, name, entry)
        except ValueError as error:
            return str(error)
        if self._own.servers.get(name, converted) != converted:
            return "the gateway already has another server of that name"
        self._own.put([name], converted)
        self._originals.put([str(file), name], entry)
        return None

    def may_need_sign_in(self, name: str) -> bool:
        """Whether a server that was moved is remote and has no headers that could authorize requests."""
        entry = self._own.servers[name]
        is_local = "command" in entry or is_loopback(urlsplit(str(entry.get("url"))).hostname or "")
        return not is_local and not entry.get("headers")

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

    def _convert(self, agent: Agent, name: str, entry: Any) -> Data:
        """An entry as the gateway reads it; a ValueError says why it cannot be moved."""
        if not isinstance(entry, Mapping):
            raise ValueError("it is not a mapping")
        converted = dict(entry)
        if keys := agent.gateway_keys:
            if unknown := [key for key in entry if key not in keys]:
                raise ValueError(f"only {agent.title} supports its '{unknown[0]}'")
            converted = {keys[key]: value for key, value in entry.items() if keys[key]}
        server = next(servers_of({"mcpServers": {name: converted}}, self._home, "the configuration"), None)
        if not isinstance(server, Server):
            raise ValueError(server.reason if server else "it is disabled")
        return converted


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for one agent: the action (added, updated, removed, unchanged or absent), the change of its file, the
    servers that move out of it or back, those that cannot move, with the reason, and those of the moved ones that may
    need a sign-in."""

    agent: Agent
    scope: Scope
    action: str
    change: Change
    moved: list[str]
    left: dict[str, str] = field(default_factory=dict)
    sign_in: list[str] = field(default_factory=list)


def find_agents(names: Sequence[str], scope: Scope, places: Places) -> list[Agent]:
    """The agents of these names; "all" means those that are installed and have a configuration of this scope."""
    found: dict[str, Agent] = {}
    for name in names:
        if name == "all":
            installed = [agent for agent in AGENTS.values() if agent.is_installed(places)]
            found |= {agent.name: agent for agent in installed if scope == "user" or agent.project}
        elif name in AGENTS:
            found[name] = AGENTS[name]
        else:
            raise InputError(f"{name!r} is not a known agent. Use {', '.join(AGENTS)} or all.")
    if not found:
        raise InputError(f"No agent was found on this machine. Name one of {', '.join(AGENTS)}.")
    return list(found.values())


def plan_install(
    agent: Agent,
    scope: Scope,
    places: Places,
    *,
    name: str = NAME,
    command: str | None = None,
    relocation: Relocation | None = None,
) -> Plan:
    """Add the entry, or update it. With a relocation, the agent's other servers move behind ours."""
    file = AgentConfig(agent.file(scope, places), agent.key)
    entry = _make_entry(agent, scope, places, command)
    action = "added"
    if name in file.servers:
        file.check_ours(name)
        action = "unchanged"
        for keys, value in list(_find_differences(file.servers[name], entry)):
            file.put([name, *keys], value)
            action = "updated"
    else:
        file.put([name], entry)
    moved, left = [], {}
    for other in [other for other in file.servers if relocation and not file.is_ours(other)]:
        if relocation and (reason := relocation.move(agent, file.path, other, file.servers[other])):
            left[other] = reason
        else:
            file.drop(other)
            moved.append(other)
    action = "updated" if moved and action == "unchanged" else action
    sign_in = [other for other in moved if relocation and relocation.may_need_sign_in(other)]
    return Plan(agent, scope, action, file.change(), moved, left, sign_in)


def plan_uninstall(
    agent: Agent, scope: Scope, places: Places, *, name: str = NAME, relocation: Relocation | None = None
) -> Plan:
    """Remove the entry, and nothing else. With a relocation, the servers that were moved come back."""
    path = agent.file(scope, places)
    restored = relocation.restore(path) if relocation else {}
    file = AgentConfig(path, agent.key, private=bool(restored) and not path.exists())
    action = "absent"
    if name in file.servers:
        file.check_ours(name)
        file.drop(name)
        action = "removed"
    moved = [other for other in restored if other not in file.servers]
    for other in moved:
        file.put([other], restored[other])
    return Plan(agent, scope, action, file.change(), moved)


def _find_differences(existing: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[tuple[list[str], Any]]:
    """The values to set, by their keys, so that an existing entry has all that another one has."""
    for key, value in entry.items():
        inner = existing.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            yield from (([key, *keys], each) for keys, each in _find_differences(inner, value))
        elif inner != value:
            yield [key], value


def _make_entry(agent: Agent, scope: Scope, places: Places, command: str | None) -> Data:
    """The entry that starts us. Folders in variables are passed on, except in a file that others may share."""
    words = find_own_command(places)
    if command is not None:
        try:
            words = shlex.split(command, posix=places.platform != "win32")
        except ValueError:
            words = []
        if not words:
            raise InputError(f"The command {command!r} cannot be parsed. Write it as in a shell.")
    entry: Data = {"type": "stdio"} if agent.has_type else {}
    entry |= {"command": words[0], "args": [*words[1:], "mcp"]}
    folders = {name: str(folder.absolute()) for name in FOLDERS if (folder := places.folder(name))}
    return entry | ({"env": folders} if folders and scope == "user" else {})


def find_own_command(places: Places, python: str = sys.executable) -> list[str]:
    """The absolute path of the command `shortlist` of this environment, or its Python, which can run it too."""
    name = "shortlist.exe" if places.platform == "win32" else "shortlist"
    folder = Path(python).parent  # not resolved: the Python of an environment may be a link out of it
    beside = [place for place in (folder / name, folder / "Scripts" / name) if place.is_file()]
    return [str(beside[0])] if beside else [python, "-m", "shortlist"]
