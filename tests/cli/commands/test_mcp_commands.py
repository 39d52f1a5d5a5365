"""The commands that control the MCP server; tests/mcp runs it."""

from __future__ import annotations

import json

import pytest

from shortlist._paths import config_dir
from tests.cli.conftest import Shell


def test_rules_are_stored_shown_and_forgotten(shell: Shell) -> None:
    done = shell("mcp", "deny", "github/delete_*", "--json")
    assert done.json == {"permissions": {"github/delete_*": "never"}, "matches": {"github/delete_*": []}}
    assert "No configured server matches 'github/delete_*'" in done.err
    assert shell("mcp", "allow", "github/get_*", "--read", "--quiet").code == 0
    assert shell("mcp", "allow").out == "never github/delete_*\nread  github/get_*\n"
    assert json.loads((config_dir() / "mcp.json").read_text("utf-8"))["permissions"]["github/get_*"] == "read"
    shell("mcp", "allow", "github/delete_*", "--forget")
    assert shell("mcp", "allow", "--quiet").out == "github/get_* read\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["deny", "*"], 1, "'*' names no server"),
        (["login", "linear"], 1, "'linear' is not a configured server"),
        (["logout", "linear"], 1, "No sign-in to 'linear' is stored"),
        (["approve", "linear/x"], 1, "'linear/x' is not a known tool or server"),
        (["trust", "nowhere"], 1, "nowhere does not exist"),
        (["trust"], 1, "configures MCP servers"),
        (["--learn", "maybe"], 2, "'maybe' is not one of"),
    ],
)
def test_what_is_not_there_is_named(shell: Shell, arguments: list[str], code: int, says: str) -> None:
    done = shell("mcp", *arguments)
    assert (done.code, says in done.err, done.out) == (code, True, "")


def test_a_project_file_is_trusted_listed_and_revoked(shell: Shell) -> None:
    (shell.folder / ".mcp.json").write_text('{"mcpServers": {"helper": {"command": "helper"}}}', "utf-8")
    assert shell("mcp", "trust").code == 1
    done = shell("mcp", "trust", "--yes", "--json").json
    assert [row["servers"][0]["command"] for row in done["files"]] == ["helper"]
    assert done["trusted"] == [str(shell.folder / ".mcp.json")]
    assert shell("mcp", "trust", "--list").out.startswith("trusted ")
    assert shell("mcp", "trust", "--revoke", "--json").json["revoked"] == done["trusted"]
    assert shell("mcp", "trust", "--list").out == "No project file is trusted.\n"
