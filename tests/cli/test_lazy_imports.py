"""Modules that load when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from shortlist.cli.lazy_imports import lazy_imports


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the modules of a package that have run."""
    package = tmp_path / "slow_parts"
    package.mkdir()
    for name in ("__init__", "one", "two"):
        text = "VALUE = 1\nimport builtins\nbuiltins.slow_parts_log.append(__name__)\n"
        (package / f"{name}.py").write_text(text, "utf-8")
    names: list[str] = []
    monkeypatch.setattr("builtins.slow_parts_log", names, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("slow_parts")]:
        monkeypatch.delitem(sys.modules, name)
    return names


def test_a_module_runs_when_one_of_its_names_is_read(log: list[str]) -> None:
    with lazy_imports():
        one: ModuleType = import_module("slow_parts.one")
        import_module("slow_parts.two")
    assert log == ["slow_parts"]
    assert one.VALUE == 1
    assert log == ["slow_parts", "slow_parts.one"]


def test_later_imports_run_at_once(log: list[str]) -> None:
    with lazy_imports():
        pass
    import_module("slow_parts.two")
    assert log == ["slow_parts", "slow_parts.two"]


def test_a_name_is_read_at_once(log: list[str]) -> None:
    with lazy_imports():
        exec("from slow_parts.one import VALUE")
    assert log == ["slow_parts", "slow_parts.one"]
