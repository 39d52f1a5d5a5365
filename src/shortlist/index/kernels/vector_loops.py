"""The loops of `vectors.c`: vectors rounded to bytes, and the nearest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions, Vectors


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
) -> tuple[Positions, Floats]:
    """Places that include the k nearest and all that tie with the last, and their exact products with the query.

    With `added`, these are the k highest sums of a number for each vector and `factor` times its product, and also the
    one with the highest product and all that tie with it.
    """
    _check_sizes(vectors, query)
    places, scores = np.empty(len(codes), np.int64), np.empty(len(codes), np.float64)
    found = library.loops().nearest(
        at(codes, np.int8), at(facts, np.float32), at(vectors, np.float32), *vectors.shape, at(query, np.float32), k,
        None if alive is None else at(alive, np.bool_), None if added is None else at(added, np.float64), factor,
        at(places, np.int64), at(scores, np.float64),
    )  # fmt: skip
    return places[:found].copy(), scores[:found].copy()


def _check_sizes(vectors: Vectors, query: Vectors) -> None:
    if query.shape != vectors.shape[1:]:
        raise ValueError(f"a query of {len(query)} dimensions cannot be compared with vectors of {vectors.shape[1]}")
