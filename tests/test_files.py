"""Small files: locks, replacement as a whole, stamps, and JSON of a known format."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from shortlist._files import JsonFile, locked, replace_text, stamp_of
from shortlist.errors import CorpusBusy, SourceError


def test_a_lock_excludes_others_until_it_ends_and_makes_no_other_file(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "a.lock"):
            assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]
            with pytest.raises(CorpusBusy, match="locked by another process"), locked(tmp_path / "a.lock", 0.1):
                pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]


def test_a_text_replaces_a_file_as_a_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    replace_text(path, "new\r\n")
    assert path.read_bytes() == b"new\r\n"
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        replace_text(tmp_path / "b.txt", "secret", private=True)
        assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o600


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "\ud800")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_stamp_changes_when_a_file_comes_changes_or_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    stamps = [stamp_of(path)]
    for text in ("one", "two"):
        replace_text(path, text)
        stamps.append(stamp_of(path))
    assert stamp_of(path) == stamps[-1]
    path.unlink()
    assert stamp_of(path) == stamps[0]
    assert len(set(stamps)) == 3


def test_a_json_file_stores_what_is_changed_and_nothing_after_an_error(tmp_path: Path) -> None:
    file = JsonFile(tmp_path / "known.json", 2, "entries", "; delete it.", note="ours")
    assert file.read() == {}
    with file.changing() as known:
        known |= {"b": {"n": 2}, "a": {"n": 1}}
    assert file.path.read_text() == json.dumps(
        {"format": 2, "note": "ours", "entries": {"a": {"n": 1}, "b": {"n": 2}}}, indent=1
    ) + "\n"  # fmt: skip

    def fail_while_changing() -> None:
        with file.changing() as known:
            known.clear()
            raise KeyError

    with pytest.raises(KeyError):
        fail_while_changing()
    assert file.read() == {"a": {"n": 1}, "b": {"n": 2}}


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "entries": {}}', '{"format": 2, "entries": {"a": 1}}'])
def test_a_damaged_json_file_is_an_error_that_says_how_to_repair_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"known\.json cannot be read .*; delete it\."):
        JsonFile(path, 2, "entries", "; delete it.").read()
    assert path.read_text() == text
