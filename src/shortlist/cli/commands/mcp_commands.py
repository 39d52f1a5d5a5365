"""The commands of the MCP server: run it, show its servers, approve project files and tools, permit or deny tools."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import shortlist
from shortlist._paths import config_dir
from shortlist._settings import load_learning, load_profile
from shortlist._text import did_you_mean, printable
from shortlist.cli.output import ERROR, OK, Output
from shortlist.errors import InputError, MissingExtra
from shortlist.install.agent_config import AgentConfig
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.profiles import Choice
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.server.llm_settings import connect, load_llm_settings
from shortlist.sources.mcp_servers import mcp_trust
from shortlist.sources.mcp_servers.mcp_config import OWN_FILE, PROJECT_FILES, ConfigurationFile, outline, project_files


def run(
    out: Output,
    config: Sequence[str],
    corpus: Sequence[str],
    learn: str | None,
    profile: str | None,
    only: Sequence[str],
) -> None:
    try:
        from shortlist.mcp.agent_server import AgentActions, serve_stdio  # noqa: PLC0415  # needs an extra
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "The MCP server") from error
    shortlist.Corpus.learning = load_learning(learn)
    collection = Collection(Gateway(_choose(config, profile, only)), StoredCorpora(corpus))
    # The files of the current folder may come with a repository, so they do not choose the model.
    model = functools.cache(lambda: connect(load_llm_settings(files=False)))
    asyncio.run(serve_stdio(AgentActions(collection, model)))


def _choose(config: Sequence[str], profile: str | None, only: Sequence[str]) -> GatewayConfig:
    return GatewayConfig(config, choice=Choice(tuple(only), *load_profile(profile)))


def status(out: Output, config: Sequence[str], refresh: bool, profile: str | None, only: Sequence[str]) -> None:
    gateway = Gateway(_choose(config, profile, only))
    if refresh:
        if find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", "Asking MCP servers")
        asyncio.run(_refresh(gateway))
    data = {
        "servers": gateway.status(),
        **gateway.profile,
        "pending": [tool.review() for tool in gateway.catalog.list_pending()],
        "pending_files": [{"file": one.id, "servers": one.servers} for one in gateway.pending_files],
    }
    brief = [*(row["file"] for row in data["pending_files"]), *(row["tool"] for row in data["pending"])]
    out.show(data, lambda screen: screen.show_servers(data), brief)


async def _refresh(gateway: Gateway) -> None:
    try:
        await gateway.refresh()
    finally:
        await gateway.close()


def approve(out: Output, names: Sequence[str], everything: bool, yes: bool, config: Sequence[str]) -> int:
    gateway = Gateway(GatewayConfig(config))
    pending = gateway.catalog.list_pending()
    wanted = pending if everything else _select(names, pending, gateway)
    if wanted and not yes and out.can_ask():
        rows = [tool.review() for tool in wanted]
        out.show({}, lambda screen: screen.show_pending_tools(rows))
        tools = wanted[0].id if len(wanted) == 1 else f"these {len(wanted)} tools"
        if not out.confirm(f"Approve {tools} as shown?"):
            return ERROR
    gateway.catalog.approve(wanted)
    left = [tool.review() for tool in gateway.catalog.list_pending()]
    data: dict[str, Any] = {"approved": [tool.id for tool in wanted], "pending": left}
    out.show(data, lambda screen: screen.show_approved(data), data["approved"])
    return OK


def _select(names: Sequence[str], pending: Sequence[Tool], gateway: Gateway) -> list[Tool]:
    """The pending tools that are named, or whose servers are."""
    selected: dict[str, Tool] = {}
    for name in names:
        matches = [tool for tool in pending if name in (tool.id, tool.server)]
        if not matches and name not in gateway.catalog.tools and name not in gateway.catalog.servers:
            near = did_you_mean(name, [*(tool.id for tool in pending), *gateway.catalog.servers])
            raise InputError(f"{name!r} is not a known tool or server.{near} List them with: shortlist mcp status")
        selected |= {tool.id: tool for tool in matches}
    return list(selected.values())


def trust(out: Output, path: str | None, listed: bool, revoke: bool, yes: bool) -> int:
    if listed or revoke:
        _list_trusted(out) if listed else _revoke(out, path)
        return OK
    files = _find_files(path)
    if not files:
        raise InputError(f"No project file in {path or Path.cwd()} configures MCP servers.")
    pending = [file for file in files if file.pending()]
    rows = [
        {
            "file": str(file.path),
            "state": "pending" if file in pending else "trusted",
            "servers": [outline(name, entry) for name, entry in file.entries().items()],
            "diff": mcp_trust.diff_since_approval(file.path, file.content),
        }
        for file in files
    ]
    data: dict[str, Any] = {"files": rows, "trusted": []}
    is_agreed, can_ask = yes, out.can_ask()
    if can_ask:
        out.show(data, lambda screen: screen.show_project_files(rows))
        is_agreed = yes or not pending or out.confirm("Trust what is shown above, exactly as it is now?")
    for file in pending if is_agreed else ():
        mcp_trust.trust(file.path, file.content)
        data["trusted"].append(str(file.path))
    if not can_ask:
        out.show(data, lambda screen: screen.show_project_files(rows), data["trusted"])
    if pending and is_agreed:
        out.note("Trusted. A running gateway starts these servers within seconds.")
    elif pending and not can_ask:
        out.warn("Nothing was approved. Review the files, then run this in a terminal, or add --yes.")
    return OK if is_agreed or not pending else ERROR


def _find_files(path: str | None) -> list[ConfigurationFile]:
    """The project files at a path, or of the current project, that configure servers."""
    places = project_files()
    if path is not None:
        place = Path(path).expanduser()
        if not place.exists():
            raise InputError(f"{path} does not exist. Give a project's file, such as .mcp.json, or its folder.")
        if not place.is_dir():
            return [ConfigurationFile(place, needs_trust=True)]
        places = [place / name for name in PROJECT_FILES]
    files = [ConfigurationFile(place) for place in places if place.is_file()]
    return [file for file in files if file.project and file.names_servers and file.entries()]


def _list_trusted(out: Output) -> None:
    rows = []
    for file in mcp_trust.approvals():
        try:
            state = "trusted" if mcp_trust.is_trusted(Path(file), Path(file).read_bytes()) else "changed"
        except OSError:
            state = "missing"
        rows.append({"file": file, "state": state})
    lines = [f"{row['state']:8} {printable(row['file'])}" for row in rows] or ["No project file is trusted."]
    out.show({"files": rows}, "\n".join(lines), [row["file"] for row in rows])


def _revoke(out: Output, path: str | None) -> None:
    place = Path(path).expanduser() if path else None
    files = [place, *(place / name for name in PROJECT_FILES)] if place else project_files()
    revoked = [str(file) for file in files if mcp_trust.revoke(file)]
    lines = [f"{file} is no longer trusted." for file in revoked] or ["No approval was found there."]
    out.show({"revoked": revoked}, "\n".join(lines), revoked)


def allow(out: Output, names: Sequence[str], read: bool, forget: bool) -> None:
    _permit(out, names, None if forget else "read" if read else "write")


def deny(out: Output, names: Sequence[str]) -> None:
    _permit(out, names, "never")


def _permit(out: Output, names: Sequence[str], access: str | None) -> None:
    path = config_dir() / OWN_FILE
    file = AgentConfig(path, "permissions", private=not path.exists())  # an existing file keeps its permissions
    for name in names:
        if not name.strip("/* "):
            raise InputError(f"{name!r} names no server. Write SERVER, SERVER/TOOL or SERVER/PATTERN*.")
        if access is not None:
            file.put([name], access)
        elif name in file.servers:
            file.drop(name)
    change = file.change()
    if change.is_needed:
        change.apply()
    servers = [row["name"] for row in Gateway(GatewayConfig()).status()] if access else []
    for name in names if access else ():
        is_pattern = any(mark in name.partition("/")[0] for mark in "*?[")
        if not is_pattern and not any(f"{name}/".startswith(f"{server}/") for server in servers):
            out.warn(f"No configured server matches {name!r}. The rule is stored anyway.")
    rules = dict(file.servers)
    lines = [f"{rule:5} {printable(name)}" for name, rule in rules.items()]
    lines = lines or ["No rules. Tools are read or write as their servers mark them."]
    out.show({"permissions": rules}, "\n".join(lines), [f"{name} {rule}" for name, rule in rules.items()])
