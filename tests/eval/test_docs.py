"""What docs/guides/evaluate.md shows is run, in order, and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from shortlist import eval as ev
from shortlist.eval.lint import RULES
from shortlist.eval.retrieval import OUTCOMES
from shortlist.eval.selection import MEASURES

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "guides" / "evaluate.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_runs_and_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    printed, ran = "", 0
    for language, block in BLOCK.findall(DOCUMENT):
        if language == "python":
            assert printed == "", "a block printed something that the page does not show"
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, "docs/guides/evaluate.md", "exec"), names)
            printed, ran = output.getvalue(), ran + 1
        else:
            assert language == "text"
            assert printed == block
            printed = ""
    assert printed == ""
    assert ran == 13


def test_every_outcome_rule_measure_and_function_is_explained() -> None:
    for name in (*OUTCOMES, *RULES, *MEASURES):
        assert f"`{name}`" in DOCUMENT
    assert [name for name in ev.__all__ if not re.search(rf"\b{name}\b", DOCUMENT)] == []
