"""The commands of the MCP server: run it, see its servers, approve project files and tools, permit or deny tools."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shortlist._text import did_you_mean
from shortlist.cli.corpus_arguments import names_in
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ERROR, OK, Output
from shortlist.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from shortlist.mcp.gateway.dispatch import Gateway
    from shortlist.mcp.gateway.tool_catalog import Tool
    from shortlist.sources.mcp_servers.mcp_config import ConfigurationFile

Config = Annotated[
    list[str] | None,
    option("--config", help="File that names the servers, instead of the usual ones. Repeatable.", metavar="FILE"),
]
Yes = Annotated[bool, option("--yes", help="Do not ask for confirmation.")]
PATTERN = "Server, SERVER/TOOL, or a pattern such as SERVER/get_*."


def run(
    out: Output,
    config: Config = None,
    corpus: Annotated[
        list[str] | None,
        option("--corpus", "-c", help="Serve only this corpus beside tools and skills. Repeatable.", metavar="NAME"),
    ] = None,
) -> int:
    """Serve an agent over stdio: one search over its tools, skills and documents, and a gateway to its MCP servers."""
    import asyncio

    try:
        from shortlist.mcp.agent_server import AgentActions, serve_stdio
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "The MCP server") from error
    from shortlist.mcp.collection import Collection, StoredCorpora
    from shortlist.mcp.gateway.dispatch import Gateway

    collection = Collection(Gateway.of(config or ()), StoredCorpora(names_in(corpus or ())))
    asyncio.run(serve_stdio(AgentActions(collection, _model)))
    return OK


@functools.cache
def _model() -> Any:
    """The language model of the environment, connected once. The files of the folder may come with a repository."""
    from shortlist.server.llm_settings import connect, llm_settings

    return connect(llm_settings(files=False))


def status(
    out: Output,
    config: Config = None,
    refresh: Annotated[bool, option("--refresh", help="Ask every server for its tools now.")] = False,
) -> int:
    """Show the configured servers, their tools, and what waits for approval."""
    gateway = _gateway(config, refresh)
    data = {
        "servers": gateway.status(),
        "pending": [tool.review() for tool in gateway.catalog.pending()],
        "pending_files": [{"file": one.id, "servers": one.servers} for one in gateway.pending_files],
    }
    brief = [*(row["file"] for row in data["pending_files"]), *(row["tool"] for row in data["pending"])]
    out.show(data, lambda screen: screen.servers(data), brief)
    return OK


def approve(
    out: Output,
    names: Annotated[list[str] | None, Argument(metavar="[SERVER/TOOL|SERVER]...")] = None,
    everything: Annotated[bool, option("--all", help="Approve every pending tool.")] = False,
    yes: Yes = False,
    config: Config = None,
) -> int:
    """Show the tools that wait for approval and what changed in them; approve those that are named, as they are now."""
    gateway = _gateway(config, refresh=False)
    pending = gateway.catalog.pending()
    wanted = pending if everything else _select(names or (), pending, gateway)
    rows = [tool.review() for tool in wanted]
    if wanted and not yes and _can_ask(out):
        out.show({}, lambda screen: screen.pending_tools(rows))
        tools = wanted[0].id if len(wanted) == 1 else f"these {len(wanted)} tools"
        if not _confirm(f"Approve {tools} as shown?"):
            return ERROR
    gateway.catalog.approve(wanted)
    left = [tool.review() for tool in gateway.catalog.pending()]
    data: dict[str, Any] = {"approved": [tool.id for tool in wanted], "pending": left}
    out.show(data, lambda screen: screen.approved(data), data["approved"])
    return OK


def trust(
    out: Output,
    path: Annotated[
        str | None, Argument(metavar="[PATH]", help="Project file or folder. Default: the current project.")
    ] = None,
    listed: Annotated[bool, option("--list", help="List the approved files.")] = False,
    revoke: Annotated[bool, option("--revoke", help="Withdraw the approval of PATH.")] = False,
    yes: Yes = False,
) -> int:
    """Approve the MCP servers that a project's own files name, after showing exactly what they would run."""
    from shortlist.sources.mcp_servers import mcp_trust

    if listed:
        return _list_trusted(out)
    if revoke:
        return _revoke(out, path)
    files = _files_at(path)
    if not files:
        raise InputError(f"There is no project file that names MCP servers in {path or Path.cwd()}.")
    pending = [file for file in files if file.pending()]
    data: dict[str, Any] = {"files": [_file_row(file) for file in files], "trusted": []}
    is_agreed = yes
    if _can_ask(out):
        out.show(data, lambda screen: screen.project_files(data["files"]))
        is_agreed = yes or not pending or _confirm("Trust what is shown above, exactly as it is now?")
    if is_agreed:
        for file in pending:
            mcp_trust.trust(file.path, file.content)
            data["trusted"].append(str(file.path))
    if not _can_ask(out):
        out.show(data, lambda screen: screen.project_files(data["files"]), data["trusted"])
    if pending and is_agreed:
        out.note("Trusted. A running gateway starts these servers within seconds.")
    elif pending and not _can_ask(out):
        out.warn("Nothing was approved. Review the files, then run this in a terminal, or add --yes.")
    return OK if is_agreed or not pending else ERROR


