"""The commands of the MCP server: run it, show its servers, sign in, approve project files and tools, permit tools."""

from __future__ import annotations

import asyncio
import functools
import gc
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from shortlist._paths import config_dir
from shortlist._settings import load_learning, load_profile, load_telemetry
from shortlist._telemetry import export
from shortlist._text import count_of, did_you_mean, printable
from shortlist.cli.output import ERROR, OK, Output
from shortlist.errors import InputError, import_extra, needs_extra
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.approval_summary import summarize
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig, matches_rule
from shortlist.mcp.gateway.profiles import ServerChoice
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.mcp_client import project_trust
from shortlist.mcp_client.config_files import OWN_FILE, PROJECT_FILES, ConfigurationFile, project_files
from shortlist.mcp_client.server_config import outline
from shortlist.mcp_client.token_store import read_sign_ins
from shortlist.protocols import LLM
from shortlist.safety.untrusted_files import read_regular_file

MOST_MATCHES = 10  # tools that are named


def run(
    out: Output,
    config: Sequence[str],
    corpus: Sequence[str],
    learn: str | None,
    profile: str | None,
    only: Sequence[str],
) -> None:
    gc.disable()  # while the SDK loads: what it makes stays, and searching it for garbage takes a tenth of the time
    with needs_extra("mcp", "The MCP server"):
        from shortlist.mcp.agent_server import AgentActions, serve_stdio  # noqa: PLC0415
    gc.freeze()
    gc.enable()
    gateway = Gateway(_choose(config, profile, only))
    learning = load_learning(learn)
    collection = Collection(gateway, StoredCorpora(corpus, learning), learning=learning)
    asyncio.run(serve_stdio(AgentActions(collection, _connect_to_model), export(load_telemetry())))


@functools.cache
def _connect_to_model() -> LLM | None:
    from shortlist.server.llm_settings import connect, load_llm_settings  # noqa: PLC0415  # slow to load

    # The files of the current folder may come with a repository, so they do not choose the model.
    return connect(load_llm_settings(files=False).llm)


def _choose(config: Sequence[str], profile: str | None, only: Sequence[str]) -> GatewayConfig:
    return GatewayConfig(config, choice=ServerChoice(tuple(only), *load_profile(profile)))


def status(out: Output, config: Sequence[str], refresh: bool, profile: str | None, only: Sequence[str]) -> None:
    gateway = Gateway(_choose(config, profile, only))
    if refresh:
        import_extra("mcp", "mcp", "Asking MCP servers")
        asyncio.run(_refresh(gateway))
    data = {
        "servers": gateway.status(),
        **gateway.profile,
        "pending": [tool.review() for tool in gateway.catalog.list_pending()],
        "new": [tool.id for tool in gateway.catalog.list_new()],
        "notes": gateway.new_notes(),
        "pending_files": [{"file": one.id, "servers": one.servers} for one in gateway.pending_files],
    }
    brief = [*(row["file"] for row in data["pending_files"]), *(row["tool"] for row in data["pending"])]
    out.show(data, lambda screen: screen.show_servers(data), brief)


async def _refresh(gateway: Gateway, names: Sequence[str] | None = None) -> None:
    try:
        await gateway.refresh(names)
    finally:
        await gateway.close()


def approve(out: Output, names: Sequence[str], everything: bool, diff: bool, yes: bool, config: Sequence[str]) -> int:
    gateway = Gateway(GatewayConfig(config))
    catalog = gateway.catalog
    waiting = [*catalog.list_pending(), *(tool for tool in catalog.list_new() if not tool.pending)]
    wanted = _select(names, waiting, gateway) if names else waiting
    is_named, can_ask = everything or bool(names), out.can_ask()
    is_agreed = yes and is_named
    review = summarize(wanted)
    if wanted and not is_agreed and can_ask:
        out.show({}, lambda screen: screen.show_review(review, in_full=diff))
        tools = printable(wanted[0].id) if len(wanted) == 1 else f"these {len(wanted)} tools"
        is_agreed = out.confirm(f"Approve {tools} as shown?")
        if not is_agreed:
            return ERROR
    approved = wanted if is_agreed else []
    catalog.approve(approved)
    data: dict[str, Any] = {"approved": [tool.id for tool in approved], "review": {} if approved else review}
    data["pending"] = [tool.review() for tool in catalog.list_pending()]
    out.show(data, lambda screen: screen.show_approved(data, in_full=diff), data["approved"])
    if wanted and is_named and not is_agreed:
        out.warn("Nothing was approved. Review the changes, then run this in a terminal, or add --yes.")
        return ERROR
    return OK


def _select(names: Sequence[str], pending: Sequence[Tool], gateway: Gateway) -> list[Tool]:
    """The tools that wait for approval and are named, or whose servers are."""
    selected: dict[str, Tool] = {}
    for name in names:
        matches = [tool for tool in pending if name in (tool.id, tool.server)]
        if not matches and name not in gateway.catalog.tools and name not in gateway.catalog.servers:
            near = did_you_mean(name, [*(tool.id for tool in pending), *gateway.catalog.servers])
            raise InputError(f"{name!r} is not a known tool or server.{near} List them with: shortlist mcp status")
        selected |= {tool.id: tool for tool in matches}
    return list(selected.values())


