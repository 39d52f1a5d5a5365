"""Mapped files: what another program cuts off reads as zeros and is counted."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from shortlist.index.kernels.mapped_files import count_faults, map_file

PAGE = 1 << 16  # a multiple of the page size of every platform


def test_a_mapped_file_reads_as_it_was_written_and_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc" * PAGE)
    with path.open("rb") as file:
        mapped = map_file(file)
    assert mapped is not None
    assert bytes(mapped) == b"abc" * PAGE
    with pytest.raises(TypeError):
        mapped[0] = 0


def test_an_empty_file_is_not_mapped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with path.open("rb") as file:
        assert map_file(file) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to truncate a mapped file.")
def test_what_is_truncated_reads_as_zeros_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x07" * 3 * PAGE)
    with path.open("rb") as file:
        mapped = map_file(file)
    assert mapped is not None
    values, before = np.frombuffer(mapped, np.uint8), count_faults()
    assert values[2 * PAGE] == 7
    os.truncate(path, PAGE)
    assert (values[:PAGE] == 7).all()
    assert count_faults() == before
    assert not values[PAGE:].any()
    assert count_faults() > before


def test_many_files_are_mapped_and_released(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x07" * PAGE)
    for _ in range(5_000):  # more than can be guarded at once
        with path.open("rb") as file:
            mapped = map_file(file)
        assert mapped is not None
        assert mapped[0] == 7
        del mapped
    gc.collect()
