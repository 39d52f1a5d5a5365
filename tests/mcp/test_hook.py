"""The events of agents, and what `shortlist hook` prints: never an error, and nothing if there is no hint."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from shortlist._paths import data_dir
from shortlist.mcp import hook, prompt_hints


@pytest.fixture(autouse=True)
def is_indexed() -> None:
    """Without any data, nothing is searched."""
    data_dir().mkdir(parents=True)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Queries that reach the search, which finds something."""
    asked: list[str] = []

    def find(query: str) -> str:
        asked.append(query)
        return "Use the lamp."

    monkeypatch.setattr(prompt_hints, "find_stored_hints", find)
    return asked


def send(monkeypatch: pytest.MonkeyPatch, event: Any, *, is_debug: bool = False) -> int:
    text = event if isinstance(event, bytes) else json.dumps(event).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    return hook.run(is_debug=is_debug)


@pytest.mark.parametrize("name", hook.EVENTS)
def test_the_answer_is_context_for_the_event(
    name: str,
    answer: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    event = {"session_id": "1", "hook_event_name": name, "prompt": "light, please", "cwd": str(tmp_path)}
    assert send(monkeypatch, event) == 0
    context = {"hookEventName": name, "additionalContext": "Use the lamp."}
    assert json.loads(capsys.readouterr().out) == {"hookSpecificOutput": context}
    assert answer == ["light, please"]


@pytest.mark.parametrize(
    "event",
    [
        b"",
        b"\xff{",
        b"[]",
        {"hook_event_name": "UserPromptSubmit"},
        {"hook_event_name": "UserPromptSubmit", "prompt": None},
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "beforeSubmitPrompt", "prompt": "light"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "/compact"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "```\nlamp\n```"},
    ],
)
def test_an_event_without_a_prompt_to_search_for_gets_no_output(
    event: Any, answer: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send(monkeypatch, event) == 0
    assert tuple(capsys.readouterr()) == ("", "")
    assert not answer
    assert send(monkeypatch, event, is_debug=True) == 0
    output, errors = capsys.readouterr()
    assert not output
    assert errors


def test_an_event_without_its_name_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    send(monkeypatch, {"prompt": "light"}, is_debug=True)
    assert "hook_event_name must be UserPromptSubmit or BeforeAgent, not None" in capsys.readouterr().err


def test_a_search_that_fails_gets_no_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(query: str) -> str:
        raise OSError("the disk is gone")

    monkeypatch.setattr(prompt_hints, "find_stored_hints", fail)
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "light"}
    assert send(monkeypatch, event) == 0
    assert tuple(capsys.readouterr()) == ("", "")
    send(monkeypatch, event, is_debug=True)
    assert "the disk is gone" in capsys.readouterr().err


def test_code_is_not_searched_for_and_a_long_prompt_is_cut_in_the_middle() -> None:
    assert hook.make_query("why?\n```py\nx = 1\n```\nexplain  it\n```\nopen") == "why? explain it"
    assert hook.make_query("/etc/hosts is wrong") == "/etc/hosts is wrong"
    long = hook.make_query(f"first {'word ' * 1000} last")
    assert long.startswith("first word")
    assert long.endswith("word last")
    assert len(long) == hook.LONGEST_START + 1 + hook.LONGEST_END
