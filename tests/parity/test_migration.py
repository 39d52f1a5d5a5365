"""docs/guides/migrate.md: the code before and after a migration prints the same, with the real packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, read_blocks, read_page


def section(title: str) -> str:
    return read_page("guides/migrate.md").split(f"\n## {title}\n")[1].split("\n## ")[0]


def last_line(code: str, places: Path) -> str:
    """The last line that code prints in the folder of the examples; the packages also print what they do."""
    environment = {**os.environ, **{f"IR_{kind}_DIR": str(places / kind) for kind in ("DATA", "CONFIG", "CACHE")}}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "examples" / "data", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("title", ["From vrraj-bm25s-retriever", "From ir"])
def test_the_new_code_prints_what_the_old_code_printed(title: str, tmp_path: Path) -> None:
    blocks = {block.language: block.text for block in reversed(read_blocks(section(title)))}
    assert last_line(blocks["py"], tmp_path) == last_line(blocks["python"], tmp_path) == blocks["text"].strip()


def test_every_system_has_names_defaults_and_data() -> None:
    for title in ("From vrraj-bm25s-retriever", "From bss", "From aumai-toolretrieval", "From ir"):
        assert "| shortlist |" in section(title)
        assert "| Default | Before | Now | Why |" in section(title)