def login(out: Output, name: str, no_browser: bool, scopes: str | None, config: Sequence[str]) -> int:
    sign_in = _import_login().sign_in
    configured = GatewayConfig(config)
    servers = {server.name: server for server in configured.read().servers}
    if name not in servers:
        near = did_you_mean(name, servers)
        raise InputError(f"{name!r} is not a configured server.{near} List them with: shortlist mcp status")
    server = servers[name]
    if not server.url:
        raise InputError(f"{name} runs a command. Only a server with a 'url' can need a sign-in.")
    if any(header.lower() == "authorization" for header in server.headers):
        raise InputError(f"{name} has an Authorization header. Remove it from {server.file} to sign in instead.")

    def show(url: str) -> None:
        is_open = not no_browser and webbrowser.open(url)
        out.warn(f"{'A browser opens. If it does not, open this page' if is_open else 'Open this page'}:\n{url}")

    asyncio.run(sign_in(server, show, scopes or ""))
    gateway = Gateway(configured)
    asyncio.run(_refresh(gateway, [name]))
    row = next(row for row in gateway.status() if row["name"] == name)
    problem, tools = row.get("problem"), count_of(row["tools"] or 0, "tool")
    text = f"Signed in to {printable(name)}{f', but it cannot be used: {problem}' if problem else f': {tools}.'}"
    out.show(row, text, [name])
    return ERROR if problem else OK


def logout(out: Output, name: str) -> None:
    sign_out = _import_login().sign_out
    keys = [key for key, found in read_sign_ins().items() if found.get("name") == name]
    if not keys:
        raise InputError(f"No sign-in to {name!r} is stored.")
    revoked = [asyncio.run(sign_out(key)) for key in keys]
    doubt = "" if all(revoked) else " Its authorization server did not revoke the tokens, which may remain valid."
    out.show({"name": name, "revoked": all(revoked)}, f"Signed out of {printable(name)}.{doubt}", [name])


def _import_login() -> ModuleType:
    with needs_extra("mcp", "Signing in to MCP servers"):
        from shortlist.mcp_client import browser_sign_in  # noqa: PLC0415
    return browser_sign_in


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
            "diff": project_trust.diff_since_approval(file.path, file.content),
        }
        for file in files
    ]
    data: dict[str, Any] = {"files": rows, "trusted": []}
    is_agreed, can_ask = yes, out.can_ask()
    if can_ask:
        out.show(data, lambda screen: screen.show_project_files(rows))
        is_agreed = yes or not pending or out.confirm("Trust what is shown above, exactly as it is now?")
    for file in pending if is_agreed else ():
        project_trust.trust(file.path, file.content)
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
    files = [ConfigurationFile(place) for place in places if place.exists()]
    return [file for file in files if file.project and file.names_servers and file.entries()]


def _list_trusted(out: Output) -> None:
    rows = []
    for file in project_trust.approvals():
        try:
            state = "trusted" if project_trust.is_trusted(Path(file), read_regular_file(Path(file))) else "changed"
        except OSError:
            state = "missing"
        rows.append({"file": file, "state": state})
    lines = [f"{row['state']:8} {printable(row['file'])}" for row in rows] or ["No project file is trusted."]
    out.show({"files": rows}, "\n".join(lines), [row["file"] for row in rows])


def _revoke(out: Output, path: str | None) -> None:
    place = Path(path).expanduser() if path else None
    files = [place, *(place / name for name in PROJECT_FILES)] if place else project_files()
    revoked = [str(file) for file in files if project_trust.revoke(file)]
    lines = [f"{file} is no longer trusted." for file in revoked] or ["No approval was found there."]
    out.show({"revoked": revoked}, "\n".join(lines), revoked)


def allow(out: Output, names: Sequence[str], read: bool, forget: bool) -> None:
    _permit(out, names, None if forget else "read" if read else "write")


def deny(out: Output, names: Sequence[str]) -> None:
    _permit(out, names, "never")


def _permit(out: Output, names: Sequence[str], access: str | None) -> None:
    from shortlist.install.agent_config import AgentConfig  # noqa: PLC0415  # slow to load

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
    rules = dict(file.servers)
    lines = [f"{rule:5} {printable(name)}" for name, rule in rules.items()]
    lines = lines or ["No rules. Tools are read or write as their servers mark them."]
    data: dict[str, Any] = {"permissions": rules}
    if names and access:
        data["matches"] = _find_matches(out, names, access)
    out.show(data, "\n".join(lines), [f"{name} {rule}" for name, rule in rules.items()])


def _find_matches(out: Output, names: Sequence[str], access: str) -> dict[str, list[str]]:
    """The known tools that each rule is about, which are also reported."""
    gateway = Gateway(GatewayConfig())
    servers = [row["name"] for row in gateway.status()]
    matches: dict[str, list[str]] = {}
    for name in names:
        tools = gateway.catalog.tools.values()
        ids = matches[name] = [one.id for one in tools if matches_rule(name, access, one.server, one.name)]
        is_pattern = any(mark in name.partition("/")[0] for mark in "*?[")
        if not ids and not is_pattern and not any(f"{name}/".startswith(f"{server}/") for server in servers):
            out.warn(f"No configured server matches {name!r}. The rule is stored anyway.")
        else:
            more = f" and {len(ids) - MOST_MATCHES} more" if len(ids) > MOST_MATCHES else ""
            shown = f": {', '.join(map(printable, ids[:MOST_MATCHES]))}{more}" if ids else ""
            out.note(f"{printable(name)} matches {count_of(len(ids), 'known tool')}{shown}.")
    return matches
