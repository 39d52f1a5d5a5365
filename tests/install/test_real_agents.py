"""Real agents from npm accept what is written, and start our server from it; their `mcp` commands need no account."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from shortlist.cli import OK, run

pytestmark = [pytest.mark.slow, pytest.mark.extras]

PATIENCE = 300  # seconds


class Client(NamedTuple):
    """The package of an agent, its command, and what its list of servers says of ours.

    Codex and Copilot CLI start nothing to list servers, and Gemini CLI and Qwen Code wait no longer than 5 seconds.
    """

    package: str
    command: str
    state: str


CLIENTS = {
    "claude-code": Client("@anthropic-ai/claude-code@2.1.197", "claude", "Connected"),
    "codex": Client("@openai/codex@0.166.0", "codex", "enabled"),
    "gemini-cli": Client("@google/gemini-cli@0.61.0", "gemini", "(stdio)"),
    "qwen-code": Client("@qwen-code/qwen-code@0.15.10", "qwen", "(stdio)"),
    "opencode": Client("opencode-ai@1.18.33", "opencode", "connected"),
    "copilot-cli": Client("@github/copilot@1.0.102", "copilot", "local"),
}


class Machine:
    """A home folder in which agents are installed and run."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._packages = folder / "packages"
        (self.home / "project" / ".git").mkdir(parents=True)

    def install(self, package: str) -> None:
        command = ["npm", "install", "--prefix", str(self._packages), "--no-audit", "--no-fund", package]
        subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)

    def __call__(self, command: str, *words: str) -> str:
        kept = {name: os.environ[name] for name in ("PATH", "SHORTLIST_DATA_DIR") if name in os.environ}
        done = subprocess.run(
            [self._packages / "node_modules" / ".bin" / command, *words],
            env=kept | {"HOME": str(self.home), "TERM": "dumb", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            cwd=self.home / "project",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    if shutil.which("npm") is None:
        pytest.skip("npm is missing.")
    machine = Machine(tmp_path)
    monkeypatch.chdir(machine.home / "project")
    monkeypatch.setenv("HOME", str(machine.home))
    for variable in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return machine


@pytest.mark.parametrize("agent", CLIENTS)
def test_the_agent_lists_our_server_until_it_is_removed(agent: str, machine: Machine) -> None:
    package, command, state = CLIENTS[agent]
    machine.install(package)
    assert run(["install", "--agent", agent]) == OK
    lines = [line for line in machine(command, "mcp", "list").splitlines() if "shortlist" in line]
    assert any(state in line for line in lines), lines
    assert run(["uninstall", "--agent", agent]) == OK
    assert "shortlist" not in machine(command, "mcp", "list")


def test_claude_code_and_codex_know_the_keys_that_make_them_show_our_tools(machine: Machine) -> None:
    for agent in ("claude-code", "codex"):
        machine.install(CLIENTS[agent].package)
        assert run(["install", "--agent", agent]) == OK
    assert "Command:" in machine("claude", "mcp", "get", "shortlist")
    assert '"startup_timeout_sec": 30.0' in machine("codex", "mcp", "get", "shortlist", "--json")
    claude, codex = machine.home / ".claude.json", machine.home / ".codex" / "config.toml"
    claude.write_text(claude.read_text().replace('"alwaysLoad": true', '"alwaysLoad": "yes"'))
    codex.write_text(codex.read_text().replace("required = true", 'required = "yes"'))
    assert "No MCP server named" in machine("claude", "mcp", "get", "shortlist")  # it checks the type
    assert "mcp_servers.shortlist.required" in machine("codex", "mcp", "list")
