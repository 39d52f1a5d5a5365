"""Plans that change the configuration of an agent: its path on each system, and what is written."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shortlist import InputError, SourceError
from shortlist.install import Relocation, find_agents, find_own_command, plan_install, plan_uninstall
from shortlist.install.agents import AGENTS, Agent, Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return at(tmp_path)


def at(folder: Path, platform: str = "linux", **environment: str) -> Places:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    return Places(platform, folder / "home", environment, folder / "project", lambda command: None)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def install(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    plan = plan_install(AGENTS[agent], scope, places, **{"command": "/opt/bin/shortlist", **options})
    if plan.change.is_needed:
        plan.change.apply()
    return plan.action


def uninstall(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    plan = plan_uninstall(AGENTS[agent], scope, places, **options)
    if plan.change.is_needed:
        plan.change.apply()
    return plan.action


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
    ],
)
def test_a_project_has_its_own_file(agent: str, file: str, places: Places) -> None:
    assert AGENTS[agent].file("project", places) == places.project / file
    assert install(agent, places, "project") == "added"
    assert not list(places.home.iterdir())


def test_claude_desktop_has_no_file_for_a_project(places: Places) -> None:
    with pytest.raises(InputError, match="Claude Desktop has no configuration for projects"):
        AGENTS["claude-desktop"].file("project", places)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_new_file_has_the_entry_in_the_format_of_the_agent(agent: Agent, places: Places) -> None:
    assert install(agent.name, places) == "added"
    text = agent.file("user", places).read_text()
    entry: dict[str, Any] = {"command": "/opt/bin/shortlist", "args": ["mcp"]}
    expected = {
        "claude-code": {"mcpServers": {"shortlist": {"type": "stdio", **entry}}},
        "vscode": {"servers": {"shortlist": {"type": "stdio", **entry}}},
        "codex": {"mcp_servers": {"shortlist": entry}},
    }.get(agent.name, {"mcpServers": {"shortlist": entry}})
    assert (tomllib.loads(text) if agent.name == "codex" else json.loads(text)) == expected
    assert install(agent.name, places) == "unchanged"
    assert uninstall(agent.name, places) == "removed"
    assert uninstall(agent.name, places) == "absent"


TEXTS = {
    "claude-code": '{\n  "numStartups": 3,\n  "mcpServers": {"a": {"command": "x"}},\n  "projects": {}\n}\n',
    "claude-desktop": '{\r\n\t"mcpServers": {\r\n\t\t"a": {"url": "u"}\r\n\t},\r\n\t"darkMode": 1\r\n}',
    "cursor": '{"mcpServers":{"a":{"command":"x"}}}',
    "vscode": '\ufeff{\n  // ids\n  "inputs": [],\n  "servers": {\n    "a": {"command": "x"}, // a\n  }\n}\n',
    "codex": '# c\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "x"\n\n[tui]\ntheme = "t"\n',
}


@pytest.mark.parametrize("agent", AGENTS)
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


@pytest.mark.parametrize("agent", AGENTS)
def test_line_ends_of_windows_stay(agent: str, places: Places) -> None:
    text = TEXTS[agent].replace("\r\n", "\n").replace("\n", "\r\n")
    file = write(AGENTS[agent].file("user", places), text)
    assert install(agent, places) == "added"
    written = file.read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") >= text.count("\n")
    assert uninstall(agent, places) == "removed"
    assert file.read_bytes().decode() == text


def test_the_backup_has_the_permissions_of_the_file(places: Places) -> None:
    file = write(places.home / ".claude.json", TEXTS["claude-code"])
    file.chmod(0o600)
    install("claude-code", places)
    uninstall("claude-code", places)
    copies = sorted(places.home.glob(".claude.json.*.bak"))
    assert [copy.read_text() for copy in copies if copy.read_text() == TEXTS["claude-code"]] == [TEXTS["claude-code"]]
    assert len(copies) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, *copies)} == {0o600}
    install("cursor", places)  # a new file has nothing to be kept
    assert [path.name for path in (places.home / ".cursor").iterdir()] == ["mcp.json"]


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
        plan.change.apply()
    assert file.read_text() == '{"numStartups": 1}'


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
    )


def test_inline_tables_of_codex_stay_inline(places: Places) -> None:
    file = write(places.home / ".codex" / "config.toml", 'mcp_servers = { a = { command = "x" } } # mine\n')
    assert install("codex", places) == "added"
    ours = 'shortlist = {command = "/opt/bin/shortlist", args = ["mcp"]}'
    assert file.read_text() == f'mcp_servers = {{ a = {{ command = "x" }}, {ours}}} # mine\n'
    assert uninstall("codex", places) == "removed"
    assert file.read_text() == 'mcp_servers = { a = { command = "x" } } # mine\n'


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
    assert find_own_command(at(tmp_path), python) == [python, "-m", "shortlist"]
    beside = write(tmp_path / "bin" / "shortlist", "")
    assert find_own_command(at(tmp_path), python) == [str(beside)]
    script = write(tmp_path / "bin" / "Scripts" / "shortlist.exe", "")
    assert find_own_command(at(tmp_path, "win32"), python) == [str(script)]
    assert Path(find_own_command(Places())[0]).is_absolute()


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
    with pytest.raises(InputError, match="'emacs' is not a known agent"):
        find_agents(["emacs"], "user", places)


def test_the_diff_shows_the_change_without_secrets(places: Places) -> None:
    write(places.home / ".cursor" / "mcp.json", '{\n  "mcpServers": {\n    "a": {"env": {"K": "sk-secret"}}\n  }\n}\n')
    diff = plan_install(AGENTS["cursor"], "user", places, command="shortlist").change.diff()
    assert '-    "a": {"env": {"K": "***"}}\n+    "a": {"env": {"K": "***"}},\n+    "shortlist": {\n' in diff
    assert "sk-secret" not in diff
    assert plan_install(AGENTS["codex"], "user", places).change.diff().startswith(f"--- {os.devnull}\n")


class TestOnly:
    """The other servers of an agent come behind ours, and back."""

    @pytest.fixture
    def own(self, tmp_path: Path) -> Path:
        return tmp_path / "config"

    def moves(self, own: Path, places: Places) -> Relocation:
        return Relocation(own, places.home)

    def behind(self, own: Path) -> Any:
        return json.loads((own / "mcp.json").read_text())["mcpServers"]

    def test_servers_are_moved_and_those_that_cannot_move_stay_with_the_reason(
        self, own: Path, places: Places, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("NOT_SET", raising=False)
        servers: dict[str, Any] = {
            "git": {"command": "git-mcp", "args": ["x"], "env": {"TOKEN": "secret"}},
            "keyed": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer t"}},
            "local": {"url": "http://localhost:1/mcp"},
            "sso": {"url": "https://a.example/mcp"},
            "asks": {"command": "x", "env": {"K": "${input:key}"}},
            "unset": {"command": "x", "args": ["${NOT_SET}"]},
            "off": {"command": "x", "disabled": True},
        }
        file = write(places.home / ".cursor" / "mcp.json", json.dumps({"mcpServers": servers}))
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["cursor"], "user", places, relocation=moves)
        assert plan.moved == ["git", "keyed", "local", "sso"]
        assert plan.sign_in == ["sso"]
        assert plan.left.keys() == {"asks", "unset", "off"}
        assert "'input:key'" in plan.left["asks"]
        assert "NOT_SET" in plan.left["unset"]
        assert plan.left["off"] == "it is disabled"
        for change in [*moves.changes(), plan.change]:
            assert "secret" not in change.diff()
            change.apply()
        assert list(json.loads(file.read_text())["mcpServers"]) == ["asks", "unset", "off", "shortlist"]
        assert self.behind(own) == {
            "git": servers["git"],
            "keyed": servers["keyed"],
            "local": servers["local"],
            "sso": servers["sso"],
        }
        assert {stat.S_IMODE(path.stat().st_mode) for path in own.iterdir()} == {0o600}
        again = self.moves(own, places)
        assert plan_install(AGENTS["cursor"], "user", places, relocation=again).action == "unchanged"
        assert again.changes() == []
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["cursor"], "user", places, relocation=back)
        for change in [plan.change, *back.changes()]:
            change.apply()
        assert (plan.action, plan.moved) == ("removed", ["git", "keyed", "local", "sso"])
        assert json.loads(file.read_text()) == {"mcpServers": servers}
        assert self.behind(own) == {}

    def test_only_the_owner_can_read_a_moved_secret(self, own: Path, places: Places) -> None:
        before = write(own / "mcp.json", json.dumps({"mcpServers": {"old": {"command": "x"}}}))
        before.chmod(0o644)
        secret = {"mcpServers": {"git": {"command": "x", "env": {"TOKEN": "secret-value"}}}}
        file = write(places.home / ".cursor" / "mcp.json", json.dumps(secret))
        file.chmod(0o600)
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["cursor"], "user", places, relocation=moves)
        for change in [*moves.changes(), plan.change]:
            change.apply()
        assert "secret-value" in before.read_text()
        file.unlink()  # the file that it comes back to is a new one
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["cursor"], "user", places, relocation=back)
        for change in [plan.change, *back.changes()]:
            change.apply()
        assert json.loads(file.read_text()) == secret
        written = [*own.iterdir(), *file.parent.iterdir()]
        assert len([path for path in written if "secret-value" in path.read_text()]) > 2
        assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}

    def test_the_keys_of_codex_are_translated_and_restored(self, own: Path, places: Places) -> None:
        text = """\
