"""What is written down is run: the Python and the commands of the README, in order, with the output that it shows."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from shortlist import cli
from shortlist.sources.mcp_servers.mcp_config import runs_shortlist

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_readme_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, Any] = {}
    printed, ran = "", 0
    for language, block in BLOCK.findall((ROOT / "README.md").read_text("utf-8")):
        if language in ("python", "sh"):
            assert printed == "", "a block printed something that the README does not show"
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                if language == "python":
                    exec(compile(block, "README.md", "exec"), names)
                else:
                    run_commands(block)
            printed, ran = output.getvalue(), ran + 1
        elif language == "json":
            entry = json.loads(block)["mcpServers"]["shortlist"]
            assert runs_shortlist([entry["command"], *entry["args"]])
        else:
            assert language == "text"
            assert printed == block
            printed = ""
    assert printed == ""
    assert ran == 12


def run_commands(block: str) -> None:
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        if program == "shortlist":
            assert cli.run(arguments) in (cli.OK, cli.ABSTAINED)
        else:
            assert program == "pip"


def test_the_demo_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import examples.demo as demo

    monkeypatch.setattr(demo, "KEPT", tmp_path)
    demo.main()
    out = capsys.readouterr().out
    assert "90 documents: 90 added, 0 changed, 0 unchanged" in out
    assert "refund_payment" in out
    assert out.count("Nothing fits.") == 2
    assert "scripts/rollback.sh" in out
    assert "founded the company in 2014" in out
    assert out.count("I don't know based on the provided documents.") == 1
    demo.main()
    assert "90 documents: 0 added, 0 changed, 90 unchanged" in capsys.readouterr().out
