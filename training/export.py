"""Exports the model as one ONNX graph with 8-bit weights and a scale per block.

The table of pieces has 4 bits, as in the file that the base comes from: it was not trained, so nothing is lost. The
graph is written out here rather than traced. It has no mask and no padding: texts that share a batch are of one
length.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training import model

Array = np.ndarray[Any, Any]
BLOCK = 128
TOKENS = 384


class Graph:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, kind: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        names = [f"{kind}_{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name: str, value: Array) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def linear(self, hidden: str, name: str, state: dict[str, Array]) -> str:
        """hidden @ weight.T, without the bias."""
        weight = state[f"{name}.weight"]
        rows, width = weight.shape
        blocks = weight.reshape(rows, width // BLOCK, BLOCK)
        whole, scales = packed(blocks)
        # unsigned around 128; activations are packed row by row too, so no text depends on another
        inputs = [
            hidden,
            self.constant(f"{name}.weight", (whole.astype(np.int16) + 128).astype(np.uint8)),
            self.constant(f"{name}.scale", scales.reshape(-1)),
        ]
        sizes = {"K": width, "N": rows, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return str(self.add("MatMulNBits", inputs, domain="com.microsoft", **sizes))


def packed(values: Array) -> tuple[Array, Array]:
    """Each last axis as whole numbers of -127 to 127 and one scale."""
    scales = np.maximum(np.abs(values).max(axis=-1, keepdims=True) / 127, 1e-12).astype(np.float32)
    return np.rint(values / scales).astype(np.int8), scales


def build(state: dict[str, Array]) -> Any:
    """The graph of an encoder: numbers of tokens, all texts of one length -> the mean of their last layer."""
    graph = Graph()
    hidden = last_layer(graph, state, TOKENS)
    graph.nodes.append(helper.make_node("ReduceMean", [hidden, "one"], ["sentence_embedding"], keepdims=0))
    return finish(graph, "sentence_embedding", model.HIDDEN)


def last_layer(graph: Graph, state: dict[str, Array], tokens: int) -> str:
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    words = _words(graph, state)
    length = graph.add("Shape", ["input_ids"], start=1, end=2)
    zero, one = graph.constant("zero", np.array([0])), graph.constant("one", np.array([1]))
    places = graph.constant("places", state["places.weight"][:tokens])
    here = graph.add("Slice", [places, zero, length, zero, one])
    hidden = graph.add("Add", [words, here])
    hidden = graph.add("LayerNormalization", [hidden, *_norm(graph, "norm", state)], axis=-1, epsilon=1e-12)
    for at in range(layers):
        hidden = _layer(graph, hidden, f"layers.{at}", state)
    return hidden


def _words(graph: Graph, state: dict[str, Array]) -> str:
    if "words.nibbles" in state:
        nibbles = state["words.nibbles"]  # two in a byte, the first in the low half
        table = helper.make_tensor(
            "words", TensorProto.INT4, [len(nibbles), model.HIDDEN], nibbles.astype(np.uint8).tobytes(), raw=True
        )
        graph.weights.append(table)
        inputs = ["words", "input_ids", graph.constant("words.scale", state["words.scales"].astype(np.float16))]
        axes = {"gather_axis": 0, "quantize_axis": 1, "block_size": model.HIDDEN // state["words.scales"].shape[1]}
        words = graph.add("GatherBlockQuantized", inputs, domain="com.microsoft", **axes)
        return str(graph.add("Cast", [words], to=TensorProto.FLOAT))
    whole, scales = packed(state["words.weight"])
    words = graph.add("Gather", [graph.constant("words", whole), "input_ids"])
    scale = graph.add("Gather", [graph.constant("words.scale", scales), "input_ids"])
    return str(graph.add("Mul", [graph.add("Cast", [words], to=TensorProto.FLOAT), scale]))


def finish(graph: Graph, output: str, width: int) -> Any:
    made = helper.make_graph(
        graph.nodes,
        "encoder",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["texts", width])],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10, producer_name="shortlist")


def _norm(graph: Graph, name: str, state: dict[str, Array]) -> list[str]:
    return [graph.constant(f"{name}.{kind}", state[f"{name}.{kind}"]) for kind in ("weight", "bias")]


def _layer(graph: Graph, hidden: str, name: str, state: dict[str, Array]) -> str:
    def bias(part: str) -> str:
        return graph.constant(f"{name}.{part}.bias", state[f"{name}.{part}.bias"])

    qkv = graph.linear(hidden, f"{name}.qkv", state)
    sizes = graph.constant(f"{name}.sizes", np.array([model.HIDDEN] * 3))
    parts = graph.add("Split", [qkv, sizes], 3, axis=-1)
    found = graph.add("MultiHeadAttention", [*parts, bias("qkv")], domain="com.microsoft", num_heads=model.HEADS)
    found = graph.linear(found, f"{name}.attended", state)
    norms = _norm(graph, f"{name}.norm1", state)
    inputs = [found, hidden, *norms, bias("attended")]
    hidden = graph.add("SkipLayerNormalization", inputs, domain="com.microsoft", epsilon=1e-12)
    inner = graph.add("BiasGelu", [graph.linear(hidden, f"{name}.up", state), bias("up")], domain="com.microsoft")
    inner = graph.linear(inner, f"{name}.down", state)
    inputs = [inner, hidden, *_norm(graph, f"{name}.norm2", state), bias("down")]
    return str(graph.add("SkipLayerNormalization", inputs, domain="com.microsoft", epsilon=1e-12))


def export(weights: Path, base: Path, out: Path) -> None:
    from training.base import packed_words  # needs the product; a machine for training may lack it

    onnx.save(build(model.tensors(weights) | packed_words(base)), str(out))
