"""Load test of POST /retrieve on 10,000 tools while documents are added: rate, latency, memory."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx2

from bench import report
from bench.update import make_tools

TOOLS = 10_000
CONNECTIONS = 16
SECONDS = 20
ADDED_A_SECOND = 20
QUERIES = 5_000

SCRIPT = """
local bodies, at = {}, 0
for line in io.lines(os.getenv("QUERIES")) do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
done = function(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  failed = failed + summary.errors.status
  io.write(string.format("RESULT %d %d %d %d %d %d %d\\n", summary.requests, summary.duration, failed,
    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max))
end
"""


def run(folders: list[Path]) -> None:
    if shutil.which("wrk") is None:
        raise SystemExit("This needs wrk: apt install wrk")
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure(Path(folder))
    for name, value in figures.items():
        print(f"{name:34} {value}")
    report.save("load", figures)


def _measure(folder: Path) -> dict[str, Any]:
    tools = make_tools(TOOLS)
    entries = [{"id": tool.id, "title": tool.title, "content": tool.content} for tool in tools]
    (folder / "tools.json").write_text(json.dumps({"documents": entries}))
    (folder / "load.lua").write_text(SCRIPT)
    _write_queries(folder / "queries", entries)
    command = [sys.executable, "-m", "shortlist", "serve", "--port", "0", "--documents", str(folder / "tools.json")]
    environment = {**os.environ, "SHORTLIST_DATA_DIR": str(folder / "data")}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log)
        try:
            url = _address(folder / "log", process)
            _ask(url, folder, 5)  # warm
            with httpx2.Client(base_url=url, timeout=60) as http:
                return _under_load(url, folder, http, process)
        finally:
            process.terminate()
            process.wait()


def _under_load(url: str, folder: Path, http: httpx2.Client, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    ended = threading.Event()
    added: list[int] = []
    adding = threading.Thread(target=_add, args=(http, ended, added))
    before, memory = _cpu_seconds(process), _memory_mb(process)
    adding.start()
    try:
        asked = _ask(url, folder, SECONDS)
    finally:
        ended.set()
        adding.join()
    spent, now = _cpu_seconds(process) - before, _memory_mb(process)
    documents = http.get("/status").json()["documents"]
    return {
        "tools": TOOLS,
        "connections": CONNECTIONS,
        "seconds": SECONDS,
        **asked,
        "cpu ms a request": round(1e3 * spent / asked["requests"], 3),
        "documents added": sum(status == 200 for status in added),
        "additions that failed": sum(status != 200 for status in added),
        "documents at the end": documents,
        "memory MB before": memory,
        "memory MB after": now,
        "load average": round(os.getloadavg()[0], 1),
    }


def _add(http: httpx2.Client, ended: threading.Event, statuses: list[int]) -> None:
    """Add documents at a steady pace, as far as they are taken."""
    rng = random.Random(2)
    began = time.perf_counter()
    while not ended.is_set():
        number = len(statuses)
        one = {
            "id": f"added{number}",
            "title": f"added_{number}",
            "content": " ".join(rng.choices(("ban", "dor", "kit"), k=9)),
        }
        statuses.append(http.post("/documents", json=one).status_code)
        ended.wait(max(0.0, began + len(statuses) / ADDED_A_SECOND - time.perf_counter()))


def _ask(url: str, folder: Path, seconds: int) -> dict[str, Any]:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(folder / "load.lua"), f"{url}/retrieve"]
    environment = {**os.environ, "QUERIES": str(folder / "queries")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"RESULT (.*)", done.stdout)
    assert found, done.stdout
    requests, micros, errors, p50, p95, p99, longest = map(int, found.group(1).split())
    return {
        "requests": requests,
        "requests a second": round(1e6 * requests / micros),
        "errors": errors,
        "p50 ms": p50 / 1e3,
        "p95 ms": p95 / 1e3,
        "p99 ms": p99 / 1e3,
        "longest ms": longest / 1e3,
    }


def _write_queries(path: Path, entries: list[dict[str, str]]) -> None:
    """Some words of some tool, as a request each."""
    rng = random.Random(1)
    lines = []
    for _ in range(QUERIES):
        words = rng.choice(entries)["content"].split()
        lines.append(json.dumps({"query": " ".join(rng.sample(words, rng.randint(2, 6)))}))
    path.write_text("\n".join(lines))


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    while process.poll() is None:
        found = re.search(r"Serving on (http://[\d.:]+\d).*startup complete", log.read_text(), re.DOTALL)
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise SystemExit(log.read_text())


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(process: subprocess.Popen[bytes]) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    return round(int(found.group(1)) / 1024, 1) if found else 0.0
