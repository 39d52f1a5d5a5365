"""The parts of an index as the compiled loops rank them."""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Sequence
from itertools import accumulate
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

# With fewer names, a filter of them saves nothing; with 16 ranges for each name it rules out 15 of 16 keys.
FILTERED_FROM, RANGES_PER_NAME = 4_000, 16

_SCORED = np.dtype([("score", "f8"), ("place", "i8"), ("covered", "f8")])


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

    def named(self, words: Sequence[str], can_be_names: Sequence[bool]) -> list[int]:
        """The positions of live passages with a name that is a run of these words, in order."""
        text = " ".join(words).encode("utf-8", "replace")
        lengths = (len(word) if word.isascii() else len(word.encode("utf-8", "replace")) for word in words)
        ends = array("q", accumulate(lengths, lambda end, length: end + 1 + length))
        most = 64
        while True:
            found = array("q", bytes(8 * most))
            count = self._loops.find_names(
                self._pointers, self._count, text, _address(ends), len(words), bytes(can_be_names), NAME_WORDS,
                _address(found), most,
            )  # fmt: skip
            if count <= most:
                return sorted(set(found[:count]))
            most = count

    def rank(
        self, spans: Any, weights: Sequence[float], shares: Sequence[float], k: int, allowed: Mask | None
    ) -> tuple[Ranking, list[float]]:
        """The best k and all that tie with the last, best first, then by position; and the shares that each covers."""
        self._ensure_bounds()
        values, parts, results = array("d", weights), array("d", shares), ctypes.c_void_p()
        try:
            scratch = self._scratch.pop()
        except IndexError:
            scratch = self._make_scratch()
        count = self._loops.rank(
            self._pointers, _address(self._order), self._count, _address(spans), _address(values), _address(parts),
            len(values), k, max(STRIPES, k), None if allowed is None else at(allowed, np.bool_), scratch[1],
            self._largest, ctypes.byref(results),
        )  # fmt: skip
        self._scratch.append(scratch)
        found = np.frombuffer(ctypes.string_at(results, _SCORED.itemsize * count) if count else b"", _SCORED)
        self._loops.release(results)
        return Ranking(found["place"].copy(), found["score"].copy()), found["covered"].tolist()

    def score_all(self, spans: Any, weights: Sequence[float]) -> Floats:
        """The score of every position, 0 for deleted passages."""
        scores, values = np.zeros(sum(part.postings.size for part in self._parts)), array("d", weights)
        self._loops.score_all(
            self._pointers, self._count, _address(spans), _address(values), len(values), at(scores, np.float64)
        )
        return scores

    def look_at(
        self, spans: Any, weights: Sequence[float], shares: Sequence[float], positions: Positions
    ) -> tuple[Floats, list[float]]:
        """The score of each position, 0 for deleted passages, and the shares of the terms that its passage has."""
        values, parts, found = array("d", weights), array("d", shares), np.zeros(len(positions), _SCORED)
        found["place"] = positions
        self._loops.look_at(
            self._pointers, self._count, _address(spans), _address(values), _address(parts), len(values),
            found.ctypes.data, len(found),
        )  # fmt: skip
        return found["score"], found["covered"].tolist()

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
                struct.frequent, struct.frequents = at(impacts.frequent, np.int64), len(impacts.frequent)
                struct.maxima, struct.skips = at(impacts.maxima, np.uint8), at(impacts.skips, np.uint32)
                struct.packed, struct.packings = at(impacts.packed, np.uint16), len(impacts.packed)
                struct.step = FORMULAS[self._scoring.formula].ceiling(self._scoring.k1) / 255
                struct.drift = impacts.scale / struct.scale if struct.scale else 1.0
                struct.impacts = at(impacts.values, np.uint8)  # the last one: with it, `look_at` uses all of them
            self._has_prepared = True

    def _make_scratch(self) -> tuple[Any, int]:
        """Memory for a query to work in, and its address; used again by later queries."""
        scratch = np.empty(self._loops.room_bytes(self._largest), np.uint8)
        self._loops.clear_room(scratch.ctypes.data, self._largest)
        return scratch, scratch.ctypes.data


def _address(buffer: array[Any]) -> int:
    return buffer.buffer_info()[0]
