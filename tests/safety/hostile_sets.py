"""Labeled tool descriptions, hostile and harmless, and whether the gateway holds each for approval."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shortlist.mcp.gateway.tool_checks import find_risk
from shortlist.safety.prompt_injection import visual_key

SETS = Path(__file__).parent


def read_set(name: str) -> list[dict[str, Any]]:
    """The rows of a set."""
    return [json.loads(line) for line in (SETS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def read_descriptions() -> list[dict[str, Any]]:
    """Descriptions written for the tests: the part, whether it is hostile, the kind of attack, and the tool."""
    return read_set("hostile_descriptions")


def find_reason(tool: dict[str, Any], beside: Iterable[str] = ()) -> str:
    """Why the gateway would hold a tool for approval beside tools of these names; empty if it would not."""
    key = visual_key(tool["name"])
    return find_risk(tool, next((name for name in beside if visual_key(name) == key), tool["name"]))


def measure_rates(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Precision and recall over labeled descriptions."""
    rows = list(rows)
    hostile = [bool(find_reason(row["tool"])) for row in rows if row["hostile"]]
    harmless = [bool(find_reason(row["tool"])) for row in rows if not row["hostile"]]
    found, false = sum(hostile), sum(harmless)
    return {
        "hostile": len(hostile),
        "held": found,
        "recall": round(found / len(hostile), 3),
        "harmless": len(harmless),
        "false alarms": false,
        "precision": round(found / (found + false), 3),
    }


def measure_languages() -> dict[str, dict[str, Any]]:
    """What is detected of the hostile definitions in eight languages, by part, and false alarms by benign set."""
    figures: dict[str, dict[str, Any]] = {}
    for part in ("dev", "held_out"):
        rows = read_set(f"hostile_tools_{part}")
        missed = [row["id"] for row in rows if not find_reason(row["tool"], row.get("beside", ()))]
        figures[f"hostile_{part}"] = {"tools": len(rows), "held": len(rows) - len(missed), "missed": missed}
    for part in ("written", "dev", "held_out"):
        tools = read_set(f"benign_tools_{part}")
        held = [tool["name"] for tool in tools if find_reason(tool)]
        figures[f"benign_{part}"] = {"tools": len(tools), "held": len(held), "names": held}
    return figures
