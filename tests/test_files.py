"""A lock is for one process at a time, and nothing of it is left on disk but its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist._files import locked
from shortlist.errors import CorpusBusy


def test_a_lock_excludes_others_until_it_ends_and_makes_no_other_file(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "a.lock"):
            assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]
            with pytest.raises(CorpusBusy, match="locked by another process"), locked(tmp_path / "a.lock", 0.1):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]
