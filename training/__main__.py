"""`python -m training STEP …`: prepare, run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    prepare = steps.add_parser("prepare")
    prepare.add_argument("bench", type=Path)
    prepare.add_argument("pairs", type=Path)
    prepare.add_argument("out", type=Path)
    run = steps.add_parser("run")
    for name in ("jobs", "data", "weights", "vocabulary", "out"):
        run.add_argument(name, type=Path)
    run.add_argument("--worker", default="0", help="a name, where several share the jobs: each claims the next one")
    given = parser.parse_args()
    if given.step == "prepare":
        from training import data

        data.prepare(given.bench, given.pairs, given.out)
    else:
        from training import run as runs

        jobs = json.loads(given.jobs.read_text())
        runs.run(jobs, given.data, given.weights, given.vocabulary, given.out, given.worker)


if __name__ == "__main__":
    main()
