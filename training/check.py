"""Compares the quality of the packed model, run by onnxruntime, with that of its weights."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from training import base, measure, model, train

SETS = ("apibank", "toolalpaca", "metatool", "bfcl", "toolbench", "nfcorpus")


def check(weights: Path, base_weights: Path, pieces: Path, packed: Path, prepared: Path) -> None:
    words = {"words.weight": base.weights(base_weights)["words.weight"]}
    encoder = model.from_arrays(model.tensors(weights) | words)
    encoder.to("cuda" if torch.cuda.is_available() else "cpu")
    data = train.Data(prepared, pieces, train.Settings.form)
    for name in SETS:
        plain = train.vectors(encoder, data, name)
        rows = {
            key: rows_of(packed, data, numbers, int(key == "documents"))
            for key, numbers in measure.texts_of(data.sets[name]).items()
        }
        like = float((rows["documents"] * plain["documents"]).sum(1).mean())
        print(f"{name} before {measure.measure(data.sets[name], **plain)}", flush=True)
        print(f"{name} packed {measure.measure(data.sets[name], **rows)}, mean cosine {like:.4f}", flush=True)


def rows_of(packed: Path, data: train.Data, numbers: list[int], role: int) -> np.ndarray[Any, Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(packed), options, providers=["CPUExecutionProvider"])

    def one(number: int) -> Any:
        ids = [*data.roles[role], *data.ids[number], data.end]
        return session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})[0][0]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = np.array(list(pool.map(one, numbers)), dtype=np.float32).reshape(-1, model.HIDDEN)
    return measure.unit(rows)
