"""Names of files that try to control a terminal: neutralized in every output, and exact in JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from shortlist._text import terminal_safe
from tests.cli.conftest import Shell
from tests.cli.terminals import in_a_terminal

NAME = "a\x1b]0;owned\x07\x1b[2J\u202egpj.\x9b31m\u2066\n.md"
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="such names do not exist on Windows"),
]


RAW = ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\x9b", "\u2066")


@pytest.fixture
def hostile(shell: Shell) -> Shell:
    folder = shell.folder / "cloned"
    folder.mkdir()
    (folder / NAME).write_text("alpha beta\tgamma \x1b[2J", encoding="utf-8")
    (folder / f"out{NAME}").symlink_to("/etc/passwd")
    return shell


COMMANDS = {
    "ingest": ["ingest", "cloned", "--index-dir", "index"],
    "build": ["build", "docs:cloned"],
    "search": ["search", "docs:cloned", "alpha"],
    "quiet": ["search", "docs:cloned", "alpha", "--quiet"],
    "discover": ["discover", "docs:cloned", "alpha", "--level", "body"],
    "read": ["read", "docs:cloned", NAME],
    "error": ["search", "docs:cloned/\x1b]0;owned\x07", "alpha"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_control_character_of_a_name_reaches_a_pipe(hostile: Shell, command: list[str]) -> None:
    done = hostile(*command)
    assert any(shown in done.out + done.err for shown in ("·", r"\x1b"))
    assert [raw for raw in RAW if raw in done.out + done.err] == []


@pytest.mark.parametrize("command", ["search", "quiet"])
def test_no_control_character_of_a_name_reaches_a_terminal(hostile: Shell, command: str) -> None:
    shown = in_a_terminal(hostile, *COMMANDS[command])
    assert "·" in shown
    assert [raw for raw in RAW if raw in shown] == []


def test_a_name_is_one_line(hostile: Shell) -> None:
    assert hostile(*COMMANDS["quiet"]).out == f"{terminal_safe(NAME).replace(chr(10), '·')}\n"


def test_values_of_json_are_exact_and_escaped(hostile: Shell) -> None:
    done = hostile("search", "docs:cloned", "alpha", "--json")
    assert [hit["id"] for hit in done.json["hits"]] == [NAME]
    assert [raw for raw in RAW if raw in done.out] == []
    shown = in_a_terminal(hostile, "search", "docs:cloned", "alpha", "--json")
    document = shown[shown.index("{") : shown.rindex("}") + 1]
    assert [hit["id"] for hit in json.loads(document)["hits"]] == [NAME]


def test_the_text_of_a_document_is_written_to_a_pipe_as_it_is(hostile: Shell) -> None:
    assert hostile("read", "docs:cloned", NAME, "--quiet").out == "alpha beta\tgamma \x1b[2J\n"
    assert "gamma ·[2J" in in_a_terminal(hostile, "read", "docs:cloned", NAME, "--quiet")


def test_columns_of_quiet_output_stay_separated_by_tabs(hostile: Shell, tmp_path: Path) -> None:
    hostile("build", "docs:cloned")
    line, *_ = hostile("status", "--quiet").out.splitlines()
    assert line.count("\t") == 1
