"""Precision and recall of the checks of tool descriptions, and false alarms on the tools of real servers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import report

SETS = Path(__file__).parent.parent / "tests" / "safety"
WRITTEN = SETS / "hostile_descriptions.jsonl"


def definitions(name: str) -> list[dict[str, Any]]:
    """The rows of a set in tests/safety."""
    return [json.loads(line) for line in (SETS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def multilingual() -> dict[str, dict[str, Any]]:
    """What is detected of the hostile definitions in eight languages, by part, and false alarms by benign set."""
    figures: dict[str, dict[str, Any]] = {}
    for part in ("dev", "held_out"):
        rows = definitions(f"hostile_tools_{part}")
        missed = [row["id"] for row in rows if not is_held(row["tool"], row.get("beside", ()))]
        figures[f"hostile_{part}"] = {"tools": len(rows), "held": len(rows) - len(missed), "missed": missed}
    for part in ("written", "dev", "held_out"):
        tools = definitions(f"benign_tools_{part}")
        held = [tool["name"] for tool in tools if is_held(tool)]
        figures[f"benign_{part}"] = {"tools": len(tools), "held": len(held), "names": held}
    return figures


def written() -> list[dict[str, Any]]:
    """Descriptions written for the tests: the part, whether it is hostile, the kind of attack, and the tool."""
    return [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]


def is_held(tool: dict[str, Any], beside: Iterable[str] = ()) -> str:
    """Why the gateway would hold a tool for approval beside tools of these names; empty if it would not."""
    from shortlist.mcp.gateway.tool_checks import find_risk
    from shortlist.safety.prompt_injection import visual_key

    key = visual_key(tool["name"])
    return find_risk(tool, next((name for name in beside if visual_key(name) == key), tool["name"]))


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
    figures["multilingual"] = multilingual()
    for part, values in {**figures, **figures["multilingual"]}.items():
        print(f"{part:16} {values}")
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
