"""The doctor starts what the configurations of agents name, and only our own entries."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from shortlist._environment import GATEWAY
from shortlist.cli import ERROR, OK, run
from shortlist.install.agent_check import AgentFinding, check_agents
from shortlist.install.agents import AGENTS, Places
from shortlist.install.plans import find_own_command

pytestmark = [pytest.mark.process, pytest.mark.extras]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for folder in ("home", "project"):
        (tmp_path / folder).mkdir()
    return Places("linux", tmp_path / "home", {}, tmp_path / "project", lambda command: None)


def configure(places: Places, agent: str, scope: Any = "user", **servers: Any) -> None:
    file = AGENTS[agent].file(scope, places)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({AGENTS[agent].key: servers}))


def check(places: Places) -> dict[str, AgentFinding]:
    return {finding.name: finding for finding in check_agents(places, {GATEWAY: "1"})}


def test_an_entry_is_started_and_what_fails_is_named(places: Places, tmp_path: Path) -> None:
    command, mark = find_own_command(places)[0], tmp_path / "started"
    silent = tmp_path / "shortlist"
    silent.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('cannot import numpy')\n")
    silent.chmod(0o755)
    touch = {"command": "touch", "args": [str(mark)]}
    ours = {"command": command, "args": ["mcp"]}
    configure(places, "cursor", tools=ours, touch=touch)
    configure(places, "claude-code", tools=ours | {"type": "stdio"})
    configure(places, "opencode", tools={"type": "local", "command": [str(silent), "mcp"]})
    configure(places, "windsurf", tools={"command": "/nowhere/shortlist", "args": ["mcp"]})
    configure(places, "gemini-cli", tools=ours | {"env": {"A": "${NOT_SET_ANYWHERE}"}})
    configure(places, "kiro", tools=ours | {"disabled": True})
    (places.home / ".qwen").mkdir()
    (places.home / ".qwen" / "settings.json").write_text("{")
    found = check(places)
    assert {name: finding.state for name, finding in found.items()} == {
        "Cursor": "ok",
        "Claude Code": "ok",
        "opencode": "broken",
        "Windsurf": "broken",
        "Gemini CLI": "broken",
        "Kiro": "note",
        "Qwen Code": "note",
    }
    assert "6 tools" in found["Cursor"].says
    assert "cannot import numpy" in found["opencode"].says
    assert found["opencode"].fix == "shortlist install --agent opencode"
    assert "/nowhere/shortlist, which is not found" in found["Windsurf"].says
    assert "NOT_SET_ANYWHERE" in found["Gemini CLI"].says
    assert "disabled" in found["Kiro"].says
    assert "not valid JSON" in found["Qwen Code"].says
    assert not mark.exists()


def test_an_entry_of_a_project_is_started_only_if_it_is_nothing_but_our_command(places: Places, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    script = tmp_path / "shortlist"
    script.write_text(f"#!{sys.executable}\nopen({str(mark)!r}, 'w')\n")
    script.chmod(0o755)
    own = [*find_own_command(places), "mcp"]
    entry = {"command": own[0], "args": own[1:]}
    configure(places, "claude-code", "project", a={"command": str(script), "args": ["mcp"]})
    configure(places, "cursor", "project", b=entry | {"env": {"PYTHONPATH": str(tmp_path)}})
    configure(places, "vscode", "project", c={"command": "sh", "args": ["-c", str(script), "shortlist", "mcp"]})
    configure(places, "amp", "project", d=entry | {"url": "http://localhost:9/mcp", "type": "sse"})
    found = check(places)
    assert {name: finding.state for name, finding in found.items()} == {
        "Claude Code (project)": "note",
        "Cursor (project)": "note",
        "VS Code (project)": "note",
        "Amp (project)": "ok",
    }
    assert "not run" in found["Cursor (project)"].says
    assert not mark.exists()


def test_a_command_that_only_a_shell_finds_is_a_note_for_an_application(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(Path(find_own_command(places)[0]).parent)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for agent in ("cursor", "claude-code"):
        configure(places, agent, shortlist={"command": "shortlist", "args": ["mcp"]})
    found = check(places)
    assert (found["Cursor"].state, found["Claude Code"].state) == ("note", "ok")
    assert "may not find shortlist" in found["Cursor"].says


def test_the_doctor_reports_each_agent(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(places.home))
    monkeypatch.chdir(places.project)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(places.home / ".config"))
    assert run(["doctor", "--json"]) == OK
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [one["state"] for one in checks if one["name"] == "agents"] == ["note"]
    configure(places, "cursor", shortlist={"command": "/nowhere/shortlist", "args": ["mcp"]})
    assert run(["doctor", "--json"]) == ERROR
    (broken,) = [one for one in json.loads(capsys.readouterr().out)["checks"] if one["state"] == "broken"]
    assert (broken["name"], broken["fix"]) == ("Cursor", "shortlist install --agent cursor")
    assert run(["install", "--agent", "cursor"]) == OK
    capsys.readouterr()
    assert run(["doctor", "--json"]) == OK
