"""docs/guides/integrations.md is run, and prints what it shows; what needs a package, where that is."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "guides" / "integrations.md").read_text("utf-8")
SECTIONS = dict(part.split("\n", 1) for part in DOCUMENT.split("\n## ")[1:])
BLOCK = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"LangChain": "langchain_core", "LlamaIndex": "llama_index.core", "PydanticAI": "pydantic_ai"}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_block_runs_and_prints_what_stands_below_it(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if section in NEEDS:
        pytest.importorskip(NEEDS[section])
    monkeypatch.chdir(ROOT / "examples" / "data")
    ((block, shown),) = BLOCK.findall(SECTIONS[section])
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block, "docs/guides/integrations.md", "exec"), {})
    assert output.getvalue() == shown


def test_no_block_is_left_out() -> None:
    assert DOCUMENT.count("```") == 4 * len(SECTIONS) == 24
