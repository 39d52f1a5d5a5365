"""The reloader of the service (`server.reload`) beside uvicorn's, with watchfiles and without.

`python -m bench reloaders`. Each serves a folder with a settings file. Then the file gets another value, an invalid one
and another port, and a module of the package gets another time. The figures are the seconds until the service answers
with the change (null: not within two minutes), and the requests that failed meanwhile.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

import shortlist
from bench import report
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import load_compat_settings
from shortlist.server import run as own

WAIT_SECONDS = 120.0
POLL_SECONDS = 0.02
PACKAGE = Path(shortlist.__file__).parent
# As `python -m uvicorn` starts it; StatReload is what it uses if watchfiles is not installed.
UVICORN = """
import sys, uvicorn, uvicorn.supervisors
from uvicorn.supervisors.statreload import StatReload
if sys.argv[1] == "stat":
    uvicorn.supervisors.ChangeReload = uvicorn.main.__globals__["ChangeReload"] = StatReload
uvicorn.run("bench.reloaders:make_app", factory=True, host="127.0.0.1", port=int(sys.argv[2]), reload=True,
            reload_dirs=[".", sys.argv[3]], reload_includes=["settings.yaml"], log_level="warning")
"""


def make_app() -> FastAPI:
    """The application of the current folder, for uvicorn."""
    return create_app(load_compat_settings())


def run(folders: list[Path]) -> None:
    figures: dict[str, Any] = {"lines of ours": _count_lines()}
    for name in ("own", "uvicorn with watchfiles", "uvicorn without watchfiles"):
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = _measure(Path(folder), name)
    figures["load average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(figures, indent=2))
    report.save("reloaders", figures)


def _count_lines() -> int:
    text = inspect.getsource(own)
    return sum(
        bool(re.search(r"must_restart|_stamps|_last|POLL_TICKS|execv|restart_command", line))
        for line in text.splitlines()
    )


def _measure(folder: Path, name: str) -> dict[str, Any]:
    (folder / "tools.json").write_text(json.dumps({"documents": [{"id": "a", "title": "A", "content": "One."}]}))
    port, other = _find_port(), _find_port()
    _write(folder, port)
    if name == "own":
        command = [sys.executable, "-m", "shortlist", "serve"]
    else:
        kind = "watch" if name.endswith("with watchfiles") else "stat"
        command = [sys.executable, "-c", UVICORN, kind, str(port), str(PACKAGE)]
    roots = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "SHORTLIST_DATA_DIR": str(folder / "data"), "PYTHONPATH": roots}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, stdout=log, start_new_session=True)
        try:
            _wait(port, lambda settings: settings["temperature"] == 0.5, 120)
            time.sleep(2)  # until its reloader has seen the files
            measured = {}
            _write(folder, port, "bm25s: {temperature: 2}")
            measured["another value"] = _wait(port, lambda settings: settings["temperature"] == 2)
            time.sleep(2)
            before = _get_uptime(port)
            os.utime(PACKAGE / "errors.py")
            measured["another time of a module"] = _wait(port, lambda _: (_get_uptime(port) or 1e9) < (before or 0))
            time.sleep(2)
            _write(folder, port, "bm25s: {temperature: 70}")
            time.sleep(5)
            measured["an invalid value"] = {"is answered": _get_settings(port) is not None}
            _write(folder, other, "bm25s: {temperature: 3}")
            measured["another port"] = _wait(other, lambda settings: settings["temperature"] == 3)
            return measured
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            process.wait()


def _write(folder: Path, port: int, more: str = "") -> None:
    text = "server: {reload: true, port: %d}\ndocuments: {source: tools.json, embedder: none}\n%s\n"
    (folder / "settings.yaml").write_text(text % (port, more))


def _get(port: int, path: str) -> Any:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=2, trust_env=False).json()
    except (httpx2.TransportError, ValueError):
        return None


def _get_settings(port: int) -> Any:
    return _get(port, "/settings")


def _get_uptime(port: int) -> float | None:
    status = _get(port, "/status")
    return status["uptime_seconds"] if status else None


def _wait(port: int, is_there: Callable[[Any], bool], seconds: float = WAIT_SECONDS) -> dict[str, Any]:
    began, failed = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        settings = _get_settings(port)
        if settings is None:
            failed += 1
        elif is_there(settings):
            return {"seconds": round(time.monotonic() - began, 2), "requests that failed": failed}
        time.sleep(POLL_SECONDS)
    return {"seconds": None, "requests that failed": failed}


def _find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
