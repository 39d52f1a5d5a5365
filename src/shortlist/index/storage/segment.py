"""Segment files: postings and vectors of a run of passages, written once and never changed.

Layout: magic, header length, header checksum, header (JSON: where each array is, checksum of the arrays), arrays.

A file that is not what was written raises `SegmentDamaged`, whatever it contains. A large one is mapped, so it can
change at any time: the loops never leave its arrays (`kernels/ranking.c`), and `compare` notices the change.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from shortlist.index.dense.dense_ranker import RoundedVectors
from shortlist.index.kernels.mapped_files import MappedFile, map_file
from shortlist.index.kernels.ranking_loops import BLOCK, STRETCH
from shortlist.index.kernels.vector_loops import SIGN_BLOCK
from shortlist.index.lexical.bm25 import FIELDS, FORMULAS, Scoring
from shortlist.index.lexical.live_postings import Impacts
from shortlist.index.lexical.postings import Postings, is_ascending
from shortlist.index.lexical.postings import merge as merge_postings
from shortlist.index.storage.columns import Columns
from shortlist.index.storage.sql_tables import SegmentRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask, Vectors

MAGIC = b"shrtseg2"
ALIGNMENT = 64
_PREFIX = struct.Struct("<8sII")

# A segment with at least this many postings is stored with its impacts; for smaller ones they are quickly computed.
IMPACTS_FROM = 1_000_000

# With at least this many vectors, quantized copies are compared first; with fewer, exact products are as fast.
ROUNDED_FROM = 10_000

# A smaller file is read as a whole, and its checksum is always compared. A larger one is mapped, and compared at once
# only if its size or time differ from what was written, else in the background (`segment_checks.py`).
MAPPED_FROM = 4 << 20

READ_AT_ONCE = 4 << 20  # bytes that are compared between two pauses

# The arrays of a file: their types and shapes. The same name of a length means the same length. `tfs` is of an older
# format and stands for the counts.
_ARRAYS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "passages": (np.int64, ("passages",)),
    "documents": (np.int64, ("passages",)),
    "keys": (np.uint64, ("terms",)),
    "starts": (np.int64, ("starts",)),
    "docs": (np.int32, ("postings",)),
    "tfs": (np.uint32, ("postings",)),
    "counts": (np.uint8, ("postings",)),
    "large_places": (np.int64, ("large counts",)),
    "large_counts": (np.uint32, ("large counts",)),
    "lengths": (np.int32, ("passages", "fields")),
    "name_keys": (np.uint64, ("names",)),
    "name_docs": (np.int32, ("names",)),
    "length_sums": (np.int64, ("fields",)),
    "vectors": (np.float32, ("passages", "dimensions")),
    "impacts.values": (np.uint8, ("postings",)),
    "impacts.frequent": (np.int64, ("frequent terms",)),
    "impacts.maxima": (np.uint8, ("frequent terms", "blocks")),
    "impacts.skips": (np.uint32, ("frequent terms", "stretches")),
    "impacts.packed": (np.uint16, ("packed postings",)),
    "rounded.codes": (np.int8, ("passages", "dimensions")),
    "rounded.facts": (np.float32, ("passages", "facts")),
    "rounded.signs": (np.uint8, ("blocks of signs", "signs")),
    "rounded.factors": (np.float32, ("passages",)),
    "columns.codes": (np.uint16, ("keys", "passages")),
    "columns.values": (np.uint8, ("bytes of values",)),
}


class SegmentDamaged(Exception):
    """A segment file is missing or not what was written; it can be rebuilt from the database."""

    def __init__(self, row: SegmentRow, what: str) -> None:
        super().__init__(f"{row.file} {what}")
        self.row = row


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A run of passages: their numbers, ascending, their documents' numbers, postings and, if embedded, vectors.

    Those written by earlier versions have no columns.
    """

    passages: NDArray[np.int64]
    documents: NDArray[np.int64]
    postings: Postings
    vectors: Vectors | None
    columns: Columns | None = None
    impacts: Impacts | None = None
    rounded: RoundedVectors | None = None

    @property
    def size(self) -> int:
        return len(self.passages)

    @property
    def dim(self) -> int:
        return 0 if self.vectors is None else self.vectors.shape[1]

    def find_fault(self, row: SegmentRow) -> str:
        """What no segment of this row can contain; empty if there is nothing."""
        if not self.size or not is_ascending(self.passages):
            return "has wrong numbers of passages"
        if self.passages[0] < row.first or self.passages[-1] > row.last:
            return "has passages of another segment"
        if self.documents.min() < 1:
            return "has wrong numbers of documents"
        if fault := self.postings.find_fault():
            return fault
        if self.impacts is not None and (fault := self.impacts.find_fault(self.postings)):
            return fault
        if self.vectors is not None and not np.isfinite(self.vectors).all():
            return "has vectors that are not numbers"
        if self.rounded is not None and not self.rounded.is_finite():
            return "has rounded vectors that are not numbers"
        return "" if self.columns is None else self.columns.find_fault()

    def places_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of those of these passage numbers that are in the segment, at a cost per number."""
        places = np.searchsorted(self.passages, numbers)
        inside = places < self.size
        places, numbers = places[inside], numbers[inside]
        found: NDArray[np.int64] = places[self.passages[places] == numbers]
        return found


def merge(parts: Sequence[tuple[Segment, Mask | None]]) -> Segment:
    """One segment from consecutive ones, without the deleted passages."""

    def join(column: Callable[[Segment], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([column(part) if dead is None else column(part)[~dead] for part, dead in parts])

    return Segment(
        passages=join(attrgetter("passages")),
        documents=join(attrgetter("documents")),
        postings=merge_postings([(part.postings, dead) for part, dead in parts]),
        vectors=None if parts[0][0].vectors is None else join(attrgetter("vectors")),
        columns=Columns.merge([(part.columns, dead) for part, dead in parts]),
    )


def add_tables(segment: Segment, scoring: Scoring) -> Segment:
    """The segment; if it is large, with the tables that make searching it fast, so that readers need not."""
    postings, vectors = segment.postings, segment.vectors
    if len(postings.docs) >= IMPACTS_FROM and not FORMULAS[scoring.formula].is_cosine:
        average = float(postings.length_sums @ np.array(scoring.weights)) / segment.size
        segment = replace(segment, impacts=Impacts.of(postings, scoring, average))
    if vectors is not None and len(vectors) >= ROUNDED_FROM:
        segment = replace(segment, rounded=RoundedVectors.of(vectors))
    return segment


def write(segment: Segment, path: str) -> int:
    """Write the file of a segment; return the checksum of its arrays."""
    arrays = {"passages": segment.passages, "documents": segment.documents, **segment.postings.arrays()}
    if segment.vectors is not None:
        arrays["vectors"] = segment.vectors
    for table in (segment.impacts, segment.rounded, segment.columns):
        arrays |= table.arrays() if table is not None else {}
    layout: dict[str, list[Any]] = {}
    contents: list[bytes | memoryview] = []
    offset, checksum = 0, 0
    for name, array in arrays.items():
        data, size = np.ascontiguousarray(array).data, array.nbytes
        layout[name] = [array.dtype.str, array.shape, offset]
        checksum = zlib.crc32(data, checksum)
        contents += data, bytes(_align(size) - size)
        offset += _align(size)
    impacts = segment.impacts.describe() if segment.impacts is not None else None
    description = {"arrays": layout, "bytes": offset, "checksum": checksum, "impacts": impacts}
    if segment.columns is not None:
        description["columns"] = segment.columns.checksum
    header = json.dumps(description).encode()
    prefix = _PREFIX.pack(MAGIC, len(header), zlib.crc32(header)) + header
    prefix = prefix.ljust(_align(len(prefix)), b"\0")
    with open(path, "wb", buffering=1 << 16) as file:
        for part in (prefix, *contents):
            file.write(part)
        if len(prefix) + offset >= MAPPED_FROM:  # a smaller one needs no fsync: its checksum is always compared
            file.flush()
            os.fsync(file.fileno())
    return checksum


def read(path: Path, row: SegmentRow, *, is_trusted: bool = True) -> Segment:
    """The segment of a row, from its file. One that is not trusted is compared and validated as a whole before."""
    with _open(path, row) as (file, layout, status):
        is_mapped = status.st_size >= MAPPED_FROM
        data: bytes | MappedFile | None = map_file(file) if is_mapped else None
        if data is None:
            file.seek(0)
            data = file.read()
    is_as_written = is_mapped and (status.st_size, status.st_mtime_ns) == (row.bytes, row.written)
    if len(data) != status.st_size:
        raise SegmentDamaged(row, "is truncated")
    arrays: dict[str, NDArray[Any]] = {
        name: np.frombuffer(data, _ARRAYS[name][0], math.prod(shape), offset).reshape(shape)
        for name, (shape, offset) in layout.arrays.items()
    }
    is_compared = not (is_trusted and is_as_written)
    if is_compared and _checksum(map(_bytes, arrays.values())) != row.checksum:
        raise SegmentDamaged(row, "does not match its checksum")
    segment = _assemble(arrays, layout, row)
    if is_compared and (fault := segment.find_fault(row)):
        raise SegmentDamaged(row, fault)
    return segment


def compare(path: Path, row: SegmentRow, pause: Callable[[float], object] | None = None) -> None:
    """Raise SegmentDamaged if the file is not what was written; `pause` gets the seconds that each piece took."""

    def pieces() -> Iterator[bytes]:
        for name, (shape, offset) in layout.arrays.items():
            left = math.prod(shape) * np.dtype(_ARRAYS[name][0]).itemsize
            file.seek(offset)
            while left:
                began = time.perf_counter()
                piece = file.read(min(left, READ_AT_ONCE))
                if not piece:
                    raise SegmentDamaged(row, "is truncated")
                left -= len(piece)
                yield piece
                if pause is not None:
                    pause(time.perf_counter() - began)

    with _open(path, row) as (file, layout, _):
        if _checksum(pieces()) != row.checksum:
            raise SegmentDamaged(row, "does not match its checksum")


class _Layout(NamedTuple):
    """The header of a file: the shape and the place of each array, what its impacts were computed for, and the
    checksum of its columns.
    """

    arrays: dict[str, tuple[list[int], int]]
    impacts: Any
    columns: Any


@contextlib.contextmanager
def _open(path: Path, row: SegmentRow) -> Iterator[tuple[BinaryIO, _Layout, os.stat_result]]:
    """The file of a row, its header, and its status; errors of the system are raised as damage."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            yield file, _read_header(file, status.st_size, row), status
    except FileNotFoundError:
        raise SegmentDamaged(row, "is missing") from None
    except OSError as error:
        raise SegmentDamaged(row, f"cannot be read: {error.strerror}") from None


