"""Postings: the passages that each term occurs in, with its counts by field.

They never change once built. A term is identified by its 64-bit key (`analyzers.term_key`), so segments share no
dictionary and merge without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask


class Fields(NamedTuple):
    """The searchable text of one passage, and the names that find it exactly."""

    title: str = ""
    keywords: Sequence[str] = ()
    content: str = ""
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The terms of a run of passages: for each term the passages that contain it, in order, with its counts."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    tfs: NDArray[np.uint32]
    lengths: NDArray[np.int32]  # passages x fields
    name_keys: NDArray[np.uint64]
    name_docs: NDArray[np.int32]
    length_sums: NDArray[np.int64]  # by field

    def __post_init__(self) -> None:
        freeze(*self.arrays().values())

    @property
    def size(self) -> int:
        return len(self.lengths)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        return cls(**{name: arrays[name] for name in cls.__slots__})


def freeze(*arrays: NDArray[Any]) -> None:
    """Make arrays read-only, as those read from a file are, so that loops are compiled for one kind of array."""
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
    return Postings(*_join(postings, new_docs), lengths, name_keys[order], name_docs[order], length_sums)


def _join(
    parts: Sequence[Postings], new_docs: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]:
    """Keys, starts, docs and tfs of the postings of live passages, which get new numbers."""
    keys, numbers = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    terms = np.split(numbers, np.cumsum([len(part.keys) for part in parts])[:-1])
    alive = [to[part.docs] >= 0 for part, to in zip(parts, new_docs, strict=True)]
    counts = [
        np.diff(np.concatenate(([0], np.cumsum(mask)))[part.starts]) for part, mask in zip(parts, alive, strict=True)
    ]
    totals = np.bincount(numbers, np.concatenate(counts), len(keys)).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(totals)))
    docs, tfs = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    free = starts[:-1].copy()
    for part, here, to, mask, count in zip(parts, terms, new_docs, alive, counts, strict=True):
        at = np.repeat(free[here] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        docs[at], tfs[at] = to[part.docs[mask]], part.tfs[mask]
        free[here] += count
    return keys[totals > 0], np.append(starts[:-1][totals > 0], starts[-1]), docs, tfs
