"""Plans that change the configuration of an agent: its path on each system, and what is written."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shortlist import InputError, SourceError
from shortlist._paths import data_dir
from shortlist.install.agent_config import Change
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import Plan, find_agents, find_own_command, plan_install, plan_uninstall
from shortlist.install.relocation import Relocation


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


WITH_FILE = [name for name, agent in AGENTS.items() if not agent.hint]


def change_of(plan: Plan) -> Change:
    assert plan.change
    return plan.change


def apply(plan: Plan) -> str:
    if change_of(plan).is_needed:
        change_of(plan).apply()
    return plan.action


def install(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    return apply(plan_install(AGENTS[agent], scope, places, **{"command": "/opt/bin/shortlist", **options}))


def uninstall(agent: str, places: Places, scope: Any = "user", **options: Any) -> str:
    return apply(plan_uninstall(AGENTS[agent], scope, places, **options))


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


USUAL = {"command": "/opt/bin/shortlist", "args": ["mcp"]}
ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("mcpServers", {**USUAL, "type": "stdio", "alwaysLoad": True}),
    "vscode": ("servers", {**USUAL, "type": "stdio"}),
    "codex": ("mcp_servers", {**USUAL, "required": True, "startup_timeout_sec": 30}),
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


def parse(file: Path) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".toml": tomllib.loads, ".yaml": yaml.safe_load}
    return readers.get(file.suffix, json.loads)(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WITH_FILE)
def test_a_new_file_has_the_entry_in_the_format_of_the_agent(name: str, places: Places) -> None:
    assert install(name, places) == "added"
    key, entry = ENTRIES.get(name, ("mcpServers", USUAL))
    assert parse(AGENTS[name].file("user", places)) == {key: {"shortlist": entry}}
    assert install(name, places) == "unchanged"
    assert uninstall(name, places) == "removed"
    assert uninstall(name, places) == "absent"


def test_of_several_files_the_one_that_exists_is_changed(places: Places) -> None:
    folder = places.home / ".config" / "opencode"
    file = write(folder / "opencode.jsonc", "{\n  // mine\n}\n")
    install("opencode", places)
    assert [path.name for path in folder.iterdir()] == ["opencode.jsonc"]
    assert "// mine" in file.read_text()


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


def test_inline_tables_of_codex_stay_inline(places: Places) -> None:
    file = write(places.home / ".codex" / "config.toml", 'mcp_servers = { a = { command = "x" } } # mine\n')
    assert install("codex", places) == "added"
    ours = 'shortlist = {command = "/opt/bin/shortlist", args = ["mcp"], required = true, startup_timeout_sec = 30}'
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
    assert find_own_command(at(tmp_path), python) == [python, "-P", "-m", "shortlist"]
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
    with pytest.raises(InputError, match=r"'gemini' is not a known agent\. Did you mean 'gemini-cli'\?"):
        find_agents(["gemini"], "user", places)


@pytest.mark.parametrize(("agent", "folder"), [("continue", ".continue"), ("kiro", ".kiro"), ("cline-cli", ".cline")])
def test_an_agent_is_installed_if_its_own_folder_exists(agent: str, folder: str, places: Places) -> None:
    assert not AGENTS[agent].is_installed(places)
    (places.home / folder).mkdir()
    assert AGENTS[agent].is_installed(places)


def test_the_diff_shows_the_change_without_secrets(places: Places) -> None:
    write(places.home / ".cursor" / "mcp.json", '{\n  "mcpServers": {\n    "a": {"env": {"K": "sk-secret"}}\n  }\n}\n')
    diff = change_of(plan_install(AGENTS["cursor"], "user", places, command="shortlist")).diff()
    assert '-    "a": {"env": {"K": "***"}}\n+    "a": {"env": {"K": "***"}},\n+    "shortlist": {\n' in diff
    assert "sk-secret" not in diff
    assert change_of(plan_install(AGENTS["codex"], "user", places)).diff().startswith(f"--- {os.devnull}\n")


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
        for change in [*moves.changes(), change_of(plan)]:
            assert "secret" not in change.diff()
            change.apply()
        assert list(json.loads(file.read_text())["mcpServers"]) == ["asks", "unset", "off", "shortlist"]
        assert self.behind(own) == {
            "git": servers["git"],
            "keyed": {key: value for key, value in servers["keyed"].items() if key != "type"},
            "local": servers["local"],
            "sso": servers["sso"],
        }
        assert {stat.S_IMODE(path.stat().st_mode) for path in own.iterdir()} == {0o600}
        again = self.moves(own, places)
        assert plan_install(AGENTS["cursor"], "user", places, relocation=again).action == "unchanged"
        assert again.changes() == []
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["cursor"], "user", places, relocation=back)
        for change in [change_of(plan), *back.changes()]:
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
        for change in [*moves.changes(), change_of(plan)]:
            change.apply()
        assert "secret-value" in before.read_text()
        file.unlink()  # the file that it comes back to is a new one
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["cursor"], "user", places, relocation=back)
        for change in [change_of(plan), *back.changes()]:
            change.apply()
        assert json.loads(file.read_text()) == secret
        written = [*own.iterdir(), *file.parent.iterdir(), *filter(Path.is_file, data_dir().rglob("*.bak"))]
        assert len([path for path in written if "secret-value" in path.read_text()]) > 2
        assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}

    def test_the_keys_of_codex_are_translated_and_restored(
        self, own: Path, places: Places, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("KEY", "PASSED", "TENANT"):
            monkeypatch.setenv(variable, "value")
        text = """\
