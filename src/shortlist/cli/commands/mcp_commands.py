"""The commands of the MCP server: run it, show its servers, sign in, approve project files and tools, permit tools."""

from __future__ import annotations

import functools
import gc
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from shortlist._paths import config_dir
from shortlist._text import count_of, did_you_mean, printable
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import split_given_names
from shortlist.cli.output import ERROR, OK, Output
from shortlist.cli.shared_options import combine, corpus_option, learn_option, yes_option
from shortlist.errors import InputError, import_extra, needs_extra
from shortlist.safety.untrusted_files import read_regular_file

with lazy_imports():
    import asyncio

    from shortlist import _settings, _telemetry
    from shortlist.cli import corpora
    from shortlist.cli.terminal import server_tables
    from shortlist.index import location
    from shortlist.install import agent_config
    from shortlist.library import corpus_names
    from shortlist.mcp import collection as collections
    from shortlist.mcp import tool_definitions
    from shortlist.mcp.gateway import approval_summary, dispatch, gateway_config, pinned_tools, profiles
    from shortlist.mcp_client import config_files, project_trust, server_config, token_store

if TYPE_CHECKING:
    from shortlist.install.agent_config import AgentConfig
    from shortlist.mcp.collection import Collection
    from shortlist.mcp.gateway.dispatch import Gateway
    from shortlist.mcp.gateway.gateway_config import GatewayConfig
    from shortlist.mcp.gateway.tool_catalog import Tool
    from shortlist.mcp_client.config_files import ConfigurationFile
    from shortlist.protocols import LLM

MOST_MATCHES = 10  # tools that are named

config_option = click.option(
    "--config", metavar="PATH", multiple=True, help="Server configuration, instead of the usual files. Repeatable."
)
profile_options = combine(
    click.option("--profile", metavar="NAME", help="Profile of servers in your mcp.json; all: every server."),
    click.option(
        "--only",
        metavar="SERVER",
        multiple=True,
        callback=split_given_names,
        help="Server to reach, instead of all; separate several with commas. A * matches any text. Repeatable.",
    ),
)
name_argument = click.argument("name", metavar="NAME")


@command(examples=["shortlist mcp", "shortlist mcp --profile work"])
@corpus_option("Corpus to serve beside tools and skills, instead of all; separate several with commas.")
@learn_option
@profile_options
@config_option
def run(
    out: Output,
    corpus: tuple[str, ...],
    learn: str | None,
    profile: str | None,
    only: tuple[str, ...],
    config: tuple[str, ...],
) -> None:
    """Serve an agent over stdio: one search over tools, skills and documents, and a gateway to its MCP servers."""
    gc.disable()  # while the SDK loads: what it makes stays, and searching it for garbage takes a tenth of the time
    with needs_extra("mcp", "The MCP server"):
        from shortlist.mcp.agent_server import AgentActions, serve_stdio  # noqa: PLC0415
    gc.freeze()
    gc.enable()
    gateway = dispatch.Gateway(_choose_servers(config, profile, only))
    learning = _settings.load_learning(learn)
    names = [str(corpus_names.resolve(name)) for name in corpus]
    for name in names:
        if location.find_corpus_file(name) is None:  # it may be built later
            out.note(f"shortlist: {corpora.make_not_found(name)}")
    stored = collections.StoredCorpora(names, learning)
    served = collections.Collection(gateway, stored, learning=learning)
    actions = AgentActions(served, _connect_to_model)
    find_hints = functools.partial(_find_hints, served)
    asyncio.run(serve_stdio(actions, _telemetry.export(_settings.load_telemetry()), find_hints))


def _find_hints(served: Collection, query: str) -> str:
    from shortlist.mcp.prompt_hints import find_served_hints  # noqa: PLC0415  # slow to load; in a thread

    return find_served_hints(served, query)


@functools.cache
def _connect_to_model() -> LLM | None:
    from shortlist.server.llm_settings import connect, load_llm_settings  # noqa: PLC0415  # slow to load; in a thread

    # The files of the current folder may come with a repository, so they do not choose the model.
    return connect(load_llm_settings(files=False).llm)


def _choose_servers(config: tuple[str, ...], profile: str | None, only: tuple[str, ...]) -> GatewayConfig:
    choice = profiles.ServerChoice(only, *_settings.load_profile(profile))
    return gateway_config.GatewayConfig(config, choice=choice)


