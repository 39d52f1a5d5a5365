"""The loops of `mapped_files.c`: files that are mapped, and may be cut off by another program meanwhile."""

from __future__ import annotations

import mmap
from typing import Any, BinaryIO

import numpy as np

from shortlist.index.kernels import library


class MappedFile(mmap.mmap):
    """A file that is mapped for reading. What another program cuts off reads as zeros, and does not end the process."""

    _guard = -1

    def guard(self, loops: Any) -> bool:
        """Whether it can be guarded."""
        self._loops = loops
        address = np.frombuffer(self, np.uint8).__array_interface__["data"][0]
        self._guard = loops.guard_mapping(address, len(self))
        return self._guard >= 0

    def __del__(self) -> None:  # before it is unmapped: afterwards its addresses may be those of something else
        if self._guard >= 0:
            self._loops.release_mapping(self._guard)


def map_file(file: BinaryIO) -> MappedFile | None:
    """The file as it is mapped; None if it must be read because a mapping could not be guarded."""
    try:
        mapped = MappedFile(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # it became empty
        return None
    return mapped if mapped.guard(library.loops()) else None


def count_faults() -> int:
    """How often a part of a mapped file was missing when it was read, in this process."""
    return int(library.loops().count_faults())
