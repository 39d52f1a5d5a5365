"""How do many texts become postings at once? Compiled loops over one buffer; each distinct word is looked at once.

The terms are exactly the analyzer's: the scanner finds its words, and the analyzer itself expands them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index import kernel
from shortlist.index.postings import order_terms
from shortlist.index.tokens import EMOJI_RANGES, Analyzer, combining_marks, fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Room for this many distinct words at first; doubled when it is full.
FIRST_WORDS = 1 << 16


def postings_of(
    texts: Sequence[str], text_docs: Sequence[int], text_fields: Sequence[int], docs: int, analyzer: Analyzer
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]:
    """Keys, starts, docs, tfs and lengths of texts, each a part of a field of a passage, in the order of passages."""
    words, tokens, counts = _scan(texts)
    expanded = [analyzer.expand(word) for word in words]
    if analyzer.rescue:
        expanded += _rescue(words, tokens, counts, np.array([len(terms) for terms in expanded], dtype=np.int64))
    spans = np.concatenate(([0], np.cumsum([len(terms) for terms in expanded], dtype=np.int64)))
    numbers: dict[str, int] = {}
    terms = np.array([numbers.setdefault(term, len(numbers)) for word in expanded for term in word], dtype=np.int64)
    keys, places = order_terms(numbers)
    starts, out_docs, tfs, lengths = kernel.count(
        tokens,
        counts,
        np.array(text_docs, dtype=np.int32),
        np.array(text_fields, dtype=np.int32),
        docs,
        spans,
        places[terms].astype(np.int32),
        len(keys),
    )
    return keys, starts, out_docs, tfs, lengths


def _scan(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The distinct words, the number of the word at each token, and how many tokens each text has."""
    encoded = [_normalised(text).encode("utf-8", "replace") for text in texts]
    joined = b"".join(encoded)
    buffer = np.frombuffer(joined, dtype=np.uint8)
    sizes = np.array([len(text) for text in encoded], dtype=np.int64)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    room = FIRST_WORDS
    table = np.zeros((2 * room, 2), dtype=np.uint64)
    word_starts, word_ends = np.empty(room, np.int64), np.empty(room, np.int64)
    tokens = np.empty(len(buffer) + 1, dtype=np.int32)
    counts = np.zeros(len(texts), dtype=np.int32)
    state = np.zeros(3, dtype=np.int64)
    while not kernel.scan(buffer, starts, ends, _classes(), table, word_starts, word_ends, tokens, counts, state):
        room *= 2
        larger = np.zeros((2 * room, 2), dtype=np.uint64)
        kernel.rehash(table, larger)
        table = larger
        word_starts, word_ends = np.resize(word_starts, room), np.resize(word_ends, room)
    known, written = int(state[1]), int(state[2])
    spans = zip(word_starts[:known].tolist(), word_ends[:known].tolist(), strict=True)
    return [joined[start:end].decode() for start, end in spans], tokens[:written], counts


def _normalised(text: str) -> str:
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def _rescue(
    words: list[str], tokens: NDArray[np.int32], counts: NDArray[np.int32], sizes: NDArray[np.int64]
) -> list[tuple[str, ...]]:
    """Let texts of stop words alone keep them: their tokens get new numbers; what those stand for, in order."""
    bounds = np.concatenate(([0], np.cumsum(counts)))
    said = np.concatenate(([0], np.cumsum(sizes[tokens])))
    silent = np.flatnonzero((counts > 0) & (said[bounds[1:]] == said[bounds[:-1]]))
    numbers: dict[int, int] = {}
    for text in silent.tolist():
        here = slice(bounds[text], bounds[text + 1])
        tokens[here] = [numbers.setdefault(word, len(words) + len(numbers)) for word in tokens[here].tolist()]
    return [(folded,) if (folded := fold(words[word])).strip("_") else () for word in numbers]


@lru_cache(maxsize=1)
def _classes() -> NDArray[np.uint8]:
    """What each code point is to the scanner."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x33480):  # no letter stands beyond
        if chr(code).isalnum():
            classes[code] = kernel.WORD
    classes[ord("_")] = kernel.WORD
    classes[combining_marks()] = kernel.MARK
    for low, high in EMOJI_RANGES:
        block = classes[low : high + 1]
        block[block == kernel.SEPARATOR] = kernel.EMOJI
    classes[[ord("'"), ord("’")]] = kernel.QUOTE
    return classes