@command(examples=["shortlist mcp status"])
@click.option("--refresh", is_flag=True, help="Ask every server for its tools now.")
@profile_options
@config_option
def status(out: Output, refresh: bool, profile: str | None, only: tuple[str, ...], config: tuple[str, ...]) -> None:
    """Show the configured servers, their tools, and what is pending approval."""
    gateway = dispatch.Gateway(_choose_servers(config, profile, only))
    if refresh:
        import_extra("mcp", "mcp", "Asking MCP servers")
        asyncio.run(_refresh(gateway))
    data = {
        "servers": gateway.status(),
        **gateway.profile,
        "pending": [tool.review() for tool in gateway.catalog.list_pending()],
        "new": [tool.id for tool in gateway.catalog.list_new()],
        "notes": gateway.new_notes() + ([] if gateway.profile else gateway.empty_notes()),
        "pending_files": [{"file": file.id, "servers": file.servers} for file in gateway.pending_files],
    }
    brief = [*(row["file"] for row in data["pending_files"]), *(row["tool"] for row in data["pending"])]
    out.show(data, lambda screen: server_tables.show_servers(screen, data), brief)


async def _refresh(gateway: Gateway, names: Sequence[str] | None = None) -> None:
    try:
        await gateway.refresh(names)
    finally:
        await gateway.close()


@command(examples=["shortlist mcp approve", "shortlist mcp approve --diff"])
@click.argument("names", nargs=-1, metavar="[TOOL]...")
@click.option("--all", "everything", is_flag=True, help="Approve every pending tool.")
@click.option("--diff", is_flag=True, help="Show all lines of each change.")
@yes_option
@config_option
def approve(
    out: Output, names: tuple[str, ...], everything: bool, diff: bool, yes: bool, config: tuple[str, ...]
) -> int:
    """Show what is pending approval, and approve the given tools as they are now. Without TOOL, all of it is shown.
    Asks before it approves."""
    gateway = dispatch.Gateway(gateway_config.GatewayConfig(config))
    catalog = gateway.catalog
    waiting = [*catalog.list_pending(), *(tool for tool in catalog.list_new() if not tool.pending)]
    wanted = _select(names, waiting, gateway) if names else waiting
    is_named, can_ask = everything or bool(names), out.can_ask()
    is_agreed = yes and is_named
    review = approval_summary.summarize(wanted)
    if wanted and not is_agreed and can_ask:
        out.show({}, lambda screen: server_tables.show_review(screen, review, in_full=diff))
        tools = printable(wanted[0].id) if len(wanted) == 1 else f"these {len(wanted)} tools"
        is_agreed = out.confirm(f"Approve {tools} as shown?")
        if not is_agreed:
            return ERROR
    approved = wanted if is_agreed else []
    catalog.approve(approved)
    data: dict[str, Any] = {"approved": [tool.id for tool in approved], "review": {} if approved else review}
    data["pending"] = [tool.review() for tool in catalog.list_pending()]
    out.show(data, lambda screen: server_tables.show_approved(screen, data, in_full=diff), data["approved"])
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


@command(examples=["shortlist mcp login linear"])
@name_argument
@click.option("--no-browser", is_flag=True, help="Print the page to open instead of opening it.")
@click.option(
    "--scopes",
    metavar="TEXT",
    help="Scopes to ask for, separated by spaces, instead of those that the server names.",
)
@config_option
def login(out: Output, name: str, no_browser: bool, scopes: str | None, config: tuple[str, ...]) -> int:
    """Sign in to a remote server with OAuth, in the browser. A running gateway uses the sign-in within seconds."""
    sign_in = _import_login().sign_in
    configured = gateway_config.GatewayConfig(config)
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
    gateway = dispatch.Gateway(configured)
    asyncio.run(_refresh(gateway, [name]))
    row = next(row for row in gateway.status() if row["name"] == name)
    problem, tools = row.get("problem"), count_of(row["tools"] or 0, "tool")
    text = f"Signed in to {printable(name)}{f', but it cannot be used: {problem}' if problem else f': {tools}.'}"
    out.show(row, text, [name])
    return ERROR if problem else OK


@command(examples=["shortlist mcp logout linear"])
@name_argument
def logout(out: Output, name: str) -> None:
    """Delete the stored sign-in to a server, and revoke it if its authorization server supports that."""
    sign_out = _import_login().sign_out
    keys = [key for key, found in token_store.read_sign_ins().items() if found.get("name") == name]
    if not keys:
        raise InputError(f"No sign-in to {name!r} is stored.")
    revoked = [asyncio.run(sign_out(key)) for key in keys]
    doubt = "" if all(revoked) else " Its authorization server did not revoke the tokens, which may remain valid."
    out.show({"name": name, "revoked": all(revoked)}, f"Signed out of {printable(name)}.{doubt}", [name])


