"""What do these passages hold? Postings: which terms stand in which passages, how often and in which field.

They never change once built. A term is named by its 64-bit key (`tokens.term_key`), so parts share no dictionary and
merge without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.lexical.bm25 import FIELDS
from shortlist.index.text.analyzers import Analyzer, name_words, term_key, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask

    # Keys, starts, docs, tfs and lengths.
    Arrays = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]

# A posting's counts in one number: 8 bits for the title, 8 for the keywords, 16 for the content, each saturating.
SHIFTS = (24, 16, 0)
LIMITS = (0xFF, 0xFF, 0xFFFF)

# Below this many characters texts are indexed without numba.
COMPILED_TEXT = 4 << 20

# From then on, so many characters are handed over at a time.
SCANNED_TEXT = 4 << 20

# Below this many postings parts are merged without numba.
COMPILED_MERGE = 200_000

# The field of a text that is only a name.
NOTHING = len(FIELDS)

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
    def of(cls, keywords: Sequence[int], names: Sequence[int], named: Sequence[bool]) -> Places:
        """Where passages have a title, so many keywords, their content and so many names; or the title is one."""
        keyword_counts = np.array(keywords, dtype=np.int64)
        counts = keyword_counts + np.array(names, dtype=np.int64) + 2
        docs = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(docs)) - (np.cumsum(counts) - counts)[docs]
        content = keyword_counts[docs] + 1
        fields = (place > 0).astype(np.int64) + (place >= content) + (place > content)  # title, keywords, content, name
        return cls(docs, fields, (fields == NOTHING) | ((fields == 0) & np.array(named, dtype=np.bool_)[docs]))


def build(passages: Iterable[Fields], analyzer: Analyzer) -> Postings:
    """Postings of passages in the order given."""
    texts: list[str] = []
    characters = 0
    keyword_counts: list[int] = []
    name_counts: list[int] = []
    named: list[bool] = []
    with ExitStack() as stack:
        scanner = None
        for title, keywords, content, names in passages:
            texts.append(title)
            texts += keywords
            texts.append(content)
            others = [name for name in names if name is not title]
            texts += others
            keyword_counts.append(len(keywords))
            name_counts.append(len(others))
            named.append(len(others) < len(names))
            characters += len(content)
            if characters >= (COMPILED_TEXT if scanner is None else SCANNED_TEXT) and analyzer.words is words:
                from shortlist.index.lexical import bulk_postings  # noqa: PLC0415  # numba: only when there is work for it

                scanner = scanner or stack.enter_context(bulk_postings.Scanner())
                scanner.add(texts)
                texts, characters = [], 0
        places = Places.of(keyword_counts, name_counts, named)
        if scanner is None:
            arrays, name_keys = _postings_of(texts, places, len(named), analyzer)
        else:
            scanner.add(texts)
            arrays, name_keys = bulk_postings.postings_of(scanner.finish(), places, len(named), analyzer)
    name_keys, name_docs = _by_key(name_keys, places.docs[places.names])
    return Postings(
        *arrays,
        name_keys=name_keys,
        name_docs=name_docs.astype(np.int32),
        length_sums=arrays[-1].sum(axis=0, dtype=np.int64),
    )


def _by_key(keys: NDArray[np.uint64], docs: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Names and their passages in the order of keys, then passages, each pair once, without those of key 0."""
    order = np.lexsort((docs, keys))
    keys, docs = keys[order], docs[order]
    kept = keys != 0
    kept[1:] &= (keys[1:] != keys[:-1]) | (docs[1:] != docs[:-1])
    return keys[kept], docs[kept]


def _postings_of(
    texts: Sequence[str], places: Places, docs: int, analyzer: Analyzer
) -> tuple[Arrays, NDArray[np.uint64]]:
    """What `bulk.postings_of` gives, without numba."""
    held: dict[str, dict[int, int]] = {}  # of each term its passages, in order, and the counts in each
    lengths = [0] * (docs * len(FIELDS))
    name_keys: list[int] = []
    places_of_texts = zip(places.docs.tolist(), places.fields.tolist(), places.names.tolist(), strict=True)
    for text, (doc, field, is_name) in zip(texts, places_of_texts, strict=True):
        if is_name:
            name_keys.append(name_key(text))
        if field == NOTHING:
            continue
        terms = analyzer.terms(text)
        lengths[doc * len(FIELDS) + field] += len(terms)
        one, full = 1 << SHIFTS[field], LIMITS[field] << SHIFTS[field]
        for term in terms:
            counts = held.setdefault(term, {})
            before = counts.get(doc, 0)
            if before & full != full:
                counts[doc] = before + one
    by_key = sorted((term_key(term), term) for term in held)
    lists = [held[term] for _, term in by_key]
    arrays = (
        np.array([key for key, _ in by_key], dtype=np.uint64),
        np.cumsum([0, *map(len, lists)]),
        np.array([doc for counts in lists for doc in counts], dtype=np.int32),
        np.array([count for counts in lists for count in counts.values()], dtype=np.uint32),
        np.array(lengths, dtype=np.int32).reshape(docs, len(FIELDS)),
    )
    return arrays, np.array(name_keys, dtype=np.uint64)


