"""Run time of commands, each in its own process.

`python -m bench startup [CHECKOUT...]` measures other checkouts beside this one. The runs are interleaved, so that a
busy machine slows all of them alike. CPU time is reported too, since it depends less on what else the machine does.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import report

ROOT = Path(__file__).parents[1]
RUNS = 25
COMMANDS = {
    "version": ("--version",),
    "help": ("--help",),
    "search": ("search", "shop", "where is the parcel", "--json"),
    "search as text": ("search", "shop", "where is the parcel"),
    "usage error": ("search", "shop", "parcel", "-k", "0"),
}


def run(folders: list[Path]) -> None:
    checkouts = {_commit(folder): folder.resolve() for folder in (ROOT, *folders)}
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home} | {
            f"SHORTLIST_{name}_DIR": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "CACHE")
        }
        build = ("build", "shop", "--kind", "catalog", "--root", str(ROOT / "examples" / "data" / "tools.yaml"))
        _measure(ROOT, build, environment)
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(RUNS):
            for command, arguments in COMMANDS.items():
                for name, checkout in checkouts.items():
                    times.setdefault((name, command), []).append(_measure(checkout, arguments, environment))
    figures: dict[str, dict[str, dict[str, float]]] = {name: {} for name in checkouts}
    for (name, command), values in times.items():
        wall, cpu = (round(1000 * statistics.median(column), 1) for column in zip(*values[1:], strict=True))
        fastest = round(1000 * min(value for value, _ in values), 1)
        figures[name][command] = {"wall_ms": wall, "fastest_ms": fastest, "cpu_ms": cpu}
        print(f"{name:24} {command:16} {wall:7.1f} ms wall, {fastest:7.1f} ms fastest, {cpu:7.1f} ms CPU")
    report.save("startup", {"runs": RUNS - 1, "commits": figures})


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _measure(checkout: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of wall clock and of CPU that one run of the command takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "shortlist", *arguments],
        env=environment | {"PYTHONPATH": str(checkout / "src")},
        cwd=environment["HOME"],
        capture_output=True,
        check=False,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
