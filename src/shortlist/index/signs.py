"""Which vectors may be near? The signs of their numbers tell, at a bit each: 1/32 of what exact products would read.

Those whose signs differ least from the query's are looked at again, its larger numbers counting more, and of these the
best are compared exactly. The shares were chosen by measurement, `python -m bench dense` repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.postings import freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.types import Vectors

# Of vectors with d numbers this many over d are compared exactly: the fewer signs tell, the more are compared; and at
# least so many for each that is wanted, but not more than so many. Some times as many are looked at again.
COMPARED = 2.56
FOR_EACH = 100
AT_MOST = 10_000
LOOKED_AT = 4

# The share of a query's numbers, the largest ones, that count more.
HEAVY = 0.4

WORD = 64
ROWS = 65_536  # at a time, while signs are taken


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """On which side of their centre vectors lie, in every direction."""

    bits: NDArray[np.uint64]

    def __post_init__(self) -> None:
        freeze(self.bits)

    @classmethod
    def of(cls, vectors: Vectors) -> Signs:
        centre = vectors.mean(axis=0)
        bits = [_packed(vectors[start : start + ROWS] > centre) for start in range(0, len(vectors), ROWS)]
        return cls(np.concatenate(bits))

    def candidates(self, vector: Vectors, k: int, alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Places that may be among the k nearest; `alive` is empty where all are."""
        from shortlist.index.kernel import vectors  # noqa: PLC0415  # numba: only when there is work for it

        (asked,) = _packed(vector[None, :] > 0)
        sizes = np.abs(vector)
        (heavy,) = _packed((sizes >= np.quantile(sizes, 1.0 - HEAVY))[None, :])
        wanted = max(int(len(self.bits) * COMPARED / len(vector)), min(FOR_EACH * k, AT_MOST), 2 * k)
        distances = np.empty(len(self.bits), np.uint16)
        places: NDArray[np.int64] = vectors.near(self.bits, asked, heavy, alive, LOOKED_AT * wanted, wanted, distances)
        return places

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"signs.bits": self.bits}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Signs | None:
        return cls(arrays["signs.bits"]) if "signs.bits" in arrays else None


def _packed(signs: NDArray[np.bool_]) -> NDArray[np.uint64]:
    padded = np.pad(signs, ((0, 0), (0, -signs.shape[1] % WORD)))
    return np.packbits(padded, axis=1).view(np.uint64)
