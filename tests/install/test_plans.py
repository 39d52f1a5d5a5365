"""Plans that add, update and remove the entry of an agent."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shortlist import InputError
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import find_agents, find_own_command, plan_install
from tests.install.conftest import at, install, parse, uninstall, write

WITH_FILE = [name for name, agent in AGENTS.items() if not agent.hint]


USUAL = {"command": "/opt/bin/shortlist", "args": ["mcp"]}


ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("mcpServers", {**USUAL, "type": "stdio", "alwaysLoad": True}),
    "vscode": ("servers", {**USUAL, "type": "stdio"}),
    "codex": ("mcp_servers", {**USUAL, "required": True, "startup_timeout_sec": 30}),
    "qwen-code": ("mcpServers", {**USUAL, "alwaysLoadTools": True}),
    "copilot-cli": ("mcpServers", {**USUAL, "type": "local", "tools": ["*"]}),
    "opencode": ("mcp", {"type": "local", "command": ["/opt/bin/shortlist", "mcp"], "enabled": True}),
    "goose": (
        "extensions",
        {
            "type": "stdio",
            "cmd": "/opt/bin/shortlist",
            "args": ["mcp"],
            "name": "shortlist",
            "description": "Tools, skills and documents",
            "enabled": True,
            "timeout": 300,
        },
    ),
    "zed": ("context_servers", {**USUAL, "source": "custom"}),
    "amp": ("amp.mcpServers", USUAL),
    "crush": ("mcp", {**USUAL, "type": "stdio"}),
}


@pytest.mark.parametrize("name", WITH_FILE)
def test_a_new_file_has_the_entry_in_the_format_of_the_agent(name: str, places: Places) -> None:
    assert install(name, places) == "added"
    key, entry = ENTRIES.get(name, ("mcpServers", USUAL))
    assert parse(AGENTS[name].file("user", places)) == {key: {"shortlist": entry}}
    assert install(name, places) == "unchanged"
    assert uninstall(name, places) == "removed"
    assert uninstall(name, places) == "absent"


def test_the_user_can_change_how_an_agent_treats_our_entry(places: Places) -> None:
    install("claude-code", places)
    file = places.home / ".claude.json"
    file.write_text(file.read_text().replace('"alwaysLoad": true', '"alwaysLoad": false'))
    assert install("claude-code", places) == "unchanged"
    assert parse(file)["mcpServers"]["shortlist"]["alwaysLoad"] is False


def test_an_agent_without_a_file_gets_the_entry_to_paste(places: Places) -> None:
    plan = plan_install(AGENTS["jetbrains"], "user", places, command="shortlist", name="tools")
    assert (plan.action, plan.change) == ("manual", None)
    assert json.loads(plan.snippet) == {"mcpServers": {"tools": {"command": "shortlist", "args": ["mcp"]}}}
    assert not AGENTS["jetbrains"].is_installed(places)


def test_our_entry_is_updated_and_keeps_what_the_user_added(places: Places) -> None:
    old = (
        '{"mcpServers": {"shortlist": {"disabled": true, "command": "C:\\\\old\\\\shortlist.exe", "env": {"K": "v"}}}}'
    )
    file = write(places.home / ".cursor" / "mcp.json", old)
    assert install("cursor", places) == "updated"
    assert json.loads(file.read_text())["mcpServers"]["shortlist"] == {
        "disabled": True,
        "command": "/opt/bin/shortlist",
        "env": {"K": "v"},
        "args": ["mcp"],
    }
    write(
        places.home / ".codex" / "config.toml", "[mcp_servers.shortlist]\ncommand = 'shortlist' # old\nenabled = true\n"
    )
    assert install("codex", places) == "updated"
    assert (places.home / ".codex" / "config.toml").read_text() == (
        '[mcp_servers.shortlist]\ncommand = "/opt/bin/shortlist" # old\nenabled = true\nargs = ["mcp"]\n'
        "required = true\nstartup_timeout_sec = 30\n"
    )


def test_a_server_of_that_name_that_is_not_ours_is_not_changed(places: Places) -> None:
    text = '{"mcpServers": {"shortlist": {"command": "npx", "args": ["-y", "other"]}}}'
    file = write(places.home / ".cursor" / "mcp.json", text)
    for act in (install, uninstall):
        with pytest.raises(InputError, match=r"'shortlist' in .* does not start shortlist"):
            act("cursor", places)
    assert install("cursor", places, name="tools") == "added"
    assert uninstall("cursor", places, name="tools") == "removed"
    assert file.read_text() == text


def test_folders_in_variables_are_passed_on_except_in_project_files(tmp_path: Path) -> None:
    places = at(tmp_path, SHORTLIST_DATA_DIR="/data", SHORTLIST_TOKEN="secret")
    install("codex", places)
    entry = tomllib.loads((places.home / ".codex" / "config.toml").read_text())["mcp_servers"]["shortlist"]
    assert entry["env"] == {"SHORTLIST_DATA_DIR": "/data"}
    install("claude-code", places, "project")
    assert "env" not in json.loads((places.project / ".mcp.json").read_text())["mcpServers"]["shortlist"]
    moved = at(tmp_path, SHORTLIST_DATA_DIR="/elsewhere")
    for name in ("codex", "cursor", "cursor"):
        install(name, moved)
    assert "/elsewhere" in (places.home / ".codex" / "config.toml").read_text()


def test_the_command_is_the_one_of_this_environment(tmp_path: Path) -> None:
    python = str(write(tmp_path / "bin" / "python", ""))
    assert find_own_command(at(tmp_path), python) == [python, "-P", "-m", "shortlist"]
    beside = write(tmp_path / "bin" / "shortlist", "")
    assert find_own_command(at(tmp_path), python) == [str(beside)]
    script = write(tmp_path / "bin" / "Scripts" / "shortlist.exe", "")
    assert find_own_command(at(tmp_path, "win32"), python) == [str(script)]
    assert Path(find_own_command(Places())[0]).is_absolute()


def test_an_environment_of_uvx_is_started_by_uvx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = str(write(tmp_path / "uv" / "archive-v0" / "sP3cEE" / "bin" / "python", ""))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_own_command(at(tmp_path), python) == ["uvx", "--from", "shortlist[mcp]", "shortlist"]
    uvx = write(tmp_path / "uvx", "")
    uvx.chmod(0o755)
    assert find_own_command(at(tmp_path), python)[0] == str(uvx)


def test_another_command_can_be_given(places: Places) -> None:
    install("cursor", places, command="uvx --from 'shortlist[mcp]' shortlist")
    entry = json.loads((places.home / ".cursor" / "mcp.json").read_text())["mcpServers"]["shortlist"]
    assert entry == {"command": "uvx", "args": ["--from", "shortlist[mcp]", "shortlist", "mcp"]}
    assert uninstall("cursor", places) == "removed"
    for command in ("", " ", "'open"):
        with pytest.raises(InputError, match="cannot be parsed"):
            install("cursor", places, command=command)


def test_all_means_the_installed_agents(places: Places) -> None:
    with pytest.raises(InputError, match="No agent was found on this machine"):
        find_agents(["all"], "user", places)
    (places.home / ".cursor").mkdir()
    (places.home / ".config" / "Claude").mkdir(parents=True)
    found = Places("linux", places.home, {}, places.project, lambda command: "/bin/x" if command == "codex" else None)
    assert [agent.name for agent in find_agents(["all"], "user", found)] == ["claude-desktop", "cursor", "codex"]
    assert [agent.name for agent in find_agents(["vscode", "all"], "project", found)] == ["vscode", "cursor", "codex"]
    with pytest.raises(InputError, match=r"'gemini' is not a known agent\. Did you mean 'gemini-cli'\?"):
        find_agents(["gemini"], "user", places)
