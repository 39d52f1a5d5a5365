"""The parts of an index as the compiled loops rank them."""

from __future__ import annotations

import ctypes
import os
import threading
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at
from shortlist.index.kernels.ranking_loops import PartStruct, describe, point_to, set_numbers
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.live_postings import Part, kernel_numbers
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

STRIPES = 16  # runs of blocks whose best are read first, to learn what the others must reach
BOUNDED_UP_TO = 1_000  # more hits are found by scoring everything

QUERIES_FOR_EACH = 16  # thread: with fewer, starting it takes as long as it saves

# With fewer names, a filter of them saves nothing; with 16 ranges for each name it rules out 15 of 16 keys.
FILTERED_FROM, RANGES_PER_NAME = 4_000, 16

_SCORED = np.dtype([("score", "f8"), ("place", "i8"), ("covered", "f8"), ("shared", "f8")])


# What the shares of terms say of a passage: its score with the shares as weights, and the sum of those of its terms.
Shared = tuple[float, float]


class CompiledParts:
    """Finds and ranks with the loops of `ranking.c`. Tests compare it with the same in numpy (`plain_parts.py`)."""

    def __init__(self, parts: Sequence[Part], scoring: Scoring, average: float) -> None:
        self._loops = library.loops()
        self._parts, self._scoring, self._average = parts, scoring, average
        self._count, largest = len(parts), max(parts, key=lambda part: part.postings.size, default=None)
        self._largest = largest.postings.size if largest else 0
        self._scratch = largest.scratch if largest else []
        self._kept: list[Any] = []  # what C has pointers to, and a part may replace
        self._numbers = kernel_numbers(scoring, average)
        self._structs = [self._describe(part) for part in parts]
        self._pointers = point_to(self._structs)
        self._order = array("q", sorted(range(len(parts)), key=lambda at: -parts[at].postings.size))
        self._has_prepared, self._lock = False, threading.Lock()
        self.has_bounds = not FORMULAS[scoring.formula].is_cosine

    def _describe(self, part: Part) -> PartStruct:
        if part.struct is None:
            part.struct = describe(part.postings)
        struct = PartStruct.from_buffer_copy(part.struct)
        set_numbers(struct, self._numbers)
        struct.offset = part.offset
        if part.dead is not None:
            struct.dead, struct.dead_places = at(part.dead, np.bool_), at(part.dead_places, np.int64)
            struct.deads = len(part.dead_places)
        if len(part.postings.name_keys) >= FILTERED_FROM:
            made = part.name_filter
            if made is None:
                made = part.name_filter = self._make_filter(part.postings.name_keys)
            self._kept.append(made)  # another thread may replace it
            struct.name_filter, struct.name_shift = at(made, np.uint64), 64 - (64 * len(made) - 1).bit_length()
        return struct

    def _make_filter(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        bits = (RANGES_PER_NAME * len(keys) - 1).bit_length()
        made = np.zeros(1 << bits - 6, np.uint64)
        self._loops.fill_name_filter(at(keys, np.uint64), len(keys), 64 - bits, at(made, np.uint64))
        return made

    def find(self, keys: Sequence[int]) -> tuple[Any, list[int]]:
        """Where the terms with these keys are, as the other methods take it, and in how many live passages each is."""
        asked, spans, df = (
            array("Q", keys),
            array("q", bytes(24 * len(keys) * self._count)),
            array("q", bytes(8 * len(keys))),
        )
        self._loops.find_terms(self._pointers, self._count, _address(asked), len(keys), _address(spans), _address(df))
        return spans, df.tolist()

    def find_all(self, keys: Sequence[int], ends: Sequence[int]) -> tuple[list[Any], list[int]]:
        """The same for several queries, whose keys are side by side; `ends` are those of each."""
        asked, last = array("Q", keys), array("q", ends)
        spans, df = array("q", bytes(24 * len(keys) * self._count)), array("q", bytes(8 * len(keys)))
        self._loops.find_terms_of_all(
            self._pointers, self._count, _address(asked), _address(last), len(last), _address(spans), _address(df)
        )
        size = 3 * self._count
        return [spans[size * start : size * end] for start, end in pairwise([0, *ends])], df.tolist()

    def named(self, queries: Sequence[Sequence[str]], can_be_names: Sequence[bool]) -> list[dict[int, int]]:
        """For each query the positions of live passages with a name that is a run of its words, in order, each with the
        number of words of its longest such name. `can_be_names` are of the words of all queries."""
        texts = [" ".join(words).encode("utf-8", "replace") for words in queries]
        ends, last = array("q", accumulate(map(len, texts))), array("q", accumulate(map(len, queries)))
        most = 64
        while True:
            named = array("q", bytes(24 * most))
            count = self._loops.find_names(
                self._pointers, self._count, b"".join(texts), _address(ends), _address(last), len(queries),
                bytes(can_be_names), NAME_WORDS, _address(named), most,
            )  # fmt: skip
            if count <= most:
                break
            most = count
        found: list[dict[int, int]] = [{} for _ in queries]
        for query, position, size in sorted(zip(*[iter(named[: 3 * count])] * 3, strict=True)):
            found[query][position] = size
        return found

    def rank(
        self, spans: Any, weights: Sequence[float], shares: Sequence[float], k: int, allowed: Mask | None
    ) -> tuple[Ranking, list[Shared]]:
        """The best k and all that tie with the last, best first, then by position; and what the shares say of each."""
        self._ensure_bounds()
        values, parts, results = array("d", weights), array("d", shares), ctypes.c_void_p()
        room = self._take_room()
        count = self._loops.rank(
            self._pointers, _address(self._order), self._count, _address(spans), _address(values), _address(parts),
            len(values), k, max(STRIPES, k), None if allowed is None else at(allowed, np.bool_), room[1],
            self._largest, ctypes.byref(results),
        )  # fmt: skip
        self._scratch.append(room)
        found = np.frombuffer(ctypes.string_at(results, _SCORED.itemsize * count) if count else b"", _SCORED)
        self._loops.release(results)
        return Ranking(found["place"].copy(), found["score"].copy()), _shared(found)

    def rank_all(
        self, queries: Sequence[tuple[Any, Sequence[float], Sequence[float]]], k: int, allowed: Mask | None
    ) -> Callable[[], list[tuple[Ranking, list[Shared]]]]:
        """Begin to rank by spans, weights and shares of each query, in a thread for each other processor core.

        The function that is returned must be called: it ranks what is left, and returns what `rank` finds for each.
        """
        self._ensure_bounds()
        every_spans, every_weights, every_shares = zip(*queries, strict=True)
        spans = array("q", b"".join(every_spans))
        weights, shares = array("d", chain.from_iterable(every_weights)), array("d", chain.from_iterable(every_shares))
        ends, kept = array("q", accumulate(map(len, every_weights))), array("q", bytes(8 * len(queries)))
        next_query, results = array("q", [0]), array("Q", bytes(8 * len(queries)))

        def work() -> None:
            permitted = None if allowed is None else at(allowed, np.bool_)  # in here, so that its memory stays
            room = self._take_room()
            self._loops.rank_all(
                self._pointers, _address(self._order), self._count, _address(spans), _address(weights),
                _address(shares), _address(ends), len(ends), k, max(STRIPES, k), permitted, room[1], self._largest,
                _address(next_query), _address(results), _address(kept),
            )  # fmt: skip
            self._scratch.append(room)

        helpers: list[threading.Thread] = []
        with suppress(RuntimeError):  # the system permits no more threads
            for _ in range(min(os.cpu_count() or 1, -(-len(queries) // QUERIES_FOR_EACH)) - 1):
                helper = threading.Thread(target=work)
                helper.start()
                helpers.append(helper)

        def finish() -> list[tuple[Ranking, list[Shared]]]:
            try:
                work()
            finally:  # after an error too: the results are in memory of C, which only `join_results` frees
                for helper in helpers:
                    helper.join()
                found = np.empty(sum(kept), _SCORED)
                self._loops.join_results(_address(results), _address(kept), len(kept), found.ctypes.data)
            places, scores, shared = found["place"].copy(), found["score"].copy(), _shared(found)
            return [
                (Ranking(places[start:end], scores[start:end]), shared[start:end])
                for start, end in pairwise(accumulate(kept, initial=0))
            ]

        return finish

    def score_all(self, spans: Any, weights: Sequence[float]) -> Floats:
        """The score of every position, 0 for deleted passages."""
        scores, values = np.zeros(sum(part.postings.size for part in self._parts)), array("d", weights)
        self._loops.score_all(
            self._pointers, self._count, _address(spans), _address(values), len(values), at(scores, np.float64)
        )
        return scores

    def look_at(
        self, spans: Any, weights: Sequence[float], shares: Sequence[float], positions: Positions
    ) -> tuple[Floats, list[Shared]]:
        """The score of each position, 0 for deleted passages, and what the shares say of its passage."""
        values, parts, found = array("d", weights), array("d", shares), np.zeros(len(positions), _SCORED)
        found["place"] = positions
        self._loops.look_at(
            self._pointers, self._count, _address(spans), _address(values), _address(parts), len(values),
            found.ctypes.data, len(found),
        )  # fmt: skip
        return found["score"], _shared(found)

    def set_vector_lengths(self, idf_of_part: Sequence[Floats]) -> None:
        """Compute the lengths of passages as tf-idf vectors, which cosine divides by."""
        self._vector_lengths = []
        for struct, idf, part in zip(self._structs, idf_of_part, self._parts, strict=True):
            squares = np.zeros(part.postings.size)
            self._loops.add_squares(ctypes.addressof(struct), at(idf, np.float64), at(squares, np.float64))
            self._vector_lengths.append(np.sqrt(squares))
            struct.vector_lengths = at(self._vector_lengths[-1], np.float64)

    def _ensure_bounds(self) -> None:
        """Compute or read the bounds of all parts, which only `rank` needs."""
        if self._has_prepared:
            return
        with self._lock:
            if self._has_prepared:  # by another thread: a query may be using these bounds already
                return
            for part, struct in zip(self._parts, self._structs, strict=True):
                impacts = part.impacts(self._scoring, self._average)
                self._kept.append(impacts)
                values, struct.frequent, struct.maxima, struct.skips, struct.packed = impacts.addresses
                struct.frequents, struct.packings = len(impacts.frequent), len(impacts.packed)
                struct.step = FORMULAS[self._scoring.formula].ceiling(self._scoring.k1) / 255
                struct.drift = impacts.scale / struct.scale if struct.scale else 1.0
                struct.impacts = values  # the last one: with it, `look_at` uses all of them
            self._has_prepared = True

    def _take_room(self) -> tuple[Any, int]:
        """Memory for a query to work in, with its address; the query puts it back, for later ones."""
        with suppress(IndexError):
            return self._scratch.pop()
        memory = np.empty(self._loops.room_bytes(self._largest), np.uint8)
        self._loops.clear_room(memory.ctypes.data, self._largest)
        return memory, memory.ctypes.data


def _shared(found: NDArray[Any]) -> list[Shared]:
    return list(zip(found["shared"].tolist(), found["covered"].tolist(), strict=True))


def _address(buffer: array[Any]) -> int:
    return buffer.buffer_info()[0]
