"""The best so far, the smallest of them first."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def push(heap, score):  # type: ignore[no-untyped-def]
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
