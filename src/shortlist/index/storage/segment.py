"""Segment files: postings and vectors of a run of passages, written once and never changed.

The file: magic, header length, header checksum, header (JSON: where each array lies, checksum of the arrays), arrays.
"""

from __future__ import annotations

import io
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
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.live_postings import Impacts
from shortlist.index.lexical.postings import Postings
from shortlist.index.lexical.postings import merge as merge_postings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Mask, Vectors

MAGIC = b"shrtseg2"
ALIGNMENT = 64
_PREFIX = struct.Struct("<8sII")

# From this many postings on, impacts are kept with a segment; below they are quickly made.
IMPACTS_FROM = 1_000_000

# From this many vectors on, rounded ones are looked at first; below, exact products are as quick.
ROUNDED_FROM = 50_000

# Up to this size a file is read whole and its checksum always compared; above it is mapped, and compared only when
# the file is not the very one that was written.
MAPPED_FROM = 4 << 20


class SegmentDamaged(Exception):
    """A segment file is missing or not what was written; it can be made again from the database."""

    row: Any = None  # the row that names it
    generation = 0  # the state in which it was named


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
        """The places of those passages of the segment that have one of these numbers, at the cost of the numbers."""
        places = np.searchsorted(self.passages, numbers)
        inside = places < self.size
        places, numbers = places[inside], numbers[inside]
        found: NDArray[np.int64] = places[self.passages[places] == numbers]
        return found


def merge(parts: Sequence[tuple[Segment, Mask | None]]) -> Segment:
    """One segment out of several that follow each other, without the dead."""

    def join(column: Callable[[Segment], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([column(part) if dead is None else column(part)[~dead] for part, dead in parts])

    return Segment(
        passages=join(attrgetter("passages")),
        documents=join(attrgetter("documents")),
        postings=merge_postings([(part.postings, dead) for part, dead in parts]),
        vectors=None if parts[0][0].vectors is None else join(attrgetter("vectors")),
    )


def with_tables(segment: Segment, scoring: Scoring) -> Segment:
    """A large segment with what makes searching it fast, so that no reader needs to make that."""
    postings, vectors = segment.postings, segment.vectors
    if len(postings.docs) >= IMPACTS_FROM and not FORMULAS[scoring.formula].is_cosine:
        average = float(postings.length_sums @ np.array(scoring.weights)) / segment.size
        segment = replace(segment, impacts=Impacts.of(postings, scoring, average))
    if vectors is not None and len(vectors) >= ROUNDED_FROM:
        segment = replace(segment, rounded=RoundedVectors.of(vectors))
    return segment


def write(segment: Segment, path: str) -> int:
    """Write a segment's file; the checksum of its arrays."""
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
        contents += data, bytes(_aligned(len(data)) - len(data))
        offset += _aligned(len(data))
    impacts = segment.impacts.describe() if segment.impacts is not None else None
    header = json.dumps({"arrays": layout, "bytes": offset, "checksum": checksum, "impacts": impacts}).encode()
    prefix = _PREFIX.pack(MAGIC, len(header), zlib.crc32(header)) + header
    contents.insert(0, prefix.ljust(_data_start(header), b"\0"))
    with open(path, "wb", buffering=0) as file:
        if offset < MAPPED_FROM:  # compared with its checksum whenever it is read, so it need not be forced to the disk
            contents = [b"".join(contents)]
        for part in contents:
            _write_all(file, part)
        if offset >= MAPPED_FROM:
            os.fsync(file.fileno())
    return checksum


def _write_all(file: io.FileIO, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def read(path: Path, checksum: int, *, trusted: bool) -> Segment:
    """The segment with that checksum in a file. `trusted` says that the file is the very one that was written."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < MAPPED_FROM:
                data: bytes | mmap.mmap = file.read()
                trusted = False
            else:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise SegmentDamaged("is missing") from None
    return _parse(data, checksum, trusted=trusted)


def _parse(data: bytes | mmap.mmap, checksum: int, *, trusted: bool) -> Segment:
    if len(data) < _PREFIX.size:
        raise SegmentDamaged("is cut short")
    magic, length, header_checksum = _PREFIX.unpack_from(data)
    header = bytes(data[_PREFIX.size : _PREFIX.size + length])
    if magic != MAGIC or zlib.crc32(header) != header_checksum:
        raise SegmentDamaged("has a damaged header")
    description = json.loads(header)
    start = _data_start(header)
    if len(data) != start + description["bytes"]:
        raise SegmentDamaged("is cut short")
    arrays: dict[str, NDArray[Any]] = {}
    for name, (dtype, shape, offset) in description["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, np.dtype(dtype), count, start + offset).reshape(shape)
    found = description["checksum"]
    if not trusted:
        found = 0
        for array in arrays.values():
            found = zlib.crc32(_bytes(array), found)
    if found != checksum:
        raise SegmentDamaged("does not match its checksum")
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


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _data_start(header: bytes) -> int:
    return _aligned(_PREFIX.size + len(header))
