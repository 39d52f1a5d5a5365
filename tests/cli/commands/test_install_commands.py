"""The commands `install` and `uninstall`, and the code blocks of docs/guides/install.md."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from shortlist._files import replace_text
from shortlist.cli import ERROR, OK, USAGE, run
from shortlist.install import agent_config, plans
from tests.pages import read_blocks, read_page, run_commands

PAGE = read_page("guides/install.md")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(home / "project")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SHORTLIST_CONFIG_DIR", "")
    for variable in ("XDG_CONFIG_HOME", "SHORTLIST_DATA_DIR", "SHORTLIST_CACHE_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(plans, "find_own_command", lambda places: ["/path/to/shortlist"])
    return home


def test_every_code_block_of_the_docs_runs_and_prints_what_it_shows(home: Path) -> None:
    output = io.StringIO()
    for language, block in read_blocks(PAGE):
        if language == "json":
            (home / ".cursor").mkdir()
            (home / ".cursor" / "mcp.json").write_text(block)
        elif language == "sh":
            with contextlib.redirect_stdout(output):
                run_commands(block)
        else:
            printed = re.sub(r"\d{8}-\d{6}(-\d+)?", "20261115-101500", output.getvalue().replace(str(home), "~"))
            assert printed == block
            output = io.StringIO()


def test_several_agents_and_all_of_them_are_installed_at_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor").mkdir()
    assert run(["install", "--agent", "codex,vscode", "--agent", "all", "--json"]) == OK
    output = json.loads(capsys.readouterr().out)
    assert [
        (row["agent"], row["action"], row["scope"]) for row in output["agents"] if row["agent"] != "claude-code"
    ] == [
        ("codex", "added", "user"),
        ("vscode", "added", "user"),
        ("cursor", "added", "user"),
    ]
    assert run(["uninstall", "--agent", "codex", "--quiet"]) == OK
    assert capsys.readouterr().out == f"{home / '.codex' / 'config.toml'}\n"


def test_a_project_gets_an_entry_at_its_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "project" / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(home / "project" / "deep" / "down")
    assert run(["install", "--agent", "claude-code", "--project", "--command", "shortlist"]) == OK
    written = json.loads((home / "project" / ".mcp.json").read_text())
    entry = {"type": "stdio", "command": "shortlist", "args": ["mcp"], "alwaysLoad": True}
    assert written == {"mcpServers": {"shortlist": entry}}


def test_with_a_broken_file_nothing_is_written(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{")
    assert run(["install", "--agent", "codex", "--agent", "cursor"]) == ERROR
    assert "mcp.json is not valid JSON: Expecting property name" in capsys.readouterr().err
    assert not (home / ".codex").exists()


def test_completed_steps_are_reported_when_a_later_one_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def replace(path: Path, text: str, *, private: bool) -> None:
        if path.name == "mcp.json":
            raise OSError(28, "No space left on device", str(path))
        replace_text(path, text, private=private)

    monkeypatch.setattr(agent_config, "replace_text", replace)
    assert run(["install", "--agent", "codex", "--agent", "cursor"]) == ERROR
    assert capsys.readouterr().err == (
        "Codex now starts shortlist (~/.codex/config.toml)\n"
        f"shortlist: No space left on device: {home / '.cursor' / 'mcp.json'}.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ([], USAGE, "--agent is missing. Give claude-code, claude-desktop, "),
        (["--agent", "emacs"], ERROR, "'emacs' is not a known agent"),
        (["--agent", "cursor", "--project", "--user"], USAGE, "--project cannot be combined with --user."),
        (["--agent", "cursor", "--project", "--only"], USAGE, "--only cannot be combined with --project"),
        (["--agent", "claude-desktop", "--project"], ERROR, "no configuration for projects"),
    ],
)
def test_wrong_options_are_errors_and_write_nothing(
    arguments: list[str], code: int, reason: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["install", *arguments]) == code
    assert reason in capsys.readouterr().err
    assert [path.name for path in home.rglob("*") if path.is_file()] == []


def test_a_dry_run_writes_nothing_and_shows_the_diff(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "--agent", "codex", "--dry-run", "--json"]) == OK
    output = json.loads(capsys.readouterr().out)
    assert (output["dry_run"], output["agents"][0]["action"], output["agents"][0]["backup"]) == (True, "added", None)
    assert '+command = "/path/to/shortlist"' in output["diff"]
    assert not (home / ".codex").exists()
    assert run(["uninstall", "--agent", "codex", "--dry-run"]) == OK
    assert capsys.readouterr().err == "Nothing to do: Codex does not start shortlist (~/.codex/config.toml)\n"


def test_an_agent_without_a_file_gets_a_snippet(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "--agent", "jetbrains,cursor", "--json"]) == OK
    manual, added = json.loads(capsys.readouterr().out)["agents"]
    assert (manual["action"], manual["file"], added["action"]) == ("manual", None, "added")
    assert "/path/to/shortlist" in manual["snippet"]
    assert run(["install", "--agent", "jetbrains"]) == OK
    shown = capsys.readouterr().out
    assert "Settings | Tools | AI Assistant" in shown
    assert manual["snippet"] in shown
    assert run(["uninstall", "--agent", "jetbrains"]) == OK
    assert "Remove shortlist in Settings | Tools" in capsys.readouterr().out


def test_a_missing_package_is_a_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["install", "--agent", "codex"]) == OK
    assert "shortlist mcp needs the extra 'mcp': pip install \"shortlist[mcp]\"" in capsys.readouterr().err


def test_a_broken_file_does_not_keep_uninstall_from_the_others(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "--agent", "cursor,codex,gemini-cli", "--hook"]) == OK
    (home / ".cursor" / "mcp.json").write_text("{")
    (home / ".codex" / "hooks.json").write_text("[]")
    capsys.readouterr()
    assert run(["uninstall", "--agent", "cursor,codex,gemini-cli"]) == ERROR
    output, errors = capsys.readouterr()
    assert "Gemini CLI no longer starts shortlist" in output
    assert "mcp.json" in errors
    assert "hooks.json" in errors
    assert "shortlist" in (home / ".codex" / "config.toml").read_text()
    assert not (home / ".gemini").exists()
