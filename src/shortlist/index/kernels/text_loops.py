"""The loops of `text.c`: from texts in one buffer to words, terms and postings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Integers = NDArray[np.int64]
    Keys = NDArray[np.uint64]

# The classes of characters for the scanner of words, as in text.c.
SEPARATOR, WORD, MARK, EMOJI, QUOTE = range(5)


def hash_spans(buffer: Bytes, starts: Integers, ends: Integers) -> Keys:
    """`analyzers.term_key` of each span."""
    keys = np.empty(len(starts), np.uint64)
    library.loops().hash_spans(
        at(buffer, np.uint8), at(starts, np.int64), at(ends, np.int64), len(starts), at(keys, np.uint64)
    )
    return keys


def scan(
    buffer: Bytes, starts: Integers, ends: Integers, classes: Bytes, table: Keys, words: Integers,
    tokens: NDArray[np.int32], counts: NDArray[np.int32], state: Integers,
) -> bool:  # fmt: skip
    """Split texts into words; False if the table must be enlarged, and scanning continued from `state`."""
    is_done = library.loops().scan(
        at(buffer, np.uint8), at(starts, np.int64), at(ends, np.int64), len(ends), at(classes, np.uint8),
        at(table, np.uint64), len(table), at(words[0], np.int64), at(words[1], np.int64), words.shape[1],
        at(tokens, np.int32), at(counts, np.int32), at(state, np.int64),
    )  # fmt: skip
    return bool(is_done)


def rehash(table: Keys) -> Keys:
    """The table, twice as large."""
    larger = np.zeros(2 * len(table), np.uint64)
    library.loops().rehash(at(table, np.uint64), len(table), at(larger, np.uint64), len(larger))
    return larger


def split_words(
    buffer: Bytes, starts: Integers, ends: Integers, longest: int
) -> tuple[Integers, NDArray[np.bool_], Integers, Integers]:
    """Split words into parts as `analyzers.subwords` does, and move the bounds of words to what is left of them.

    The number of parts of each word, or -1 if it was not split; whether it had quotes; starts and ends of all parts.
    """
    counts, quoted = np.empty(len(starts), np.int64), np.empty(len(starts), np.bool_)
    part_starts, part_ends = np.empty(len(buffer), np.int64), np.empty(len(buffer), np.int64)
    library.loops().split_words(
        at(buffer, np.uint8), at(starts, np.int64), at(ends, np.int64), len(starts), longest,
        at(part_starts, np.int64), at(part_ends, np.int64), at(counts, np.int64), at(quoted, np.bool_),
    )  # fmt: skip
    written = int(np.maximum(counts, 0).sum())
    return counts, quoted, part_starts[:written], part_ends[:written]


def gather(buffer: Bytes, starts: Integers, ends: Integers, separator: int) -> Bytes:
    """Copy the spans one after the other, each followed by a separator."""
    gathered = np.empty(int((ends - starts).sum()) + len(starts), np.uint8)
    spans = at(buffer, np.uint8), at(starts, np.int64), at(ends, np.int64)
    library.loops().gather(*spans, len(starts), at(gathered, np.uint8), separator)
    return gathered


def hash_names(
    tokens: NDArray[np.int32], counts: NDArray[np.int32], firsts: Integers, lasts: Integers, starts: Integers,
    ends: Integers, buffer: Bytes, most: int,
) -> Keys:  # fmt: skip
    """`analyzers.term_key` of names: the parts of their words joined by spaces; 0 if there are none or too many."""
    keys = np.empty(len(counts), np.uint64)
    library.loops().hash_names(
        at(tokens, np.int32), at(counts, np.int32), len(counts), at(firsts, np.int64), at(lasts, np.int64),
        at(starts, np.int64), at(ends, np.int64), at(buffer, np.uint8), most, at(keys, np.uint64),
    )  # fmt: skip
    return keys


def find_silent_texts(
    tokens: NDArray[np.int32], counts: NDArray[np.int32], term_starts: Integers
) -> tuple[list[int], list[int]]:
    """The texts that have words but no terms, and where the tokens of each begin."""
    found, places = np.empty(len(counts), np.int64), np.empty(len(counts), np.int64)
    written = library.loops().find_silent_texts(
        at(tokens, np.int32), at(counts, np.int32), len(counts), at(term_starts, np.int64),
        at(found, np.int64), at(places, np.int64),
    )  # fmt: skip
    return found[:written].tolist(), places[:written].tolist()


def count(
    tokens: NDArray[np.int32], text_counts: NDArray[np.int32], text_docs: Integers, text_fields: Integers, docs: int,
    term_starts: NDArray[np.uint32], terms: NDArray[np.uint32], distinct: int,
) -> tuple[Integers, NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]:  # fmt: skip
    """Starts, passages and counts of postings, and lengths; word w has terms[term_starts[w]:term_starts[w + 1]]."""
    total = library.loops().count_terms(at(tokens, np.int32), len(tokens), at(term_starts, np.uint32))
    starts, lengths = np.zeros(distinct + 1, np.int64), np.zeros((docs, 3), np.int32)
    out_docs, counts = np.empty(total, np.int32), np.empty(total, np.uint32)
    written = library.loops().count_postings(
        at(tokens, np.int32), at(text_counts, np.int32), at(text_docs, np.int64), at(text_fields, np.int64),
        len(text_counts), at(term_starts, np.uint32), at(terms, np.uint32), distinct, total,
        at(starts, np.int64), at(out_docs, np.int32), at(counts, np.uint32), at(lengths, np.int32),
    )  # fmt: skip
    if written < 0:
        raise MemoryError("there is not enough memory to index these passages together")
    return starts, out_docs[:written].copy(), counts[:written], lengths
