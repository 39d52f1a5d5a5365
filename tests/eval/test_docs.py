"""docs/guides/evaluate.md: its code blocks run and print what it shows, and it documents every public name."""

from __future__ import annotations

import re

import pytest

from shortlist import eval as ev
from shortlist.eval.lint import RULES
from shortlist.eval.retrieval import OUTCOMES
from shortlist.eval.selection import MEASURES
from tests.pages import ROOT, read_page, run_blocks

PAGE = read_page("guides/evaluate.md")


@pytest.mark.extras
def test_every_block_runs_and_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    assert run_blocks(PAGE) == 15


def test_every_outcome_rule_measure_and_function_is_documented() -> None:
    assert [name for name in (*OUTCOMES, *RULES, *MEASURES) if f"`{name}`" not in PAGE] == []
    assert [name for name in ev.__all__ if not re.search(rf"\b{name}\b", PAGE)] == []
