"""Whether the entries in agents' configurations really start `shortlist mcp`: each is run once, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from shortlist._text import count_of
from shortlist.documents import Document, Problem
from shortlist.errors import ShortlistError
from shortlist.install.agent_config import NAME, AgentConfig
from shortlist.install.agents import AGENTS, Agent, Places, Scope
from shortlist.install.plans import find_own_command
from shortlist.mcp_client.server_config import ServerConfig, runs_shortlist, servers_of
from shortlist.mcp_client.server_entries import command_line, is_off, normalize
from shortlist.sources.mcp_tools import read_servers

START_SECONDS = 30.0
# What a program has that is started from the desktop. On Windows it is the PATH of the user.
DESKTOP_PATHS = {"darwin": "/usr/bin:/bin:/usr/sbin:/sbin", "linux": "/usr/local/bin:/usr/bin:/bin"}


class AgentFinding(NamedTuple):
    """The state of one entry (ok, note or broken), and how to fix it."""

    name: str
    state: str
    says: str
    fix: str = ""


class _Started(NamedTuple):
    """An entry that can be started, and what is known of it before that."""

    title: str
    file: Path
    server: ServerConfig
    fix: str
    warning: str


def check_agents(places: Places, environment: Mapping[str, str]) -> Iterator[AgentFinding]:
    """The entries of all agents, started with these additional variables. Those that are equal are started once."""
    found = [
        item for agent in AGENTS.values() for scope in _scopes(agent) for item in _find_entries(agent, scope, places)
    ]
    if not found:
        fix = "shortlist install --agent all"
        yield AgentFinding("agents", "note", "no agent is configured to start shortlist", fix)
    yield from (item for item in found if isinstance(item, AgentFinding))
    started = [item for item in found if isinstance(item, _Started)]
    distinct = {_key_of(entry.server): entry.server for entry in started}
    servers = [replace(server, env={**server.env, **environment}) for server in distinct.values()]
    items = list(read_servers(iter(servers), START_SECONDS))
    for entry in started:
        name = distinct[_key_of(entry.server)].name
        mine = [item for item in items if item.source == name]
        failures = [item.reason for item in mine if isinstance(item, Problem)]
        tools = [item.id for item in mine if isinstance(item, Document) and item.kind == "tool"]
        if f"{name}/discover" not in tools:
            says = failures[0] if failures else "The server does not offer the tools of shortlist."
            yield AgentFinding(entry.title, "broken", f"{entry.file}: {says}", entry.fix)
        elif entry.warning:
            yield AgentFinding(entry.title, "note", entry.warning, entry.fix)
        else:
            says = f"starts shortlist with {count_of(len(tools), 'tool')} ({entry.file})"
            yield AgentFinding(entry.title, "ok", says)


def _scopes(agent: Agent) -> list[Scope]:
    scopes: list[Scope] = [] if agent.hint else ["user"]
    return [*scopes, "project"] if agent.project else scopes


def _find_entries(agent: Agent, scope: Scope, places: Places) -> Iterator[AgentFinding | _Started]:
    """Our entries in a file of an agent: what can be started, and what is known to be wrong without that."""
    title = agent.title if scope == "user" else f"{agent.title} (project)"
    fix = f"shortlist install --agent {agent.name}" + ("" if scope == "user" else " --project")
    try:
        file = AgentConfig(agent.file(scope, places), agent.key)
    except (ShortlistError, OSError) as error:
        yield AgentFinding(title, "note", str(error))
        return
    for name, entry in file.servers.items():
        if not runs_shortlist(command_line(entry)):
            continue
        item = next(servers_of({"mcpServers": {f"{NAME} of {title}": entry}}, places.project, str(file.path)), None)
        if is_off(entry) or item is None:
            yield AgentFinding(title, "note", f"the server {name} in {file.path} is disabled")
        elif isinstance(item, Problem):
            yield AgentFinding(title, "broken", item.reason, fix)
        elif scope == "project" and not _is_as_written(entry, places):
            says = f"{file.path} starts shortlist in its own way; it is not run here, as a project can name any command"
            yield AgentFinding(title, "note", says)
        elif _imports_from_projects(item):
            says = f"{file.path} runs python -m {NAME} without -P, so a file {NAME}.py of any project would run instead"
            yield AgentFinding(title, "broken", says, fix)
        elif shutil.which(item.command, path=item.env.get("PATH", os.environ.get("PATH"))) is None:
            yield AgentFinding(title, "broken", f"{file.path} runs {item.command}, which is not found", fix)
        else:
            # Only its command is ours; the current folder may be a project of someone else.
            server = replace(item, url="", headers={}, is_sse=False, cwd=item.cwd or places.home)
            yield _Started(title, file.path, server, fix, _warn(agent, server, places))


def _imports_from_projects(server: ServerConfig) -> bool:
    """Whether the command runs our module from the working directory if that has one of its name."""
    before, flag, _ = " ".join(server.args).partition(f"-m {NAME}")
    return bool(flag) and not {"-P", "-I"} & set(before.split()) and not server.env.get("PYTHONSAFEPATH")


def _is_as_written(entry: Any, places: Places) -> bool:
    """Whether a project's entry runs nothing but our own command."""
    plain = normalize(entry)
    commands = [[*find_own_command(places), "mcp"]]
    if places.platform != "win32":  # which looks for a command in the current folder first
        commands.append([NAME, "mcp"])
    return command_line(entry) in commands and not plain.get("env") and not plain.get("cwd")


def _warn(agent: Agent, server: ServerConfig, places: Places) -> str:
    """A warning if only a shell has the PATH with which the command is found."""
    path = server.env.get("PATH", DESKTOP_PATHS.get(places.platform))
    if not agent.is_desktop or path is None or shutil.which(server.command, path=path):
        return ""
    return f"{agent.title} may not find {server.command}: from the desktop it starts without the PATH of this shell"


def _key_of(server: ServerConfig) -> tuple[Any, ...]:
    return server.command, server.args, tuple(sorted(server.env.items())), server.cwd