def _list_trusted(out: Output) -> int:
    from shortlist.sources.mcp_servers.mcp_trust import approvals

    rows = [{"file": file, "state": _trust_state(Path(file))} for file in approvals()]
    out.show({"files": rows}, lambda screen: screen.trusted(rows), [row["file"] for row in rows])
    return OK


def _revoke(out: Output, path: str | None) -> int:
    from shortlist.sources.mcp_servers.mcp_config import PROJECT_FILES, project_files
    from shortlist.sources.mcp_servers.mcp_trust import revoke

    place = Path(path).expanduser() if path else None
    files = project_files() if place is None else [place, *(place / name for name in PROJECT_FILES)]
    gone = [str(file) for file in files if revoke(file)]
    lines = [f"{file} is no longer trusted." for file in gone] or ["No approval was found there."]
    out.show({"revoked": gone}, lambda screen: screen.say("\n".join(lines)), gone)
    return OK


def allow(
    out: Output,
    names: Annotated[
        list[str] | None, Argument(metavar="[SERVER|SERVER/TOOL]...", help="A * stands for anything.")
    ] = None,
    read: Annotated[bool, option("--read", help="Permit call_read too: the agent may run it without asking.")] = False,
    forget: Annotated[bool, option("--forget", help="Remove the rules for these names.")] = False,
) -> int:
    """Permit servers or tools to be called, even if they were denied; without a name, show all rules."""
    return _permit(out, names or (), None if forget else "read" if read else "write")


def deny(
    out: Output, names: Annotated[list[str], Argument(metavar="SERVER|SERVER/TOOL...", help="A * stands for anything.")]
) -> int:
    """Hide servers or tools from agents: they are neither found nor called."""
    return _permit(out, names, "never")


def _permit(out: Output, names: Sequence[str], access: str | None) -> int:
    from shortlist._paths import config_dir
    from shortlist.install.agent_config import Configuration
    from shortlist.sources.mcp_servers.mcp_config import OWN_FILE

    file = Configuration(config_dir() / OWN_FILE, "permissions", private=True)
    for name in names:
        if not name.strip("/* "):
            raise InputError(f"{name!r} names no server: write SERVER, SERVER/TOOL or SERVER/PATTERN*.")
        if access is not None:
            file.put([name], access)
        elif name in file.servers:
            file.drop(name)
    change = file.change()
    if change.is_one:
        change.apply()
    rules = dict(file.servers)
    out.show(
        {"permissions": rules}, lambda screen: screen.permissions(rules), [f"{name} {rules[name]}" for name in rules]
    )
    return OK


def _files_at(path: str | None) -> list[ConfigurationFile]:
    """The project files at a path, or of the current project, that name servers."""
    from shortlist.sources.mcp_servers.mcp_config import PROJECT_FILES, ConfigurationFile, project_files

    if path is None:
        places = project_files()
    else:
        place = Path(path).expanduser()
        if not place.exists():
            raise InputError(f"{path} does not exist. Name a project's file, such as .mcp.json, or its folder.")
        if not place.is_dir():
            return [ConfigurationFile(place, needs_trust=True)]
        places = [place / name for name in PROJECT_FILES]
    files = [ConfigurationFile(place) for place in places if place.is_file()]
    return [file for file in files if file.project and file.names_servers and file.entries()]


def _file_row(file: ConfigurationFile) -> dict[str, Any]:
    from shortlist.sources.mcp_servers.mcp_config import outline
    from shortlist.sources.mcp_servers.mcp_trust import diff_since_approval

    return {
        "file": str(file.path),
        "state": "pending" if file.pending() else "trusted",
        "servers": [outline(name, entry) for name, entry in file.entries().items()],
        "diff": diff_since_approval(file.path, file.content),
    }


def _trust_state(path: Path) -> str:
    from shortlist.sources.mcp_servers.mcp_trust import is_trusted

    try:
        return "trusted" if is_trusted(path, path.read_bytes()) else "changed"
    except OSError:
        return "missing"


def _can_ask(out: Output) -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and not out.as_json and not out.quiet


def _confirm(question: str) -> bool:
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    is_yes = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not is_yes:
        print("Nothing was changed.", file=sys.stderr)
    return is_yes


def _gateway(config: Sequence[str] | None, refresh: bool) -> Gateway:
    from shortlist.mcp.gateway.dispatch import Gateway

    gateway = Gateway.of(config or ())
    if refresh:
        import asyncio
        from importlib.util import find_spec

        if find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", "Asking MCP servers")

        async def ask() -> None:
            try:
                await gateway.refresh()
            finally:
                await gateway.close()

        asyncio.run(ask())
    return gateway


def _select(names: Iterable[str], pending: Sequence[Tool], gateway: Gateway) -> list[Tool]:
    found: dict[str, Tool] = {}
    for name in names:
        meant = [tool for tool in pending if name in (tool.id, tool.server)]
        if not meant and name not in gateway.catalog.tools() and name not in gateway.catalog.servers:
            near = did_you_mean(name, [*(tool.id for tool in pending), *gateway.catalog.servers])
            raise InputError(f"{name!r} is not a known tool or server.{near} List them with: shortlist mcp status")
        found |= {tool.id: tool for tool in meant}
    return list(found.values())
