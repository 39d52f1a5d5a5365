"""What `shortlist hook` adds to ordinary prompts over 60 skills and 300 tools, and how long a prompt waits for it.

Helpful: one of at most three hints serves the prompt. Silent: no hint where none does. Times are of whole processes,
without a gateway and with one.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import report
from shortlist.eval import load_cases
from shortlist.eval.cases import Case
from shortlist.mcp import catalog_index, hook, hook_socket, prompt_hints
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from tests.safety.hostile_sets import read_set

CASES = Path(__file__).parent / "cases"
SKILLS = Path(__file__).parents[1] / "examples" / "data" / "skills"
LEFT_OUT = ("amap", "baidu-map", "lark", "neo4j-cypher")  # most are in Chinese; without them, there are 300 tools
THRESHOLDS = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
RUNS = 20
WARM_UP_SECONDS = 60.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


def run(folders: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        for kind in ("DATA", "CONFIG", "CACHE"):
            os.environ[f"SHORTLIST_{kind}_DIR"] = str(home / kind.lower())
        os.environ["HOME"] = place
        os.chdir(home)
        figures: dict[str, Any] = {}
        collection = _fill(home)
        try:
            for name in ("prompts", "prompts_new", "prompts_dev"):
                figures[name] = _measure(collection, load_cases(CASES / f"{name}.jsonl"))
            figures["prompts_dev"]["thresholds"] = _sweep(collection, load_cases(CASES / "prompts_dev.jsonl"))
        finally:
            collection.close()
        figures["process"] = _measure_times(home)
    for name, value in figures.items():
        print(name, json.dumps(value, indent=2))
    report.save("prompts", figures, beside_others=True)


def _fill(home: Path) -> Collection:
    """A home with the skills, and the lists of the servers, none of which can be started."""
    folder = home / ".claude" / "skills"
    shutil.copytree(SKILLS, folder)
    for line in (CASES / "prompt_skills.jsonl").read_text().splitlines()[1:]:
        skill = json.loads(line)
        file = folder / skill["name"] / "SKILL.md"
        file.parent.mkdir()
        file.write_text(f"---\nname: {skill['name']}\ndescription: {json.dumps(skill['description'])}\n---\n")
    lists: dict[str, list[dict[str, Any]]] = {}
    for tool in read_set("benign_tools_dev") + read_set("benign_tools_held_out"):
        if tool["server"] not in LEFT_OUT:
            lists.setdefault(tool["server"], []).append(tool)
    (home / "config").mkdir()
    entries = {name: {"command": "/nonexistent/server", "args": [name]} for name in lists}
    (home / "config" / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    gateway = Gateway(GatewayConfig())
    for name, tools in lists.items():
        gateway.catalog.update(gateway.catalog.servers[name], tools)
    catalog_index.MOST_FOREGROUND_TOOLS = 1_000
    return Collection(gateway, StoredCorpora())


def _measure(collection: Collection, cases: list[Case]) -> dict[str, Any]:
    """How often a hint helps, and how often there is rightly none."""
    hints = {case.query: _read_hint(collection, case.query) for case in cases}
    served = [case for case in cases if case.gold]
    others = [case for case in cases if not case.gold]
    helped = [case for case in served if set(case.gold) & set(hints[case.query][1])]
    silent = [case for case in others if not hints[case.query][1]]
    texts = [text for text, _ in hints.values() if text]
    return {
        "served": len(served),
        "helpful": round(len(helped) / len(served), 3),
        "not served": len(others),
        "silent": round(len(silent) / len(others), 3),
        "characters of a hint, mean": round(statistics.mean(map(len, texts))),
        "characters of a hint, most": max(map(len, texts)),
        "missed": {case.query: hints[case.query][1] for case in served if case not in helped},
        "false": {case.query: hints[case.query][1] for case in others if case not in silent},
    }


def _read_hint(collection: Collection, prompt: str) -> tuple[str, list[str]]:
    """The hint for a prompt, and the ids in it."""
    text = prompt_hints.find_served_hints(collection, hook.make_query(prompt))
    return text, [line.split(" ", 2)[2].partition(": ")[0] for line in text.splitlines()[1:]]


def _sweep(collection: Collection, cases: list[Case]) -> dict[str, dict[str, float]]:
    """The shares at other thresholds of skills, each with that of tools as much higher as it is."""
    chosen, found = dict(prompt_hints.THRESHOLDS), {}
    for threshold in THRESHOLDS:
        higher = {kind: value + threshold - chosen["skill"] for kind, value in chosen.items()}
        prompt_hints.THRESHOLDS.update(higher)
        found[str(threshold)] = {key: _measure(collection, cases)[key] for key in ("helpful", "silent")}
    prompt_hints.THRESHOLDS.update(chosen)
    return found


def _measure_times(home: Path) -> dict[str, Any]:
    """Times of `shortlist hook`, without and with a gateway."""
    cold = _time_hooks()
    with subprocess.Popen(
        [sys.executable, "-m", "shortlist", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as gateway:
        assert gateway.stdin
        assert gateway.stdout
        try:
            gateway.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
            gateway.stdin.flush()
            gateway.stdout.readline()
            ends = time.monotonic() + WARM_UP_SECONDS
            while not hook_socket.ask_gateway("make a pie chart of our budget") and time.monotonic() < ends:
                time.sleep(0.5)
            served = _time_hooks()
        finally:
            gateway.kill()
    return {"cold": cold, "with a gateway": served, "python alone": _time(["-c", "pass"])}


def _time_hooks() -> dict[str, float]:
    return _time(["-P", "-m", "shortlist", "hook"])


def _time(arguments: list[str]) -> dict[str, float]:
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has bytecode
    walls, cpus = [], []
    for number in range(RUNS + 1):
        prompt = f"make a pie chart of our budget: rent {number}, pay 9, other 2"  # a gateway remembers the last one
        event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments],
            input=json.dumps(event),
            text=True,
            capture_output=True,
            check=True,
            env=environment,
        )
        walls.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {
        "median ms": round(1000 * statistics.median(walls[1:])),
        "fastest ms": round(1000 * min(walls[1:])),
        "CPU ms": round(1000 * statistics.median(cpus[1:])),
        "load average": round(os.getloadavg()[0], 1),
    }
