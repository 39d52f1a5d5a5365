"""Segment files: postings and vectors of a run of passages, written once and never changed.

Layout: magic, header length, header checksum, header (JSON: where each array is, checksum of the arrays), arrays.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.dense.dense_ranker import RoundedVectors
from shortlist.index.kernels import library
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.live_postings import Impacts
from shortlist.index.lexical.postings import Postings
from shortlist.index.lexical.postings import merge as merge_postings
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

# A smaller file is read as a whole, and its checksum is always compared. A larger one is mapped, and compared only if
# its size or time differ from what was written.
MAPPED_FROM = 4 << 20


class SegmentDamaged(Exception):
    """A segment file is missing or not what was written; it can be rebuilt from the database."""

    def __init__(self, row: SegmentRow, what: str) -> None:
        super().__init__(f"{row.file} {what}")
        self.row = row


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A run of passages: their numbers, ascending, their documents' numbers, postings and, if embedded, vectors."""

    passages: NDArray[np.int64]
    documents: NDArray[np.int64]
    postings: Postings
    vectors: Vectors | None
    impacts: Impacts | None = None
    rounded: RoundedVectors | None = None

    @property
    def size(self) -> int:
        return len(self.passages)

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
    )


def add_tables(segment: Segment, scoring: Scoring) -> Segment:
    """The segment; if it is large, with the tables that make searching it fast, so that readers need not."""
    postings, vectors = segment.postings, segment.vectors
    if library.loops() is None:
        return segment
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
    for table in (segment.impacts, segment.rounded):
        arrays |= table.arrays() if table is not None else {}
    layout: dict[str, list[Any]] = {}
    contents: list[bytes | memoryview] = []
    offset, checksum = 0, 0
    for name, array in arrays.items():
        data = _bytes(np.ascontiguousarray(array))
        layout[name] = [array.dtype.str, list(array.shape), offset]
        checksum = zlib.crc32(data, checksum)
        contents += data, bytes(_align(len(data)) - len(data))
        offset += _align(len(data))
    impacts = segment.impacts.describe() if segment.impacts is not None else None
    header = json.dumps({"arrays": layout, "bytes": offset, "checksum": checksum, "impacts": impacts}).encode()
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
    """The segment of a row, from its file. Every value of one that is not trusted is checked."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            is_mapped = status.st_size >= MAPPED_FROM
            data: bytes | mmap.mmap = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else file.read()
    except FileNotFoundError:
        raise SegmentDamaged(row, "is missing") from None
    except OSError as error:
        raise SegmentDamaged(row, f"cannot be read: {error.strerror}") from None
    if len(data) < _PREFIX.size:
        raise SegmentDamaged(row, "is truncated")
    magic, length, header_checksum = _PREFIX.unpack_from(data)
    header = bytes(data[_PREFIX.size : _PREFIX.size + length])
    if magic != MAGIC or zlib.crc32(header) != header_checksum:
        raise SegmentDamaged(row, "has a damaged header")
    description = json.loads(header)
    start = _align(_PREFIX.size + length)
    if len(data) != start + description["bytes"]:
        raise SegmentDamaged(row, "is truncated")
    arrays: dict[str, NDArray[Any]] = {}
    for name, (dtype, shape, offset) in description["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, np.dtype(dtype), count, start + offset).reshape(shape)
    checksum = description["checksum"]
    if not is_mapped or (status.st_size, status.st_mtime_ns) != (row.bytes, row.written):
        checksum = 0
        for array in arrays.values():
            checksum = zlib.crc32(_bytes(array), checksum)
    if checksum != row.checksum:
        raise SegmentDamaged(row, "does not match its checksum")
    return Segment(
        passages=arrays["passages"],
        documents=arrays["documents"],
        postings=Postings.from_arrays(arrays),
        vectors=arrays.get("vectors"),
        impacts=Impacts.from_arrays(arrays, description["impacts"]) if description["impacts"] else None,
        rounded=RoundedVectors.from_arrays(arrays),
    )


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
