"""Precision and recall of the checks of tool descriptions, and false alarms on the tools of real servers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import report

WRITTEN = Path(__file__).parent.parent / "tests" / "safety" / "hostile_descriptions.jsonl"


def written() -> list[dict[str, Any]]:
    """Descriptions written for the tests: the part, whether it is hostile, the kind of attack, and the tool."""
    return [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]


def is_held(tool: dict[str, Any]) -> str:
    """Why the gateway would hold a tool for approval; empty if it would not."""
    from shortlist.mcp.gateway.tool_review import find_risk

    return find_risk(tool, tool["name"])


def rates(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Precision and recall over labeled descriptions."""
    rows = list(rows)
    hostile = [bool(is_held(row["tool"])) for row in rows if row["hostile"]]
    harmless = [bool(is_held(row["tool"])) for row in rows if not row["hostile"]]
    found, false = sum(hostile), sum(harmless)
    return {
        "hostile": len(hostile),
        "held": found,
        "recall": round(found / len(hostile), 3),
        "harmless": len(harmless),
        "false alarms": false,
        "precision": round(found / (found + false), 3),
    }


def catalogs(paths: Iterable[Path]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Tools by server: files with the answer of `tools/list`, folders of them, and folders with a `corpus.jsonl`."""
    for path in paths:
        corpus = path / "corpus.jsonl"
        if corpus.is_file():
            rows = (json.loads(line) for line in corpus.read_text("utf-8").splitlines())
            yield path.name, [{"name": row.get("title") or row["_id"], "description": row["text"]} for row in rows]
            continue
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            yield file.stem, json.loads(file.read_text("utf-8"))["tools"]


def run(folders: list[Path]) -> None:
    rows = written()
    figures: dict[str, Any] = {
        part: rates(row for row in rows if row["part"] == part) for part in ("development", "held_out")
    }
    for part, values in figures.items():
        print(f"{part:12} {values}")
    servers: dict[str, Any] = {}
    began, tools = time.process_time(), 0
    for server, offered in catalogs(folders):
        held = {tool["name"]: why for tool in offered if (why := is_held(tool))}
        tools += len(offered)
        servers[server] = {"tools": len(offered), "held": sorted(held)}
        for name, why in held.items():
            print(f"{server}/{name}: {why}")
    if tools:
        figures["servers"] = servers
        figures["tools"] = tools
        figures["held"] = sum(len(one["held"]) for one in servers.values())
        figures["ms per tool"] = round(1000 * (time.process_time() - began) / tools, 1)
        print(f"{figures['held']} of {tools} tools of {len(servers)} servers are held")
    report.save("hostile", figures)
