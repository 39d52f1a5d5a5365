"""The loops over vectors: whose signs are near a query's, and what are the products?"""

from __future__ import annotations

import numpy as np
from numba import njit

WORD_BITS = 64

_1 = np.uint64(1)


@njit(cache=True, nogil=True, inline="always")
def _ones(bits):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    bits = bits - ((bits >> _1) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def _measure(bits, query, distances):  # type: ignore[no-untyped-def]
    """In how many bits each row differs from the query."""
    for place in range(len(bits)):
        distance = np.uint64(0)
        for word in range(len(query)):
            distance += _ones(bits[place, word] ^ query[word])
        distances[place] = distance


@njit(cache=True, nogil=True)
def _reach(distances, far, wanted):  # type: ignore[no-untyped-def]
    """The least distance within which there are so many as wanted, and how many there are; none is `far`."""
    counts = np.zeros(far + 1, np.int64)
    for at in range(np.uint64(len(distances))):
        counts[distances[at]] += 1
    most, found = 0, counts[0]
    while found < wanted and most + 1 < far:
        most += 1
        found += counts[most]
    return np.uint16(most), found


@njit(cache=True, nogil=True)
def _within(distances, most, found):  # type: ignore[no-untyped-def]
    """The places of the distances up to the most, of which so many were found."""
    places = np.empty(found + 1, np.int64)
    written = np.uint64(0)
    for place in range(np.uint64(len(distances))):
        places[written] = place
        written += np.uint64(distances[place] <= most)
        if written > found:
            break
    return places[:found]


@njit(cache=True, nogil=True)
def near(bits, query, heavy, alive, first, wanted, distances):  # type: ignore[no-untyped-def]
    """The places, at least so many as wanted, whose bits differ least from the query's, heavy bits counting thrice.

    Among all, only the first so many by plain differences are looked at again with weights.
    """
    far = 3 * WORD_BITS * bits.shape[1] + 1
    _measure(bits, query, distances)
    for place in range(len(alive)):
        if not alive[place]:
            distances[place] = far
    most, found = _reach(distances, far, first)
    places = _within(distances, most, found)
    again = np.empty(len(places), np.uint16)
    for number in range(len(places)):
        place = places[number]
        distance = np.uint64(distances[place])
        for word in range(len(query)):
            distance += np.uint64(2) * _ones((bits[place, word] ^ query[word]) & heavy[word])
        again[number] = distance
    most, found = _reach(again, far, wanted)
    return places[_within(again, most, found)]


@njit(cache=True, nogil=True, fastmath=True)
def products(vectors, places, query):  # type: ignore[no-untyped-def]
    """The products of some vectors with the query; equal vectors have equal ones."""
    found = np.empty(len(places), np.float32)
    for number in range(len(places)):
        vector = vectors[places[number]]
        total = np.float32(0)
        for at in range(len(query)):
            total += vector[at] * query[at]
        found[number] = total
    return found
