"""docs/guides/command-line.md documents the whole command line, and its examples run."""

from __future__ import annotations

import io
import re
import shlex
import sys

import click
import pytest

import shortlist
from shortlist.cli import run
from shortlist.cli.app import app
from tests.cli.conftest import COMMANDS, ROOT, Shell

DOCUMENT = (ROOT / "docs" / "guides" / "command-line.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"^```sh\n.*?^```$", "", DOCUMENT, flags=re.MULTILINE | re.DOTALL)
LINES = "".join(BLOCKS).splitlines()
EVERYWHERE = {"--json", "--quiet", "--debug"}
ENDLESS = {"shortlist serve", "shortlist mcp", "shortlist mcp run"}
ONLINE = {"shortlist mcp login", "shortlist mcp logout", "shortlist config llm"}  # they need a server


def options(command: click.Command) -> set[str]:
    """The options of a command, without the former names, which are hidden."""
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    return {flag for option in shown for flag in option.opts}


def section(path: str) -> str:
    """The part of the document about a command."""
    for part in DOCUMENT.split("\n## "):
        if path.removeprefix("shortlist ") in part.splitlines()[0].split(", "):
            return part
    raise AssertionError(f"docs/guides/command-line.md has no section for {path}")


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_is_documented(path: str) -> None:
    written = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", section(path)))
    assert options(COMMANDS[path]) - EVERYWHERE <= written


def test_options_that_every_command_has_are_documented_once() -> None:
    introduction = DOCUMENT.split("\n## ")[0]
    assert all(options(command) >= EVERYWHERE for command in COMMANDS.values())
    assert all(f"`{option}`" in introduction for option in EVERYWHERE | {"--help", "-h"})
    assert all(option in introduction for option in options(app))


def test_only_existing_commands_and_options_are_documented() -> None:
    known = {"--help", "-h", *options(app)}.union(*(options(command) for command in COMMANDS.values()))
    written = set(re.findall(r"`(--?[a-z][a-z-]*)", DOCUMENT))
    assert written <= known
    assert set(re.findall(r"`(shortlist (?:(?:tools|config|mcp|cases|token) )?[a-z][a-z-]*)", PROSE)) <= set(COMMANDS)


def test_every_example_runs_in_order(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = (shell.folder / "cases.jsonl").read_text("utf-8").splitlines()
    (shell.folder / "cases.jsonl").write_text("\n".join(cases[::4]), "utf-8")  # of both kinds, and four times as fast
    monkeypatch.chdir(shell.folder)
    monkeypatch.setenv("HOME", str(shell.folder / "home"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("How much is express delivery?\n/exit\n"))
    with shortlist.build("tools:tools.yaml") as corpus:  # no command writes the log of use
        corpus.learn("where is the parcel", "track_shipment")
        corpus.learn("give the money back", "refund_payment")
        corpus.learn("undo a payment", "refund_payment")
    for line in LINES:
        program, *arguments = shlex.split(line)
        assert program == "shortlist"
        assert run(arguments) == 0, f"{line}: {capsys.readouterr()}"
    documented = {path for path in COMMANDS for line in LINES if f"{line} ".startswith(f"{path} ")}
    assert documented == set(COMMANDS) - ENDLESS - ONLINE


def test_the_examples_of_every_help_text_are_among_those_that_run() -> None:
    examples = {line.strip() for command in COMMANDS.values() for line in (command.epilog or "").splitlines()[2:]}
    endless = {"shortlist mcp", "shortlist mcp --profile work"}
    left_out = ("shortlist serve", *ONLINE)
    assert {line for line in examples if not line.startswith(left_out)} - endless <= set(LINES)