def _import_login() -> ModuleType:
    with needs_extra("mcp", "Signing in to MCP servers"):
        from shortlist.mcp_client import browser_sign_in  # noqa: PLC0415
    return browser_sign_in


@command(examples=["shortlist mcp trust --list"])
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--list", "listed", is_flag=True, help="List the approved files.")
@click.option("--revoke", is_flag=True, help="Withdraw the approval of PATH.")
@yes_option
def trust(out: Output, path: str | None, listed: bool, revoke: bool, yes: bool) -> int:
    """Approve the MCP servers of a project's own files. Show exactly what they would run, and ask. PATH is a project
    file or folder; the default is the current project."""
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
            "servers": [server_config.outline(name, entry) for name, entry in file.entries().items()],
            "diff": project_trust.diff_since_approval(file.path, file.content),
        }
        for file in files
    ]
    data: dict[str, Any] = {"files": rows, "trusted": []}
    is_agreed, can_ask = yes, out.can_ask()
    if can_ask:
        out.show(data, lambda screen: server_tables.show_project_files(screen, rows))
        is_agreed = yes or not pending or out.confirm("Trust what is shown above, exactly as it is now?")
    for file in pending if is_agreed else ():
        project_trust.trust(file.path, file.content)
        data["trusted"].append(str(file.path))
    if not can_ask:
        out.show(data, lambda screen: server_tables.show_project_files(screen, rows), data["trusted"])
    if pending and is_agreed:
        out.note("Trusted. A running gateway starts these servers within seconds.")
    elif pending and not can_ask:
        out.warn("Nothing was approved. Review the files, then run this in a terminal, or add --yes.")
    return OK if is_agreed or not pending else ERROR


def _find_files(path: str | None) -> list[ConfigurationFile]:
    """The project files at a path, or of the current project, that configure servers."""
    places = config_files.project_files()
    if path is not None:
        place = Path(path).expanduser()
        if not place.exists():
            raise InputError(f"{path} does not exist. Give a project's file, such as .mcp.json, or its folder.")
        if not place.is_dir():
            return [config_files.ConfigurationFile(place, needs_trust=True)]
        places = [place / name for name in config_files.PROJECT_FILES]
    files = [config_files.ConfigurationFile(place) for place in places if place.exists()]
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
    files = [place, *(place / name for name in config_files.PROJECT_FILES)] if place else config_files.project_files()
    revoked = [str(file) for file in files if project_trust.revoke(file)]
    lines = [f"{file} is no longer trusted." for file in revoked] or ["No approval was found there."]
    out.show({"revoked": revoked}, "\n".join(lines), revoked)


@command(examples=['shortlist mcp allow "github/get_*" --read'])
@click.argument("names", nargs=-1, metavar="[TOOL]...")
@click.option("--read", is_flag=True, help="Permit call_read, too: the agent may run it without asking.")
@click.option("--forget", is_flag=True, help="Remove the rules for these tools.")
def allow(out: Output, names: tuple[str, ...], read: bool, forget: bool) -> None:
    """Permit calls of tools, even if denied before; without TOOL, show all rules. A * matches any text."""
    _permit(out, names, None if forget else "read" if read else "write")


@command(examples=['shortlist mcp deny "github/delete_*"'])
@click.argument("names", nargs=-1, required=True, metavar="TOOL...")
def deny(out: Output, names: tuple[str, ...]) -> None:
    """Hide tools from agents: they are neither found nor called. A * matches any text, and case is ignored. Show which
    known tools match."""
    _permit(out, names, "never")


def _open_own_file(key: str) -> AgentConfig:
    """The user's mcp.json, to edit what is under a key. An existing file keeps its permissions."""
    path = config_dir() / config_files.OWN_FILE
    return agent_config.AgentConfig(path, key, private=not path.exists())


def _save(file: AgentConfig) -> None:
    change = file.change()
    if change.is_needed:
        change.apply()


def _permit(out: Output, names: Sequence[str], access: str | None) -> None:
    file = _open_own_file("permissions")
    for name in names:
        if not name.strip("/* "):
            raise InputError(f"{name!r} names no server. Write SERVER, SERVER/TOOL or SERVER/PATTERN*.")
        if access is not None:
            file.put([name], access)
        elif name in file.servers:
            file.drop(name)
    _save(file)
    rules = dict(file.servers)
    lines = [f"{rule:5} {printable(name)}" for name, rule in rules.items()]
    lines = lines or ["No rules. Tools are read or write as their servers mark them."]
    data: dict[str, Any] = {"permissions": rules}
    if names and access:
        data["matches"] = _find_matches(out, names, access)
    out.show(data, "\n".join(lines), [f"{name} {rule}" for name, rule in rules.items()])


