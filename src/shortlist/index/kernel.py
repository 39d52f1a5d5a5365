"""The compiled loops, and nothing else. Imported only when there is enough work to repay loading numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from shortlist.index import formulas

_saturated = njit(inline="always")(formulas.gain_saturated)
_scaled = njit(inline="always")(formulas.gain_scaled)
_bm25plus = njit(inline="always")(formulas.gain_bm25plus)
_bm25l = njit(inline="always")(formulas.gain_bm25l)
_linear = njit(inline="always")(formulas.gain_linear)

CODES: dict[Callable[..., Any], int] = {
    formulas.gain_saturated: 0,
    formulas.gain_scaled: 1,
    formulas.gain_bm25plus: 2,
    formulas.gain_bm25l: 3,
    formulas.gain_linear: 4,
}


@njit(cache=True, nogil=True, inline="always")
def _weighted(packed, weights):  # type: ignore[no-untyped-def]
    return weights[0] * (packed >> 24) + weights[1] * ((packed >> 16) & 0xFF) + weights[2] * (packed & 0xFFFF)


@njit(cache=True, nogil=True, inline="always")
def _gain(code, tf, norm, k1, delta):  # type: ignore[no-untyped-def]
    if code == 0:
        return _saturated(tf, norm, k1, delta)
    if code == 1:
        return _scaled(tf, norm, k1, delta)
    if code == 2:
        return _bm25plus(tf, norm, k1, delta)
    if code == 3:
        return _bm25l(tf, norm, k1, delta)
    return _linear(tf, norm, k1, delta)


@njit(cache=True, nogil=True)
def accumulate(scores, docs, tfs, lengths, starts, ends, idfs, weights, base, scale, code, k1, delta):  # type: ignore[no-untyped-def]
    """Add the gain of every posting of the given terms to its passage's score."""
    for term in range(len(starts)):
        idf = idfs[term]
        for at in range(starts[term], ends[term]):
            tf = _weighted(tfs[at], weights)
            if tf != 0.0:
                scores[docs[at]] += idf * _gain(code, tf, base + scale * lengths[docs[at]], k1, delta)


# What a character is to the scanner of words.
SEPARATOR, WORD, MARK, EMOJI, QUOTE = range(5)

_PRIME = np.uint64(1099511628211)
_BASIS = np.uint64(14695981039346656037)


@njit(cache=True, nogil=True)
def _code_point(buffer, at):  # type: ignore[no-untyped-def]
    """The code point that begins there in UTF-8, and how many bytes it takes."""
    first = np.int64(buffer[at])
    if first < 0x80:
        return first, np.int64(1)
    second = np.int64(buffer[at + 1]) & 0x3F
    if first < 0xE0:
        return ((first & 0x1F) << 6) | second, np.int64(2)
    third = np.int64(buffer[at + 2]) & 0x3F
    if first < 0xF0:
        return ((first & 0x0F) << 12) | (second << 6) | third, np.int64(3)
    fourth = np.int64(buffer[at + 3]) & 0x3F
    return ((first & 0x07) << 18) | (second << 12) | (third << 6) | fourth, np.int64(4)


@njit(cache=True, nogil=True)
def _intern(table, hash, count, word_starts, word_ends, start, end):  # type: ignore[no-untyped-def]
    """The number of the word with that hash; `count`, after writing it down, if it is new."""
    mask = np.int64(len(table) - 1)
    slot = np.int64(hash ^ (hash >> np.uint64(29))) & mask
    while table[slot, 1] != np.uint64(0):
        if table[slot, 0] == hash:
            return np.int64(table[slot, 1]) - 1
        slot = (slot + 1) & mask
    table[slot, 0] = hash
    table[slot, 1] = np.uint64(count + 1)
    word_starts[count] = start
    word_ends[count] = end
    return count


