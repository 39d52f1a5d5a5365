"""Servers of agents that move behind the gateway, and back."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from shortlist._paths import data_dir
from shortlist.install import originals
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import plan_install, plan_uninstall
from shortlist.install.relocation import Relocation
from tests.install.conftest import change_of, parse, write


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
        assert plan.sign_in == ["shortlist mcp login sso"]
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

    def test_servers_that_claude_code_has_for_one_folder_move_for_that_folder(self, own: Path, places: Places) -> None:
        team = {"type": "http", "url": "https://a.example/mcp"}
        off = {"mcpServers": {"git": {"command": "z"}, "off": {"command": "x"}}, "disabledMcpServers": ["off"]}
        folders = {
            "/home/ada/a b": {"history": [1], "mcpServers": {"git": {"command": "x"}, "team": team}},
            "/home/ada/b": off,
        }
        text = json.dumps(
            {"mcpServers": {"git": {"command": "y"}}, "projects": folders | {"/home/ada/c": {"history": []}}}
        )
        file = write(places.home / ".claude.json", text)
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["claude-code"], "user", places, relocation=moves)
        assert plan.moved == ["git", "git (/home/ada/a b)", "team (/home/ada/a b)", "git (/home/ada/b)"]
        assert plan.left == {"off (/home/ada/b)": "it is disabled"}
        assert plan.sign_in == ["cd '/home/ada/a b' && shortlist mcp login team"]
        for change in [*moves.changes(), change_of(plan)]:
            originals.write(change)
        left = json.loads(file.read_text())
        assert list(left["mcpServers"]) == ["shortlist"]
        assert left["projects"]["/home/ada/a b"] == {"history": [1], "mcpServers": {}}
        assert self.behind(own) == {"git": {"command": "y"}}
        assert json.loads((own / "mcp.json").read_text())["projects"] == {
            "/home/ada/a b": {"mcpServers": {"git": {"command": "x"}, "team": {"url": team["url"]}}},
            "/home/ada/b": {"mcpServers": {"git": {"command": "z"}}},
        }
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["claude-code"], "user", places, relocation=back)
        assert plan.moved == ["git", "git (/home/ada/a b)", "team (/home/ada/a b)", "git (/home/ada/b)"]
        for change in [change_of(plan), *back.changes()]:
            originals.write(originals.give_back(change))
        assert file.read_text() == text
        assert not own.exists()

    def test_a_server_of_one_folder_comes_back_beside_what_changed_there(self, own: Path, places: Places) -> None:
        servers = {"a": {"command": "x"}, "b": {"command": "y"}}
        file = write(places.home / ".claude.json", json.dumps({"projects": {"/home/ada/a": {"mcpServers": servers}}}))
        moves = self.moves(own, places)
        plan = plan_install(AGENTS["claude-code"], "user", places, relocation=moves)
        for change in [*moves.changes(), change_of(plan)]:
            change.apply()
        file.write_text(json.dumps({"projects": {"/home/ada/a": {"mcpServers": {"b": {"command": "new"}}}}}))
        back = self.moves(own, places)
        plan = plan_uninstall(AGENTS["claude-code"], "user", places, relocation=back)
        assert plan.moved == ["a (/home/ada/a)"]
        change_of(plan).apply()
        assert json.loads(file.read_text())["projects"]["/home/ada/a"]["mcpServers"] == {
            "b": {"command": "new"},
            "a": {"command": "x"},
        }

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
