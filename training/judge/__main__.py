"""`python -m training.judge make BENCH CLAIMS PAIRS WORDNET BASE OUT` trains the model that checks answers.

BENCH is a folder of unpacked sets (squad2, selqa_dev, fever_symmetric_dev, ottqa_wiki), CLAIMS a .jsonl.xz of labeled
claims, PAIRS one of {source, query, positive}, WORDNET the folder `dict` of WordNet 3.1, BASE the model.safetensors of
bge-small-en-v1.5 or all-MiniLM-L6-v2.
`folds` trains one model for each fold, without it, for `python -m bench answers --models OUT`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.claims import FOLDS
from training import model
from training.judge import data, export, train

LAYERS = 8  # of the base, at most


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("make", "folds"))
    for name in ("bench", "claims", "pairs", "wordnet", "base", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--steps", type=int, default=train.Settings.steps)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    prepared = given.out / "judge.npz.xz"
    if not prepared.exists():
        data.make(given.bench, given.claims, given.pairs, given.wordnet, prepared)
    loaded = train.Data(prepared)
    settings = train.Settings(steps=given.steps)
    jobs = {"model": ()} if given.step == "make" else {f"fold{fold}": (fold,) for fold in range(FOLDS)}
    base = model.tensors(given.base)
    layers = [int(name.split("layer.")[1].split(".")[0]) for name in base if "layer." in name]
    for name, left_out in jobs.items():
        encoder = model.from_bert(base, tuple(range(min(LAYERS, 1 + max(layers)))))
        train.run(name, encoder, loaded, settings, left_out, given.out, keep=True)
        export.write(sorted(given.out.glob(f"{name}.[0-9].npz")), given.out / f"{name}.onnx")


if __name__ == "__main__":
    main()