@njit(cache=True, nogil=True)
def scan(buffer, starts, ends, classes, table, word_starts, word_ends, tokens, counts, state):  # type: ignore[no-untyped-def]
    """Cut texts into words, each distinct one getting a number, as the pattern `word(?:'word)*|emoji` would.

    `state` holds the text to begin with, how many words are known and how many tokens were written. False says that
    there is no room for more words: make it and go on from `state`.
    """
    known, written = state[1], state[2]
    for text in range(state[0], len(starts)):
        at, end = starts[text], ends[text]
        first = written
        while at < end:
            code, width = _code_point(buffer, at)
            kind = classes[code]
            if kind != WORD and kind != EMOJI:
                at += width
                continue
            begin = at
            hash = _BASIS
            for place in range(at, at + width):
                hash = (hash ^ np.uint64(buffer[place])) * _PRIME
            at += width
            close, closed_hash = at, hash
            after_quote = False
            while kind != EMOJI and at < end:
                code, width = _code_point(buffer, at)
                inner = classes[code]
                if inner == WORD or (inner == MARK and not after_quote):
                    after_quote = False
                elif inner == QUOTE and not after_quote:
                    after_quote = True
                else:
                    break
                for place in range(at, at + width):
                    hash = (hash ^ np.uint64(buffer[place])) * _PRIME
                at += width
                if not after_quote:
                    close, closed_hash = at, hash
            at = close
            if known == len(word_starts):
                state[0], state[1], state[2] = text, known, first
                return False
            word = _intern(table, closed_hash, known, word_starts, word_ends, begin, close)
            if word == known:
                known += 1
            tokens[written] = word
            written += 1
        counts[text] = written - first
    state[0], state[1], state[2] = len(starts), known, written
    return True


@njit(cache=True, nogil=True)
def rehash(old, new):  # type: ignore[no-untyped-def]
    """Move all words of a table into a larger one."""
    mask = np.int64(len(new) - 1)
    for place in range(len(old)):
        if old[place, 1] != np.uint64(0):
            hash = old[place, 0]
            slot = np.int64(hash ^ (hash >> np.uint64(29))) & mask
            while new[slot, 1] != np.uint64(0):
                slot = (slot + 1) & mask
            new[slot] = old[place]


@njit(cache=True, nogil=True)
def count(tokens, text_counts, text_docs, text_fields, docs, term_starts, terms, distinct):  # type: ignore[no-untyped-def]
    """Postings of tokens; the terms of word w are terms[term_starts[w]:term_starts[w + 1]], numbered in their order."""
    total = 0
    for token in tokens:
        total += term_starts[token + 1] - term_starts[token]
    entry_terms = np.empty(total, np.int32)
    entry_docs = np.empty(total, np.int32)
    entry_tfs = np.empty(total, np.uint32)
    last_doc = np.full(distinct, -1, np.int32)
    last_entry = np.empty(distinct, np.int64)
    lengths = np.zeros((docs, 3), np.int32)
    starts = np.zeros(distinct + 1, np.int64)
    entries = at = 0
    for text in range(len(text_counts)):
        doc, field = text_docs[text], text_fields[text]
        shift = np.uint32((24, 16, 0)[field])
        limit = np.uint32((0xFF, 0xFF, 0xFFFF)[field])
        one = np.uint32(1) << shift
        length = 0
        for token in tokens[at : at + text_counts[text]]:
            for place in range(term_starts[token], term_starts[token + 1]):
                term = terms[place]
                length += 1
                if last_doc[term] != doc:
                    last_doc[term] = doc
                    last_entry[term] = entries
                    entry_terms[entries], entry_docs[entries], entry_tfs[entries] = term, doc, one
                    entries += 1
                    starts[term + 1] += 1
                elif (entry_tfs[last_entry[term]] >> shift) & limit != limit:
                    entry_tfs[last_entry[term]] += one
        lengths[doc, field] += length
        at += text_counts[text]
    for term in range(distinct):
        starts[term + 1] += starts[term]
    free = starts[:-1].copy()
    out_docs = np.empty(entries, np.int32)
    out_tfs = np.empty(entries, np.uint32)
    for entry in range(entries):
        place = free[entry_terms[entry]]
        free[entry_terms[entry]] += 1
        out_docs[place] = entry_docs[entry]
        out_tfs[place] = entry_tfs[entry]
    return starts, out_docs, out_tfs, lengths


