"""A copy of the example data to work in, and commands in this process or in one of their own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist.cli import run
from shortlist.cli.app import app
from website.reference_pages import walk_commands

ROOT = Path(__file__).parents[2]
INDEX = ("--index-dir", "index")
COMMAND = (sys.executable, "-m", "shortlist")


COMMANDS = dict(walk_commands(app))


class Done:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs commands in one folder, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "HOME": str(folder / "home"), "COLUMNS": "100"}

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """Run a command in this process, which saves the start of Python and the imports."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            wanted = self.environment | environment
            for name in [name for name in os.environ if name not in wanted]:
                patch.delenv(name)
            for name, value in wanted.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            code = run(arguments)
        return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))

    def process(self, *arguments: str, **environment: str) -> Done:
        """Run a command in a process of its own."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        return Done(done.returncode, done.stdout, done.stderr)

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


@pytest.fixture
def lamp(shell: Shell) -> Shell:
    """An index of two small files; no model is set up."""
    for name in [name for name in shell.environment if name.startswith(("OPENAI_", "SHORTLIST_LLM_"))]:
        del shell.environment[name]
    (shell.folder / "lamps").mkdir()
    (shell.folder / "lamps" / "hall.txt").write_text("The lamp in the hall is green. It was made in 1950.")
    (shell.folder / "lamps" / "rooms.csv").write_text("room,lamp\nkitchen,white\nattic,none\n")
    assert shell("ingest", "lamps", *INDEX).code == 0
    return shell


@pytest.fixture
def used(shop: Shell) -> Shell:
    """A shop with a log: four uses of two tools, and a query after which nothing was used."""
    with shortlist.open_corpus("shop") as corpus:
        for at, query in enumerate(("zebra giraffe", "a giraffe or a zebra", "money back")):
            corpus.learn(query, "refund_payment", shown=["track_shipment"], session=str(at))
        corpus.learn("where is it", "track_shipment")
        for session in ("one", "two"):
            corpus.usage.add("play \x1b[2Jjazz", [("track_shipment", 0.25)], session=session)
    return shop


@pytest.fixture
def taught(used: Shell) -> Shell:
    """A shop in which more sessions have used one tool after queries with the same words."""
    with shortlist.open_corpus("shop") as corpus:
        queries = ("zebra and giraffe", "one giraffe, one zebra", "a zebra with a giraffe", "the giraffe and the zebra")
        for at, query in enumerate(3 * queries):
            corpus.learn(query, "refund_payment", session=f"more {at}")
    return used
