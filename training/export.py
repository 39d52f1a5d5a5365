"""How does the model become a small file? One ONNX graph, its weights as bytes with a scale for each row or block.

The graph is written out here rather than traced: it has no mask and no padding, since texts of one length share a batch.
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


class Graph:
    def __init__(self, bits: int) -> None:
        self.bits = bits
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
        if self.bits == 32:
            return str(self.add("MatMul", [hidden, self.constant(f"{name}.weight", weight.T)]))
        packed, scales = blocks(weight, self.bits)
        inputs = [hidden, self.constant(f"{name}.weight", packed), self.constant(f"{name}.scale", scales)]
        return str(
            self.add(
                "MatMulNBits",
                inputs,
                domain="com.microsoft",
                K=width,
                N=rows,
                bits=self.bits,
                block_size=BLOCK,
                accuracy_level=4,
            )
        )


def blocks(weight: Array, bits: int) -> tuple[Array, Array]:
    """Weights as unsigned numbers around the middle, and a scale for each block of a row."""
    rows, width = weight.shape
    middle = 1 << (bits - 1)
    split = weight.reshape(rows, width // BLOCK, BLOCK).astype(np.float32)
    far = np.take_along_axis(split, np.abs(split).argmax(axis=2, keepdims=True), axis=2)
    scales = (far / -middle)[:, :, 0] if bits == 4 else np.abs(far)[:, :, 0] / (middle - 1)
    safe = np.where(scales == 0, 1, scales)[:, :, None]
    whole = np.clip(np.rint(split / safe) + middle, 0, 2 * middle - 1).astype(np.uint8)
    if bits == 4:
        whole = whole[:, :, ::2] | (whole[:, :, 1::2] << 4)
    return whole, scales.astype(np.float32).reshape(-1)


def build(state: dict[str, Array], bits: int = 8) -> Any:
    """The graph of an encoder: numbers of tokens, all texts of one length -> the mean of their last layer."""
    graph = Graph(bits)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    if bits == 32:
        words = graph.add("Gather", [graph.constant("words", state["words.weight"]), "input_ids"])
    else:
        table = state["words.weight"]
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, 1e-12)
        packed = np.clip(np.rint(table / scale), -127, 127).astype(np.int8)
        found = graph.add("Gather", [graph.constant("words", packed), "input_ids"])
        scales = graph.add("Gather", [graph.constant("words.scale", scale.astype(np.float32)), "input_ids"])
        words = graph.add("Mul", [graph.add("Cast", [found], to=TensorProto.FLOAT), scales])
    length = graph.add("Shape", ["input_ids"], start=1, end=2)
    zero, one = graph.constant("zero", np.array([0])), graph.constant("one", np.array([1]))
    places = graph.constant("places", state["places.weight"][: model_tokens()])
    here = graph.add("Slice", [places, zero, length, zero, one])
    hidden = graph.add("Add", [words, here])
    hidden = graph.add("LayerNormalization", [hidden, *_norm(graph, "norm", state)], axis=-1, epsilon=1e-12)
    for at in range(layers):
        hidden = _layer(graph, hidden, f"layers.{at}", state)
    graph.nodes.append(helper.make_node("ReduceMean", [hidden, one], ["sentence_embedding"], keepdims=0))
    made = helper.make_graph(
        graph.nodes,
        "encoder",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["texts", model.HIDDEN])],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="shortlist")


def model_tokens() -> int:
    return 256


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


def export(weights: Path, out: Path, bits: int = 8) -> None:
    state = {name: array.astype(np.float32) for name, array in model.tensors(weights).items()}
    onnx.save(build(state, bits), str(out))
