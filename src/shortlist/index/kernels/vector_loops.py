"""The compiled loops over vectors."""

import numpy as np
from numba import njit

from shortlist.index.kernels.ranking_loops import _push

STEPS = 127  # on each side of zero

# More than the rounding errors of single-precision sums, as a share of the lengths.
SLACK = np.float32(1e-5)


@njit(cache=True, nogil=True)
def rounded(vectors):  # type: ignore[no-untyped-def]
    """Vectors in bytes; for each the value of a step, how far it was moved at most, and its length as rounded."""
    codes = np.empty(vectors.shape, np.int8)
    facts = np.empty((len(vectors), 3), np.float32)
    for place in range(len(vectors)):
        largest = np.float32(0)
        for number in vectors[place]:
            largest = max(largest, abs(number))
        step = largest / np.float32(STEPS)
        if step == 0:
            step = np.float32(1)
        moved, length = 0.0, 0.0
        for at in range(vectors.shape[1]):
            code = np.rint(vectors[place, at] / step)
            codes[place, at] = np.int8(code)
            length += np.float64(code * step) ** 2
            moved += np.float64(vectors[place, at] - code * step) ** 2
        length = np.sqrt(length)
        facts[place, 0], facts[place, 1], facts[place, 2] = step, np.sqrt(moved) + SLACK * length, length
    return codes, facts


@njit(cache=True, nogil=True)
def multiply(codes, query, products):  # type: ignore[no-untyped-def]
    """The product of each vector with the query, in steps."""
    for place in range(len(codes)):
        total = np.int32(0)
        for at in range(len(query)):
            total += np.int32(codes[place, at]) * np.int32(query[at])
        products[place] = total


@njit(cache=True, nogil=True)
def bound(products, facts, asked, alive, k, most):  # type: ignore[no-untyped-def]
    """Write the upper bound of each product; the lower bound of the k-th largest.

    Both sides were rounded: by the Cauchy-Schwarz inequality a product differs by at most the distance that one was
    moved times the length of the other.
    """
    best = np.full(k, -np.inf, np.float32)
    least = best[0]
    step, moved, length = asked[0], asked[1], asked[1] + asked[2]
    for place in range(len(products)):
        product = np.float32(products[place]) * facts[place, 0] * step
        room = length * facts[place, 1] + moved * facts[place, 2]
        most[place] = product + room
        if len(alive) and not alive[place]:
            most[place] = -np.inf
        elif product - room > least:
            _push(best, product - room)
            least = best[0]
    return max(least, np.float32(-3.4e38))


@njit(cache=True, nogil=True, fastmath=True)
def _product(first, second):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for at in range(len(first)):
        total += first[at] * second[at]
    return total


@njit(cache=True, nogil=True)
def compare(vectors, query, places, most, k):  # type: ignore[no-untyped-def]
    """The places that may be among the k nearest, and their products; `places` are in descending order of `most`.

    Equal vectors have equal products.
    """
    best = np.full(k, -np.inf, np.float32)
    scores, count = np.empty(len(places)), 0
    while count < len(places) and most[count] >= best[0]:
        scores[count] = score = _product(vectors[places[count]], query)
        count += 1
        if score > best[0]:
            _push(best, score)
    return places[:count], scores[:count]
