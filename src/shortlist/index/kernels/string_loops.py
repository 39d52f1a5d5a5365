"""The loops of `strings.c`: texts coded by a table of frequent strings."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

# As in strings.c.
LONGEST, SHORT = 8, 223
SYMBOLS = SHORT + (256 - SHORT) * 256
TABLE = SYMBOLS * (1 + LONGEST)  # bytes


def make_table(sample: bytes) -> bytes:
    """A table for texts like the sample."""
    table = np.empty(TABLE, np.uint8)
    if not library.loops().make_table(sample, len(sample), at(table, np.uint8)):
        raise MemoryError("there is not enough memory to make a table of strings")
    return table.tobytes()


@lru_cache(maxsize=8)  # of the corpora that are being written
def _make_matcher(table: bytes) -> NDArray[np.uint8]:
    matcher = np.empty(library.loops().matcher_bytes(1), np.uint8)
    library.loops().prepare_matcher(table, at(matcher, np.uint8))
    return matcher


def encode_many(texts: Sequence[bytes], table: bytes) -> list[bytes]:
    """A frame for each text."""
    joined, ends = _join(texts)
    coded = np.empty(2 * len(joined) + 10 * len(texts), np.uint8)
    matcher = _make_matcher(table)
    library.loops().encode_many(joined, ends.buffer_info()[0], len(ends), at(matcher, np.uint8), at(coded, np.uint8))
    return _split(coded, ends)


def decode_many(frames: Sequence[bytes], table: bytes) -> list[bytes]:
    """The text of each frame. A damaged frame raises ValueError."""
    joined, ends = _join(frames)
    plain = np.empty(LONGEST * len(joined), np.uint8)
    loops = library.loops()
    if loops.decode_many(joined, ends.buffer_info()[0], len(ends), table, at(plain, np.uint8), len(plain)) < 0:
        raise ValueError("a coded text is damaged")
    return _split(plain, ends)


def _join(texts: Sequence[bytes]) -> tuple[bytes, array[int]]:
    return b"".join(texts), array("q", accumulate(map(len, texts)))


def _split(joined: NDArray[np.uint8], ends: array[int]) -> list[bytes]:
    whole = joined[: ends[-1]].tobytes() if ends else b""
    return [whole[start:end] for start, end in pairwise([0, *ends])]
