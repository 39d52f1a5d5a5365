"""docs/guides/command-line.md says all that the command line can do, and all that it says runs."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator

import click
import pytest

from shortlist.cli import run
from shortlist.cli.app import app
from tests.cli.conftest import ROOT, Shell

DOCUMENT = (ROOT / "docs" / "guides" / "command-line.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"^```sh\n.*?^```$", "", DOCUMENT, flags=re.MULTILINE | re.DOTALL)


def commands(group: click.Group, path: str = "shortlist") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def options(command: click.Command) -> set[str]:
    return {flag for parameter in command.params if parameter.param_type_name == "option" for flag in parameter.opts}


COMMANDS = dict(commands(app))
EVERYWHERE = {"--json", "--quiet", "--debug"}


def section(path: str) -> str:
    """The part of the document that tells of a command."""
    for part in DOCUMENT.split("\n## "):
        if f"`{path}" in part and path.removeprefix("shortlist ") in part.splitlines()[0].split(", "):
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


def test_no_option_is_documented_that_is_not_there() -> None:
    known = {"--help", "-h", *options(app)}.union(*(options(command) for command in COMMANDS.values()))
    written = set(re.findall(r"`(--?[a-z][a-z-]*)", DOCUMENT))
    assert written <= known
    assert set(re.findall(r"`(shortlist (?:(?:tools|config|mcp) )?[a-z][a-z-]*)", PROSE)) == set(COMMANDS)


def test_every_example_runs_in_the_order_in_which_they_stand(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shell.folder)
    monkeypatch.setenv("HOME", str(shell.folder / "home"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("How much is express delivery?\n/exit\n"))
    ran = set()
    for line in "".join(BLOCKS).splitlines():
        program, *arguments = shlex.split(line)
        assert program == "shortlist"
        assert run(arguments) == 0, f"{line}: {capsys.readouterr()}"
        ran.add(arguments[0])
    assert ran == {path.split()[1] for path in COMMANDS} - {"serve"}  # which has no end; tests/serve/http runs it


def test_every_command_has_a_help_text_and_examples_of_its_own() -> None:
    texts = [command.help for command in COMMANDS.values()]
    assert all(texts)
    assert len(set(texts)) == len(texts)
    examples = {path: (command.epilog or "").split("Examples:\n")[1] for path, command in COMMANDS.items()}
    for path in ("shortlist serve", "shortlist mcp run"):  # which do not end by themselves
        assert examples.pop(path)
    lines = {line.strip() for text in examples.values() for line in text.splitlines()}
    assert lines <= set("".join(BLOCKS).splitlines())  # which are run
    assert all(path in text for path, text in examples.items())
