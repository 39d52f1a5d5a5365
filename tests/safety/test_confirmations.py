from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from shortlist._paths import config_dir
from shortlist.safety.confirmations import Confirmation, confirm, confirmed, is_confirmed, revoke


def test_a_value_is_confirmed_for_one_place_only(tmp_path: Path) -> None:
    here, there = tmp_path / "a" / "settings.yaml", tmp_path / "b" / "settings.yaml"
    confirm("llm", here, "http://localhost:1/v1")
    assert is_confirmed("llm", here, "http://localhost:1/v1")
    assert not is_confirmed("llm", here, "http://localhost:2/v1")
    assert not is_confirmed("llm", there, "http://localhost:1/v1")
    assert not is_confirmed("embedder", here, "http://localhost:1/v1")
    assert confirmed() == [Confirmation("llm", here.resolve(), "http://localhost:1/v1")]


def test_revoking_a_folder_withdraws_what_is_inside_it(tmp_path: Path) -> None:
    confirm("project", tmp_path / "a")
    confirm("llm", tmp_path / "a" / ".env", "http://x")
    confirm("project", tmp_path / "ab")
    assert revoke(tmp_path / "a") == 2
    assert [one.place.name for one in confirmed()] == ["ab"]


def test_a_damaged_list_confirms_nothing(tmp_path: Path) -> None:
    confirm("project", tmp_path)
    (config_dir() / "confirmed.json").write_text("{")
    assert not is_confirmed("project", tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_the_list_is_for_its_owner_only(tmp_path: Path) -> None:
    confirm("project", tmp_path)
    assert stat.S_IMODE((config_dir() / "confirmed.json").stat().st_mode) == 0o600
