"""docs/explanation/embedder.md: its code block runs and prints what it shows."""

from __future__ import annotations

from tests.pages import read_page, run_blocks


def test_every_block_runs_and_prints_what_is_shown() -> None:
    assert run_blocks(read_page("explanation/embedder.md")) == 1
