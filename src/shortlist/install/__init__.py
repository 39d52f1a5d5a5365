"""The entry in an agent's configuration that starts `shortlist mcp`; everything else there stays as it is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.install.agent_config import NAME, Change, Configuration, Data
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.install.relocation import Relocation

__all__ = ["AGENTS", "Places", "Plan", "Relocation", "Scope", "agents_named", "plan_install", "plan_uninstall"]

# Agents pass few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one agent: added, updated, removed, or nothing (unchanged, absent).

    With the servers that are moved away from it or back, and those that stay, each with the reason.
    """

    agent: Agent
    scope: Scope
    action: str
    change: Change
    moved: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def agents_named(names: Sequence[str], scope: Scope, places: Places) -> list[Agent]:
    """The agents of these names; "all" means those that are found on this machine and have such a configuration."""
    found: dict[str, Agent] = {}
    for name in names:
        if name == "all":
            here = [agent for agent in AGENTS.values() if agent.is_here(places)]
            found |= {agent.name: agent for agent in here if scope == "user" or agent.project}
        elif name in AGENTS:
            found[name] = AGENTS[name]
        else:
            raise InputError(f"There is no agent {name!r}; the known ones are {', '.join(AGENTS)}, or all.")
    if not found:
        raise InputError(f"No agent was found on this machine; name one: {', '.join(AGENTS)}.")
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
    """Add the entry, or update ours that is there. With a relocation, the agent's other servers move behind ours."""
    file = Configuration(agent.file(scope, places), agent.key, agent.form)
    entry = _entry(agent, scope, places, command)
    action = "unchanged" if name in file.servers else "added"
    if action == "added":
        file.put([name], entry)
    else:
        file.check_ours(name)
        for keys, value in list(_differences(file.servers[name], entry)):
            file.put([name, *keys], value)
            action = "updated"
    moved, left = [], {}
    others = [other for other in file.servers if relocation and not file.is_ours(other)]
    for other in others:
        if relocation and (reason := relocation.take(agent, file.path, other, file.servers[other])):
            left[other] = reason
        else:
            file.drop(other)
            moved.append(other)
    if moved and action == "unchanged":
        action = "updated"
    return Plan(agent, scope, action, file.change(), moved, left)


def plan_uninstall(
    agent: Agent, scope: Scope, places: Places, *, name: str = NAME, relocation: Relocation | None = None
) -> Plan:
    """Remove the entry, and nothing else. With a relocation, servers that were moved come back."""
    file = Configuration(agent.file(scope, places), agent.key, agent.form)
    action = "absent"
    if name in file.servers:
        file.check_ours(name)
        file.drop(name)
        action = "removed"
    moved = []
    for other, server in relocation.give_back(file.path).items() if relocation else ():
        if other not in file.servers:
            file.put([other], server)
            moved.append(other)
    return Plan(agent, scope, action, file.change(), moved)


def _differences(existing: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[tuple[list[str], Any]]:
    """The values to set, by their keys, so that an entry has all that another one has."""
    for key, value in entry.items():
        inner = existing.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            yield from (([key, *keys], each) for keys, each in _differences(inner, value))
        elif inner != value:
            yield [key], value


def _entry(agent: Agent, scope: Scope, places: Places, command: str | None) -> Data:
    """What starts us. Folders that variables name are passed on, but not in a file that others may share."""
    words = own_command(places)
    if command is not None:
        try:
            words = shlex.split(command, posix=places.platform != "win32")
        except ValueError:
            words = []
        if not words:
            raise InputError(f"The command {command!r} cannot be read: write it as for a shell.")
    entry: Data = {"type": "stdio"} if agent.says_type else {}
    entry |= {"command": words[0], "args": [*words[1:], "mcp"]}
    folders = {name: places.environment[name] for name in FOLDERS if places.environment.get(name)}
    if folders and scope == "user":
        entry["env"] = {name: str(Path(folder).expanduser().absolute()) for name, folder in folders.items()}
    return entry


def own_command(places: Places, python: str = sys.executable) -> list[str]:
    """The absolute path of the command `shortlist` of this environment, or of its Python, which can run it too."""
    name = "shortlist.exe" if places.platform == "win32" else "shortlist"
    folder = Path(python).parent  # not resolved: the Python of an environment may be a link out of it
    beside = [place for place in (folder / name, folder / "Scripts" / name) if place.is_file()]
    return [str(beside[0])] if beside else [python, "-m", "shortlist"]