def _read_header(file: BinaryIO, size: int, row: SegmentRow) -> _Layout:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size:
        raise SegmentDamaged(row, "is truncated")
    magic, length, checksum = _PREFIX.unpack(prefix)
    header = file.read(length) if length <= size else b""
    if magic != MAGIC or zlib.crc32(header) != checksum:
        raise SegmentDamaged(row, "has a damaged header")
    start = _align(_PREFIX.size + length)
    try:
        description = json.loads(header)
        if size != start + description["bytes"]:
            raise SegmentDamaged(row, "is truncated")
        if description["checksum"] != row.checksum:
            raise SegmentDamaged(row, "does not match its checksum")
        arrays = {
            name: _locate(name, dtype, shape, start + offset, size)
            for name, (dtype, shape, offset) in description["arrays"].items()
        }
        return _Layout(arrays, description["impacts"], description.get("columns"))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):  # it has any shape
        raise SegmentDamaged(row, "has a damaged header") from None


def _locate(name: str, dtype: str, shape: list[int], offset: int, size: int) -> tuple[list[int], int]:
    """The shape and the place of an array, which must be inside of the file."""
    kind, lengths = _ARRAYS[name]
    if dtype != np.dtype(kind).str or not all(type(number) is int and number >= 0 for number in (*shape, offset)):
        raise ValueError(name)
    end = offset + math.prod(shape) * np.dtype(kind).itemsize
    if len(shape) != len(lengths) or offset % ALIGNMENT or end > size:
        raise ValueError(name)
    return shape, offset


