"""Postings: the passages that each term occurs in, with its counts by field.

They never change once built. A term is identified by its 64-bit key (`analyzers.term_key`), so segments share no
dictionary and merge without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from shortlist.index.kernels import ranking_loops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask


class Fields(NamedTuple):
    """The searchable text of one passage, and the names that find it exactly."""

    title: str = ""
    keywords: Sequence[str] = ()
    content: str = ""
    names: Sequence[str] = ()
    language: str = ""  # that the document says it has; else it is detected


class Counts(NamedTuple):
    """The counts of postings by field, a byte each: 2 bits for the title, 2 for the keywords, 4 for the content.

    A byte of 0 stands for counts that need more: their places, in order, and the counts packed as in `formulas.py`.
    """

    codes: NDArray[np.uint8]
    large_places: NDArray[np.int64]
    large_counts: NDArray[np.uint32]

    @classmethod
    def of(cls, tfs: NDArray[np.uint32]) -> Counts:
        fits = tfs & ~np.uint32(3 << 24 | 3 << 16 | 15) == 0
        codes = np.where(fits, tfs >> 18 | tfs >> 12 | tfs, 0).astype(np.uint8)
        large = np.flatnonzero(~fits)
        return cls(codes, large, tfs[large])


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The terms of a run of passages: for each term the passages that contain it, in order, with its counts."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint8]  # see Counts
    large_places: NDArray[np.int64]
    large_counts: NDArray[np.uint32]
    lengths: NDArray[np.int32]  # passages x fields
    name_keys: NDArray[np.uint64]
    name_docs: NDArray[np.int32]
    length_sums: NDArray[np.int64]  # by field

    TYPES: ClassVar[dict[str, Any]] = {
        "keys": np.uint64, "starts": np.int64, "docs": np.int32, "counts": np.uint8, "large_places": np.int64,
        "large_counts": np.uint32, "lengths": np.int32, "name_keys": np.uint64, "name_docs": np.int32,
    }  # fmt: skip

    def __post_init__(self) -> None:
        freeze(*self.arrays().values())

    @property
    def size(self) -> int:
        return len(self.lengths)

    def tfs(self, start: int = 0, end: int | None = None) -> NDArray[np.uint32]:
        """The counts of postings, packed as in `formulas.py`."""
        codes = self.counts[start:end].astype(np.uint32)
        tfs = ((codes >> 6) << 24 | (codes >> 4 & 3) << 16 | codes & 15).astype(np.uint32, copy=False)
        first, last = np.searchsorted(self.large_places, (start, len(self.counts) if end is None else end))
        tfs[self.large_places[first:last] - start] = self.large_counts[first:last]
        return tfs

    def find_fault(self) -> str:
        """What no postings can contain; empty if there is nothing. The lengths of the arrays agree already."""
        starts, docs, size = self.starts, self.docs, self.size
        if not is_ascending(self.keys):
            return "has terms that are not in order"
        if starts[0] != 0 or starts[-1] != len(docs) or not (starts[1:] >= starts[:-1]).all():
            return "has postings that do not belong to a term"
        breaks = np.flatnonzero(docs[1:] <= docs[:-1]) + 1  # where the postings of a term must start
        if not _is_below(docs, size) or not np.array_equal(starts[np.searchsorted(starts, breaks)], breaks):
            return "has postings that are not in order"
        if not np.array_equal(self.large_places, np.flatnonzero(self.counts == 0)):
            return "has wrong places of counts"
        if (self.lengths < 0).any() or (self.lengths.sum(axis=0, dtype=np.int64) != self.length_sums).any():
            return "has wrong lengths of passages"
        if not (self.name_keys[1:] >= self.name_keys[:-1]).all() or not _is_below(self.name_docs, size):
            return "has names that are not in order"
        return ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        """The postings in the arrays of a file; those of the first format have counts of four bytes."""
        if "tfs" in arrays:
            arrays = {**arrays, **dict(zip(cls.__slots__[3:6], Counts.of(arrays["tfs"]), strict=True))}
        return cls(**{name: arrays[name] for name in cls.__slots__})


def is_ascending(numbers: NDArray[Any]) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _is_below(numbers: NDArray[np.int32], end: int) -> bool:
    """Whether all are from 0 up to the end, which is not included."""
    return not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < end)


def freeze(*arrays: NDArray[Any]) -> None:
    """Make arrays read-only, as those read from a file are."""
    for array in arrays:
        array.setflags(write=False)


def merge(parts: Sequence[tuple[Postings, Mask | None]]) -> Postings:
    """Merge postings, in order, without the passages that their masks mark as deleted."""
    alive = [np.ones(part.size, dtype=bool) if dead is None else ~dead for part, dead in parts]
    offsets = np.cumsum([0] + [int(mask.sum()) for mask in alive])
    new_docs = [
        np.where(mask, np.cumsum(mask) - 1 + offset, -1).astype(np.int32)
        for mask, offset in zip(alive, offsets[:-1], strict=True)
    ]
    postings = [part for part, _ in parts]
    name_keys = np.concatenate([part.name_keys for part in postings])
    name_docs = np.concatenate([to[part.name_docs] for part, to in zip(postings, new_docs, strict=True)])
    order = np.lexsort((name_docs, name_keys))
    order = order[name_docs[order] >= 0]
    lengths = np.concatenate([part.lengths[mask] for part, mask in zip(postings, alive, strict=True)])
    length_sums = lengths.sum(axis=0, dtype=np.int64)
    keys, starts, docs, *counts = ranking_loops.merge(postings, new_docs)
    names = name_keys[order], name_docs[order]
    return Postings(keys, starts, docs, *Counts(*counts), lengths, *names, length_sums)
