"""docs/guides/lists.md: its code blocks run and print what it shows."""

from __future__ import annotations

import pytest

from tests.pages import ROOT, read_page, run_blocks


@pytest.mark.extras
def test_every_block_runs_and_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    assert run_blocks(read_page("guides/lists.md")) == 7