[mcp_servers.local]
command = "x"
tool_timeout_sec = 60
startup_timeout_sec = 5
env_vars = ["PASSED"]

[mcp_servers.local.env]
A = "b"

[mcp_servers.remote]
url = "https://a.example/mcp"
http_headers = { X = "y" }
enabled_tools = ["find"]

[mcp_servers.keyed]
url = "https://a.example/mcp"
bearer_token_env_var = "KEY"
env_http_headers = { X-Tenant = "TENANT" }

[mcp_servers.odd]
command = "x"
experimental_environment = "remote"
"""
        file = write(places.home / ".codex" / "config.toml", text)
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["codex"], "user", places, relocation=moves)
        assert plan.left == {"odd": "only Codex supports its 'experimental_environment'"}
        for change in [*moves.changes(), change_of(plan)]:
            change.apply()
        assert self.behind(own) == {
            "local": {
                "command": "x",
                "tool_timeout_sec": 60,
                "startup_timeout_sec": 5,
                "env": {"PASSED": "${PASSED:-}", "A": "b"},
            },
            "remote": {"url": "https://a.example/mcp", "headers": {"X": "y"}, "enabled_tools": ["find"]},
            "keyed": {
                "url": "https://a.example/mcp",
                "headers": {"Authorization": "Bearer ${KEY}", "X-Tenant": "${TENANT}"},
            },
        }
        ours = tomllib.loads(file.read_text())["mcp_servers"]["shortlist"]
        assert ours["env_vars"] == ["KEY", "PASSED", "TENANT"]  # Codex passes no others on
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["codex"], "user", places, relocation=back)
        for change in [change_of(plan), *back.changes()]:
            change.apply()
        assert tomllib.loads(file.read_text()) == tomllib.loads(text)
        assert self.behind(own) == {}

    @pytest.mark.parametrize(
        ("agent", "entry", "expected"),
        [
            ("gemini-cli", {"command": "x", "timeout": 1500, "trust": True}, {"command": "x", "timeout_seconds": 1.5}),
            ("gemini-cli", {"httpUrl": "http://localhost/mcp"}, {"url": "http://localhost/mcp"}),
            ("gemini-cli", {"url": "http://localhost/sse"}, {"url": "http://localhost/sse", "type": "sse"}),
            ("gemini-cli", {"command": "$HOME/x"}, {"command": "${HOME}/x"}),
            ("cline", {"command": "x", "timeout": 20, "autoApprove": ["a"]}, {"command": "x", "timeout_seconds": 20}),
            ("copilot-cli", {"type": "local", "command": "x", "tools": ["a"]}, {"command": "x", "tools": ["a"]}),
            (
                "opencode",
                {"type": "local", "command": ["x", "y"], "environment": {"A": "{env:HOME}"}},
                {"command": "x", "args": ["y"], "env": {"A": "${HOME}"}},
            ),
            (
                "goose",
                {"type": "stdio", "name": "a", "cmd": "x", "args": [], "envs": {"A": "b"}, "env_keys": []},
                {"command": "x", "env": {"A": "b"}},
            ),
            ("windsurf", {"serverUrl": "http://localhost/mcp"}, {"url": "http://localhost/mcp"}),
        ],
    )
    def test_each_agent_writes_servers_in_its_own_way(
        self, agent: str, entry: dict[str, Any], expected: dict[str, Any], own: Path, places: Places
    ) -> None:
        moves = self.moves(own, places)
        assert moves.move(AGENTS[agent], places.home / "file", "a", entry) is None
        for change in moves.changes():
            change.apply()
        assert self.behind(own) == {"a": expected}

    @pytest.mark.parametrize(
        ("agent", "entry", "reason"),
        [
            ("vscode", {"command": "x", "envFile": ".env"}, "only VS Code supports its 'envFile'"),
            ("codex", {"command": "x", "tools": {"a": {"approval_mode": "prompt"}}}, "only Codex supports its 'tools'"),
            ("goose", {"type": "stdio", "cmd": "x", "env_keys": ["K"]}, "only Goose supports its 'env_keys'"),
            ("crush", {"type": "stdio", "command": "x", "env": {"A": "$(pass a)"}}, "it runs a command in '$(pass a)'"),
        ],
    )
    def test_what_only_an_agent_can_do_stays_there(
        self, agent: str, entry: dict[str, Any], reason: str, own: Path, places: Places
    ) -> None:
        moves = self.moves(own, places)
        assert moves.move(AGENTS[agent], places.home / "file", "a", entry) == reason
        assert moves.changes() == []

    def test_what_is_listed_beside_servers_stays_there(self, own: Path, places: Places) -> None:
        builtin = "extensions:\n  developer:\n    type: builtin\n    enabled: true\n"
        file = write(AGENTS["goose"].file("user", places), builtin)
        plan = plan_install(AGENTS["goose"], "user", places, relocation=self.moves(own, places))
        assert (plan.moved, plan.left) == ([], {})
        change_of(plan).apply()
        assert list(yaml.safe_load(file.read_text())["extensions"]) == ["shortlist", "developer"]

    def test_a_server_that_agents_write_differently_is_one_entry_until_all_have_it_back(
        self, own: Path, places: Places
    ) -> None:
        files = {
            "cursor": {"mcpServers": {"files": {"command": "npx", "args": ["-y", "@a/files@latest", "/x"]}}},
            "claude-code": {
                "mcpServers": {
                    "fs": {"type": "stdio", "command": "/opt/bin/npx", "args": ["@a/files", "/x"], "env": {}}
                }
            },
            "opencode": {"mcp": {"files": {"type": "local", "command": ["npx", "--yes", "@a/files", "/x"]}}},
            "vscode": {"servers": {"files": {"command": "npx", "args": ["-y", "@a/files", "/other"]}}},
        }
        for name, data in files.items():
            write(AGENTS[name].file("user", places), json.dumps(data))
        moves = self.moves(own, places)
        plans = [plan_install(AGENTS[name], "user", places, relocation=moves) for name in files]
        assert [plan.moved for plan in plans] == [["files"], ["fs"], ["files"], []]
        assert plans[3].left == {"files": "the gateway already has another server of that name"}
        for change in [*moves.changes(), *map(change_of, plans)]:
            change.apply()
        assert list(self.behind(own)) == ["files"]
        for name in ("cursor", "opencode", "claude-code"):
            assert list(self.behind(own)) == ["files"]
            back = self.moves(own, places)
            plan = plan_uninstall(AGENTS[name], "user", places, relocation=back)
            for change in [change_of(plan), *back.changes()]:
                change.apply()
            assert parse(AGENTS[name].file("user", places)) == files[name]
        assert self.behind(own) == {}


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
