"""How found items are shown to an agent: tools with access and schema, documents with a warning."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from shortlist.mcp.collection import TOOLS
from shortlist.mcp.gateway.tool_catalog import Tool
from shortlist.mcp.shown_schemas import describe_output, shorten_input
from shortlist.safety.prompt_injection import find_warning

LONGEST_SCHEMAS = 4_000  # characters of schemas that discover shows, the best tool first; read shows any
LONGEST_TEXT = 1_000  # characters of the description of a tool
LONGEST_LINE = 200  # characters of the first line of a description, beside which there is no schema
LONGEST_NEAR = 100  # characters of the first line of a close match

Item = dict[str, Any]
Tools = Mapping[str, Tool]  # by id


def show_results(items: Sequence[Item], tools: Tools) -> list[Item]:
    """Found items; a tool that can be called is shown with access and schema.

    The schemas share a budget. Beyond it, a tool has one line of description and its required arguments.
    """
    shown, left = [], LONGEST_SCHEMAS
    for item in items:
        about = _identify(item)
        tool = tools.get(item["id"])
        if tool is None or item["corpus"] != TOOLS:
            details: Item = {key: item[key] for key in ("locator", "text", "needs", "origin", "warning") if key in item}
            shown.append(add_warning(mark_uncallable(item, tools, about | details)))
            continue
        about |= {"access": tool.access}
        schema = shorten_input(tool.schema)
        size = len(json.dumps(schema, ensure_ascii=False))
        if size <= left:
            left -= size
            details = {"text": _truncate(tool.description, LONGEST_TEXT), "input_schema": schema}
        else:
            needs = {"needs": item["needs"]} if "needs" in item else {}
            line = _truncate(_first_line(tool.description), LONGEST_LINE)
            details = {"text": line} | needs | {"note": "Read it for its schema."}
        output = tool.entry.get("outputSchema")
        shown.append(about | details | ({"returns": describe_output(output)} if output else {}))
    return shown


def show_near(items: Sequence[Item], tools: Tools) -> list[Item]:
    """Close matches with one line of each, unless it tries to instruct its reader."""
    shown = []
    for item in items:
        tool = tools.get(item["id"]) if item["corpus"] == TOOLS else None
        text = tool.description if tool else item["text"]
        line = _first_line(text)
        if len(line) > LONGEST_NEAR:
            line = f"{line[:LONGEST_NEAR]}…"
        about = mark_uncallable(item, tools, _identify(item))
        shown.append(about | ({} if find_warning(text) else {"text": line}))
    return shown


def show_tool(tool: Tool, longest: int) -> Item | None:
    """A tool with its schemas as data; None if it is so long that it must be read in parts."""
    schemas = (("input_schema", "inputSchema"), ("output_schema", "outputSchema"), ("annotations", "annotations"))
    about = {"id": tool.id, "kind": "tool", "access": tool.access, "text": tool.description}
    about |= {key: tool.entry[name] for key, name in schemas if name in tool.entry}
    return about if len(json.dumps(about, ensure_ascii=False)) <= longest else None


def show_definition(item: Item) -> Item:
    """A tool of a corpus with its definition as data, if the text is all of it."""
    with contextlib.suppress(ValueError):
        definition = json.loads(item["text"])
        if isinstance(definition, dict):
            return item | {"text": str(definition.pop("description", "")), "definition": definition}
    return item


def mark_uncallable(item: Item, tools: Tools, shown: Item | None = None) -> Item:
    """What is shown of an item; a tool that no server offers, so that `call` cannot run it, is marked."""
    tool = tools.get(item["id"])
    is_marked = item["kind"] == "tool" and (tool is None or not tool.is_offered)
    return (item if shown is None else shown) | ({"callable": False} if is_marked else {})


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


def _identify(item: Item) -> Item:
    """What an item is read or called with, and how well it matches; a name only if the id does not have it."""
    about = {"id": item["id"], "kind": item["kind"]}
    if item["corpus"] != TOOLS:  # whose ids are found without it
        about["corpus"] = item["corpus"]
    if item["name"] not in item["id"]:
        about["name"] = item["name"]
    return about | ({"relevance": item["relevance"]} if "relevance" in item else {})


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters were cut off)"