[mcp_servers.local]
command = "x"
tool_timeout_sec = 60
startup_timeout_sec = 5

[mcp_servers.local.env]
A = "b"

[mcp_servers.remote]
url = "https://a.example/mcp"
http_headers = { X = "y" }

[mcp_servers.keyed]
url = "https://a.example/mcp"
bearer_token_env_var = "KEY"

[mcp_servers.odd]
command = "x"
experimental_environment = "remote"
"""
        file = write(places.home / ".codex" / "config.toml", text)
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["codex"], "user", places, relocation=moves)
        assert plan.left == {
            "keyed": "only Codex supports its 'bearer_token_env_var'",
            "odd": "only Codex supports its 'experimental_environment'",
        }
        for change in [*moves.changes(), plan.change]:
            change.apply()
        assert self.behind(own) == {
            "local": {"command": "x", "timeout_seconds": 60, "env": {"A": "b"}},
            "remote": {"url": "https://a.example/mcp", "headers": {"X": "y"}},
        }
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["codex"], "user", places, relocation=back)
        for change in [plan.change, *back.changes()]:
            change.apply()
        assert tomllib.loads(file.read_text()) == tomllib.loads(text)

    def test_a_server_of_two_agents_stays_until_both_have_it_back(self, own: Path, places: Places) -> None:
        same = json.dumps({"mcpServers": {"git": {"command": "git-mcp"}}})
        write(places.home / ".cursor" / "mcp.json", same)
        write(places.home / ".claude.json", same)
        write(
            places.home / ".config/Claude/claude_desktop_config.json", '{"mcpServers": {"git": {"command": "other"}}}'
        )
        moves = self.moves(own, places)
        plans = [
            plan_install(AGENTS[name], "user", places, relocation=moves)
            for name in ("cursor", "claude-code", "claude-desktop")
        ]
        assert [plan.moved for plan in plans] == [["git"], ["git"], []]
        assert plans[2].left == {"git": "the gateway already has another server of that name"}
        for change in [*moves.changes(), *(plan.change for plan in plans)]:
            change.apply()
        for name, rest in (("cursor", ["git"]), ("claude-code", [])):
            back = self.moves(own, places)
            plan = plan_uninstall(AGENTS[name], "user", places, relocation=back)
            for change in [plan.change, *back.changes()]:
                change.apply()
            assert plan.moved == ["git"]
            assert list(self.behind(own)) == rest


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
