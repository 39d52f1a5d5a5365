"""Folders of a machine, and plans that are applied to them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shortlist.install.agent_config import FileChange
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import Plan, plan_install, plan_uninstall


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return at(tmp_path)


def at(folder: Path, platform: str = "linux", **environment: str) -> Places:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    return Places(platform, folder / "home", environment, folder / "project", lambda command: None)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def change_of(plan: Plan) -> FileChange:
    assert plan.change
    return plan.change


def apply(plan: Plan) -> str:
    if change_of(plan).is_needed:
        change_of(plan).apply()
    return plan.action


def install(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    return apply(plan_install(AGENTS[agent], scope, places, **{"command": "/opt/bin/shortlist", **options}))


def uninstall(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    return apply(plan_uninstall(AGENTS[agent], scope, places, **options))


def parse(file: Path) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".yaml": yaml.safe_load}
    return readers.get(file.suffix, json.loads)(file.read_text(encoding="utf-8"))
