"""The table of verbs in docs/concepts.md names commands, functions, routes and MCP tools that exist."""

from __future__ import annotations

import importlib.util
import json
import re

import pytest

import shortlist
from tests.cli.conftest import COMMANDS, ROOT
from tests.pages import read_page

LINES = read_page("concepts.md").partition("## Verbs")[2].splitlines()
TABLE = [line for line in LINES if line.startswith("| ") and "Command" not in line]
ROWS = [[set(re.findall(r"`([^`]+)`", cell)) for cell in line.split("|")[2:6]] for line in TABLE]
COLUMNS = [set().union(*cells) for cells in zip(*ROWS, strict=True)]
FORMER = {"query"}  # commands that help does not show
WITHOUT_A_TWIN = {  # commands that have no counterpart elsewhere
    *("tools", "chat", "ls", "status", "verify", "import-from", "migrate", "rm", "cases", "eval-gen", "eval-select"),
    *("sweep-select", "calibrate-min-score", "distractors", "serve", "install", "uninstall", "mcp", "doctor", "trust"),
    *("download", "config", "token", "hook", "backup", "restore"),
}


def test_every_command_with_a_counterpart_is_in_the_table() -> None:
    commands = {path.split()[1] for path in COMMANDS} - FORMER
    assert COLUMNS[0] == commands - WITHOUT_A_TWIN


def test_every_function_exists() -> None:
    with shortlist.build({"a": "b"}, in_memory=True, embedder="none") as corpus:
        for name in COLUMNS[1]:
            first, _, rest = name.partition(".")
            owner = corpus if first == "Corpus" else getattr(shortlist, first)
            assert not rest or hasattr(owner, rest)


def test_every_mcp_tool_exists_and_is_in_the_table() -> None:
    tools = json.loads((ROOT / "src/shortlist/mcp/tool_definitions.json").read_text("utf-8"))
    assert COLUMNS[3] == {tool["name"] for tool in tools} - {"status"}


@pytest.mark.skipif(importlib.util.find_spec("fastapi") is None, reason="needs the extra server")
def test_every_route_exists_and_every_verb_of_a_corpus_is_in_the_table() -> None:
    from shortlist.server.application import create_app

    paths = create_app().openapi()["paths"]
    prefix = "/v1/corpora/{name}"
    routes = {
        f"{method.upper()} {path.removeprefix(prefix)}".rstrip()
        for path, methods in paths.items()
        for method in methods
        if path.startswith(prefix) and "/documents" not in path
    }
    assert COLUMNS[2] == routes - {
        "POST /explain",
        "POST /files",
        "POST /files/compare",
        "POST /files/delete",
        "POST /build",
    }


def test_names_without_parentheses_are_the_same_in_a_row() -> None:
    for line in TABLE:
        cells = [cell for cell in line.split("|")[2:6] if "(" not in cell]
        verbs = {re.split(r"[./]", name)[-1] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
        assert len(verbs) == 1 or "," in line, line
