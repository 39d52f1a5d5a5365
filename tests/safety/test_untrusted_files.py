from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlist._paths import data_dir
from shortlist.safety.untrusted_files import UnsafeFile, is_in_data_dir, read_regular_file


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"12345")
    assert read_regular_file(file, limit=5, root=tmp_path) == b"12345"
    with pytest.raises(UnsafeFile, match="larger than 4 bytes"):
        read_regular_file(file, limit=4)


def test_a_link_is_followed_only_inside_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "secret"
    root.mkdir()
    outside.write_text("canary")
    (root / "real").write_text("fine")
    (root / "inner").symlink_to("real")
    (root / "outer").symlink_to(outside)
    assert read_regular_file(root / "inner", root=root) == b"fine"
    with pytest.raises(UnsafeFile, match="leaves"):
        read_regular_file(root / "outer", root=root)
    assert read_regular_file(root / "outer") == b"canary"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs special files")
def test_devices_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(UnsafeFile, match="not a regular file"):
            read_regular_file(tmp_path / name)
    with pytest.raises(OSError, match=r"regular|directory"):
        read_regular_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_regular_file(tmp_path / "missing")


def test_only_folders_below_the_data_directory_are_ours(tmp_path: Path) -> None:
    inside = data_dir() / "corpora" / "x"
    inside.mkdir(parents=True)
    (data_dir() / "linked").symlink_to(tmp_path)
    assert is_in_data_dir(inside)
    assert not is_in_data_dir(tmp_path)
    assert not is_in_data_dir(data_dir() / "linked")
