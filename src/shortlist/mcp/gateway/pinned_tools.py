"""Pinned tools: tools of servers that clients see under names of their own, as their servers define them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from shortlist.mcp.gateway.tool_catalog import Tool

_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]+")  # characters that some clients reject in the name of a tool


def choose_name(id: str, taken: Collection[str]) -> str:
    """The name of a tool or, if that is taken, the name with its server before it."""
    name, number = id.partition("/")[2], 1
    while name in taken:
        name = _UNUSUAL.sub("_", f"{id}{number if number > 1 else ''}")
        number += 1
    return name


def define(name: str, tool: Tool) -> dict[str, Any]:
    """The definition of a tool as its server wrote it, but not as read-only if the user does not permit that."""
    definition = {"inputSchema": {"type": "object"}, **tool.entry, "name": name}
    annotations = definition.get("annotations")
    if tool.access != "read" and isinstance(annotations, Mapping) and annotations.get("readOnlyHint"):
        definition["annotations"] = {**annotations, "readOnlyHint": False}
    return definition
