"""Which tool is meant? By its server and name in any usual spelling, or by its name alone where one server has it."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping

from shortlist._text import printable
from shortlist.errors import InputError
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.mcp.gateway.tool_checks import looks

MOST_NEAR = 3


def find_tool(name: str, tools: Mapping[str, Tool]) -> Tool:
    """The tool of that name; an error says which may be meant instead. None that is pending or denied is found."""
    if not name.strip():
        raise InputError("Say which tool: server/tool, as discover shows it.")
    named = tools.get(name) or _only([tool for tool in tools.values() if name in _spellings(tool)], name)
    named = named or _only([tool for tool in tools.values() if tool.name == name], name)
    if named is None:
        raise InputError(f"There is no tool {name[:80]!r}.{_did_you_mean(name, tools)} discover finds tools.")
    if named.access == "never":
        raise InputError(
            f"{named.id} is denied by the user, who alone can permit it: shortlist mcp allow {_quoted(named)}"
        )
    if named.pending:
        raise InputError(
            f"{named.id} is pending approval. {named.pending} Only the user can approve it: "
            f"shortlist mcp approve {_quoted(named)}"
        )
    return named


def _quoted(tool: Tool) -> str:
    """The id for a command line: its server chose it, so it may hold anything."""
    return shlex.quote(printable(tool.id, ""))


def _spellings(tool: Tool) -> tuple[str, ...]:
    """How clients and models write a tool of a server."""
    server, name = tool.server, tool.name
    return f"{server}.{name}", f"{server}__{name}", f"{server}:{name}", f"mcp__{server}__{name}"


def _only(found: list[Tool], name: str) -> Tool | None:
    """The only one that is offered or, if none is, another; several offered ones are an error."""
    offered = [tool for tool in found if tool.is_offered]
    if len(offered) > 1:
        several = ", ".join(tool.id for tool in offered[:5])
        raise InputError(f"{name!r} may be any of {several}: say which.")
    return next(iter(offered or found), None)


def _did_you_mean(name: str, tools: Mapping[str, Tool]) -> str:
    """The nearest names of what is offered, those that differ only in case or in what cannot be seen first."""
    offered = [tool.id for tool in tools.values() if tool.is_offered]
    seen = looks(name[:200])
    by_look: dict[str, str] = {}
    for id in offered:
        by_look.setdefault(looks(id), id)
        by_look.setdefault(looks(id.partition("/")[2]), id)
    near = [by_look[seen]] if seen in by_look else []
    near += [by_look[look] for look in difflib.get_close_matches(seen, by_look, n=MOST_NEAR)]
    near = list(dict.fromkeys(near))[:MOST_NEAR]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
