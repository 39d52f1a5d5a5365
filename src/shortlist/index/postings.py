"""What do these passages hold? Postings: which terms stand in which passages, how often and in which field.

They never change once built. A term is named by its 64-bit key (`tokens.term_key`), so parts share no dictionary and
merge without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.formulas import FIELDS
from shortlist.index.tokens import Analyzer, name_words, term_key, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.types import Mask

# A posting's counts in one number: 8 bits for the title, 8 for the keywords, 16 for the content, each saturating.
SHIFTS = (24, 16, 0)
LIMITS = (0xFF, 0xFF, 0xFFFF)

# Below this many characters texts are indexed without numba.
COMPILED_TEXT = 4 << 20

# Longer titles are sentences, not names.
NAME_WORDS = 16


@dataclass(frozen=True, slots=True)
class Fields:
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

    @property
    def size(self) -> int:
        return len(self.lengths)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        return cls(**{name: arrays[name] for name in cls.__slots__})


def build(passages: Iterable[Fields], analyzer: Analyzer) -> Postings:
    """Postings of passages in the order given."""
    texts: list[str] = []
    text_docs: list[int] = []
    text_fields: list[int] = []
    names: list[tuple[int, int]] = []
    docs = 0
    for doc, passage in enumerate(passages):
        docs = doc + 1
        for field, parts in enumerate(((passage.title,), passage.keywords, (passage.content,))):
            texts += parts
            text_docs += [doc] * len(parts)
            text_fields += [field] * len(parts)
        names += {(key, doc) for name in passage.names if (key := name_key(name)) is not None}
    if analyzer.words is words and sum(map(len, texts)) >= COMPILED_TEXT:
        from shortlist.index import bulk  # noqa: PLC0415  # numba: only when there is work for it

        arrays = bulk.postings_of(texts, text_docs, text_fields, docs, analyzer)
    else:
        arrays = _postings_of(texts, text_docs, text_fields, docs, analyzer)
    names.sort()
    return Postings(
        *arrays,
        name_keys=np.array([key for key, _ in names], dtype=np.uint64),
        name_docs=np.array([doc for _, doc in names], dtype=np.int32),
        length_sums=arrays[-1].sum(axis=0, dtype=np.int64),
    )


def _postings_of(
    texts: Sequence[str], text_docs: Sequence[int], text_fields: Sequence[int], docs: int, analyzer: Analyzer
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]:
    """Keys, starts, docs, tfs and lengths of texts, each a part of a field of a passage, in the order of passages."""
    ids: dict[str, int] = {}
    tokens: list[int] = []
    counts: list[int] = []
    for text in texts:
        terms = analyzer.terms(text)
        tokens += [ids.setdefault(term, len(ids)) for term in terms]
        counts.append(len(terms))
    keys, rank = order_terms(ids)
    doc_of = np.repeat(np.array(text_docs, dtype=np.int64), counts)
    field_of = np.repeat(np.array(text_fields, dtype=np.int64), counts)
    rows = max(docs, 1)
    pairs, group = np.unique(rank[np.array(tokens, dtype=np.int64)] * rows + doc_of, return_inverse=True)
    tfs = np.zeros(len(pairs), dtype=np.uint32)
    for field, (shift, limit) in enumerate(zip(SHIFTS, LIMITS, strict=True)):
        counted = np.bincount(group[field_of == field], minlength=len(pairs))
        tfs |= np.minimum(counted, limit).astype(np.uint32) << np.uint32(shift)
    lengths = np.bincount(doc_of * len(FIELDS) + field_of, minlength=docs * len(FIELDS)).reshape(docs, len(FIELDS))
    starts = np.searchsorted(pairs // rows, np.arange(len(ids) + 1))
    return keys, starts.astype(np.int64), (pairs % rows).astype(np.int32), tfs, lengths.astype(np.int32)


def order_terms(terms: Iterable[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The keys of terms in the order of an index, and the place of each term in it."""
    keys = np.array([term_key(term) for term in terms], dtype=np.uint64)
    order = np.argsort(keys)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return keys[order], places


def weighted_tf(tfs: Any, weights: tuple[float, float, float]) -> Any:
    """The counts of packed postings, weighed by field; of one or of an array of them."""
    return weights[0] * (tfs >> 24) + weights[1] * ((tfs >> 16) & 0xFF) + weights[2] * (tfs & 0xFFFF)


def merge(parts: Sequence[tuple[Postings, Mask | None]]) -> Postings:
    """One part out of several, in order, without the passages that their masks call dead."""
    alive = [np.ones(part.size, dtype=bool) if dead is None else ~dead for part, dead in parts]
    offsets = np.cumsum([0] + [int(mask.sum()) for mask in alive])
    keys, docs, tfs, name_keys, name_docs = [], [], [], [], []
    for (part, _), mask, offset in zip(parts, alive, offsets[:-1], strict=True):
        moved = np.cumsum(mask, dtype=np.int64) - 1 + offset
        kept = mask[part.docs]
        keys.append(np.repeat(part.keys, np.diff(part.starts))[kept])
        docs.append(moved[part.docs[kept]])
        tfs.append(part.tfs[kept])
        kept = mask[part.name_docs]
        name_keys.append(part.name_keys[kept])
        name_docs.append(moved[part.name_docs[kept]])

    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys, kind="stable")  # stable: within a term, passages stay in order
    unique, first = np.unique(all_keys[order], return_index=True)
    names = np.concatenate(name_keys)
    name_order = np.argsort(names, kind="stable")
    lengths = np.concatenate([part.lengths[mask] for (part, _), mask in zip(parts, alive, strict=True)])
    return Postings(
        keys=unique,
        starts=np.append(first, len(order)).astype(np.int64),
        docs=np.concatenate(docs)[order].astype(np.int32),
        tfs=np.concatenate(tfs)[order],
        lengths=lengths,
        name_keys=names[name_order],
        name_docs=np.concatenate(name_docs)[name_order].astype(np.int32),
        length_sums=lengths.sum(axis=0, dtype=np.int64),
    )


def name_key(name: str) -> int | None:
    """The key of a name, or None for one that is too long to be a name."""
    parts = name_words(name)
    return term_key(" ".join(parts)) if 0 < len(parts) <= NAME_WORDS else None