def _find_matches(out: Output, names: Sequence[str], access: str) -> dict[str, list[str]]:
    """The known tools that each rule is about, which are also reported."""
    gateway = dispatch.Gateway(gateway_config.GatewayConfig())
    servers = [row["name"] for row in gateway.status()]
    matches: dict[str, list[str]] = {}
    for name in names:
        tools = gateway.catalog.tools.values()
        ids = matches[name] = [
            tool.id for tool in tools if gateway_config.matches_rule(name, access, tool.server, tool.name)
        ]
        is_pattern = any(mark in name.partition("/")[0] for mark in "*?[")
        if not ids and not is_pattern and not any(f"{name}/".startswith(f"{server}/") for server in servers):
            out.warn(f"No configured server matches {name!r}. The rule is stored anyway.")
        else:
            more = f" and {len(ids) - MOST_MATCHES} more" if len(ids) > MOST_MATCHES else ""
            shown = f": {', '.join(map(printable, ids[:MOST_MATCHES]))}{more}" if ids else ""
            out.note(f"{printable(name)} matches {count_of(len(ids), 'known tool')}{shown}.")
    return matches


@command(examples=["shortlist mcp pin github/get_issue"])
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option
def pin(out: Output, names: tuple[str, ...], config: tuple[str, ...]) -> None:
    """Offer tools to agents under their own names, beside the six; without NAME, list them. NAME is SERVER/NAME. If a
    name is taken, that of the server comes before it."""
    catalog = dispatch.Gateway(gateway_config.GatewayConfig(config)).catalog
    file = _open_pins()
    for id in dict.fromkeys(names):
        server, _, own_name = id.partition("/")
        if id not in catalog.tools:
            if not own_name or server in catalog.listings:
                near = did_you_mean(id, catalog.tools)
                raise InputError(
                    f"{id!r} is not a known tool.{near} List the tools with: shortlist mcp status --refresh"
                )
            out.warn(f"The tools of {server!r} are not known. {id!r} is pinned anyway.")
        if id in file.servers.values():
            continue
        taken = {**dict.fromkeys(tool_definitions.SCHEMAS, "shortlist"), **file.servers}
        name = pinned_tools.choose_name(id, taken)
        if name != own_name:
            reason = f"{printable(own_name)} is a name of {printable(taken[own_name])}"
            out.warn(f"{printable(id)} is offered as {name}: {reason}.")
        file.put([name], id)
    _save(file)
    _show_pins(out, file.servers, catalog.tools)


@command(examples=["shortlist mcp unpin github/get_issue"])
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def unpin(out: Output, names: tuple[str, ...]) -> None:
    """Stop offering pinned tools under their own names. NAME is SERVER/NAME, or the name that agents see."""
    file = _open_pins()
    for given in names:
        matches = [name for name, id in file.servers.items() if given in (name, id)]
        if not matches:
            near = did_you_mean(given, [*file.servers.values(), *file.servers])
            raise InputError(f"{given!r} is not pinned.{near} List the pinned tools with: shortlist mcp pin")
        for name in matches:
            file.drop(name)
    _save(file)
    _show_pins(out, file.servers, dispatch.Gateway(gateway_config.GatewayConfig()).catalog.tools)


def _open_pins() -> AgentConfig:
    file = _open_own_file(gateway_config.PINNED)
    gateway_config.check_pins(file.servers)
    return file


def _show_pins(out: Output, pins: Mapping[str, str], tools: Mapping[str, Tool]) -> None:
    rows = [{"name": name, "tool": id, "state": _describe_pin(tools.get(id))} for name, id in pins.items()]
    lines = [
        f"{printable(row['name'])}: {printable(row['tool'])}" + (f" ({row['state']})" if row["state"] else "")
        for row in rows
    ]
    text = "\n".join(lines) or "No tool is pinned. Agents find all of them with discover."
    out.show({"pinned": rows}, text, [row["tool"] for row in rows])


def _describe_pin(tool: Tool | None) -> str:
    """Why a pinned tool is not offered; empty if it is."""
    if tool is None:
        return "not known: its server is not configured, or does not offer it"
    denied, pending = "denied by a rule", "pending approval"
    return "" if tool.is_offered else denied if tool.access == "never" else pending
