"""The encoder: the BERT architecture of multilingual-e5-small and all-MiniLM-L6-v2 in plain torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, INNER, POSITIONS = 384, 12, 1536, 512
_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def attend_on_cpu(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor) -> Tensor:
    """Attention by plain products: the fused kernel for CPUs takes half of the time of a step, backwards."""
    weights = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    return weights.masked_fill(~attn_mask, -1e4).softmax(-1) @ value


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.attended = nn.Linear(HIDDEN, HIDDEN)
        self.norm1 = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.up = nn.Linear(HIDDEN, INNER)
        self.down = nn.Linear(INNER, HIDDEN)
        self.norm2 = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, hidden: Tensor, mask: Tensor, dropout: float) -> Tensor:
        rows, length, _ = hidden.shape
        qkv = self.qkv(hidden).view(rows, length, 3, HEADS, HIDDEN // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attend = attend_on_cpu if hidden.device.type == "cpu" else functional.scaled_dot_product_attention
        found = attend(query, key, value, attn_mask=mask)
        found = self.attended(found.transpose(1, 2).reshape(rows, length, HIDDEN))
        hidden = self.norm1(hidden + functional.dropout(found, dropout))
        inner = self.down(functional.gelu(self.up(hidden)))
        return self.norm2(hidden + functional.dropout(inner, dropout))


class Encoder(nn.Module):
    """Token numbers in, unit rows out: the mean over the tokens of a text."""

    def __init__(self, vocabulary: int, layers: int = 6) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, HIDDEN)
        self.places = nn.Embedding(POSITIONS, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(layers)])
        self.dropout = 0.0

    def hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The last layer, a row for each token."""
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.norm(self.words(ids) + self.places(places))
        dropout = self.dropout if self.training else 0.0
        hidden = functional.dropout(hidden, dropout)
        seen = mask[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, seen, dropout)
        return hidden

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.hidden(ids, mask)
        weights = mask[:, :, None].to(torch.float32)
        mean = (hidden.float() * weights).sum(1) / weights.sum(1)
        return functional.normalize(mean, dim=1)


def tensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    return {
        name: np.frombuffer(
            data[8 + size + at["data_offsets"][0] : 8 + size + at["data_offsets"][1]], _DTYPES[at["dtype"]]
        ).reshape(at["shape"])
        for name, at in header.items()
        if name != "__metadata__"
    }


def write_tensors(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    header: dict[str, Any] = {}
    names = {np.dtype(kind): name for name, kind in _DTYPES.items()}
    at = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    path.write_bytes(
        len(packed).to_bytes(8, "little") + packed + b"".join(array.tobytes() for array in arrays.values())
    )


def from_bert(arrays: dict[str, np.ndarray[Any, Any]], keep: tuple[int, ...] = (0, 1, 2, 3, 4, 5)) -> Encoder:
    """The encoder with the weights of all-MiniLM-L6-v2, or with some of its layers."""
    arrays = {name.removeprefix("bert."): array for name, array in arrays.items()}
    encoder = Encoder(len(arrays["embeddings.word_embeddings.weight"]), len(keep))

    def take(name: str) -> Tensor:
        return torch.from_numpy(arrays[name].astype(np.float32))

    state = {
        "words.weight": take("embeddings.word_embeddings.weight"),
        # every token is of type 0, so its row belongs to the places
        "places.weight": take("embeddings.position_embeddings.weight")
        + take("embeddings.token_type_embeddings.weight")[0],
        "norm.weight": take("embeddings.LayerNorm.weight"),
        "norm.bias": take("embeddings.LayerNorm.bias"),
    }
    parts = {
        "attended": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for at, layer in enumerate(keep):
        for kind in ("weight", "bias"):
            heads = [take(f"encoder.layer.{layer}.attention.self.{part}.{kind}") for part in ("query", "key", "value")]
            state[f"layers.{at}.qkv.{kind}"] = torch.cat(heads)
            for ours, theirs in parts.items():
                state[f"layers.{at}.{ours}.{kind}"] = take(f"encoder.layer.{layer}.{theirs}.{kind}")
    encoder.load_state_dict(state)
    return encoder


def from_arrays(arrays: dict[str, np.ndarray[Any, Any]], keep: tuple[int, ...] = tuple(range(12))) -> Encoder:
    """The encoder with weights under our own names, or with some of its layers."""
    encoder = Encoder(len(arrays["words.weight"]), len(keep))
    names = {f"layers.{layer}.": f"layers.{at}." for at, layer in enumerate(keep)}
    state = {}
    for name, array in arrays.items():
        layer = re.match(r"layers\.\d+\.", name)
        if layer and layer.group() not in names:
            continue
        state[name.replace(layer.group(), names[layer.group()], 1) if layer else name] = torch.from_numpy(
            array.astype(np.float32)
        )
    encoder.load_state_dict(state)
    return encoder


def averaged(one: dict[str, Tensor], other: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights on the way from one model to the other."""
    return {name: torch.lerp(one[name].float(), other[name].float(), share) for name in one}


def mean(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}
