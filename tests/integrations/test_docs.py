"""docs/guides/integrations.md: its code blocks run and print what it shows, if the framework is installed."""

from __future__ import annotations

import pytest

from tests.pages import ROOT, read_blocks, read_page, run_blocks

PAGE = read_page("guides/integrations.md")
SECTIONS = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
PACKAGES = {
    "LangChain": "langchain_core",
    "LlamaIndex": "llama_index.core",
    "PydanticAI": "pydantic_ai",
    "FastMCP": "fastmcp",
}


@pytest.mark.extras
@pytest.mark.parametrize("section", SECTIONS)
def test_every_block_runs_and_prints_what_is_shown(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if section in PACKAGES:
        pytest.importorskip(PACKAGES[section])
    monkeypatch.chdir(ROOT / "examples" / "data")
    assert run_blocks(SECTIONS[section]) == 1


def test_every_block_is_in_a_section() -> None:
    assert [block.language for block in read_blocks(PAGE)] == ["python", "text"] * len(SECTIONS)
