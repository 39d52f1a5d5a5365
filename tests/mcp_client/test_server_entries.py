"""Entries of MCP servers as different programs write them: the same server is recognized, another one is not."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.mcp_client.server_entries import fingerprint, normalize, split_command

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


@pytest.mark.parametrize(
    ("platform", "text", "words"),
    [
        ("linux", "npx -y '@a/files' /my\\ files # 1", ["npx", "-y", "@a/files", "/my files", "#", "1"]),
        ("win32", "C:\\tools\\files.exe --root D:\\data", ["C:\\tools\\files.exe", "--root", "D:\\data"]),
        ("win32", '"C:\\Program Files\\files.exe" -x', ["C:\\Program Files\\files.exe", "-x"]),
        ("win32", "uvx --from 'shortlist[mcp]' shortlist", ["uvx", "--from", "shortlist[mcp]", "shortlist"]),
    ],
)
def test_a_command_is_split_as_its_system_writes_paths(platform: str, text: str, words: list[str]) -> None:
    assert split_command(text, platform) == words