def _assemble(arrays: dict[str, NDArray[Any]], layout: _Layout, row: SegmentRow) -> Segment:
    """The segment of these arrays, whose lengths must agree with each other and with the row."""
    lengths = {"passages": row.size, "fields": len(FIELDS), "facts": 3}
    lengths |= {"blocks": -(-len(arrays.get("passages", ())) // BLOCK)}
    lengths |= {"stretches": -(-len(arrays.get("passages", ())) // STRETCH) + 1}
    lengths |= {"blocks of signs": -(-row.size // SIGN_BLOCK)}
    if "vectors" in arrays:
        lengths |= {"signs": -(-arrays["vectors"].shape[1] // 8) * SIGN_BLOCK}
    for name, array in arrays.items():
        for length, found in zip(_ARRAYS[name][1], array.shape, strict=True):
            if lengths.setdefault(length, found) != found:
                raise SegmentDamaged(row, f"has {found} {length} in {name}, not {lengths[length]}")
    try:
        segment = Segment(
            passages=arrays["passages"],
            documents=arrays["documents"],
            postings=Postings.from_arrays(arrays),
            vectors=arrays.get("vectors"),
            columns=Columns.from_arrays(arrays, layout.columns),
            impacts=Impacts.from_arrays(arrays, layout.impacts) if layout.impacts else None,
            rounded=RoundedVectors.from_arrays(arrays),
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        raise SegmentDamaged(row, "has a damaged header") from None
    if lengths["starts"] != lengths["terms"] + 1 or (segment.rounded is not None and segment.vectors is None):
        raise SegmentDamaged(row, "has a damaged header")
    return segment


def _checksum(pieces: Iterator[Any]) -> int:
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return checksum


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
