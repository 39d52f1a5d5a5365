"""Compares the quality of the packed model, run by onnxruntime, with that of its weights."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from training import measure, model, train

SETS = ("apibank", "toolalpaca", "metatool", "bfcl", "toolbench", "nfcorpus")


def check(weights: Path, packed: Path, prepared: Path) -> None:
    arrays = {name: torch.from_numpy(array.copy()) for name, array in model.tensors(weights).items()}
    encoder = model.Encoder(len(arrays["words.weight"]))
    encoder.load_state_dict(arrays)
    encoder.to("cuda" if torch.cuda.is_available() else "cpu")
    data = train.Data(prepared, train.Settings.form)
    for name in SETS:
        plain = train.vectors(encoder, data, name)
        rows = {key: rows_of(packed, data, numbers) for key, numbers in measure.texts_of(data.sets[name]).items()}
        like = float((rows["documents"] * plain["documents"]).sum(1).mean())
        print(f"{name} before {measure.measure(data.sets[name], **plain)}", flush=True)
        print(f"{name} packed {measure.measure(data.sets[name], **rows)}, mean cosine {like:.4f}", flush=True)


def rows_of(packed: Path, data: train.Data, numbers: list[int]) -> np.ndarray[Any, Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(packed), options, providers=["CPUExecutionProvider"])

    def one(number: int) -> Any:
        return session.run(None, {"input_ids": data.ids[number][None, :].astype(np.int64)})[0][0]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = np.array(list(pool.map(one, numbers)), dtype=np.float32).reshape(-1, model.HIDDEN)
    return measure.unit(rows)
