"""The network of the judge: one encoder that reads two texts together, with a head for claims and one for answers.

It needs torch and numpy alone, as a machine with an accelerator may have nothing else.
`python -m training.judge.network MODEL LAYERS OUT` makes of an exported model, with onnx, what training starts from
there: OUT, an `.npz` file with its words and first layers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training import model

Array = np.ndarray[Any, Any]
ANSWER_HEAD, CLAIM_HEAD = 1, 0
WORDS = "encoder.words.weight"  # stay as they are in the base


class Judge(nn.Module):
    def __init__(self, encoder: model.Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.Linear(2 * model.HIDDEN, 2)
        nn.init.zeros_(self.heads.weight)  # so that runs with other seeds can be averaged
        nn.init.zeros_(self.heads.bias)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encoder.hidden(ids, mask).float()
        weights = mask[:, :, None].float()
        pooled = torch.cat([hidden[:, 0], (hidden * weights).sum(1) / weights.sum(1)], 1)
        dropout = self.encoder.dropout if self.training else 0.0
        return self.heads(functional.dropout(pooled, dropout))


def pack(state: dict[str, Array]) -> dict[str, Array]:
    """Large weights in 8 bits with a scale per block, as the exported file has them; the rest as they are."""
    from training import export  # needs onnx

    arrays: dict[str, Array] = {}
    for name, value in state.items():
        if value.ndim == 2 and value.size > 400_000:
            block = value.shape[1] if "words" in name else export.BLOCK
            blocks = value.reshape(len(value), -1, block)
            whole, scale = export.packed(blocks)
            arrays[f"{name}@q"], arrays[f"{name}@s"] = whole.reshape(value.shape), scale[..., 0]
        else:
            arrays[name] = value.astype(np.float32)
    return arrays


def unpack(arrays: dict[str, Array]) -> dict[str, Array]:
    state = {name: value for name, value in arrays.items() if "@" not in name}
    for name in [name for name in arrays if name.endswith("@q")]:
        scale = arrays[f"{name[:-2]}@s"]
        blocks = arrays[name].reshape(*scale.shape, -1).astype(np.float32) * scale[..., None]
        state[name[:-2]] = blocks.reshape(arrays[name].shape)
    return state


def read_initializers(path: Path) -> dict[str, Array]:
    """The arrays of an exported file."""
    import onnx
    from onnx import numpy_helper

    return {one.name: numpy_helper.to_array(one) for one in onnx.load(str(path)).graph.initializer}


def read_exported(path: Path) -> dict[str, Array]:
    """The weights of an exported judge or embedder, under our own names."""
    found = read_initializers(path)
    state: dict[str, Array] = {}
    for name, value in found.items():
        if name.endswith((".scale", ".sizes")) or name in ("zero", "one"):
            continue
        if name == "words":
            scales = found["words.scale"].astype(np.float32)  # of each row, or of blocks of it
            spread = np.repeat(scales, value.shape[1] // scales.shape[1], axis=1)
            state[WORDS] = value.astype(np.float32) * spread
        elif name == "places":
            rows = np.zeros((model.POSITIONS, model.HIDDEN), np.float32)
            rows[: len(value)] = value
            state["encoder.places.weight"] = rows
        elif value.dtype == np.uint8:  # blocks of a linear layer
            scales = found[name.replace(".weight", ".scale")].reshape(value.shape[0], value.shape[1], 1)
            whole = value.astype(np.float32) - 128
            state[f"encoder.{name}"] = (whole * scales).reshape(len(value), -1)
        elif name == "heads.weight":
            state[name] = np.ascontiguousarray(value.T)
        else:
            state[name if name.startswith("heads.") else f"encoder.{name}"] = value
    return state


def read_base(path: Path) -> dict[str, Array]:
    """The weights that training starts from: of an exported file, or what `write_base` made of one."""
    return unpack(dict(np.load(path))) if path.suffix == ".npz" else read_exported(path)


def take_layers(state: dict[str, Array], layers: int) -> dict[str, Array]:
    """The words and the first layers of an encoder."""
    prefix = "encoder.layers."
    return {
        name: value
        for name, value in state.items()
        if not name.startswith(prefix) or int(name.removeprefix(prefix).split(".")[0]) < layers
    }


def write_base(exported: Path, layers: int, out: Path) -> None:
    """Write the first layers of an exported model and its words, which stay exactly as they are stored."""
    state, found = take_layers(read_exported(exported), layers), read_initializers(exported)
    del state[WORDS]
    words = {"q": found["words"].astype(np.int8), "s": found["words.scale"].astype(np.float32)}
    np.savez_compressed(out, **pack(state), **{f"{WORDS}@{kind}": value for kind, value in words.items()})
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.network", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("layers", type=int)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    write_base(given.model, given.layers, given.out)


if __name__ == "__main__":
    main()
