"""How does an agent come to start `shortlist mcp`? By an entry in its own configuration; all else there stays."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.install.agent_config import NAME, Configuration, Data
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.install.file_changes import Change
from shortlist.install.relocated import Moves

__all__ = ["AGENTS", "Moves", "Places", "Plan", "Scope", "agents_named", "installing", "uninstalling"]

# Agents hand few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one agent: added, updated, removed, or nothing (unchanged, absent).

    With the servers that are moved away from it or back, and those that are left to it, each with the reason.
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


def installing(
    agent: Agent,
    scope: Scope,
    places: Places,
    *,
    name: str = NAME,
    command: str | None = None,
    moves: Moves | None = None,
) -> Plan:
    """The entry added; one of ours that is there is brought up to date, and keeps what else stands in it. With `moves`
    the agent's other servers come behind ours."""
    file = Configuration(agent.file(scope, places), agent.key, agent.form)
    entry = _entry(agent, scope, places, command)
    action = "added"
    if name in file.servers:
        file.check_ours(name)
        action = "unchanged"
        for keys, value in _differences(file.servers[name], entry):
            file.put([name, *keys], value)
            action = "updated"
    else:
        file.put([name], entry)
    moved, left = [], {}
    for other, server in list(file.servers.items()) if moves else ():
        if moves and not file.is_ours(other):
            reason = moves.take(agent, file.path, other, server)
            if reason:
                left[other] = reason
            else:
                file.drop(other)
                moved.append(other)
    if moved and action == "unchanged":
        action = "updated"
    return Plan(agent, scope, action, file.change(), moved, left)


def uninstalling(agent: Agent, scope: Scope, places: Places, *, name: str = NAME, moves: Moves | None = None) -> Plan:
    """The entry removed, and nothing else. With `moves`, servers that were moved come back to where they were."""
    file = Configuration(agent.file(scope, places), agent.key, agent.form)
    action = "absent"
    if name in file.servers:
        file.check_ours(name)
        file.drop(name)
        action = "removed"
    moved = []
    for other, server in moves.give_back(file.path).items() if moves else ():
        if other not in file.servers:
            file.put([other], server)
            moved.append(other)
    return Plan(agent, scope, action, file.change(), moved)


def _entry(agent: Agent, scope: Scope, places: Places, command: str | None) -> Data:
    """What starts us. Folders that variables name are passed on, but not in a file that others may share."""
    first, *rest = own_command(places) if command is None else _words(command, places)
    entry: Data = {"type": "stdio"} if agent.says_type else {}
    entry |= {"command": first, "args": [*rest, "mcp"]}
    folders = {name: places.environment[name] for name in FOLDERS if places.environment.get(name)}
    if folders and scope == "user":
        entry["env"] = {name: str(Path(folder).expanduser().absolute()) for name, folder in folders.items()}
    return entry


def _words(command: str, places: Places) -> list[str]:
    try:
        words = shlex.split(command, posix=places.platform != "win32")
    except ValueError:
        words = []
    if not words:
        raise InputError(f"The command {command!r} cannot be read: write it as for a shell.")
    return words


def own_command(places: Places, python: str = sys.executable) -> list[str]:
    """The absolute path of the command `shortlist` of this environment, or of its Python, which can run it too."""
    name = "shortlist.exe" if places.platform == "win32" else "shortlist"
    folder = Path(python).parent  # not resolved: the Python of an environment may be a link out of it
    beside = [place for place in (folder / name, folder / "Scripts" / name) if place.is_file()]
    return [str(beside[0])] if beside else [python, "-m", "shortlist"]


def _differences(existing: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[tuple[list[str], Any]]:
    """What has to be set in an entry so that it starts us as the other does."""
    for key, value in entry.items():
        if key != "env":
            if existing.get(key) != value:
                yield [key], value
        elif not isinstance(existing.get("env"), Mapping):
            yield ["env"], value
        else:
            yield from (
                (["env", name], folder) for name, folder in value.items() if existing["env"].get(name) != folder
            )
