"""The README and the demo run, and show what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shortlist.mcp_client.server_config import runs_shortlist
from tests.pages import ROOT, read_blocks, run_blocks

pytestmark = pytest.mark.process

README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.extras
def test_every_block_of_the_readme_runs_and_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert run_blocks(README) == 5


def test_the_readme_is_short_and_configures_this_program() -> None:
    assert len(README.splitlines()) <= 150
    (block,) = (block.text for block in read_blocks(README) if block.language == "json")
    entry = json.loads(block)["mcpServers"]["shortlist"]
    assert runs_shortlist([entry["command"], *entry["args"]])


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
