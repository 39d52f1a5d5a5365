"""Fixtures of several test files. Files are in memory where possible: most time goes into syncing a disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import shortlist
from tests.index.copies import copy_own
from tests.index.damages import Make
from tests.index.engines.conftest import address as address
from tests.index.foreign_samples import TEXTS
from tests.index.soak import version

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Corpora of version B, by embedder, with several segments and deleted passages in them."""

    @cache
    def build(embedder: str) -> Path:
        path = tmp_path_factory.mktemp(embedder) / "corpus"
        with shortlist.build(version("A"), path=path, embedder=embedder) as corpus:
            corpus.sync(version("B"))
            assert corpus.info()["segments"] > 3
        return path

    return build


@pytest.fixture
def make(templates: Callable[[str], Path], tmp_path: Path) -> Make:
    def copy(embedder: str = "none") -> None:
        copy_own(templates(embedder), tmp_path)

    return copy


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A corpus that came with a folder: built elsewhere, and copied here."""
    built = tmp_path / "elsewhere" / "index"
    shortlist.build(TEXTS, path=built, embedder="light").close()
    folder = tmp_path / "repo" / "index"
    shutil.copytree(built, folder)
    return folder
