"""The loops of `vectors.c` and `signs.c`: vectors rounded to bytes and to signs, and the nearest of them."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions, Vectors

SIGN_BLOCK = 64  # as in signs.h
SLICE = 4_000 * SIGN_BLOCK  # vectors for a thread; with fewer, starting it takes as long as it saves

_cores = threading.Lock()  # held by the one query that several threads work for


def round_vectors(vectors: Vectors) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Vectors in bytes; for each the value of a step, how far it was moved at most, and its length as rounded."""
    codes, facts = np.empty(vectors.shape, np.int8), np.empty((len(vectors), 3), np.float32)
    library.loops().round_vectors(at(vectors, np.float32), *vectors.shape, at(codes, np.int8), at(facts, np.float32))
    return codes, facts


def multiply(vectors: Vectors, query: Vectors) -> Floats:
    """The product of each vector with the query. Equal vectors have equal products, alone and among others."""
    _check_sizes(vectors, query)
    products = np.empty(len(vectors))
    vectors, query = np.ascontiguousarray(vectors), np.ascontiguousarray(query)
    library.loops().multiply_all(
        at(vectors, np.float32), *vectors.shape, at(query, np.float32), at(products, np.float64)
    )
    return products


def nearest(
    codes: NDArray[np.int8],
    facts: NDArray[np.float32],
    vectors: Vectors,
    query: Vectors,
    k: int,
    alive: Mask | None,
    added: Floats | None = None,
    factor: float = 1.0,
    signs: NDArray[np.uint8] | None = None,
    factors: NDArray[np.float32] | None = None,
) -> tuple[Positions, Floats]:
    """Places that include the k nearest and all that tie with the last, and their exact products with the query.

    With `added`, these are the k highest sums of a number for each vector and `factor` times its product, and also the
    one with the highest product and all that tie with it. With `signs` and
    `factors`, a few that are wanted may be missing.
    """
    _check_sizes(vectors, query)
    peaks = None if signs is None or factors is None else _find_peaks(signs, factors, query, alive)
    places, scores = np.empty(len(codes), np.int64), np.empty(len(codes), np.float64)
    found = library.loops().nearest(
        at(codes, np.int8), at(facts, np.float32), at(vectors, np.float32), *vectors.shape, at(query, np.float32), k,
        None if alive is None else at(alive, np.bool_), None if added is None else at(added, np.float64), factor,
        None if signs is None else at(signs, np.uint8), None if factors is None else at(factors, np.float32),
        None if peaks is None else at(peaks, np.float32),
        at(places, np.int64), at(scores, np.float64),
    )  # fmt: skip
    return places[:found].copy(), scores[:found].copy()


def take_signs(vectors: Vectors) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The signs of rotated vectors, in blocks of SIGN_BLOCK, and for each vector the factor of its estimates."""
    count, size = vectors.shape
    signs, factors = (
        np.zeros((-(-count // SIGN_BLOCK), -(-size // 8) * SIGN_BLOCK), np.uint8),
        np.empty(count, np.float32),
    )
    library.loops().take_signs(at(vectors, np.float32), count, size, at(signs, np.uint8), at(factors, np.float32))
    return signs, factors


def _find_peaks(
    signs: NDArray[np.uint8], factors: NDArray[np.float32], query: Vectors, alive: Mask | None
) -> NDArray[np.float32]:
    """The highest estimate in each block. Processor cores share many blocks of one query; others have a core each."""
    peaks = np.empty(len(signs), np.float32)

    def find(first: int, end: int) -> None:
        library.loops().find_peaks(
            at(signs, np.uint8), at(factors, np.float32), first, end, len(query), at(query, np.float32),
            None if alive is None else at(alive, np.bool_), at(peaks, np.float32),
        )  # fmt: skip

    def work() -> None:
        with suppress(IndexError):
            while True:
                find(*slices.pop())

    count = len(factors)
    slices = [(first, min(first + SLICE, count)) for first in range(0, count, SLICE)]
    helpers: list[threading.Thread] = []
    has_cores = len(slices) > 1 and _cores.acquire(blocking=False)
    try:
        with suppress(RuntimeError):  # the system permits no more threads
            for _ in range(min(os.cpu_count() or 1, len(slices)) - 1 if has_cores else 0):
                helper = threading.Thread(target=work)
                helper.start()
                helpers.append(helper)
        work()
        for helper in helpers:
            helper.join()
    finally:
        if has_cores:
            _cores.release()
    return peaks


def _check_sizes(vectors: Vectors, query: Vectors) -> None:
    if query.shape != vectors.shape[1:]:
        raise ValueError(f"a query of {len(query)} dimensions cannot be compared with vectors of {vectors.shape[1]}")
