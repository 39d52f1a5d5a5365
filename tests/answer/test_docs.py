"""docs/guides/answers.md: its code blocks run and print what it shows, and its numbers are those of the code."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist import REFUSAL
from shortlist.answer.agent import MAX_STEPS, TOOLS
from shortlist.answer.claims.assessment import AGAINST_RULES, SUPPORTED_FROM
from shortlist.answer.evidence import K
from shortlist.answer.extractive.extract import ANSWER_FROM, WEIGHTS
from shortlist.answer.extractive.unit_choice import READ, READ_FROM
from shortlist.answer.memory import WINDOW_TURNS
from shortlist.retrieval.agent_actions import MOST_NEIGHBORS
from shortlist.retrieval.relevance import EVIDENCE_THRESHOLD
from tests.pages import ROOT, read_page, run_blocks

PAGE = " ".join(read_page("guides/answers.md").split())


@pytest.mark.extras
def test_every_block_runs_and_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    names: dict[str, Any] = {}
    assert run_blocks(read_page("guides/answers.md"), names) == 6
    names["corpus"].close()


@pytest.mark.parametrize(
    "text",
    [
        f"`{REFUSAL}`",
        f"The `k` ({K}) passages",
        f"`min_relevance` ({EVIDENCE_THRESHOLD})",
        f"`max_steps` ({MAX_STEPS})",
        f"`window_turns` ({WINDOW_TURNS})",
        f"({ANSWER_FROM} by rules, {READ_FROM} with the model)",
        f"the {READ} best units",
        f"(below {SUPPORTED_FROM}), and keep one that only lacks words (from {AGAINST_RULES})",
        f"with {len(WEIGHTS)} weights",
        f"up to {MOST_NEIGHBORS} passages before and after",
        *(f"`{tool['function']['name']}(" for tool in TOOLS),
    ],
)
def test_the_page_has_the_values_of_the_code(text: str) -> None:
    assert text in PAGE
