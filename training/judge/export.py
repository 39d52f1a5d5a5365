"""Exports the judge as one ONNX graph: token numbers of texts of one length -> logits for claims and answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from training import export
from training.judge.network import Array, unpack

TOKENS = 260


def build(state: dict[str, Array]) -> onnx.ModelProto:
    graph = export.Graph()
    encoder = {name.removeprefix("encoder."): value for name, value in state.items() if name.startswith("encoder.")}
    hidden = export.last_layer(graph, encoder, TOKENS)
    first = graph.add("Squeeze", [graph.add("Gather", [hidden, "zero"], axis=1), "one"])
    mean = graph.add("ReduceMean", [hidden, "one"], keepdims=0)
    pooled = graph.add("Concat", [first, mean], axis=-1)
    weights = graph.constant("heads.weight", np.ascontiguousarray(state["heads.weight"].T))
    found = graph.add("MatMul", [pooled, weights])
    graph.nodes.append(helper.make_node("Add", [found, graph.constant("heads.bias", state["heads.bias"])], ["logits"]))
    return export.finish(graph, "logits", 2)


def write(parts: list[Path], out: Path) -> None:
    """`parts` are the files that `training.judge.train.run` kept."""
    arrays = {name: value for part in parts for name, value in np.load(part).items()}
    onnx.save(build(unpack(arrays)), str(out))
