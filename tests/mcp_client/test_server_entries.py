"""Entries of MCP servers as different programs write them: the same server is recognized, another one is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shortlist.documents import Problem
from shortlist.mcp_client.config_files import ConfigurationFile, PendingFile, possible_files, servers_in_files
from shortlist.mcp_client.project_trust import trust
from shortlist.mcp_client.server_config import ServerConfig, outline
from shortlist.mcp_client.server_entries import fingerprint, normalize

FILES: dict[str, Any] = {"command": "npx", "args": ["@a/files", "/x"], "env": {"A": "1", "K": "${KEY}"}}
CLOUD: dict[str, Any] = {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}


@pytest.mark.parametrize(
    ("entry", "same"),
    [
        (FILES, FILES | {"args": ["-y", "@a/files", "/x"]}),
        (FILES, FILES | {"args": ["--yes", "@a/files@latest", "/x"], "type": "stdio"}),
        (FILES, FILES | {"command": "/usr/local/bin/npx"}),
        (FILES, FILES | {"command": "C:\\Program Files\\nodejs\\npx.cmd"}),
        (FILES, FILES | {"command": "cmd", "args": ["/c", "npx", "-y", "@a/files", "/x"]}),
        (FILES, FILES | {"command": "npm", "args": ["exec", "--", "@a/files", "/x"]}),
        (FILES, FILES | {"env": {"K": "${env:KEY}", "A": "1"}}),
        (FILES, FILES | {"env": {"K": "$KEY", "A": "1"}, "timeout": 5, "autoApprove": ["b"]}),
        (
            FILES,
            {"type": "local", "command": ["npx", "-y", *FILES["args"]], "environment": {"A": "1", "K": "{env:KEY}"}},
        ),
        (FILES, {"cmd": "npx", "args": FILES["args"], "envs": FILES["env"], "name": "files"}),
        (FILES, {"command": {"path": "npx", "args": FILES["args"], "env": FILES["env"]}}),
        ({"command": "uvx", "args": ["x"]}, {"command": "uv", "args": ["tool", "run", "x"]}),
        ({"command": "sh", "args": []}, {"command": "/bin/sh"}),
        (CLOUD, CLOUD | {"type": "http"}),
        (CLOUD, CLOUD | {"transport": "streamable-http", "url": "https://a.example/mcp/"}),
        (CLOUD, {"httpUrl": CLOUD["url"], "headers": CLOUD["headers"]}),
        (CLOUD, {"serverUrl": CLOUD["url"], "headers": {"authorization": "Bearer ${env:KEY}"}}),
        (CLOUD, {"uri": CLOUD["url"], "headers": CLOUD["headers"], "type": "streamable_http"}),
        (CLOUD, {"url": CLOUD["url"], "bearer_token_env_var": "KEY"}),
        (CLOUD | {"headers": {"X": "${Y}"}}, {"url": CLOUD["url"], "env_http_headers": {"X": "Y"}}),
        (FILES | {"allow": ["a", "b"]}, FILES | {"enabled_tools": ["b", "a"]}),
    ],
)
def test_the_same_server_is_recognized(
    entry: dict[str, Any], same: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    assert fingerprint(entry) == fingerprint(same) is not None


@pytest.mark.parametrize(
    ("entry", "other"),
    [
        (FILES, FILES | {"args": ["@a/files", "/y"]}),
        (FILES, FILES | {"args": ["@a/files", "-y", "/x"]}),  # a flag of the server
        (FILES, FILES | {"args": ["@a/files@1.0.0", "/x"]}),
        (FILES, FILES | {"env": {"A": "2", "K": "${KEY}"}}),
        (FILES, FILES | {"command": "bunx"}),
        (FILES, FILES | {"deny": ["delete"]}),
        (FILES, FILES | {"cwd": "/elsewhere"}),
        ({"command": "/opt/a/bin/server"}, {"command": "/opt/b/bin/server"}),
        (CLOUD, CLOUD | {"url": "https://b.example/mcp"}),
        (CLOUD, CLOUD | {"headers": {"Authorization": "Bearer ${OTHER}"}}),
        (CLOUD, FILES),
    ],
)
def test_another_server_is_not(entry: dict[str, Any], other: dict[str, Any]) -> None:
    assert fingerprint(entry) != fingerprint(other)


@pytest.mark.parametrize("broken", [None, 3, [], {}, {"type": "builtin"}, {"command": "x", "allow": 3}])
def test_a_broken_entry_equals_no_other(broken: Any) -> None:
    assert fingerprint(broken) is None


def test_values_of_the_wrong_type_stay_for_the_reader_to_name() -> None:
    entry = {"command": 3, "env": "A=b", "env_vars": "X", "env_http_headers": ["Y"], "headers": 4}
    assert normalize(entry) == {"command": 3, "env": "A=b", "headers": 4}


CODEX = """\
model = "m"

