"""The configuration, data and cache directories: what overrides them, who may read them, and errors in them."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import platformdirs
import pytest

from shortlist._paths import cache_dir, config_dir, data_dir, describe_os_error, make_folder, user_config_folder


def test_a_variable_overrides_the_usual_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {data_dir: "SHORTLIST_DATA_DIR", config_dir: "SHORTLIST_CONFIG_DIR", cache_dir: "SHORTLIST_CACHE_DIR"}
    for number, (find, variable) in enumerate(folders.items()):
        monkeypatch.setenv(variable, str(tmp_path / str(number)))
        assert find() == tmp_path / str(number)
        monkeypatch.delenv(variable)
        assert find().name in ("shortlist", "Cache")
    monkeypatch.setenv("HOME" if sys.platform != "win32" else "USERPROFILE", str(tmp_path))
    monkeypatch.setenv("SHORTLIST_DATA_DIR", "~/elsewhere")
    assert data_dir() == tmp_path / "elsewhere"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables count on Linux")
@pytest.mark.parametrize("xdg", ["", "/elsewhere", "relative"])
@pytest.mark.parametrize("home", ["/home/ada", ""])
def test_the_usual_folders_are_those_of_platformdirs(xdg: str, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    for kind, find in {"data": data_dir, "config": config_dir, "cache": cache_dir}.items():
        monkeypatch.delenv(f"SHORTLIST_{kind.upper()}_DIR", raising=False)
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", xdg)
        assert find() == Path(getattr(platformdirs, f"user_{kind}_dir")("shortlist", appauthor=False))
    assert user_config_folder() == platformdirs.user_config_path(roaming=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_new_directory_is_closed_to_other_users_and_a_shared_one_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path / "data"))
    make_folder(tmp_path / "data" / "corpora" / "shop")
    assert (tmp_path / "data" / "corpora" / "shop").is_dir()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    (tmp_path / "data").chmod(0o755)
    make_folder(tmp_path / "data" / "corpora")
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables count on Linux")
def test_the_usual_directory_is_closed_if_it_was_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHORTLIST_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "shortlist").mkdir(mode=0o755)
    make_folder(data_dir() / "corpora")
    assert stat.S_IMODE((tmp_path / "shortlist").stat().st_mode) == 0o700


def test_an_error_in_a_directory_names_the_variable_that_changes_it(tmp_path: Path) -> None:
    inside = PermissionError(13, "Permission denied", str(data_dir() / "x"))
    assert describe_os_error(inside) == (
        f"Permission denied: {data_dir() / 'x'}. Fix that, or set SHORTLIST_DATA_DIR to another folder."
    )
    elsewhere = FileNotFoundError(2, "No such file or directory", str(tmp_path / "x"))
    assert describe_os_error(elsewhere) == f"No such file or directory: {tmp_path / 'x'}."
    assert describe_os_error(OSError("out of luck")) == "out of luck."
