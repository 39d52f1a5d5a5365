"""The pieces of a vocabulary: their numbers, and the logarithm of how likely each is.

Reading all takes a tenth of a second, so the few of a query are looked up with an index, which has two sequences: where
in the file each piece starts and which number it has, in the order of their bytes; and the scores, by number.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np

SPECIAL = 4  # the first pieces, which no text contains
LONGEST_PIECE = 16  # characters
MOST_LOOKUPS = 5_000  # in the index; then all pieces are read

_INDEX = np.dtype([("start", "<u4"), ("number", "<u4"), ("score", "<f8")])
_encode = json.JSONEncoder(ensure_ascii=False).encode


class PieceTable:
    """The vocabulary in a file that has an index beside it."""

    def __init__(self, path: Path) -> None:
        self._text = path.read_bytes()
        columns = np.load(path.with_suffix(".npy"))
        self._starts, self._numbers, self.scores = (memoryview(columns[name].copy()) for name in _INDEX.names or ())
        self._lookups = 0
        self._all: dict[str, int] = {}

    def find(self, piece: str) -> int | None:
        """The number of a piece."""
        if self._all:
            return self._all.get(piece)
        self._lookups += 1
        if self._lookups > MOST_LOOKUPS:
            pieces = json.loads(self._text)["pieces"]
            self._all = {piece: number for number, piece in enumerate(pieces) if number >= SPECIAL}
        key = _encode_piece(piece)
        at = bisect_left(self._starts, key, key=lambda start: self._text[start : start + len(key)])
        if at == len(self._starts) or not self._text.startswith(key, self._starts[at]):
            return None
        number: int = self._numbers[at]
        return number if number >= SPECIAL else None


def write_index(path: Path) -> None:
    """Write the index of a vocabulary beside it."""
    text = path.read_bytes()
    vocabulary = json.loads(text)
    columns: Any = np.zeros(len(vocabulary["pieces"]), _INDEX)
    found, at = [], 0
    for number, piece in enumerate(vocabulary["pieces"]):
        key = _encode_piece(piece)
        start = text.index(key, at)
        found.append((key, start, number))
        at = start + len(key)
    _, columns["start"], columns["number"] = zip(*sorted(found), strict=True)
    columns["score"] = vocabulary["scores"]
    np.save(path.with_suffix(".npy"), columns)


def _encode_piece(piece: str) -> bytes:
    """A piece as it is in the file. No piece starts with all of another one, since a quote ends each."""
    return _encode(piece).encode("utf-8", "surrogatepass")
