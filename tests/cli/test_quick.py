"""Plain command lines are read as typer reads them; all others are left to typer."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer.main

from shortlist.cli import _told, quick
from shortlist.cli.cli_app import app
from shortlist.cli.command_list import COMMANDS, GROUPED

ALL = COMMANDS | GROUPED

PLAIN = [
    ["search", "shop", "a", "query"],
    ["search", "shop", "query", "-k", "3", "--mode", "lexical", "--filter", "a=b", "--filter={}", "--json"],
    ["search", "--corpus", "a,b", "-c", "c", "--quiet", "query", "--", "--json"],
    ["search", "shop", "-"],
    ["discover", "shop", "query", "--disclose", "--min-score", "-1", "--max-k", "2", "--strategy=top_k"],
    ["discover", "shop", "query", "--level", "bundled", "--debug"],
    ["read", "shop", "one", "two", "--level=metadata"],
    ["build", "shop", "--root", "a", "--root", "b", "--kind", "files", "--rebuild", "--watch", "--option", "a=b"],
    ["ls"],
    ["status"],
    ["status", "a", "b"],
    ["info", "shop", "--json"],
    ["register", "a", "files", "--root", "x", "--pattern", r"\.md$", "--exclude", "y", "--replace"],
    ["register", "a", "files", "--embedder", "light", "--embedder", "none"],
    ["rm", "shop", "--data"],
    ["eval", "shop", "cases.jsonl", "--fail-under", "ndcg@10=0.6", "--html=page.html", "--misses", "0"],
    ["eval-gen", "shop", "made.jsonl", "-n", "5", "--out-of-scope", "0.5", "--dry-run"],
    ["eval-select", "shop", "cases.jsonl", "--rel", "0.8", "--min-score", "auto"],
    ["calibrate-min-score", "shop", "cases.jsonl", "--persist", "--mode", "lexical"],
    ["lint", "shop", "--strict"],
    ["install", "--agent", "cursor", "--agent=codex", "--project", "--name", "tools", "--dry-run"],
    ["uninstall", "--agent", "all", "--user", "--json"],
    ["doctor", "--quiet"],
    ["warm"],
    ["download"],
    ["download", "light"],
    ["tools", "search", "--query", "a text", "--tag", "x", "--top-k=3"],
    ["mcp", "run", "--config", "a.json", "--config", "b.json", "-c", "x"],
    ["mcp", "approve", "one/tool", "other", "--all"],
    ["mcp", "status", "--refresh"],
]
UNUSUAL = [
    [],
    ["--help"],
    ["--version"],
    ["serach", "shop", "query"],
    ["search"],
    ["search", "--help"],
    ["search", "-h", "shop", "query"],
    ["search", "shop", "query", "-k"],
    ["search", "shop", "query", "-k", "many"],
    ["search", "shop", "query", "-k", "0"],
    ["search", "shop", "query", "-k3"],
    ["search", "shop", "query", "-k=3"],
    ["search", "shop", "query", "-k=3", "5"],
    ["search", "shop", "query", "--mode", "best"],
    ["search", "shop", "query", "--json=yes"],
    ["search", "shop", "query", "--unknown"],
    ["eval", "shop", "cases.jsonl", "--compare", "lexical", "dense"],
    ["eval-select", "shop", "cases.jsonl", "--rel", "much"],
    ["info"],
    ["info", "a", "b"],
    ["ls", "a"],
    ["config", "shwo"],
    ["mcp"],
    ["mcp", "--help"],
]


def as_typer_reads(arguments: list[str]) -> dict[str, Any]:
    command: Any = typer.main.get_command(app)
    name, *rest = arguments
    command = command.commands[name]
    if hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    with command.make_context(name, rest) as context:
        values: dict[str, Any] = context.params
        return values


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_a_plain_command_line_is_read_as_typer_reads_it(arguments: list[str]) -> None:
    call: Any = quick.read(arguments, ALL)
    assert call.func in (ALL.get(arguments[0]), ALL.get(" ".join(arguments[:2])))
    expected = as_typer_reads(arguments)
    given = {name: value for name, value in expected.items() if name in call.keywords}
    assert call.keywords == given
    parameters = inspect.signature(call.func).parameters
    left_out = {name: value for name, value in expected.items() if name not in call.keywords}
    assert {name: value if value != () else None for name, value in left_out.items()} == {
        name: parameters[name].default for name in left_out
    }


@pytest.mark.parametrize("arguments", UNUSUAL, ids=" ".join)
def test_what_is_out_of_the_ordinary_is_left_to_typer(arguments: list[str]) -> None:
    assert quick.read(arguments, ALL) is None


def test_completion_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SHORTLIST_COMPLETE", "complete_bash")
    assert quick.read(["ls"], ALL) is None


def test_a_group_that_is_not_told_what_to_do_does_what_is_usual() -> None:
    assert _told(["mcp"]) == ["mcp", "run"]
    assert _told(["mcp", "--config", "x"]) == ["mcp", "run", "--config", "x"]
    for left_alone in ([], ["mcp", "status"], ["mcp", "-h"], ["mcp", "--help"], ["config"], ["ls"]):
        assert _told(left_alone) == left_alone
