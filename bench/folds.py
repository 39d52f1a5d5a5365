"""Vectors of our embedder trained without a set, as `python -m training folds` stores them.

The shipped model has seen the queries of every tool set that it was trained on, so its own figures there say nothing.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.scope import Scope
from shortlist.index.embedders.named import load_embedder
from shortlist.protocols import Embedder
from training import measure
from training.data import MCP, as_embedded

if TYPE_CHECKING:
    from shortlist.results import Vectors


class Kept:
    """Gives the vectors that were kept of the texts of one set, and knows no other text."""

    def __init__(self, name: str, vectors: dict[str, Vectors]) -> None:
        self.name = f"tools#without-{name}"  # weighed as tools is
        self.dim = len(next(iter(vectors.values())))
        self.vectors = vectors

    def encode_query(self, text: str) -> Vectors:
        return self.vectors[text.strip()]

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.vectors[text.strip()] for text in texts])

    def known(self, scope: Scope) -> Scope | None:
        """The questions that it has vectors of; None if it does not know the documents."""
        if not all(as_embedded(one).strip() in self.vectors for one in scope.documents):
            return None
        return replace(scope, questions=[one for one in scope.questions if one.text.strip() in self.vectors])


class Folds:
    """What a folder of `python -m training folds` holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._prepared: dict[str, Any] = json.loads(lzma.decompress((folder / "prepared.json.xz").read_bytes()))

    def embedder(self, name: str) -> Embedder:
        """The one that never saw a set; for a set that no model is trained on, the shipped one."""
        family = (self._prepared["families"] | {MCP: MCP}).get(name)
        if family is None:
            shipped = load_embedder("tools")
            assert shipped
            return shipped
        texts, one = self._prepared["texts"], self._prepared["sets"][name]
        arrays = np.load(self._folder / f"{family}.npz")
        vectors: dict[str, Vectors] = {}
        for part, wanted in measure.texts_of(one).items():
            rows = measure.unit(arrays[f"{name}/{part}"].astype(np.float32))
            vectors |= {texts[number].strip(): row for number, row in zip(wanted, rows, strict=True)}
        return Kept(name, vectors)


def split_arguments(arguments: Sequence[Path]) -> tuple[list[Path], Folds | None]:
    """The folders of sets among the arguments of a benchmark, and the folds of `--folds=OUT`."""
    folders = [one for one in arguments if not str(one).startswith("--folds=")]
    kept = [Path(str(one).removeprefix("--folds=")) for one in arguments if one not in folders]
    return folders, Folds(kept[0]) if kept else None
