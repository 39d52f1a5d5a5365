"""How found items are shown to an agent: tools with access and schema, documents with a warning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shortlist.mcp.collection import TOOLS
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.safety.prompt_injection import find_warning

LONGEST_SCHEMAS = 4_000  # characters of schemas that discover shows, the best tool first; read shows any

Item = dict[str, Any]
Tools = Mapping[str, Tool]  # by id


def add_schemas(items: Sequence[Item], tools: Tools) -> list[Item]:
    """Found items; a tool that can be called is shown with access and schema.

    The schemas share a budget. Beyond it, a tool has one line of description and its required arguments.
    """
    shown, left = [], LONGEST_SCHEMAS
    for item in items:
        tool = tools.get(item["id"])
        if tool is None or item["corpus"] != TOOLS:
            shown.append(add_warning(mark_uncallable(item, tools)))
            continue
        about = {key: value for key, value in item.items() if key not in ("locator", "text", "needs")}
        about |= {"access": tool.access}
        size = len(json.dumps(tool.schema, ensure_ascii=False))
        if size <= left:
            left -= size
            shown.append(about | {"text": _truncate(tool.description, 1000), "input_schema": tool.schema})
        else:
            line = tool.description.strip().partition("\n")[0]
            needs = {"needs": item["needs"]} if "needs" in item else {}
            shown.append(about | {"text": _truncate(line, 200)} | needs | {"note": "Read it for its schema."})
    return shown


def mark_uncallable(item: Item, tools: Tools) -> Item:
    """An item; a tool that no server offers, so that `call` cannot run it, is marked."""
    tool = tools.get(item["id"])
    is_marked = item["kind"] == "tool" and (tool is None or not tool.is_offered)
    return item | ({"callable": False} if is_marked else {})


def add_warning(item: Item) -> Item:
    """A document whose text tries to instruct its reader, with a warning; a skill is meant to instruct."""
    warning = "" if item["kind"] in ("tool", "skill") else find_warning(item.get("text", ""))
    return item | ({"warning": warning} if warning else {})


def is_pending(item: Item) -> bool:
    """Whether it is a skill that tries to instruct the agent, of a project that the user has not approved."""
    return "origin" in item and "warning" in item


def is_usable(item: Item) -> bool:
    """Whether it can be known if an item is used: a tool that no server offers is called elsewhere."""
    return bool(item["kind"] != "tool" or item["corpus"] == TOOLS)


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters were cut off)"
