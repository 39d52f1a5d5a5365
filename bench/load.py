"""Load test of the service on 10,000 tools, also while documents are added: rate, latency, memory.

`empty` is a request without work, of the service and of a bare application (Starlette and uvicorn). Their rates are
also those of the client, which runs on the same machine; the CPU time is that of the service alone.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx2

from bench import report
from bench.update import make_tools

TOOLS = 10_000
CONNECTIONS = 8
SECONDS = 10
WARM_SECONDS = 5  # in which search processes start
WORKERS: dict[str, tuple[str, ...]] = {"threads": ("--workers", "0"), "processes": ()}
EMPTY = "/health"
ROUTES = {"retrieve": "/retrieve", "discover": "/v1/corpora/catalog/discover"}
ADDED_A_SECOND = 20
QUERIES = 5_000

BARE = f"""
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def answer(request):
    return Response(b'{{"status":"ok"}}', media_type="application/json")

listener = socket.create_server(("127.0.0.1", 0))
print(f"Serving on http://127.0.0.1:{{listener.getsockname()[1]}}. startup complete", file=sys.stderr, flush=True)
config = uvicorn.Config(Starlette(routes=[Route("{EMPTY}", answer)]), log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
"""


def run(folders: list[Path]) -> None:
    figures: dict[str, Any] = {"tools": TOOLS, "connections": CONNECTIONS, "seconds": SECONDS}
    with tempfile.TemporaryDirectory() as folder:
        figures["bare"] = {"empty": _measure_bare(Path(folder))}
    for name, options in WORKERS.items():
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = _measure(Path(folder), options)
    figures["load average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(figures, indent=2))
    report.save("load", figures)


def _measure_bare(folder: Path) -> dict[str, Any]:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-c", BARE], cwd=folder, stderr=log)
    try:
        return _ask_and_count(find_address(folder / "log", process), folder, process, EMPTY)
    finally:
        process.terminate()
        process.wait()


def _measure(folder: Path, options: tuple[str, ...]) -> dict[str, Any]:
    tools = make_tools(TOOLS)
    entries = [{"id": tool.id, "title": tool.title, "content": tool.content} for tool in tools]
    (folder / "tools.json").write_text(json.dumps({"documents": entries}))
    _write_queries(folder / "queries", entries)
    command = [sys.executable, "-m", "shortlist", "serve", "--port", "0", "--documents", str(folder / "tools.json")]
    environment = {**os.environ, "SHORTLIST_DATA_DIR": str(folder / "data")}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, *options], cwd=folder, env=environment, stderr=log)
        try:
            url = find_address(folder / "log", process)
            with httpx2.Client(base_url=url, timeout=60) as http:
                empty = {"empty": _ask_and_count(url, folder, process, EMPTY)}
                loads = {route: _under_load(url, folder, http, process, path) for route, path in ROUTES.items()}
                return empty | loads
        finally:
            process.terminate()
            process.wait()


def _under_load(
    url: str, folder: Path, http: httpx2.Client, process: subprocess.Popen[bytes], path: str
) -> dict[str, Any]:
    asked = _ask_and_count(url, folder, process, path)
    memory = _memory_mb(process)
    ended, added = threading.Event(), list[int]()
    adding = threading.Thread(target=_add, args=(http, ended, added))
    adding.start()
    try:
        writing = _ask(url, folder, path, SECONDS)
    finally:
        ended.set()
        adding.join()
    return {
        **asked,
        f"while {ADDED_A_SECOND} documents a second are added": writing,
        "documents added": sum(status == 200 for status in added),
        "additions that failed": sum(status != 200 for status in added),
        "memory MB before": memory,
        "memory MB after": _memory_mb(process),
    }


def _ask_and_count(url: str, folder: Path, process: subprocess.Popen[bytes], path: str) -> dict[str, Any]:
    _ask(url, folder, path, WARM_SECONDS)
    before = _cpu_seconds(process)
    asked = _ask(url, folder, path, SECONDS)
    return asked | {"cpu ms a request": round(1e3 * (_cpu_seconds(process) - before) / asked["requests"], 3)}


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


def _ask(url: str, folder: Path, path: str, seconds: int) -> dict[str, Any]:
    """Ask for some seconds on all connections, from a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        times, failures, elapsed = pool.submit(_send_requests, url, path, folder / "queries", seconds).result()
    times.sort()
    percentiles = {f"p{percent} ms": round(1e3 * times[len(times) * percent // 100], 2) for percent in (50, 95, 99)}
    return {
        "requests": len(times),
        "requests a second": round(len(times) / elapsed),
        "errors": failures,
        **percentiles,
        "longest ms": round(1e3 * times[-1], 2),
    }


def _send_requests(url: str, path: str, queries: Path, seconds: float) -> tuple[list[float], int, float]:
    """The time of each request, the number of failures, and the time of all."""
    host, _, port = url.removeprefix("http://").partition(":")
    method, lines = ("GET", [b""]) if path == EMPTY else ("POST", queries.read_bytes().splitlines())
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    bodies = itertools.cycle(lines)
    times: list[float] = []
    failures = 0
    began = time.perf_counter()

    async def ask() -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection(host, int(port))
        while (sent := time.perf_counter()) < began + seconds:
            body = next(bodies)
            writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer.lower())
            assert length, answer
            await reader.readexactly(int(length.group(1)))
            times.append(time.perf_counter() - sent)
            failures += not answer.startswith(b"HTTP/1.1 200 ")
        writer.close()

    async def ask_on_all() -> None:
        await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))

    asyncio.run(ask_on_all())
    return times, failures, time.perf_counter() - began


def _write_queries(path: Path, entries: list[dict[str, str]]) -> None:
    """Some words of some tool, as a request each."""
    rng = random.Random(1)
    lines = []
    for _ in range(QUERIES):
        words = rng.choice(entries)["content"].split()
        lines.append(json.dumps({"query": " ".join(rng.sample(words, rng.randint(2, 6)))}))
    path.write_text("\n".join(lines), encoding="utf-8")


def find_address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until a service that writes this log has started, and return its address."""
    while process.poll() is None:
        found = re.search(
            r"Serving on (http://[\d.:]+\d).*startup complete", log.read_text(encoding="utf-8"), re.DOTALL
        )
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise SystemExit(log.read_text(encoding="utf-8"))


def _cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Of the service and its search processes."""
    ticks = 0
    for folder in _processes(process):
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory_mb(process: subprocess.Popen[bytes]) -> float:
    sizes = [re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text()) for folder in _processes(process)]
    return round(sum(int(size.group(1)) for size in sizes if size) / 1024, 1)


def _processes(process: subprocess.Popen[bytes]) -> list[Path]:
    children = [task.read_text().split() for task in Path(f"/proc/{process.pid}/task").glob("*/children")]
    return [Path("/proc", number) for number in (str(process.pid), *itertools.chain(*children))]
