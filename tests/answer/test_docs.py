"""The blocks of docs/guides/answers.md run in order and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from shortlist import REFUSAL
from shortlist.answer.agent import MAX_STEPS, TOOLS
from shortlist.answer.evidence import THRESHOLD, K
from shortlist.answer.extractive.extract import WEIGHTS
from shortlist.answer.memory import WINDOW_TURNS
from shortlist.search.agent_actions import MOST_NEIGHBORS

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "guides" / "answers.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_runs_and_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"index": tmp_path / "index"}
    printed = ""
    for language, block in BLOCK.findall(DOCUMENT):
        if language == "python":
            assert printed == "", "a block printed something that is not shown"
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, "answers.md", "exec"), names)
            printed = output.getvalue()
        else:
            assert printed == block
            printed = ""
    assert printed == ""
    names["corpus"].close()


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    assert f"`{REFUSAL}`" in DOCUMENT
    assert f"The `k` ({K}) best passages" in DOCUMENT
    assert f"`threshold`\n({THRESHOLD:.2f})" in DOCUMENT
    assert f"`max_steps` ({MAX_STEPS})" in DOCUMENT
    assert f"`window_turns` ({WINDOW_TURNS})" in DOCUMENT
    assert f"regression of {len(WEIGHTS)} numbers" in DOCUMENT
    before = TOOLS[3]["function"]["parameters"]["properties"]["before"]
    assert before["maximum"] == MOST_NEIGHBORS
    for tool in TOOLS:
        assert f"`{tool['function']['name']}(" in DOCUMENT
