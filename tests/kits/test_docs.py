"""docs/guides/lists.md is run, and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_runs_and_prints_what_stands_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    document = (ROOT / "docs" / "guides" / "lists.md").read_text("utf-8")
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(document)
    assert len(blocks) == document.count("```python") == 7
    for block, shown in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "docs/guides/lists.md", "exec"), names)
        assert output.getvalue() == shown