@njit(cache=True, nogil=True)
def _kth_best(scores, places, count, k, heap):  # type: ignore[no-untyped-def]
    """The k-th largest of scores[places[:count]], or 0 while there are fewer."""
    if count < k:
        return np.float32(0.0)
    filled = 0
    for at in range(count):
        score = scores[places[at]]
        if filled < k:
            child = filled
            filled += 1
            while child > 0 and heap[(child - 1) >> 1] > score:
                heap[child] = heap[(child - 1) >> 1]
                child = (child - 1) >> 1
            heap[child] = score
        elif score > heap[0]:
            parent = 0
            while True:
                child = 2 * parent + 1
                if child >= k:
                    break
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= score:
                    break
                heap[parent] = heap[child]
                parent = child
            heap[parent] = score
    return heap[0]


@njit(cache=True, nogil=True)
def _find(docs, start, end, doc):  # type: ignore[no-untyped-def]
    """Where doc stands, or would stand, in docs[start:end]."""
    while start < end:
        middle = (start + end) >> 1
        if docs[middle] < doc:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def shortlist(  # type: ignore[no-untyped-def]
    docs, tfs, norms, starts, ends, idfs, rest, weights, code, k1, delta, k, floor, alive, scores, touched, heap
):
    """The places of all passages that may be among the k best, and perhaps a few more; how many.

    Terms come with the heaviest first; rest[i] is the most that term i and all after it can still add. Once that is
    less than the k-th best so far, no new passage can come in: the ones at hand are looked up in the other lists, and
    dropped as soon as they cannot reach the k-th best any more. `floor` is a k-th best known from elsewhere. `scores`
    is all zero before and after. Sums are rough; whoever calls computes the exact ones.
    """
    count = known = 0
    best = np.float32(floor)
    term = 0
    while term < len(starts) and rest[term] >= best:
        idf = np.float32(idfs[term])
        for at in range(starts[term], ends[term]):
            doc = docs[at]
            if len(alive) and not alive[doc]:
                continue
            tf = _weighted(tfs[at], weights)
            if tf == 0:
                continue
            if scores[doc] == 0:
                touched[known] = doc
                known += 1
            scores[doc] += idf * np.float32(_gain(code, tf, norms[doc], k1, delta))
        count = known
        best = max(best, _kth_best(scores, touched, count, k, heap) * np.float32(0.9999))
        term += 1
    while term < len(starts):
        kept = 0
        for at in range(count):
            doc = touched[at]
            if scores[doc] + rest[term] >= best:
                touched[at] = touched[kept]
                touched[kept] = doc
                kept += 1
        count = kept
        idf = np.float32(idfs[term])
        start, end = starts[term], ends[term]
        if count * 12 < end - start:
            for at in range(count):
                doc = touched[at]
                place = _find(docs, start, end, doc)
                if place < end and docs[place] == doc:
                    tf = _weighted(tfs[place], weights)
                    if tf != 0:
                        scores[doc] += idf * np.float32(_gain(code, tf, norms[doc], k1, delta))
        else:
            for place in range(start, end):
                doc = docs[place]
                if scores[doc] != 0:
                    tf = _weighted(tfs[place], weights)
                    if tf != 0:
                        scores[doc] += idf * np.float32(_gain(code, tf, norms[doc], k1, delta))
        best = max(best, _kth_best(scores, touched, count, k, heap) * np.float32(0.9999))
        term += 1
    kept = 0
    for at in range(known):
        doc = touched[at]
        if at < count and scores[doc] >= best:
            touched[at] = touched[kept]
            touched[kept] = doc
            kept += 1
    for at in range(known):
        scores[touched[at]] = 0
    return kept


@njit(cache=True, nogil=True)
def score_each(places, docs, tfs, lengths, starts, ends, idfs, weights, base, scale, code, k1, delta):  # type: ignore[no-untyped-def]
    """The exact score of each place, its terms added in the order given, as `accumulate` adds them."""
    scores = np.zeros(len(places))
    for at in range(len(places)):
        doc = places[at]
        for term in range(len(starts)):
            place = _find(docs, starts[term], ends[term], doc)
            if place < ends[term] and docs[place] == doc:
                tf = _weighted(tfs[place], weights)
                if tf != 0.0:
                    scores[at] += idfs[term] * _gain(code, tf, base + scale * lengths[doc], k1, delta)
    return scores
