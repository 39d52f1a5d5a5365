"""The compiled loops, and nothing else. Imported only when there is enough work to repay loading numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from shortlist.index import formulas, postings

_saturated = njit(inline="always")(formulas.gain_saturated)
_scaled = njit(inline="always")(formulas.gain_scaled)
_bm25plus = njit(inline="always")(formulas.gain_bm25plus)
_bm25l = njit(inline="always")(formulas.gain_bm25l)
_linear = njit(inline="always")(formulas.gain_linear)
_weighted = njit(inline="always")(postings.weighted_tf)

CODES: dict[Callable[..., Any], int] = {
    formulas.gain_saturated: 0,
    formulas.gain_scaled: 1,
    formulas.gain_bm25plus: 2,
    formulas.gain_bm25l: 3,
    formulas.gain_linear: 4,
}


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


# Passages whose scores are summed up at a time, 64 KB of them, so that they stay in the nearest cache.
BLOCK = 16_384
GROUP = 16
TINY = np.float32(1e-30)

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


@njit(cache=True, nogil=True, inline="always")
def _slot(hash, mask):  # type: ignore[no-untyped-def]
    """Where a table begins to look for a hash."""
    return np.int64(hash ^ (hash >> np.uint64(29))) & mask


@njit(cache=True, nogil=True)
def _intern(table, hash, count, word_starts, word_ends, start, end):  # type: ignore[no-untyped-def]
    """The number of the word with that hash; `count`, after writing it down, if it is new."""
    mask = np.int64(len(table) - 1)
    slot = _slot(hash, mask)
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
            slot = _slot(hash, mask)
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
        shift = np.uint32(postings.SHIFTS[field])
        limit = np.uint32(postings.LIMITS[field])
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
def _push(heap, score):  # type: ignore[no-untyped-def]
    """Put a score in the place of the smallest of a heap."""
    parent, size = 0, len(heap)
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= score:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = score


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
def quantise(out, docs, tfs, lengths, start, end, weights, base, scale, code, k1, delta, ceiling):  # type: ignore[no-untyped-def]
    """Write each posting's gain as a number from 1 to 255, rounded up; 255 is the ceiling."""
    for at in range(start, end):
        tf = _weighted(tfs[at], weights)
        impact = 0
        if tf != 0.0:
            gain = _gain(code, tf, base + scale * lengths[docs[at]], k1, delta)
            impact = min(255, int(np.ceil(gain / ceiling * 255.0)))
        out[at] = impact


@njit(cache=True, nogil=True)
def shortlist(docs, impacts, starts, ends, steps, sure, floor, size, alive, heap, places, most):  # type: ignore[no-untyped-def]
    """The passages that may be among the best len(heap), and the most that each can score; how many.

    A posting adds at most `step * impact`, and a sum is at least `sure` of what it is without one step of each term.
    Sums are made for a block of passages at a time; the k-th best of what is sure so far keeps most of them out.
    `floor` is a k-th best known from elsewhere.
    """
    heap[:] = floor
    cursors = starts.copy()
    error = steps.sum()
    scores = np.empty(BLOCK, np.float32)
    found = 0
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        scores[:] = 0
        for term in range(len(starts)):
            border = _find(docs, cursors[term], ends[term], last)
            step = steps[term]
            for at in range(cursors[term], border):
                scores[docs[at] - first] += step * impacts[at]
            cursors[term] = border
        for group in range(0, BLOCK, GROUP):
            best = max(heap[0], TINY)
            any_best = False
            for doc in range(group, group + GROUP):
                any_best |= scores[doc] >= best
            if not any_best:
                continue
            for doc in range(group, group + GROUP):
                score = scores[doc]
                if score >= max(heap[0], TINY) and (len(alive) == 0 or alive[doc + first]):
                    places[found], most[found] = doc + first, score
                    found += 1
                    if sure * (score - error) > heap[0]:
                        _push(heap, sure * (score - error))
    kept = 0
    for number in range(found):
        if most[number] >= heap[0]:
            places[kept], most[kept] = places[number], most[number]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def settle(places, most, k, docs, tfs, lengths, starts, ends, idfs, weights, base, scale, code, k1, delta):  # type: ignore[no-untyped-def]
    """Exact scores of places, those that can score most first, until none left can reach the k-th best.

    The terms are added in the order given, as `accumulate` adds them. How many were scored, in which order, and how.
    """
    order = np.argsort(-most)
    scores = np.zeros(len(places))
    heap = np.full(k, -np.inf)
    for number in range(len(order)):
        if most[order[number]] * 1.0001 < heap[0]:
            return order[:number], scores[:number]
        doc = places[order[number]]
        score = 0.0
        for term in range(len(starts)):
            place = _find(docs, starts[term], ends[term], doc)
            if place < ends[term] and docs[place] == doc:
                tf = _weighted(tfs[place], weights)
                if tf != 0.0:
                    score += idfs[term] * _gain(code, tf, base + scale * lengths[doc], k1, delta)
        scores[number] = score
        if score > heap[0]:
            at = 0
            while at + 1 < k and heap[at + 1] < score:
                heap[at] = heap[at + 1]
                at += 1
            heap[at] = score
    return order, scores
