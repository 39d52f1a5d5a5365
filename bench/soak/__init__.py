"""Endurance: writers, readers, syncs, the service and the gateway share corpora, while processes die and disks fail.

`python -m bench soak --minutes N [--seed S] [--folder F] [--servers FILE]`. FILE configures MCP servers for the
gateway; without it, a small one is used. Needs Linux; full disks, read-only disks and power cuts also need root, and
the report names what was left out. Exits with 1 if something was lost, wrong, unclear or left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from bench import report
from bench.soak.supervisor import Soak


def run(arguments: list[Path]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="duration (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="random seed of faults and operations (default: 1)")
    parser.add_argument(
        "--folder", type=Path, help="new folder for all files, which are kept (default: a temporary one)"
    )
    parser.add_argument("--servers", type=Path, help="MCP configuration with servers named everything and time")
    options = parser.parse_args([str(argument) for argument in arguments])
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        figures = Soak(folder.resolve(), options.minutes, options.seed, options.servers).run()
    report.save("soak", figures)
    if figures["violations"]:
        raise SystemExit(1)