[mcp_servers.files]
command = "npx"
args = ["-y", "@a/files"]
env_vars = ["SET", { name = "NOT_SET", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 90.5
enabled_tools = ["read_*"]
disabled_tools = ["read_secret"]
required = true

[mcp_servers.files.env]
A = "b"

[mcp_servers.files.tools.read_file]
approval_mode = "approve"

[mcp_servers.cloud]
url = "https://a.example/mcp"
bearer_token_env_var = "SET"
http_headers = { X-Region = "eu" }
env_http_headers = { X-Tenant = "SET" }

[mcp_servers.off]
command = "x"
enabled = false

[mcp_servers.unset]
url = "https://a.example/mcp"
bearer_token_env_var = "NOT_SET"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SET", "value")
    for variable in ("NOT_SET", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".codex").mkdir()
    (tmp_path / ".codex").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def read() -> dict[str, ServerConfig | Problem]:
    items = servers_in_files(filter(Path.is_file, possible_files()), settings_too=True)
    return {item.name if isinstance(item, ServerConfig) else item.id: item for item in items}


@pytest.mark.parametrize("variable", [None, "CODEX_HOME"])
def test_the_servers_of_codex_are_read(home: Path, variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "other" if variable else home / ".codex"
    if variable:
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    (folder / "config.toml").write_text(CODEX)
    found = read()
    assert found.keys() == {"files", "cloud", "unset"}
    files, cloud, unset = found["files"], found["cloud"], found["unset"]
    assert isinstance(files, ServerConfig)
    assert isinstance(cloud, ServerConfig)
    assert isinstance(unset, Problem)
    assert (files.command, files.args) == ("npx", ("-y", "@a/files"))
    assert files.env == {"SET": "value", "NOT_SET": "", "A": "b"}
    assert (files.start_seconds, files.seconds) == (20, 90.5)
    assert [tool for tool in ("read_file", "read_secret", "write") if files.offers(tool)] == ["read_file"]
    assert cloud.headers == {"X-Region": "eu", "Authorization": "Bearer value", "X-Tenant": "value"}
    assert "value" not in cloud.without_secrets("Bearer value")
    assert "NOT_SET" in unset.reason


def test_codex_servers_of_a_project_wait_for_approval(home: Path) -> None:
    file = home / "project" / ".codex" / "config.toml"
    file.write_text(CODEX)
    (pending,) = read().values()
    assert isinstance(pending, PendingFile)
    assert (pending.id, pending.servers) == (str(file), 3)
    trust(file, file.read_bytes())
    assert read().keys() == {"files", "cloud", "unset"}
    file.write_text(CODEX.replace("@a/files", "@evil/files"))
    assert [type(item) for item in read().values()] == [PendingFile]


def test_settings_of_codex_without_servers_are_no_problem(home: Path) -> None:
    (home / ".codex" / "config.toml").write_text('model = "m"\n')
    assert read() == {}


def test_what_would_run_is_shown_for_approval_however_it_is_written(home: Path) -> None:
    servers = {"a": {"command": ["sh", "-c", "evil"]}, "b": {"httpUrl": "https://evil.example"}, "c": {"cmd": "evil"}}
    path = home / "project" / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    rows = [outline(name, entry) for name, entry in ConfigurationFile(path).entries().items()]
    assert [(row["command"], row["args"], row["url"]) for row in rows] == [
        ("sh", ["-c", "evil"], ""),
        ("", [], "https://evil.example"),
        ("evil", [], ""),
    ]
