"""A copy of the example data to work in, and the command as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shortlist

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "shortlist")


class Done:
    """How a command ended."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs commands in one folder, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "HOME": str(folder / "home"), "COLUMNS": "100"}

    def __call__(self, *arguments: str, **environment: str) -> Done:
        return Done(
            subprocess.run(
                [*COMMAND, *arguments],
                cwd=self.folder,
                env=self.environment | environment,
                capture_output=True,
                encoding="utf-8",
                timeout=120,
            )
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
        return subprocess.Popen([*COMMAND, *arguments], cwd=self.folder, env=self.environment, **{**pipes, **options})


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    shutil.copytree(ROOT / "examples" / "data", folder)
    return Shell(folder)


@pytest.fixture
def shop(shell: Shell) -> Shell:
    shortlist.register("shop", "catalog", root=shell.folder / "tools.yaml")
    shortlist.build("shop").close()
    return shell
