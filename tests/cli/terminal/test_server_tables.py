"""How MCP servers, pending tools and the files of a project look."""

from __future__ import annotations

from shortlist.cli.terminal.screen import render
from shortlist.cli.terminal.server_tables import MOST_LINES, MOST_NAMED, show_project_files, show_review, show_servers


def test_without_a_server_the_table_is_one_sentence() -> None:
    data: dict[str, list[str]] = {"servers": [], "pending_files": [], "notes": [], "pending": []}
    assert render(lambda screen: show_servers(screen, data)) == "No server is configured.\n"


def test_a_server_that_never_listed_its_tools_comes_with_the_command_that_does() -> None:
    row: dict[str, str | int | None] = {"name": "git", "state": "idle", "tools": None}
    data = {"servers": [row], "pending_files": [], "notes": [], "pending": []}
    assert "mcp status --refresh" in render(lambda screen: show_servers(screen, data))
    row["problem"] = "The server git failed."
    assert "--refresh" not in render(lambda screen: show_servers(screen, data))
    row |= {"tools": 0, "problem": None}
    assert "--refresh" not in render(lambda screen: show_servers(screen, data))


def test_pending_tools_are_named_up_to_a_number() -> None:
    pending = [{"tool": f"git/t{at}", "reason": "It is new."} for at in range(MOST_NAMED + 2)]
    row = {"name": "git\x1b[2J", "state": "ready", "tools": 1200, "pending": 12}
    data = {"servers": [row], "pending_files": [], "notes": ["a\x07note"], "pending": pending}
    drawn = render(lambda screen: show_servers(screen, data))
    assert drawn.count("Pending approval: git/t") == MOST_NAMED
    assert "2 more are pending approval. Review them with: shortlist mcp approve" in drawn
    assert "1,200" in drawn
    assert not {"\x1b", "\x07"} & set(drawn)


def test_long_changes_are_shortened_unless_a_check_found_their_tool() -> None:
    diff = [f"+line {at}" for at in range(MOST_LINES + 3)]
    change = {"tools": ["git/push"], "part": "description", "diff": diff}
    review = {"found": [], "counts": [{"server": "git", "tools": 1, "change": "changed"}], "changes": [change]}
    assert "3 more lines; --diff shows all" in render(lambda screen: show_review(screen, review, in_full=False))
    assert "+line 14" in render(lambda screen: show_review(screen, review, in_full=True))
    found = review | {"found": [{"tool": "git/push", "reason": "It hides text."}]}
    drawn = render(lambda screen: show_review(screen, found, in_full=False))
    assert "git/push: It hides text." in drawn
    assert "+line 14" in drawn


def test_a_project_file_shows_exactly_what_it_would_run() -> None:
    server = {"name": "a", "command": "run it", "args": ["x"], "url": "", "cwd": "", "env": ["K"], "headers": []}
    row = {"file": "/p/.mcp.json", "state": "pending", "servers": [server | {"oauth": []}], "diff": ["-old", "+new"]}
    lines = render(lambda screen: show_project_files(screen, [row])).splitlines()
    assert lines[0] == "/p/.mcp.json (changed since it was trusted)"
    assert lines[1:4] == ["  a", "    runs: 'run it' x", "    with variables: K"]
    assert lines[-2:] == ["    -old", "    +new"]
