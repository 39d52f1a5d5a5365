"""The files of agents on each system."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import InputError
from shortlist.install.agents import AGENTS, Places
from tests.install.conftest import at, install, write


@pytest.mark.parametrize(
    ("agent", "platform", "file"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("claude-code", "win32", ".claude.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("cursor", "linux", ".cursor/mcp.json"),
        ("cursor", "win32", ".cursor/mcp.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
        ("codex", "linux", ".codex/config.toml"),
        ("codex", "win32", ".codex/config.toml"),
        ("goose", "darwin", ".config/goose/config.yaml"),
        ("goose", "win32", "AppData/Roaming/Block/goose/config/config.yaml"),
        ("zed", "darwin", ".config/zed/settings.json"),
        ("zed", "win32", "AppData/Roaming/Zed/settings.json"),
        ("opencode", "win32", ".config/opencode/opencode.json"),
        ("crush", "win32", "AppData/Local/crush/crush.json"),
        ("crush", "linux", ".config/crush/crush.json"),
    ],
)
def test_each_system_has_its_own_paths(agent: str, platform: str, file: str, tmp_path: Path) -> None:
    places = at(tmp_path, platform)
    assert AGENTS[agent].file("user", places) == places.home / file


@pytest.mark.parametrize(
    ("agent", "platform", "variable", "file"),
    [
        ("claude-code", "linux", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("claude-desktop", "linux", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "APPDATA", "Claude/claude_desktop_config.json"),
        ("vscode", "win32", "APPDATA", "Code/User/mcp.json"),
        ("vscode", "linux", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("vscode", "darwin", "VSCODE_APPDATA", "Code/User/mcp.json"),
        ("vscode", "linux", "VSCODE_PORTABLE", "user-data/User/mcp.json"),
        ("codex", "linux", "CODEX_HOME", "config.toml"),
        ("copilot-cli", "linux", "COPILOT_HOME", "mcp-config.json"),
        ("continue", "linux", "CONTINUE_GLOBAL_DIR", "mcpServers/mcp.json"),
        ("goose", "darwin", "XDG_CONFIG_HOME", "goose/config.yaml"),
    ],
)
def test_variables_override_the_paths(agent: str, platform: str, variable: str, file: str, tmp_path: Path) -> None:
    places = at(tmp_path, platform, **{variable: str(tmp_path / "other")})
    assert AGENTS[agent].file("user", places) == tmp_path / "other" / file


def test_claude_desktop_from_the_windows_store_has_folders_of_its_own(tmp_path: Path) -> None:
    places = at(tmp_path, "win32", LOCALAPPDATA=str(tmp_path / "local"))
    inside = "LocalCache/Roaming/Claude"
    for package in ("Claude_one", "Claude_two"):
        (tmp_path / "local" / "Packages" / package / inside).mkdir(parents=True)
    with pytest.raises(InputError, match="Several Claude Desktops"):
        AGENTS["claude-desktop"].file("user", places)
    used = write(tmp_path / "local" / "Packages" / "Claude_two" / inside / "claude_desktop_config.json", "{}")
    assert AGENTS["claude-desktop"].file("user", places) == used


@pytest.mark.parametrize(
    ("agent", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("opencode", "opencode.json"),
        ("amp", ".amp/settings.json"),
    ],
)
def test_a_project_has_its_own_file(agent: str, file: str, places: Places) -> None:
    assert AGENTS[agent].file("project", places) == places.project / file
    assert install(agent, places, "project") == "added"
    assert not list(places.home.iterdir())


def test_claude_desktop_has_no_file_for_a_project(places: Places) -> None:
    with pytest.raises(InputError, match="Claude Desktop has no configuration for projects"):
        AGENTS["claude-desktop"].file("project", places)


def test_of_several_files_the_one_that_exists_is_changed(places: Places) -> None:
    folder = places.home / ".config" / "opencode"
    file = write(folder / "opencode.jsonc", "{\n  // mine\n}\n")
    install("opencode", places)
    assert [path.name for path in folder.iterdir()] == ["opencode.jsonc"]
    assert "// mine" in file.read_text()


@pytest.mark.parametrize(("agent", "folder"), [("continue", ".continue"), ("kiro", ".kiro"), ("cline-cli", ".cline")])
def test_an_agent_is_installed_if_its_own_folder_exists(agent: str, folder: str, places: Places) -> None:
    assert not AGENTS[agent].is_installed(places)
    (places.home / folder).mkdir()
    assert AGENTS[agent].is_installed(places)
