"""What waits for the user's approval in a form that can be read: counts by server and kind, and equal changes once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from shortlist.mcp.gateway.tool_approvals import CHANGED, NEW
from shortlist.mcp.gateway.tool_catalog import Tool

MOST_KINDS = 3  # of the changes of one tool that are named

Row = dict[str, Any]


def summarize(tools: Sequence[Tool]) -> Row:
    """`counts`: the number of tools for each server and kind of change; `changes`: what needs approval, equal changes
    of a server once, with all its tools; `found`: what the checks found."""
    servers = list(dict.fromkeys(tool.server for tool in tools))
    tools = sorted(tools, key=lambda tool: servers.index(tool.server))
    counts = Counter((tool.server, describe_changes(tool)) for tool in tools)
    found = [tool for tool in tools if tool.pending and tool.pending != NEW and not tool.pending.startswith(CHANGED)]
    return {
        "counts": [{"server": server, "change": kind, "tools": count} for (server, kind), count in counts.items()],
        "changes": list(_fold_changes(tools)),
        "found": [{"tool": tool.id, "reason": tool.pending} for tool in found],
    }


def describe_changes(tool: Tool) -> str:
    """The kinds of the changes of a tool that need approval."""
    if not tool.pending:
        return "new tool, in use"
    if tool.approved is None:
        return "new tool" if tool.pending == NEW else "new tool, held by a check"
    kinds = list(dict.fromkeys(change.kind for change in tool.changes if change.waits))
    more = [f"{len(kinds) - MOST_KINDS} more"] if len(kinds) > MOST_KINDS else []
    held = [] if tool.pending.startswith(CHANGED) else ["held by a check"]
    return ", ".join([*kinds[:MOST_KINDS], *more, *held])


def _fold_changes(tools: Iterable[Tool]) -> Iterable[Row]:
    folded: dict[tuple[Any, ...], list[str]] = {}
    for tool in tools:
        if tool.approved is not None:
            changes = [(change.part, tuple(change.diff())) for change in tool.changes if change.waits]
        else:  # all of it is new
            lines = [line for change in tool.changes for line in (f" {change.part}:", *change.diff())]
            changes = [("", tuple(lines))]
        for part, diff in changes:
            folded.setdefault((tool.server, part, diff), []).append(tool.id)
    for (_, part, diff), ids in folded.items():
        yield {"tools": ids, "part": part, "diff": list(diff)}
