"""The loops of `ranking.c`: postings as C sees them, their bounds, and their merge."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Postings = Any  # of the package above

# As in ranking.c: bounds are stored for each block of passages, places for each stretch.
BLOCK, STRETCH = 16, 64


class Numbers(NamedTuple):
    """The numbers of a formula: weights of fields, base and scale of the norm, code of the gain, k1 and delta."""

    weights: tuple[float, float, float]
    base: float
    scale: float
    gain: int
    k1: float
    delta: float


_POINTERS = (
    "keys", "starts", "docs", "counts", "large_places", "large_counts", "lengths", "dead", "dead_places", "impacts",
    "frequent", "maxima", "skips", "packed", "vector_lengths", "name_keys", "name_docs",
    "name_filter",
)  # fmt: skip
_SIZES = (
    "name_shift", "terms", "postings", "names", "size", "offset", "larges", "deads", "frequents", "blocks", "stretches",
    "packings",
)  # fmt: skip


class PartStruct(ctypes.Structure):
    """A part of an index as ranking.c defines it. The caller must keep the arrays that it refers to."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_int64) for name in _SIZES),
        ("weights", ctypes.c_double * 3),
        *((name, ctypes.c_double) for name in ("base", "scale", "k1", "delta", "step", "drift")),
        ("gain", ctypes.c_int64),
    ]


def describe(postings: Postings) -> PartStruct:
    struct = PartStruct()
    for name, kind in postings.TYPES.items():
        setattr(struct, name, at(getattr(postings, name), kind))
    struct.terms, struct.postings = len(postings.keys), len(postings.docs)
    struct.names = len(postings.name_keys)
    struct.size, struct.larges = postings.size, len(postings.large_places)
    struct.blocks, struct.stretches = -(-postings.size // BLOCK), -(-postings.size // STRETCH) + 1
    return struct


def set_numbers(struct: PartStruct, numbers: Numbers) -> None:
    struct.weights = numbers.weights
    struct.base, struct.scale, struct.gain, struct.k1, struct.delta = numbers[1:]


def point_to(structs: Sequence[PartStruct]) -> Any:
    """An array of pointers to them."""
    return (ctypes.c_void_p * len(structs))(*map(ctypes.addressof, structs))


def quantize(struct: PartStruct, numbers: Numbers, ceiling: float) -> NDArray[np.uint8]:
    """The gain of each posting as a number from 1 to 255, rounded up; 255 is the ceiling."""
    impacts = np.empty(struct.postings, np.uint8)
    set_numbers(struct, numbers)
    library.loops().quantize(ctypes.addressof(struct), ceiling, at(impacts, np.uint8))
    return impacts


def tabulate(
    struct: PartStruct, impacts: NDArray[np.uint8], frequent: NDArray[np.int64], size: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint16]]:
    """For frequent terms the largest impact in each block, where each stretch begins, and places with impacts.

    `size` is the number of their postings, unless it is damaged.
    """
    maxima = np.zeros((len(frequent), struct.blocks), np.uint8)
    skips = np.empty((len(frequent), struct.stretches), np.uint32)
    packed = np.empty(min(max(size, 0), struct.postings), np.uint16)
    library.loops().tabulate(
        ctypes.addressof(struct), at(impacts, np.uint8), at(frequent, np.int64), len(frequent),
        at(maxima, np.uint8), at(skips, np.uint32), at(packed, np.uint16), len(packed),
    )  # fmt: skip
    return maxima, skips, packed


def merge(parts: Sequence[Postings], new_docs: Sequence[NDArray[np.int32]]) -> tuple[NDArray[Any], ...]:
    """Keys, starts, docs, counts, large places and large counts of the passages that have a new number of 0 or more."""
    structs = [describe(part) for part in parts]
    targets = (ctypes.c_void_p * len(parts))(*(at(docs, np.int32) for docs in new_docs))
    terms, postings, larges = (
        sum(len(getattr(part, name)) for part in parts) for name in ("keys", "docs", "large_places")
    )
    out: tuple[NDArray[Any], ...] = (
        np.empty(terms, np.uint64), np.empty(terms + 1, np.int64), np.empty(postings, np.int32),
        np.empty(postings, np.uint8), np.empty(larges, np.int64), np.empty(larges, np.uint32),
    )  # fmt: skip
    progress, sizes = np.zeros(2 * len(parts), np.int64), np.zeros(3, np.int64)
    library.loops().merge_postings(
        point_to(structs), len(parts), targets, at(progress, np.int64), *(array.ctypes.data for array in out),
        at(sizes, np.int64),
    )  # fmt: skip
    terms, postings, larges = sizes.tolist()
    kept = (terms, terms + 1, postings, postings, larges, larges)
    return tuple(array[:size].copy() if size < len(array) else array for array, size in zip(out, kept, strict=True))
