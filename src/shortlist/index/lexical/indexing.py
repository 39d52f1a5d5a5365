"""Builds postings from texts: few texts in Python, many in the compiled loops of `bulk_postings`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels.formulas import LIMITS, SHIFTS
from shortlist.index.lexical.bm25 import FIELDS
from shortlist.index.lexical.bulk_postings import Scanner, index_words
from shortlist.index.lexical.postings import NAME_ONLY, NAME_WORDS, Fields, Postings, TextPlaces
from shortlist.index.text.analyzers import Analyzer, name_words, term_key, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.index.lexical.postings import Arrays

# From this many characters on, texts are indexed by the compiled loops, in batches of this many.
COMPILED_TEXT = 4 << 20
SCANNED_TEXT = 4 << 20

_NAMED_TITLE = NAME_ONLY + 1  # a title that is also a name


def build(passages: Iterable[Fields], analyzer: Analyzer) -> Postings:
    """Build the postings of passages in the order given."""
    texts: list[str] = []
    counts: list[int] = []  # of texts, by passage
    kinds = bytearray()  # of texts: a field, NAME_ONLY or _NAMED_TITLE
    characters = 0
    scanner = None
    for title, keywords, content, names in passages:
        others = [name for name in names if name is not title]
        texts += (title, *keywords, content, *others)
        kinds.append(_NAMED_TITLE if len(others) < len(names) else 0)
        kinds += b"\1" * len(keywords) + b"\2" + bytes((NAME_ONLY,)) * len(others)
        counts.append(2 + len(keywords) + len(others))
        characters += len(content)
        if characters >= (COMPILED_TEXT if scanner is None else SCANNED_TEXT) and analyzer.words is words:
            scanner = scanner or Scanner()
            scanner.add(texts)
            texts, characters = [], 0
    fields = np.frombuffer(bytes(kinds), np.uint8).astype(np.int64)
    is_name = fields >= NAME_ONLY
    fields[fields == _NAMED_TITLE] = 0
    places = TextPlaces(np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.int64)), fields, is_name)
    if scanner is None:
        arrays, name_keys = _index_texts(texts, places, len(counts), analyzer)
    else:
        scanner.add(texts)
        arrays, name_keys = index_words(*scanner.finish(), places, len(counts), analyzer)
    name_docs = places.docs[is_name]
    order = np.lexsort((name_docs, name_keys))
    name_keys, name_docs = name_keys[order], name_docs[order]
    is_new = name_keys != 0
    is_new[1:] &= (name_keys[1:] != name_keys[:-1]) | (name_docs[1:] != name_docs[:-1])
    length_sums = arrays[-1].sum(axis=0, dtype=np.int64)
    return Postings(*arrays, name_keys[is_new], name_docs[is_new].astype(np.int32), length_sums)


def _index_texts(
    texts: Sequence[str], places: TextPlaces, docs: int, analyzer: Analyzer
) -> tuple[Arrays, NDArray[np.uint64]]:
    """Compute what `bulk_postings.index_words` does, without numba."""
    postings: dict[str, dict[int, int]] = {}  # for each term its passages, in order, and the counts in each
    lengths = np.zeros((docs, len(FIELDS)), np.int32)
    name_keys: list[int] = []
    columns = (column.tolist() for column in places)
    for text, doc, field, is_name in zip(texts, *columns, strict=True):
        if is_name:
            parts = name_words(text)
            name_keys.append(term_key(" ".join(parts)) if 0 < len(parts) <= NAME_WORDS else 0)
        if field == NAME_ONLY:
            continue
        terms = analyzer.terms(text)
        lengths[doc, field] += len(terms)
        one, full = 1 << SHIFTS[field], LIMITS[field] << SHIFTS[field]
        for term in terms:
            counts = postings.setdefault(term, {})
            before = counts.get(doc, 0)
            if before & full != full:
                counts[doc] = before + one
    by_key = sorted((term_key(term), term) for term in postings)
    lists = [postings[term] for _, term in by_key]
    arrays = (
        np.array([key for key, _ in by_key], dtype=np.uint64),
        np.cumsum([0, *map(len, lists)]),
        np.array([doc for counts in lists for doc in counts], dtype=np.int32),
        np.array([count for counts in lists for count in counts.values()], dtype=np.uint32),
        lengths,
    )
    return arrays, np.array(name_keys, dtype=np.uint64)
