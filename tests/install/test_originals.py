"""What `uninstall` leaves of files that `install` has changed or created."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shortlist.cli import OK, run
from shortlist.install import plans

CURSOR = '{"mcpServers": {"a": {"command":"x",   "args":["1"]},\n\t"b": {"url": "https://example.org/mcp"} }}'
CODEX = (
    '# mine\n[mcp_servers.a] # first\ncommand = "x"\n\n[tui]\nnotifications = true\n\n[mcp_servers.b]\ncommand = "y"\n'
)
GEMINI = '\ufeff{\r\n  "hooks": {"BeforeAgent": [], "Other": []}, // none yet\r\n  "mcpServers": {}\r\n}'
CLAUDE = '{"hooks": {"UserPromptSubmit": []}, "model": "x"}'
FILES = {
    ".cursor/mcp.json": CURSOR,
    ".codex/config.toml": CODEX,
    ".gemini/settings.json": GEMINI,
    ".claude/settings.json": CLAUDE,
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(plans, "find_own_command", lambda places: ["/path/to/shortlist"])
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    return home


AGENTS = ["--agent", "cursor,codex,gemini-cli,claude-code"]


def read(home: Path) -> dict[str, bytes | None]:
    """All files and folders below a folder."""
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


@pytest.mark.parametrize(
    "steps", [[["--hook"]], [["--only"]], [[], ["--only", "--hook"], ["--command", "other/shortlist"]]]
)
def test_files_that_have_not_changed_since_are_given_back_byte_for_byte(home: Path, steps: list[list[str]]) -> None:
    for name, text in FILES.items():
        (home / name).parent.mkdir()
        (home / name).write_bytes(text.encode())
    before = read(home)
    for options in steps:
        assert run(["install", *AGENTS, *options]) == OK
    assert read(home) != before
    assert run(["uninstall", *AGENTS]) == OK
    assert read(home) == before
    assert run(["uninstall", *AGENTS]) == OK  # nothing to do
    assert read(home) == before


def test_files_and_folders_that_were_created_are_removed(home: Path) -> None:
    assert run(["install", *AGENTS, "--hook", "--only"]) == OK
    assert len(read(home)) > len(FILES)
    assert run(["uninstall", *AGENTS, "--dry-run"]) == OK
    assert len(read(home)) > len(FILES)
    assert run(["uninstall", *AGENTS]) == OK
    assert read(home) == {}


def test_what_has_changed_since_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, created = home / ".cursor" / "mcp.json", home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(CURSOR)
    assert run(["install", *AGENTS, "--only"]) == OK
    file.write_text(file.read_text().replace("{", '{"theme": "dark",', 1))
    created.write_text(created.read_text() + '\n[tui]\ntheme = "dark"\n')
    assert run(["uninstall", *AGENTS]) == OK
    assert '"theme": "dark"' in file.read_text()
    assert '"a"' in file.read_text()
    assert "shortlist" not in file.read_text() + created.read_text()
    assert created.read_text().strip() == '[tui]\ntheme = "dark"'


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_stays_a_link(home: Path) -> None:
    target, link = home / "dotfiles.json", home / ".cursor" / "mcp.json"
    target.write_text(CURSOR)
    link.parent.mkdir()
    link.symlink_to(target)
    assert run(["install", "--agent", "cursor"]) == OK
    assert run(["uninstall", "--agent", "cursor"]) == OK
    assert link.is_symlink()
    assert target.read_text() == CURSOR


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_to_a_missing_file_stays_and_the_file_is_removed(home: Path) -> None:
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(home / "dotfiles.json")
    assert run(["install", "--agent", "cursor"]) == OK
    assert (home / "dotfiles.json").exists()
    assert run(["uninstall", "--agent", "cursor"]) == OK
    assert link.is_symlink()
    assert not (home / "dotfiles.json").exists()


@pytest.mark.parametrize(
    ("agent", "name", "comment"),
    [("codex", ".codex/config.toml", "# mine"), ("opencode", ".config/opencode/opencode.json", "// mine")],
)
def test_a_created_file_with_comments_of_the_user_stays(home: Path, agent: str, name: str, comment: str) -> None:
    assert run(["install", "--agent", agent]) == OK
    file = home / name
    file.write_text(f"{comment}\n{file.read_text()}")
    assert run(["uninstall", "--agent", agent]) == OK
    assert file.read_text().startswith(comment)
    assert "shortlist" not in file.read_text()


def test_a_created_file_with_settings_of_the_user_stays_though_they_are_empty(home: Path) -> None:
    assert run(["install", "--agent", "cursor"]) == OK
    file = home / ".cursor" / "mcp.json"
    file.write_text(file.read_text().replace("{", '{"blocked": [], ', 1))
    assert run(["uninstall", "--agent", "cursor"]) == OK
    assert '"blocked": []' in file.read_text()
