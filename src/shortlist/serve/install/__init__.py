"""How does an agent come to start `shortlist mcp`? By an entry in its own configuration; all else there stays."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from shortlist.errors import InputError, SourceError
from shortlist.serve.install import jsonc
from shortlist.serve.install.agents import AGENTS, Agent, Places, Scope
from shortlist.serve.install.files import MARK, Change, read_file
from shortlist.sources.mcp_config import SHORTEST_SECRET

__all__ = ["AGENTS", "NAME", "Places", "Plan", "Scope", "agents_named", "installing", "uninstalling"]

NAME = "shortlist"

# Agents hand few variables on to the servers that they start.
FOLDERS = ("SHORTLIST_CONFIG_DIR", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR")

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one agent: added, updated, removed, or nothing (unchanged, absent)."""

    agent: Agent
    scope: Scope
    action: str
    change: Change


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


def installing(agent: Agent, scope: Scope, places: Places, *, name: str = NAME, command: str | None = None) -> Plan:
    """The entry added. One of ours that is there is brought up to date, and keeps what else stands in it."""
    file = _Configuration(agent, agent.file(scope, places))
    entry = _entry(agent, scope, places, command)
    existing = file.servers.get(name)
    if existing is None:
        file.put([name], entry)
        return Plan(agent, scope, "added", file.change())
    file.check_ours(name)
    for keys, value in _differences(existing, entry):
        file.put([name, *keys], value)
    change = file.change()
    return Plan(agent, scope, "updated" if change.is_one else "unchanged", change)


def uninstalling(agent: Agent, scope: Scope, places: Places, *, name: str = NAME) -> Plan:
    """The entry removed, and nothing else."""
    file = _Configuration(agent, agent.file(scope, places))
    if name not in file.servers:
        return Plan(agent, scope, "absent", file.change())
    file.check_ours(name)
    file.drop(name)
    return Plan(agent, scope, "removed", file.change())


class _Configuration:
    """The servers in a file of an agent. Each edit is made in its text and in its data, which must say the same."""

    def __init__(self, agent: Agent, path: Path) -> None:
        self._agent, self._path = agent, path
        self._before = read_file(path)
        self._text = (self._before or "").removeprefix(MARK)
        try:
            self._data: Data = agent.form.read(self._text)
        except (ValueError, RecursionError) as error:
            form = "JSON" if agent.form is jsonc else "TOML"
            raise SourceError(f"{path} is not valid {form}: {error}. Nothing was changed: mend it first.") from None
        if not isinstance(self._data.get(agent.key, {}), dict):
            raise SourceError(f"In {path}, '{agent.key}' is no mapping of servers. Nothing was changed: mend it first.")
        self._secrets = frozenset(_secrets(self.servers))

    @property
    def servers(self) -> Data:
        found: Data = self._data.get(self._agent.key, {})
        return found

    def check_ours(self, name: str) -> None:
        entry = self.servers[name]
        words = [entry.get("command"), *(entry.get("args") or ())] if isinstance(entry, Mapping) else []
        if not any(isinstance(word, str) and PureWindowsPath(word).stem == NAME for word in words):
            raise InputError(
                f"The server {name!r} in {self._path} starts something else than shortlist: choose another --name."
            )

    def put(self, path: Sequence[str], value: Any) -> None:
        try:
            self._text = self._agent.form.put(self._text, [self._agent.key, *path], value)
        except ValueError as error:
            raise self._by_hand(str(error)) from None
        inside = self._data.setdefault(self._agent.key, {})
        for key in path[:-1]:
            inside = inside.setdefault(key, {})
        inside[path[-1]] = deepcopy(value)

    def drop(self, name: str) -> None:
        self._text = self._agent.form.drop(self._text, [self._agent.key, name])
        del self.servers[name]

    def change(self) -> Change:
        """What the edits amount to, once it is certain that they did what they should."""
        if not self._is_as_expected():
            raise self._by_hand("its servers are written in an unusual way")
        mark = MARK if (self._before or "").startswith(MARK) else ""
        return Change(self._path, self._before, mark + self._text, self._secrets)

    def _is_as_expected(self) -> bool:
        try:
            found = self._agent.form.read(self._text)
        except ValueError:
            return False
        if self._agent.form is jsonc:
            return json.dumps(found) == json.dumps(self._data)  # in the same order, too
        empty: Data = {self._agent.key: {}}  # a table without a header of its own goes with the last one in it
        return {**empty, **found} == {**empty, **self._data}

    def _by_hand(self, reason: str) -> SourceError:
        return SourceError(f"{self._path} cannot be changed safely: {reason}. Nothing was changed: do it by hand.")


def _entry(agent: Agent, scope: Scope, places: Places, command: str | None) -> Data:
    """What starts us. Folders that variables name are passed on, but not in a file that others may share."""
    first, *rest = shlex.split(command, posix=places.platform != "win32") if command else own_command(places)
    entry: Data = {"type": "stdio"} if agent.says_type else {}
    entry |= {"command": first, "args": [*rest, "mcp"]}
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


def _secrets(servers: Mapping[str, Any]) -> Iterator[str]:
    """What stands in environments and headers, and is nobody's business."""
    for entry in servers.values():
        for key in ("env", "headers", "http_headers"):
            values = entry.get(key) if isinstance(entry, Mapping) else None
            for value in values.values() if isinstance(values, Mapping) else ():
                if isinstance(value, str) and len(value) >= SHORTEST_SECRET:
                    yield value