def freeze(*arrays: NDArray[Any]) -> None:
    """Never to be written to again; so loops are compiled for one kind of arrays, whether made here or read."""
    for array in arrays:
        array.setflags(write=False)


def weighted_tf(tfs: Any, weights: tuple[float, float, float]) -> Any:
    """The counts of packed postings, weighed by field; of one or of an array of them."""
    return weights[0] * (tfs >> 24) + weights[1] * ((tfs >> 16) & 0xFF) + weights[2] * (tfs & 0xFFFF)


def weighted_length(lengths: NDArray[np.int32], weights: tuple[float, float, float]) -> NDArray[np.float64]:
    """The lengths of passages, weighed by field; added up in the order of the compiled loops, so that all are equal."""
    weighed: NDArray[np.float64] = weights[0] * lengths[:, 0] + weights[1] * lengths[:, 1] + weights[2] * lengths[:, 2]
    return weighed


def merge(parts: Sequence[tuple[Postings, Mask | None]]) -> Postings:
    """One part out of several, in order, without the passages that their masks call dead."""
    alive = [np.ones(part.size, dtype=bool) if dead is None else ~dead for part, dead in parts]
    offsets = np.cumsum([0] + [int(mask.sum()) for mask in alive])
    moved = [
        np.where(mask, np.cumsum(mask) - 1 + offset, -1).astype(np.int32)
        for mask, offset in zip(alive, offsets[:-1], strict=True)
    ]
    together = [part for part, _ in parts]
    join = _join if sum(len(part.docs) for part in together) < COMPILED_MERGE else _join_compiled
    keys, starts, docs, tfs = join(together, moved)
    names = [(part.name_keys, to[part.name_docs]) for part, to in zip(together, moved, strict=True)]
    name_keys, name_docs = (np.concatenate(column) for column in zip(*names, strict=True))
    order = np.lexsort((name_docs, name_keys))
    order = order[name_docs[order] >= 0]
    lengths = np.concatenate([part.lengths[mask] for part, mask in zip(together, alive, strict=True)])
    return Postings(
        keys, starts, docs, tfs, lengths, name_keys[order], name_docs[order], lengths.sum(axis=0, dtype=np.int64)
    )


def _join(
    parts: Sequence[Postings], moved: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]:
    """Keys, starts, docs and tfs of the postings that go on, the passages of parts being moved to new places."""
    docs = np.concatenate([to[part.docs] for part, to in zip(parts, moved, strict=True)])
    keys = np.concatenate([np.repeat(part.keys, np.diff(part.starts)) for part in parts])
    order = np.argsort(keys, kind="stable")  # stable: within a term, passages stay in order
    order = order[docs[order] >= 0]
    unique, first = np.unique(keys[order], return_index=True)
    tfs = np.concatenate([part.tfs for part in parts])
    return unique, np.append(first, len(order)).astype(np.int64), docs[order], tfs[order]


def _join_compiled(
    parts: Sequence[Postings], moved: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32]]:
    from shortlist.index.kernels import text_loops  # noqa: PLC0415  # numba: only when there is work for it

    keys, numbers = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    terms = np.split(numbers, np.cumsum([len(part.keys) for part in parts])[:-1])
    counts = np.zeros(len(keys), np.int64)
    for part, here, to in zip(parts, terms, moved, strict=True):
        text_loops.count_moved(counts, part.docs, part.starts, here, to)
    starts = np.concatenate(([0], np.cumsum(counts)))
    docs, tfs = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    free = starts[:-1].copy()
    for part, here, to in zip(parts, terms, moved, strict=True):
        text_loops.move(free, part.docs, part.tfs, part.starts, here, to, docs, tfs)
    return keys[counts > 0], np.append(starts[:-1][counts > 0], starts[-1]), docs, tfs


def name_key(name: str) -> int:
    """The key of a name, or 0 for one that is too long to be a name."""
    parts = name_words(name)
    return term_key(" ".join(parts)) if 0 < len(parts) <= NAME_WORDS else 0
