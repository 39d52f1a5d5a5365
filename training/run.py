"""Runs training jobs and stores their figures. A job has a name, settings, left-out families and what to save."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training import measure, model, train
from training.base import weights
from training.data import DOCUMENT_SETS, MCP, TOOL_SETS, XQUAD

SHARE = 0.8  # of the trained weights in those that ship, the rest being the base model's
SHARES = (0.7, SHARE, 0.9, 1.0)


def run(jobs: list[dict[str, Any]], prepared: Path, base: Path, vocabulary: Path, out: Path) -> None:
    """Train, measure and keep, one job after the other; figures are added to runs.jsonl."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    arrays = weights(base)
    teacher = model.from_arrays(arrays).to(device).eval()
    read: dict[str, train.Data] = {}
    for job in jobs:
        began = time.monotonic()
        settings = train.Settings(**job.get("settings", {}))
        if settings.form not in read:
            read[settings.form] = train.Data(prepared, vocabulary, settings.form)
        data = read[settings.form]
        left_out = frozenset(job.get("left_out", ()))
        start = model.from_arrays(arrays, tuple(settings.layers)).to(device)
        if settings.base:
            start = train.distilled(teacher, start, data, settings.base)
        seeds = range(settings.seed, settings.seed + settings.soup)
        cooked = [train.trained(start, teacher, data, replace(settings, seed=seed), left_out) for seed in seeds]
        encoder, ends = cooked[0], model.mean([one.state_dict() for one in cooked])
        line: dict[str, Any] = {"name": job["name"], "left_out": sorted(left_out), "settings": asdict(settings)}
        line["trained_s"] = round(time.monotonic() - began, 1)
        names = [name for name, family in TOOL_SETS.items() if family in left_out or not settings.steps]
        if not left_out - {MCP}:
            names += [name for name in data.sets if name.startswith((MCP, XQUAD))]
        begins = start.state_dict()
        line["figures"] = {}
        for share in SHARES if settings.steps else (SHARE,):
            encoder.load_state_dict(model.averaged(begins, ends, share))
            documents = DOCUMENT_SETS if names and share == SHARE else ()
            line["figures"][str(share)] = train.measured(encoder, data, [*names, *documents])
            if share == SHARE:
                _keep(job.get("keep"), out / job["name"], encoder, data, names)
        if settings.short:
            cut = train.measured(encoder, data, names, settings.short)
            line["figures"][f"1.0, {settings.short} dimensions"] = cut
        with (out / "runs.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        show(line)


def show(line: dict[str, Any]) -> None:
    print(f"{line['name']} without {' '.join(line['left_out']) or 'nothing'}: {line['trained_s']} s", flush=True)
    for share, sets in line["figures"].items():
        six = [sets[name]["ndcg"] for name in measure.SIX if name in sets]
        mean = f"mean of {len(six)} {np.mean(six):.4f}  " if six else ""
        told = " ".join(f"{name} {' '.join(f'{value:.3f}' for value in one.values())}" for name, one in sets.items())
        print(f"   {share}: {mean}{told}", flush=True)


def _keep(what: str | None, path: Path, encoder: model.Encoder, data: train.Data, names: list[str]) -> None:
    if what == "weights":
        state = {key: value.cpu().numpy() for key, value in encoder.state_dict().items() if key != "words.weight"}
        model.write_tensors(path.with_name(f"{path.name}.safetensors"), state)
    elif what == "vectors":
        found = {
            f"{name}/{key}": rows.astype(np.float16)
            for name in names
            for key, rows in train.vectors(encoder, data, name).items()
        }
        np.savez(path.with_name(f"{path.name}.npz"), **found)
