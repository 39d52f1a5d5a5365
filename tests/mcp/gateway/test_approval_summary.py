"""What waits for approval, counted by server and kind, with equal changes once."""

from __future__ import annotations

from shortlist.mcp.gateway.approval_summary import describe_changes, summarize
from shortlist.mcp.gateway.tool_approvals import CHANGED, NEW
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.mcp.gateway.tool_changes import find_changes
from tests.mcp.conftest import INVOICE, WEATHER


def changed(server: str, before: str, after: str) -> Tool:
    old, new = WEATHER | {"description": before}, WEATHER | {"description": after}
    reason = f"{CHANGED}: description."
    return Tool(server, new, pending=reason, changes=tuple(find_changes(old, new)), approved=old, listed=new)


def test_equal_changes_of_a_server_are_shown_once_with_all_their_tools() -> None:
    first = changed("north", "Rain.", "Rain and wind.")
    second = Tool("north", INVOICE, pending=first.pending, changes=first.changes, approved=INVOICE, listed=INVOICE)
    summary = summarize([first, changed("south", "Rain.", "Snow."), second])
    assert summary["counts"] == [
        {"server": "north", "change": "description rewritten", "tools": 2},
        {"server": "south", "change": "description rewritten", "tools": 1},
    ]
    assert summary["changes"] == [
        {
            "tools": ["north/get_forecast", "north/write_invoice"],
            "part": "description",
            "diff": ["-Rain.", "+Rain and wind."],
        },
        {"tools": ["south/get_forecast"], "part": "description", "diff": ["-Rain.", "+Snow."]},
    ]
    assert summary["found"] == []


def test_new_tools_are_told_apart_by_whether_a_check_holds_them() -> None:
    risk = "Its description tells the model to ignore its instructions."
    held = Tool("north", WEATHER, pending=risk, listed=WEATHER)
    kinds = [describe_changes(tool) for tool in (Tool("north", WEATHER), Tool("north", WEATHER, pending=NEW), held)]
    assert kinds == ["new tool, in use", "new tool", "new tool, held by a check"]
    assert summarize([held])["found"] == [{"tool": "north/get_forecast", "reason": risk}]
