"""Vectors rounded to bytes, which bound every product with a query: a quarter of the bytes is read.

How far rounding moved a vector is kept with it. So each product with a query is known from above and from below, and
only vectors that may still belong to the nearest are compared exactly: some dozens for ten hits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index import kernels
from shortlist.index.lexical.postings import freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """Vectors in bytes and, of each, what one of its steps is worth, how far it was moved, and its length."""

    codes: NDArray[np.int8]
    facts: NDArray[np.float32]

    def __post_init__(self) -> None:
        freeze(self.codes, self.facts)

    @classmethod
    def of(cls, vectors: Vectors) -> Rounded:
        return cls(*kernels.vector_loops.rounded(_read_only(vectors)))

    def nearest(self, vectors: Vectors, query: Vectors, k: int, alive: Mask) -> tuple[Positions, Floats]:
        """Places among which are the k nearest and all that tie with the last, and their exact products with the query.

        `vectors` are those that were rounded; `alive` is empty where all are.
        """
        loops, vectors, query = kernels.vector_loops, _read_only(vectors), _read_only(query)
        codes, facts = loops.rounded(query[None, :])
        products = np.empty(len(self.codes), np.int32)
        loops.multiply(self.codes, codes[0], products)
        most = np.empty(len(products), np.float32)
        least = loops.bound(products, self.facts, facts[0], alive, k, most)
        places = np.flatnonzero(most >= least)
        places = places[np.argsort(-most[places], kind="stable")]
        return loops.compare(vectors, query, places, most[places], k)  # type: ignore[no-any-return]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"rounded.codes": self.codes, "rounded.facts": self.facts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Rounded | None:
        return cls(arrays["rounded.codes"], arrays["rounded.facts"]) if "rounded.codes" in arrays else None


def _read_only(vectors: Vectors) -> Vectors:
    """The same vectors as they are when read from a file, so that loops are compiled for one kind of arrays."""
    view = vectors.view()
    view.setflags(write=False)
    return view
