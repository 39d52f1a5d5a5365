"""What does packing cost? The figures of the packed model, run by onnxruntime, beside those of the weights."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from training import export, measure, model, train


def rows_of(path: Path, data: train.Data, numbers: list[int], threads: int) -> np.ndarray[Any, Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def one(number: int) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = session.run(None, {"input_ids": data.ids[number][None, :].astype(np.int64)})[0][0]
        return found

    with ThreadPoolExecutor(threads) as pool:
        rows = np.array(list(pool.map(one, numbers))).reshape(-1, model.HIDDEN)
    return train._unit(rows)


def check(
    weights: Path, base: Path, share: float, data: train.Data, names: list[str], folder: Path, threads: int
) -> None:
    before = model.from_bert(model.tensors(base)).state_dict()
    after = {name: torch.from_numpy(array.astype(np.float32)) for name, array in model.tensors(weights).items()}
    state = model.averaged(before, after, share)
    arrays = {name: value.numpy() for name, value in state.items()}
    encoder = model.from_bert(model.tensors(base))
    encoder.load_state_dict(state)
    encoder.to("cuda" if torch.cuda.is_available() else "cpu")
    plain = {name: train.vectors(encoder, data, name) for name in names}
    print("plain", {name: measure.measure(data.sets[name], **rows) for name, rows in plain.items()}, flush=True)
    for bits in (7, 8):
        path = folder / f"packed{bits}.onnx"
        path.write_bytes(export.build(arrays, bits).SerializeToString())
        for name in names:
            began, one = time.monotonic(), data.sets[name]
            rows = {
                "documents": rows_of(path, data, one["documents"], threads),
                "queries": rows_of(path, data, [row[0] for row in one["asked"]], threads),
                "unserved": rows_of(path, data, [row[0] for row in one["unserved"]], threads),
            }
            like = float((rows["documents"] * plain[name]["documents"]).sum(1).mean())
            figures, took = measure.measure(one, **rows), time.monotonic() - began
            print(f"{bits} bits {name} {figures} cosine {like:.4f} {took:.1f} s", flush=True)


if __name__ == "__main__":
    import sys

    texts = train.Data(Path(sys.argv[3]), Path(sys.argv[4]), "name")
    check(
        Path(sys.argv[1]),
        Path(sys.argv[2]),
        float(sys.argv[5]),
        texts,
        sys.argv[7].split(","),
        Path("/tmp"),
        int(sys.argv[6]),
    )
