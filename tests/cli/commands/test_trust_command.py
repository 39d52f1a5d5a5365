"""The command trust: it lists what files ask for, asks, remembers and withdraws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shortlist.safety.confirmations import confirmed
from tests.answer.server import ScriptedServer, completion, serving
from tests.cli.conftest import Shell

REPLY = "The hall has a green lamp [hall.txt:whole]."


FILES = {
    "settings.yaml": "llm: {{url: '{}', model: small}}\n",
    ".env": "SHORTLIST_LLM_URL={}\nSHORTLIST_LLM_MODEL=small\n",
}


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with serving(completion(REPLY), completion(REPLY)) as server:
        yield server


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, lamp: Shell, model: ScriptedServer) -> Path:
    path: Path = lamp.folder / request.param
    path.write_text(FILES[request.param].format(model.url), "utf-8")
    return path


def test_trust_lists_asks_remembers_and_withdraws(lamp: Shell, model: ScriptedServer, file: Path) -> None:
    done = lamp("trust")
    assert done.code == 1
    assert all(part in done.out for part in (model.url, str(file), "questions and the passages"))
    assert "Nothing was allowed" in done.err
    assert confirmed() == []
    data = lamp("trust", "--json").json
    assert [(row["kind"], row["place"], row["value"]) for row in data["pending"]] == [("llm", str(file), model.url)]
    data = lamp("trust", "--json", "--yes").json
    assert (data["pending"], len(data["confirmed"])) == ([], 1)
    assert lamp("trust").out == "Nothing here needs your confirmation.\n"
    assert model.url in lamp("trust", "--list").out
    assert lamp("trust", "--revoke", "--json").json["revoked"] == 1
    assert lamp("trust", "--list").out == "Nothing is confirmed.\n"
    assert lamp("trust", "nowhere").code == 1
    assert lamp("trust", str(lamp.folder), "--yes", "--quiet").out == f"{model.url}\n"


def test_everything_that_a_project_asks_for_is_listed(shell: Shell) -> None:
    (shell.folder / ".git").mkdir()
    (shell.folder / ".claude" / "skills").mkdir(parents=True)
    (shell.folder / ".mcp.json").write_text('{"mcpServers": {"helper": {"command": "helper"}}}')
    (shell.folder / "settings.yaml").write_text(
        'llm: {url: "http://ada:secret-word@127.0.0.1:9/\\e[2J", model: m}\n'
        "documents: {embedder: 'onnx:some/model'}\n"
        "server: {host: 0.0.0.0, token: hidden-word, allowed_hosts: [evil.example]}\n"
    )
    done = shell("trust")
    assert "secret-word" not in done.out + done.err
    assert "hidden-word" not in done.out
    assert "\x1b" not in done.out
    assert f"shortlist mcp trust {shell.folder}/.mcp.json" in done.err
    rows = shell("trust", "--json").json["pending"]
    assert [row["kind"] for row in rows] == ["llm", "embedder", "setting", "setting", "project"]
    assert rows[-1]["place"] == str(shell.folder)
    inside = Shell(shell.folder / "deeper")
    inside.folder.mkdir()
    assert inside("trust", "--json").json["pending"] == rows  # of the whole project


def test_settings_of_another_program_are_reported_and_the_rest_is_listed(lamp: Shell, model: ScriptedServer) -> None:
    (lamp.folder / "settings.yaml").write_text("server: {theirs: 1}\n")
    (lamp.folder / ".env").write_text(FILES[".env"].format(model.url))
    done = lamp("trust", "--json")
    assert "theirs" in done.err
    assert [row["kind"] for row in done.json["pending"]] == ["llm"]
