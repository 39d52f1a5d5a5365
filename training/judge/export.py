"""Exports the judge as one ONNX graph: token numbers of texts of one length -> logits for claims and answers.

`share_words` lets a reader for other languages use the words of the embedder: its file only says where they are in
that one, which must be beside it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

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


def read_words(embedder: Path) -> dict[str, Array]:
    """The words of the exported embedder as they are stored there."""
    stored = {one.name: one for one in onnx.load(str(embedder)).graph.initializer}
    nibbles = np.frombuffer(stored["words"].raw_data, np.uint8).reshape(stored["words"].dims[0], -1)
    return {"encoder.words.nibbles": nibbles, "encoder.words.scales": numpy_helper.to_array(stored["words.scale"])}


def share_words(built: onnx.ModelProto, embedder: Path) -> None:
    """Replace the words of a graph by a reference to those in the embedder's file, which must be beside the graph's.

    Their scales stay in the graph: they have 16 bits, and need not start at an even byte of that file.
    """
    words = next(one for one in built.graph.initializer if one.name == "words")
    offset, length = embedder.read_bytes().index(words.raw_data), len(words.raw_data)
    words.ClearField("raw_data")
    words.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": embedder.name, "offset": str(offset), "length": str(length)}.items():
        words.external_data.add(key=key, value=value)


def write(parts: list[Path], out: Path) -> None:
    """`parts` are the files that `training.judge.train.run` kept."""
    arrays = {name: value for part in parts for name, value in np.load(part).items()}
    onnx.save(build(unpack(arrays)), str(out))
