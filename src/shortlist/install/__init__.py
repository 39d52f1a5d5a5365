"""The entry in an agent's configuration that starts `shortlist mcp`; everything else there stays as it is.

Other servers of an agent can be moved behind the gateway, and back.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist._http import is_loopback
from shortlist._text import did_you_mean
from shortlist.errors import InputError
from shortlist.install import json_text
from shortlist.install.agent_config import NAME, AgentConfig, Change, Data, UnsafeChange
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.mcp_client.server_config import TIME_LIMIT_KEYS, ServerConfig, servers_of
from shortlist.mcp_client.server_entries import (
    ALLOW,
    DENY,
    fingerprint,
    is_off,
    is_server,
    normalize,
    variables_in,
)

# Agents pass few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")

# Keys of an entry that the gateway reads, or that concern only how the agent shows a server or asks before it calls.
READ = {"command", "args", "env", "cwd", "url", "headers", "oauth", *ALLOW, *DENY}
READ |= {key for keys in TIME_LIMIT_KEYS.values() for key in keys}
OMITTED = {"alwaysAllow", "alwaysLoad", "autoApprove", "bundled", "description", "disabled", "display_name", "enabled"}
OMITTED |= {"gallery", "name", "required", "role", "source", "timeout", "trust", "type", "version"}


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
        return sorted(variables_in(self._own.servers))

    def move(self, agent: Agent, file: Path, name: str, entry: Any) -> str | None:
        """Move a server behind the gateway; the reason, if it cannot be moved."""
        try:
            converted = self._convert(agent, name, entry)
        except ValueError as error:
            return str(error)
        if self._find(name, converted) is None:
            if name in self._own.servers:
                return "the gateway already has another server of that name"
            self._own.put([name], converted)
        self._originals.put([str(file), name], entry)
        return None

    def find_sign_in(self, name: str, entry: Any) -> str | None:
        """Our name of a moved server that is remote and has no headers that could authorize requests."""
        own = self._find(name, entry) or name
        found = self._own.servers.get(own, {})
        is_local = "command" in found or is_loopback(urlsplit(str(found.get("url"))).hostname or "")
        return None if is_local or found.get("headers") else own

    def restore(self, file: Path) -> Data:
        """The servers that were moved out of a file, as they were; they are no longer stored for it."""
        moved: Data = dict(self._originals.servers.get(str(file), {}))
        if moved:
            self._originals.drop(str(file))
        elsewhere = {self._find(*item) for servers in self._originals.servers.values() for item in servers.items()}
        for name, entry in moved.items():
            own = self._find(name, entry) or name  # which the user may have edited
            if own in self._own.servers and own not in elsewhere:
                self._own.drop(own)
        return moved

    def changes(self) -> list[Change]:
        return [change for change in (self._own.change(), self._originals.change()) if change.is_needed]

    def _find(self, name: str, entry: Any) -> str | None:
        """The name of the same server in our file."""
        wanted = fingerprint(entry)
        names = sorted(self._own.servers, key=lambda known: known != name)  # this name first
        return next((known for known in names if wanted and fingerprint(self._own.servers[known]) == wanted), None)

    def _convert(self, agent: Agent, name: str, entry: Any) -> Data:
        """An entry as the gateway reads it; a ValueError says why it cannot be moved."""
        if is_off(entry):
            raise ValueError("it is disabled")
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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for one agent: the action (added, updated, removed, unchanged, absent or manual), the change of its
    file, the servers that move out of it or back, those that cannot move, with the reason, and those of the moved ones
    that may need a sign-in.

    An agent without a file gets a snippet for the user to paste instead of a change.
    """

    agent: Agent
    scope: Scope
    action: str
    change: Change | None
    moved: list[str]
    left: dict[str, str] = field(default_factory=dict)
    sign_in: list[str] = field(default_factory=list)
    snippet: str = ""


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
            near = did_you_mean(name, AGENTS)
            raise InputError(f"{name!r} is not a known agent.{near} Use {', '.join(AGENTS)} or all.")
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
    entry = _make_entry(agent, name, scope, places, command)
    if agent.hint:
        return Plan(agent, scope, "manual", None, [], snippet=json_text.put("", [agent.key, name], entry))
    file = AgentConfig(agent.file(scope, places), agent.key)
    try:
        action = "added"
        if name in file.servers:
            file.check_ours(name)
            action = "unchanged"
            for keys, value in list(_find_differences(file.servers[name], entry, agent.fixed)):
                file.put([name, *keys], value)
                action = "updated"
        else:
            file.put([name], entry)
        servers = dict(file.servers)
        moved, left = _move_others(agent, file, relocation) if relocation else ([], {})
        if moved and relocation and agent.variables and relocation.variables:
            file.put([name, agent.variables], relocation.variables)
        action = "updated" if moved and action == "unchanged" else action
        found = [relocation.find_sign_in(other, servers[other]) for other in moved] if relocation else []
        return Plan(agent, scope, action, file.change(), moved, left, [own for own in found if own])
    except UnsafeChange as error:
        raise UnsafeChange(f"{error} This is the entry:\n\n{file.render(name, entry)}") from None


def _move_others(agent: Agent, file: AgentConfig, relocation: Relocation) -> tuple[list[str], dict[str, str]]:
    """Move the other servers of an agent behind ours: those that are moved, and the others with the reason."""
    moved, left = [], {}
    for name in [name for name, entry in file.servers.items() if is_server(entry) and not file.is_ours(name)]:
        if reason := relocation.move(agent, file.path, name, file.servers[name]):
            left[name] = reason
        else:
            file.drop(name)
            moved.append(name)
    return moved, left


def plan_uninstall(
    agent: Agent, scope: Scope, places: Places, *, name: str = NAME, relocation: Relocation | None = None
) -> Plan:
    """Remove the entry, and nothing else. With a relocation, the servers that were moved come back."""
    if agent.hint:
        return Plan(agent, scope, "manual", None, [])
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


def _find_differences(
    existing: Mapping[str, Any], entry: Mapping[str, Any], fixed: Mapping[str, Any]
) -> Iterator[tuple[list[str], Any]]:
    """The values to set, by their keys, so that an existing entry starts us; the user may change what is fixed."""
    for key, value in entry.items():
        inner = existing.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            yield from (([key, *keys], each) for keys, each in _find_differences(inner, value, {}))
        elif inner != value and not (key in fixed and key in existing):
            yield [key], value


def _make_entry(agent: Agent, name: str, scope: Scope, places: Places, command: str | None) -> Data:
    """The entry that starts us. Folders in variables are passed on, except in a file that others may share."""
    words = find_own_command(places)
    if command is not None:
        try:
            words = shlex.split(command, posix=places.platform != "win32")
        except ValueError:
            words = []
        if not words:
            raise InputError(f"The command {command!r} cannot be parsed. Write it as in a shell.")
    folders = {key: str(folder.absolute()) for key in FOLDERS if (folder := places.folder(key))}
    return agent.make_entry(name, [*words, "mcp"], folders if scope == "user" else {})


def find_own_command(places: Places, python: str = sys.executable) -> list[str]:
    """The absolute path of the command `shortlist` of this environment, or its Python, which can run it too."""
    name = "shortlist.exe" if places.platform == "win32" else "shortlist"
    folder = Path(python).parent  # not resolved: the Python of an environment may be a link out of it
    beside = [place for place in (folder / name, folder / "Scripts" / name) if place.is_file()]
    return [str(beside[0])] if beside else [python, "-P", "-m", "shortlist"]
