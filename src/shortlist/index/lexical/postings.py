"""Postings: which terms occur in which passages, how often and in which field.

They never change once built. A term is named by its 64-bit key (`tokens.term_key`), so parts share no dictionary and
merge without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.lexical.bm25 import FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask

    # Keys, starts, docs, tfs and lengths.
    Arrays = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]

# Kinds of texts beside the fields: only a name; a title that is a name.
NOTHING = len(FIELDS)
NAMED_TITLE = NOTHING + 1

# Longer titles are sentences, not names.
NAME_WORDS = 16


class Fields(NamedTuple):
    """The searchable text of one passage, and the names that find it exactly."""

    title: str = ""
    keywords: Sequence[str] = ()
    content: str = ""
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Terms of a run of passages: for each term the passages that hold it, in order, with their counts by field."""

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


class Places(NamedTuple):
    """Of each text its passage, its field (NOTHING for one that is only a name), and whether it is a name."""

    docs: NDArray[np.int64]
    fields: NDArray[np.int64]
    names: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: Sequence[int], kinds: bytes) -> Places:
        """Of passages with so many texts each, and the kind of each text: a field, NOTHING or NAMED_TITLE."""
        fields = np.frombuffer(kinds, np.uint8).astype(np.int64)
        names = fields >= NOTHING
        fields[fields == NAMED_TITLE] = 0
        return cls(np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.int64)), fields, names)


def freeze(*arrays: NDArray[Any]) -> None:
    """Never to be written to again; so loops are compiled for one kind of arrays, whether made here or read."""
    for array in arrays:
        array.setflags(write=False)


def merge(parts: Sequence[tuple[Postings, Mask | None]]) -> Postings:
    """One part out of several, in order, without the passages that their masks call dead."""
    alive = [np.ones(part.size, dtype=bool) if dead is None else ~dead for part, dead in parts]
    offsets = np.cumsum([0] + [int(mask.sum()) for mask in alive])
    moved = [
        np.where(mask, np.cumsum(mask) - 1 + offset, -1).astype(np.int32)
        for mask, offset in zip(alive, offsets[:-1], strict=True)
    ]
    together = [part for part, _ in parts]
    names = [(part.name_keys, to[part.name_docs]) for part, to in zip(together, moved, strict=True)]
    name_keys, name_docs = (np.concatenate(column) for column in zip(*names, strict=True))
    order = np.lexsort((name_docs, name_keys))
    order = order[name_docs[order] >= 0]
    lengths = np.concatenate([part.lengths[mask] for part, mask in zip(together, alive, strict=True)])
    return Postings(
        *_join(together, moved), lengths, name_keys[order], name_docs[order], lengths.sum(axis=0, dtype=np.int64)
    )


def _join(
    parts: Sequence[Postings], moved: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]:
    """Keys, starts, docs and tfs of the postings of live passages, which are moved to new places."""
    keys, numbers = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    terms = np.split(numbers, np.cumsum([len(part.keys) for part in parts])[:-1])
    kept = [to[part.docs] >= 0 for part, to in zip(parts, moved, strict=True)]
    counts = [
        np.diff(np.concatenate(([0], np.cumsum(mask)))[part.starts]) for part, mask in zip(parts, kept, strict=True)
    ]
    totals = np.bincount(numbers, np.concatenate(counts), len(keys)).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(totals)))
    docs, tfs = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    free = starts[:-1].copy()
    for part, here, to, mask, count in zip(parts, terms, moved, kept, counts, strict=True):
        at = np.repeat(free[here] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        docs[at], tfs[at] = to[part.docs[mask]], part.tfs[mask]
        free[here] += count
    return keys[totals > 0], np.append(starts[:-1][totals > 0], starts[-1]), docs, tfs
