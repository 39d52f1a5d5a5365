"""Real agents from npm accept what is written, and start our server from it; their `mcp` commands need no account."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from shortlist._paths import config_dir
from shortlist.cli import OK, run
from shortlist.mcp.prompt_hints import INTRODUCTION
from tests.install.scripted_model import run_model
from tests.pages import ROOT

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
    "codex": Client("@openai/codex@0.169.0", "codex", "enabled"),
    "gemini-cli": Client("@google/gemini-cli@0.61.0", "gemini", "(stdio)"),
    "qwen-code": Client("@qwen-code/qwen-code@0.24.4", "qwen", "(stdio)"),
    "opencode": Client("opencode-ai@1.18.33", "opencode", "connected"),
    "copilot-cli": Client("@github/copilot@1.0.102", "copilot", "local"),
}


class Machine:
    """A home folder in which agents are installed and run."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._packages = folder / "packages"
        self.folder = self.home / "project"  # in which agents are run
        (self.folder / ".git").mkdir(parents=True)

    def install(self, package: str) -> None:
        command = ["npm", "install", "--prefix", str(self._packages), "--no-audit", "--no-fund", package]
        subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)

    def __call__(self, command: str, *words: str, **variables: str) -> str:
        kept = {name: os.environ[name] for name in ("PATH", "SHORTLIST_DATA_DIR") if name in os.environ}
        done = subprocess.run(
            [self._packages / "node_modules" / ".bin" / command, *words],
            env=kept | {"HOME": str(self.home), "TERM": "dumb", "GEMINI_CLI_TRUST_WORKSPACE": "true"} | variables,
            cwd=self.folder,
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


def test_servers_that_claude_code_has_for_one_folder_move_and_come_back(machine: Machine) -> None:
    machine.install(CLIENTS["claude-code"].package)
    machine("claude", "mcp", "add", "here", "--", "not-a-program")
    file = machine.home / ".claude.json"
    before = file.read_bytes()
    assert run(["install", "--agent", "claude-code", "--only"]) == OK
    assert "here" not in machine("claude", "mcp", "list")
    assert "not-a-program" in (config_dir() / "mcp.json").read_text()
    assert run(["uninstall", "--agent", "claude-code"]) == OK
    assert "here: not-a-program" in machine("claude", "mcp", "list")
    assert json.loads(file.read_bytes())["projects"] == json.loads(before)["projects"]


def test_the_first_request_of_qwen_code_has_our_tools(machine: Machine) -> None:
    machine.install(CLIENTS["qwen-code"].package)
    assert run(["install", "--agent", "qwen-code"]) == OK
    with run_model() as (address, received):
        variables = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "x", "OPENAI_MODEL": "m"}
        machine("qwen", "--auth-type", "openai", "-p", "hello", **variables)
    declared = [[tool["function"]["name"] for tool in json.loads(body).get("tools", ())] for body in received]
    assert {"mcp__shortlist__discover", "mcp__shortlist__call"} <= set(declared[0]), declared


def ask_claude(machine: Machine, address: str, prompt: str) -> None:
    variables = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "x"}
    machine("claude", "-p", prompt, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", **variables)


def ask_codex(machine: Machine, address: str, prompt: str) -> None:
    provider = f'model_providers.local={{name="local", base_url="{address}/v1", wire_api="responses"}}'
    chosen = ("-c", 'model_provider="local"', "-c", 'model="m"', "-c", provider)
    # A user approves the hook with /hooks.
    machine("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", *chosen, prompt)


@pytest.mark.parametrize(("agent", "ask"), [("claude-code", ask_claude), ("codex", ask_codex)])
def test_a_hint_reaches_the_model_if_something_fits_the_prompt(
    agent: str, ask: Callable[[Machine, str, str], None], machine: Machine
) -> None:
    skill = machine.home / ".claude" / "skills" / "docker-slimming" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: docker-slimming\ndescription: Makes container images small.\n---\n\nUse two stages.\n")
    assert run(["build", "skills"]) == OK
    machine.install(CLIENTS[agent].package)
    assert run(["install", "--agent", agent, "--hook"]) == OK
    settings = machine.home / {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}[agent]
    settings.write_text(settings.read_text().replace('"timeout": 10', f'"timeout": {PATIENCE}'))
    for prompt, is_served in (("make our docker container images smaller", True), ("rename foo to bar", False)):
        with run_model() as (address, received):
            ask(machine, address, prompt)
        assert any(prompt in body for body in received)
        assert any(INTRODUCTION in body and "- skill docker-slimming: " in body for body in received) == is_served


PLUGINS = {
    "claude-code": [
        (["plugin", "validate", "--strict", "."], "Validation passed"),
        (["plugin", "validate", "--strict", "plugins/shortlist"], "Validation passed"),
        (["plugin", "validate", "--strict", "plugins/shortlist-hints"], "Validation passed"),
        (["plugin", "marketplace", "add", "./"], "added marketplace: shortlist"),
        (["plugin", "install", "shortlist@shortlist"], "installed plugin: shortlist"),
        (["plugin", "details", "shortlist"], "MCP servers (1)  shortlist"),
        (["plugin", "install", "shortlist-hints@shortlist"], "installed plugin: shortlist-hints"),
        (["plugin", "details", "shortlist-hints"], "UserPromptSubmit"),
    ],
    "codex": [
        (["plugin", "marketplace", "add", "./"], "Added marketplace `shortlist`"),
        (["plugin", "add", "shortlist@shortlist"], "Added plugin `shortlist`"),
        (["plugin", "add", "shortlist-hints@shortlist"], "Added plugin `shortlist-hints`"),
        (["mcp", "list"], "uvx"),
    ],
    "gemini-cli": [(["extensions", "validate", "plugins/shortlist"], "successfully validated")],
}


@pytest.mark.parametrize("agent", PLUGINS)
def test_the_agent_takes_our_plugins(agent: str, machine: Machine) -> None:
    machine.install(CLIENTS[agent].package)
    machine.folder = ROOT
    for words, expected in PLUGINS[agent]:
        assert expected in machine(CLIENTS[agent].command, *words)
