"""Precision and recall of the checks of tool descriptions, and false alarms on the tools of real servers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import report
from tests.safety.hostile_sets import find_reason, measure_languages, measure_rates, read_descriptions


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
    rows = read_descriptions()
    figures: dict[str, Any] = {
        part: measure_rates(row for row in rows if row["part"] == part) for part in ("development", "held_out")
    }
    figures["multilingual"] = measure_languages()
    for part, values in {**figures, **figures["multilingual"]}.items():
        print(f"{part:16} {values}")
    servers: dict[str, Any] = {}
    began, tools = time.process_time(), 0
    for server, offered in catalogs(folders):
        held = {tool["name"]: why for tool in offered if (why := find_reason(tool))}
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
