"""docs/explanation/embedder.md and languages.md: their code blocks run and print what they show."""

from __future__ import annotations

import pytest

from tests.pages import read_page, run_blocks


@pytest.mark.parametrize(("page", "blocks"), [("embedder", 1), ("languages", 3)])
def test_every_block_runs_and_prints_what_is_shown(page: str, blocks: int) -> None:
    assert run_blocks(read_page(f"explanation/{page}.md")) == blocks
