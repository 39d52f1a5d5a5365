"""Changes of a configuration file: the rest stays, with a backup, and nothing is lost."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from shortlist import SourceError
from shortlist._paths import data_dir
from shortlist.install.agent_config import FileChange
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import plan_install
from tests.install.conftest import change_of, install, uninstall, write


def test_a_file_that_cannot_be_edited_is_not_changed_and_the_entry_is_shown(places: Places) -> None:
    text = "base: &base {a: {cmd: x}}\nextensions: *base\n"
    file = write(AGENTS["goose"].file("user", places), text)
    with pytest.raises(
        SourceError, match=r"(?s)cannot be changed safely.*extensions:\n  shortlist:\n    type: stdio\n"
    ):
        install("goose", places)
    assert file.read_text() == text


TEXTS = {
    "claude-code": '{\n  "numStartups": 3,\n  "mcpServers": {"a": {"command": "x"}},\n  "projects": {}\n}\n',
    "claude-desktop": '{\r\n\t"mcpServers": {\r\n\t\t"a": {"url": "u"}\r\n\t},\r\n\t"darkMode": 1\r\n}',
    "cursor": '{"mcpServers":{"a":{"command":"x"}}}',
    "vscode": '\ufeff{\n  // ids\n  "inputs": [],\n  "servers": {\n    "a": {"command": "x"}, // a\n  }\n}\n',
    "codex": '# c\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "x"\n\n[tui]\ntheme = "t"\n',
    "goose": "# c\nGOOSE_MODEL: m # m\nextensions:\n  # a\n  a:\n    cmd: x\n    args:\n      - y\n  # end\nz: 1\n",
    "opencode": '{\n  // a\n  "mcp": {"a": {"type": "local", "command": ["x"]}}, // b\n}\n',
    "zed": '// Zed\n{\n  "context_servers": {\n    "a": {"command": "x"}\n  },\n  "vim_mode": true\n}\n',
    "amp": '{\n  "amp.url": "u",\n  "amp.mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n',
}


@pytest.mark.parametrize("agent", TEXTS)
def test_the_rest_of_a_file_is_unchanged(agent: str, places: Places) -> None:
    file = write(AGENTS[agent].file("user", places), TEXTS[agent])
    assert install(agent, places) == "added"
    rest = iter(file.read_bytes().decode().replace(",", ""))
    assert all(letter in rest for letter in TEXTS[agent].replace(",", ""))  # in this order
    once = file.read_bytes()
    assert install(agent, places) == "unchanged"
    assert file.read_bytes() == once
    assert uninstall(agent, places) == "removed"
    assert file.read_bytes().decode() == TEXTS[agent]


@pytest.mark.parametrize("agent", TEXTS)
def test_line_ends_of_windows_stay(agent: str, places: Places) -> None:
    text = TEXTS[agent].replace("\r\n", "\n").replace("\n", "\r\n")
    file = write(AGENTS[agent].file("user", places), text)
    assert install(agent, places) == "added"
    written = file.read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") >= text.count("\n")
    assert uninstall(agent, places) == "removed"
    assert file.read_bytes().decode() == text


def test_backups_are_outside_the_project_and_have_the_permissions_of_the_file(places: Places) -> None:
    text = '{"mcpServers": {"a": {"command": "x"}}}'
    file = write(places.project / ".mcp.json", text)
    file.chmod(0o600)
    install("claude-code", places, "project")
    uninstall("claude-code", places, "project")
    install("cursor", places, "project")  # a new file has nothing to be stored
    assert [path.name for path in places.project.rglob("*") if path.is_file()] == [".mcp.json", "mcp.json"]
    copies = sorted(filter(Path.is_file, (data_dir() / "backups").rglob("*")))
    assert {copy.name[:9] for copy in copies} == {".mcp.json"}
    assert [copy.read_text() == text for copy in copies].count(True) == 1
    assert len(copies) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, *copies)} == {0o600}


def test_a_link_stays_a_link(places: Places, tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "mcp.json", "{}\n")
    link = places.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    install("cursor", places)
    assert link.is_symlink()
    assert "shortlist" in json.loads(real.read_text())["mcpServers"]


@pytest.mark.parametrize(
    ("agent", "text", "reason"),
    [
        ("cursor", '{"mcpServers": {', "is not valid JSON: .*line 1 column 17"),
        ("vscode", '{"servers": []}', "'servers' in .* is not a mapping"),
        ("cursor", '{"mcpServers": {"a": ' + "[" * 500 + "]" * 500 + "}}", "is nested more than 100 deep"),
        ("claude-desktop", "[]", "is not valid JSON: the top level is not an object but list"),
        ("codex", "[mcp_servers\n", "is not valid TOML: .*line 1"),
        ("codex", "mcp_servers = 3\n", "'mcp_servers' in .* is not a mapping"),
    ],
)
def test_a_broken_or_unusual_file_is_not_changed(agent: str, text: str, reason: str, places: Places) -> None:
    file = write(AGENTS[agent].file("user", places), text)
    with pytest.raises(SourceError, match=f"(?s){reason}.*Nothing was changed"):
        install(agent, places)
    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_not_utf8_is_not_changed(places: Places) -> None:
    file = places.home / ".claude.json"
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SourceError, match="not valid UTF-8"):
        install("claude-code", places)
    assert file.read_bytes() == b'{"a": "\xff"}'


def test_concurrent_changes_by_another_program_are_not_lost(places: Places) -> None:
    plan = plan_install(AGENTS["claude-code"], "user", places)
    file = write(places.home / ".claude.json", '{"numStartups": 1}')
    with pytest.raises(SourceError, match="changed by another program"):
        change_of(plan).apply()
    assert file.read_text() == '{"numStartups": 1}'


def test_inline_tables_of_codex_stay_inline(places: Places) -> None:
    file = write(places.home / ".codex" / "config.toml", 'mcp_servers = { a = { command = "x" } } # mine\n')
    assert install("codex", places) == "added"
    ours = 'shortlist = {command = "/opt/bin/shortlist", args = ["mcp"], required = true, startup_timeout_sec = 30}'
    assert file.read_text() == f'mcp_servers = {{ a = {{ command = "x" }}, {ours}}} # mine\n'
    assert uninstall("codex", places) == "removed"
    assert file.read_text() == 'mcp_servers = { a = { command = "x" } } # mine\n'


def test_the_diff_shows_the_change_without_secrets(places: Places) -> None:
    write(places.home / ".cursor" / "mcp.json", '{\n  "mcpServers": {\n    "a": {"env": {"K": "sk-secret"}}\n  }\n}\n')
    diff = change_of(plan_install(AGENTS["cursor"], "user", places, command="shortlist")).diff()
    assert '-    "a": {"env": {"K": "***"}}\n+    "a": {"env": {"K": "***"}},\n+    "shortlist": {\n' in diff
    assert "sk-secret" not in diff
    assert change_of(plan_install(AGENTS["codex"], "user", places)).diff().startswith(f"--- {os.devnull}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a folder is made read-only in another way there")
def test_nothing_is_left_behind_in_a_read_only_folder(places: Places) -> None:
    folder = places.home / ".cursor"
    write(folder / "mcp.json", "{}")
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(PermissionError):
            install("cursor", places)
        assert [path.name for path in folder.iterdir()] == ["mcp.json"]
    finally:
        folder.chmod(0o700)


def test_a_file_that_cannot_be_written_is_known_before(places: Places) -> None:
    file = places.home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.symlink_to(places.home / "gone" / "mcp.json")
    change = change_of(plan_install(AGENTS["cursor"], "user", places))
    with pytest.raises(SourceError, match="gone"):
        change.check()
    (places.home / "gone").mkdir()
    change.check()
    change.apply()
    assert (places.home / "gone" / "mcp.json").is_file()
    file.unlink()
    (places.home / "gone" / "mcp.json").rename(places.home / "blocked")
    blocked = FileChange(places.home / "blocked" / "mcp.json", None, "{}")
    with pytest.raises(SourceError, match="blocked"):
        blocked.check()
