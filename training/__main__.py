"""`python -m training make BENCH PAIRS BASE OUT` makes the shipped file; `folds` measures it on left-out sets.

BENCH is a folder of sets in BEIR layout, PAIRS a .jsonl.xz of {source, query, positive}, BASE the model.safetensors of
all-MiniLM-L6-v2. OUT keeps prepared data, so that a second command does not prepare it again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training import check, data, export, run


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("make", "folds", "jobs", "check"))
    for name in ("bench", "pairs", "base", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--jobs", type=Path, help="runs of your own: a list of {name, settings, left_out}")
    parser.add_argument("--steps", type=int, help="other than the settings say: a few are enough to try it out")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    prepared = given.out / "prepared.json.xz"
    if not prepared.exists():
        data.prepare(given.bench, given.pairs, prepared)
    settings = {} if given.steps is None else {"steps": given.steps}
    if given.step == "make":
        run.run([{"name": "tools", "settings": settings, "keep": "weights"}], prepared, given.base, given.out)
        export.export(given.out / "tools.safetensors", given.out / "model.onnx")
    elif given.step == "folds":
        families = dict.fromkeys([*data.TOOL_SETS.values(), data.MCP])
        jobs = [{"name": name, "settings": settings, "left_out": [name], "keep": "vectors"} for name in families]
        run.run(jobs, prepared, given.base, given.out)
    elif given.step == "jobs":
        run.run(json.loads(given.jobs.read_text()), prepared, given.base, given.out)
    else:
        check.check(given.out / "tools.safetensors", given.out / "model.onnx", prepared)


if __name__ == "__main__":
    main()
