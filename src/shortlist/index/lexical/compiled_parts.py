"""The parts of an index as the compiled loops rank them."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.kernels import library
from shortlist.index.kernels.library import at
from shortlist.index.kernels.ranking_loops import PartStruct, describe, point_to
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.live_postings import Part, kernel_numbers
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Floats, Mask, Positions

STRIPES = 16  # runs of blocks whose best are read first, to learn what the others must reach
BOUNDED_UP_TO = 1_000  # more hits are found by scoring everything

_SCORED = np.dtype([("score", "f8"), ("place", "i8")])


class CompiledParts:
    """Finds and ranks with the loops of `ranking.c`; `plain_parts.PlainParts` is the same without them."""

    def __init__(self, parts: Sequence[Part], scoring: Scoring, average: float) -> None:
        self._loops = library.loops()
        self._parts, self._scoring, self._average = parts, scoring, average
        self._count, self._largest = len(parts), max((part.postings.size for part in parts), default=0)
        self._structs = [self._describe(part) for part in parts]
        self._pointers = point_to(self._structs)
        self._order = array("q", sorted(range(len(parts)), key=lambda at: -parts[at].postings.size))
        self._rooms: list[tuple[Any, int]] = []
        self.has_bounds = not FORMULAS[scoring.formula].is_cosine

    def _describe(self, part: Part) -> PartStruct:
        struct = describe(part.postings, kernel_numbers(self._scoring, self._average))
        struct.offset = part.offset
        if part.dead is not None:
            struct.dead, struct.dead_places = at(part.dead, np.bool_), at(part.dead_places, np.int64)
            struct.deads = len(part.dead_places)
        return struct

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

    def rank(self, spans: Any, weights: Sequence[float], k: int, allowed: Mask | None) -> Ranking:
        """The best k and all that tie with the last, best first, then by position."""
        self._ensure_bounds  # noqa: B018
        values, results = array("d", weights), ctypes.c_void_p()
        room = self._rooms.pop() if self._rooms else self._make_room()
        count = self._loops.rank(
            self._pointers, _address(self._order), self._count, _address(spans), _address(values), len(values),
            k, max(STRIPES, k), None if allowed is None else at(allowed, np.bool_), room[1], self._largest,
            ctypes.byref(results),
        )  # fmt: skip
        self._rooms.append(room)
        found = np.frombuffer(ctypes.string_at(results, 16 * count), _SCORED) if count else np.zeros(0, _SCORED)
        self._loops.release(results)
        return Ranking(found["place"].copy(), found["score"].copy())

    def score_all(self, spans: Any, weights: Sequence[float]) -> Floats:
        """The score of every position, 0 for deleted passages."""
        scores, values = np.zeros(sum(part.postings.size for part in self._parts)), array("d", weights)
        self._loops.score_all(
            self._pointers, self._count, _address(spans), _address(values), len(values), at(scores, np.float64)
        )
        return scores

    def look_at(self, spans: Any, weights: Sequence[float], positions: Positions) -> tuple[Floats, Floats]:
        """The score of each position, and the weight of the terms that its passage has."""
        values, found = array("d", weights), np.empty((2, len(positions)))
        self._loops.look_at(
            self._pointers, self._count, _address(spans), _address(values), len(values),
            at(positions, np.int64), len(positions), at(found[0], np.float64), at(found[1], np.float64),
        )  # fmt: skip
        return found[0], found[1]

    def set_vector_lengths(self, idf_of_part: Sequence[Floats]) -> None:
        """Compute the lengths of passages as tf-idf vectors, which cosine divides by."""
        self._vector_lengths = []
        for struct, idf, part in zip(self._structs, idf_of_part, self._parts, strict=True):
            squares = np.zeros(part.postings.size)
            self._loops.add_squares(ctypes.addressof(struct), at(idf, np.float64), at(squares, np.float64))
            self._vector_lengths.append(np.sqrt(squares))
            struct.vector_lengths = at(self._vector_lengths[-1], np.float64)

    @cached_property
    def _ensure_bounds(self) -> bool:
        """Compute or read the bounds of all parts, which only `rank` needs."""
        formula = FORMULAS[self._scoring.formula]
        for part, struct in zip(self._parts, self._structs, strict=True):
            impacts = part.impacts(self._scoring, self._average)
            struct.impacts, struct.frequent = at(impacts.values, np.uint8), at(impacts.frequent, np.int64)
            struct.maxima, struct.skips = at(impacts.maxima, np.uint8), at(impacts.skips, np.uint32)
            struct.packed, struct.frequents = at(impacts.packed, np.uint16), len(impacts.frequent)
            struct.step = formula.ceiling(self._scoring.k1) / 255
            struct.drift = impacts.scale / struct.scale if struct.scale else 1.0
        return True

    def _make_room(self) -> tuple[Any, int]:
        """Memory for a query to work in, and its address; used again by later queries."""
        room = np.empty(self._loops.room_bytes(self._largest), np.uint8)
        self._loops.clear_room(room.ctypes.data, self._largest)
        return room, room.ctypes.data


def _address(buffer: array[Any]) -> int:
    return buffer.buffer_info()[0]
