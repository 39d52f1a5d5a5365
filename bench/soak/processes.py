"""The processes of a soak run: found by a mark in their environment, measured and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MARK = "SOAK_RUN"
PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    """A process of the run. One that is spared is never killed, so that its growth can be measured."""

    pid: int
    parent: int
    role: str
    home: str
    spared: bool


def find_processes(mark: str) -> Iterator[Process]:
    """The live processes whose environment has the mark."""
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        with contextlib.suppress(OSError):
            text = Path("/proc", entry, "environ").read_bytes()
            if f"{MARK}={mark}\0".encode() not in text + b"\0":
                continue
            variables = dict(item.split("=", 1) for item in text.decode(errors="replace").split("\0") if "=" in item)
            fields = Path("/proc", entry, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            if fields[0] != "Z":
                role, home = variables.get("SOAK_ROLE", ""), variables.get("SOAK_HOME", "")
                yield Process(int(entry), int(fields[1]), role, home, variables.get("SOAK_SPARED") == "1")


def kill(pids: list[int]) -> None:
    """Kill processes and wait until they are gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        while _is_alive(pid):
            time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def subtree(root: int, processes: list[Process]) -> list[int]:
    """A process and its descendants, parents first."""
    found = [root]
    for pid in found:
        found += [process.pid for process in processes if process.parent == pid]
    return found


def measure(pid: int) -> tuple[float, int] | None:
    """The resident memory in MB and the number of open files."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * PAGE / 2**20
        return resident, len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
