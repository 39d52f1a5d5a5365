"""Which runs were made, and what came of each? A job is a name, settings, the families left out and what to keep."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training import measure, model, train
from training.data import DOCUMENT_SETS, TOOL_SETS

SHARES = (0.7, 0.8, 0.9, 1.0)  # of the trained weights, the rest being the base model's


def run(jobs: list[dict[str, Any]], data_file: Path, weights: Path, vocabulary: Path, out: Path, worker: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    out.mkdir(parents=True, exist_ok=True)
    arrays = model.tensors(weights)
    teacher = model.from_bert(arrays).to(device).eval()
    read: dict[str, train.Data] = {}
    students: dict[tuple[int, ...], model.Encoder] = {}
    for job in _claimed(jobs, out):
        began = time.monotonic()
        settings = replace(train.Settings(), **job.get("settings", {}))
        settings = replace(settings, layers=tuple(settings.layers))
        if settings.form not in read:
            read[settings.form] = train.Data(data_file, vocabulary, settings.form)
        data = read[settings.form]
        left_out = frozenset(job.get("left_out", ()))
        start = model.from_bert(arrays, settings.layers).to(device)
        if settings.base:
            key = settings.layers
            if key not in students:
                students[key] = train.distilled(teacher, start, data, settings.base)
            start = students[key]
        encoder = train.trained(start, teacher, data, settings, left_out) if settings.steps else start
        names = [name for name, family in TOOL_SETS.items() if family in left_out or not settings.steps]
        line: dict[str, Any] = {
            "name": job["name"],
            "left_out": sorted(left_out),
            "settings": train.described(settings),
        }
        line["trained_s"] = round(time.monotonic() - began, 1)
        ends = {key: value.float().cpu() for key, value in encoder.state_dict().items()}
        begins = {key: value.float().cpu() for key, value in start.state_dict().items()}
        line["figures"] = {}
        for share in SHARES if settings.steps else (1.0,):
            encoder.load_state_dict(model.averaged(begins, ends, share))
            documents = DOCUMENT_SETS if share in job.get("documents", (0.8, 1.0)) else ()
            line["figures"][str(share)] = train.measured(encoder, data, [*names, *documents])
            if job.get("keep") == "vectors" and share == job["share"]:
                _keep_vectors(out / f"{job['name']}.npz", encoder, data, names)
            if job.get("keep") == "weights" and share == job["share"]:
                _keep_weights(out, job["name"], encoder)
        if settings.short:
            line["figures"][f"{settings.short} dims"] = train.measured(encoder, data, names, settings.short)
        line["total_s"] = round(time.monotonic() - began, 1)
        with (out / f"runs{worker}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        show(line)


def _claimed(jobs: list[dict[str, Any]], out: Path) -> Iterator[dict[str, Any]]:
    """Those that no other worker has begun."""
    for job in jobs:
        try:
            claim = out.parent / f"{out.name}-claims" / job["name"]
            claim.parent.mkdir(exist_ok=True)
            claim.touch(exist_ok=False)
        except FileExistsError:
            continue
        yield job


def show(line: dict[str, Any]) -> None:
    print(f"{line['name']} -{'+'.join(line['left_out'])} {line['trained_s']} s", flush=True)
    for share, sets in line["figures"].items():
        six = [sets[name]["ndcg"] for name in measure.SIX if name in sets]
        mean = f"mean of {len(six)} {np.mean(six):.4f}  " if six else ""
        told = " ".join(f"{name} {' '.join(f'{value:.3f}' for value in one.values())}" for name, one in sets.items())
        print(f"   {share}: {mean}{told}", flush=True)


def _keep_vectors(path: Path, encoder: model.Encoder, data: train.Data, names: list[str]) -> None:
    found = {}
    for name in names:
        for key, rows in train.vectors(encoder, data, name).items():
            found[f"{name}/{key}"] = rows.astype(np.float16)
    np.savez(path, **found)


def _keep_weights(out: Path, name: str, encoder: model.Encoder) -> None:
    """In parts of 15 MB: `cat` joins them."""
    whole = out / f"{name}.safetensors"
    model.write_tensors(
        whole, {key: value.cpu().numpy().astype(np.float16) for key, value in encoder.state_dict().items()}
    )
    data, size = whole.read_bytes(), 15_000_000
    if len(data) > size:
        whole.unlink()
        for at in range(0, len(data), size):
            (out / f"{name}.safetensors.{at // size}").write_bytes(data[at : at + size])
