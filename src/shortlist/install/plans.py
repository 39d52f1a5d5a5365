"""Plans that add, update or remove the entry of an agent that starts `shortlist mcp`; all else there stays as it is."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shortlist._text import did_you_mean
from shortlist.errors import InputError
from shortlist.install import json_text
from shortlist.install.agent_config import NAME, AgentConfig, Data, FileChange, UnsafeChange, is_ours
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.install.hooks import HookPlan
from shortlist.install.relocation import DISABLED, Relocation
from shortlist.mcp_client.server_entries import is_server, split_command

# Agents pass few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")
UVX = ("--from", "shortlist[mcp]", "shortlist")
UVX_CACHE = re.compile(r"(?:archive|environments)-v\d+")  # where it makes environments, until `uv cache prune`


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for one agent: the action (added, updated, removed, unchanged, absent or manual), the change of its
    file, the servers that move out of it or back, those that cannot move, with the reason, and the commands for those
    of the moved ones that may need a sign-in. The name of a server for one folder is followed by that folder.

    An agent without a file gets a snippet for the user to paste instead of a change.
    """

    agent: Agent
    scope: Scope
    action: str
    change: FileChange | None
    moved: list[str]
    left: dict[str, str] = field(default_factory=dict)
    sign_in: list[str] = field(default_factory=list)
    snippet: str = ""
    hook: str = ""  # what to do about the hook, if anything: added, updated, removed, unchanged, absent or none
    hook_change: FileChange | None = None  # of its file, if that is another one

    def with_hook(self, hook: HookPlan) -> Plan:
        if hook.change and self.change and hook.change.path == self.change.path:
            return replace(self, hook=hook.action, change=hook.change)
        return replace(self, hook=hook.action, hook_change=hook.change)


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
        moved, left, sign_in = _move_others(agent, file, relocation) if relocation else ([], {}, [])
        if moved and relocation and agent.variables and relocation.variables:
            file.put([name, agent.variables], relocation.variables)
        action = "updated" if moved and action == "unchanged" else action
        return Plan(agent, scope, action, file.change(), moved, left, sign_in)
    except UnsafeChange as error:
        raise UnsafeChange(f"{error} This is the entry:\n\n{file.render(name, entry)}") from None


def _move_others(
    agent: Agent, file: AgentConfig, relocation: Relocation
) -> tuple[list[str], dict[str, str], list[str]]:
    """Move the other servers of an agent behind ours: those that are moved, the others with the reason, and commands
    for the sign-in that the moved ones may need."""
    moved, left, sign_in = [], {}, []
    for folder, off in file.list_folders().items():
        for name, entry in list(file.servers_in(folder).items()):
            if not is_server(entry) or is_ours(entry):
                continue
            if reason := DISABLED if name in off else relocation.move(agent, file.path, name, entry, folder):
                left[_label(name, folder)] = reason
                continue
            file.drop(name, folder)
            moved.append(_label(name, folder))
            if own := relocation.find_sign_in(name, entry, folder):
                inside = f"cd {shlex.quote(folder)} && " if folder else ""
                sign_in.append(f"{inside}shortlist mcp login {shlex.quote(own)}")
    return moved, left, sign_in


def _label(name: str, folder: str | None) -> str:
    return name if folder is None else f"{name} ({folder})"


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
    moved = []
    for folder, servers in restored.items():
        for other in [name for name in servers if name not in file.servers_in(folder)]:
            file.put([other], servers[other], folder)
            moved.append(_label(other, folder))
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
    words = make_command(places, command)
    folders = {key: str(folder.absolute()) for key in FOLDERS if (folder := places.folder(key))}
    return agent.make_entry(name, [*words, "mcp"], folders if scope == "user" else {})


def make_command(places: Places, command: str | None) -> list[str]:
    """The words of the command that the user gave, or of that of this environment."""
    if command is None:
        return find_own_command(places)
    try:
        words = split_command(command, places.platform)
    except ValueError:
        words = []
    if not words:
        raise InputError(f"The command {command!r} cannot be parsed. Write it as in a shell.")
    return words


def find_own_command(places: Places, python: str = sys.executable) -> list[str]:
    """The absolute path of the command `shortlist` of this environment, or its Python, which can run it too.

    An environment of uvx is temporary, so there it is uvx that starts shortlist.
    """
    name = "shortlist.exe" if places.platform == "win32" else "shortlist"
    folder = Path(python).parent  # not resolved: the Python of an environment may be a link out of it
    if UVX_CACHE.fullmatch(folder.parent.parent.name):
        return [shutil.which("uvx") or "uvx", *UVX]
    beside = [place for place in (folder / name, folder / "Scripts" / name) if place.is_file()]
    return [str(beside[0])] if beside else [python, "-P", "-m", "shortlist"]
