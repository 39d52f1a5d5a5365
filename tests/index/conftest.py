"""Test files are in memory where possible: most of the time goes into syncing a disk, and no test cuts the power."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
