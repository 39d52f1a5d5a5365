"""Postings of texts: few texts by Python, many by the compiled loops of `bulk_postings`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels.formulas import LIMITS, SHIFTS
from shortlist.index.lexical import bulk_postings
from shortlist.index.lexical.bm25 import FIELDS
from shortlist.index.lexical.postings import NAME_WORDS, NAMED_TITLE, NOTHING, Fields, Places, Postings
from shortlist.index.text.analyzers import Analyzer, name_words, term_key, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.index.lexical.postings import Arrays

# From this many characters on, texts are indexed by the compiled loops, and handed over this many at a time.
COMPILED_TEXT = 4 << 20
SCANNED_TEXT = 4 << 20


def build(passages: Iterable[Fields], analyzer: Analyzer) -> Postings:
    """Postings of passages in the order given."""
    texts: list[str] = []
    counts: list[int] = []  # of texts, by passage
    kinds = bytearray()  # of texts
    characters = 0
    with ExitStack() as stack:
        scanner = None
        for title, keywords, content, names in passages:
            others = [name for name in names if name is not title]
            texts += (title, *keywords, content, *others)
            kinds.append(NAMED_TITLE if len(others) < len(names) else 0)
            kinds += b"\1" * len(keywords) + b"\2" + bytes((NOTHING,)) * len(others)
            counts.append(2 + len(keywords) + len(others))
            characters += len(content)
            if characters >= (COMPILED_TEXT if scanner is None else SCANNED_TEXT) and analyzer.words is words:
                scanner = scanner or stack.enter_context(bulk_postings.Scanner())
                scanner.add(texts)
                texts, characters = [], 0
        places = Places.of(counts, bytes(kinds))
        if scanner is None:
            arrays, name_keys = _postings_of(texts, places, len(counts), analyzer)
        else:
            scanner.add(texts)
            arrays, name_keys = bulk_postings.postings_of(scanner.finish(), places, len(counts), analyzer)
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
    """The result of `bulk_postings.postings_of`, without numba."""
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


def name_key(name: str) -> int:
    """The key of a name, or 0 for one that is too long to be a name."""
    parts = name_words(name)
    return term_key(" ".join(parts)) if 0 < len(parts) <= NAME_WORDS else 0
