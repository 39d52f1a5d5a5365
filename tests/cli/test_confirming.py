"""What the files of a folder ask for takes effect after one confirmation, and only the user gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist
from shortlist.safety.confirmations import confirmed
from tests.answer.server import ScriptedServer, completion, serving
from tests.cli.conftest import INDEX, Shell
from tests.cli.terminals import Terminal
from tests.syntax import parse_file

pytestmark = pytest.mark.process

QUESTION = "What colour is the lamp in the hall?"


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


def test_the_passages_go_nowhere_until_the_address_is_confirmed(lamp: Shell, model: ScriptedServer, file: Path) -> None:
    done = lamp("query", QUESTION, *INDEX)
    assert done.code == 0
    assert done.out.startswith("The lamp in the hall is green. [hall.txt:whole]")  # a sentence of the file
    (line,) = done.err.splitlines()
    assert all(part in line for part in (model.url, file.name, "shortlist trust"))
    data = lamp("query", QUESTION, *INDEX, "--json").json
    assert (data["by"], [*data["llm"]]) == ("extract", ["reason"])
    for command in (("query", "--agent", QUESTION, *INDEX), ("eval-gen", "tools:tools.yaml", "made.jsonl")):
        done = lamp(*command)
        assert done.code in (1, 2)
        assert all(part in done.err for part in (model.url, file.name, "shortlist trust"))
    assert lamp("chat", *INDEX, stdin=f"{QUESTION}\n").out.startswith("The lamp in the hall is green.")
    assert model.asked == []

    assert lamp("trust", "--yes").code == 0
    done = lamp("query", QUESTION, *INDEX)
    assert done.out.splitlines()[0] == REPLY
    (line,) = done.err.splitlines()
    assert all(part in line for part in (model.url, file.name))
    assert lamp("query", QUESTION, *INDEX, "--json").json["llm"] == {"model": "small", "url": model.url}


@pytest.mark.parametrize(("answer", "is_used"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_a_terminal_asks_before_the_first_use(lamp: Shell, model: ScriptedServer, answer: str, is_used: bool) -> None:
    (lamp.folder / "settings.yaml").write_text(FILES["settings.yaml"].format(model.url))
    terminal = Terminal(lamp, "query", QUESTION, *INDEX)
    seen = terminal.wait_for("[y/N]")
    assert model.url in seen
    assert "settings.yaml" in seen
    assert model.asked == []
    terminal.send(answer)
    assert terminal.end() == 0
    assert (len(model.asked), len(confirmed())) == ((1, 1) if is_used else (0, 0))


def test_with_json_nothing_is_asked_even_in_a_terminal(lamp: Shell, model: ScriptedServer) -> None:
    (lamp.folder / "settings.yaml").write_text(FILES["settings.yaml"].format(model.url))
    terminal = Terminal(lamp, "query", QUESTION, *INDEX, "--json")
    assert terminal.end() == 0
    assert "[y/N]" not in terminal.screen
    assert model.asked == []


def test_only_the_command_line_confirms_anything() -> None:
    """No server, gateway or tool of an agent calls what stores a confirmation."""
    package = Path(shortlist.__file__).parent
    confirming = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(parse_file(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if module.endswith("safety.confirmations") and "confirm" in names:
                confirming.add(path.relative_to(package).as_posix())
            if module.endswith("safety") and "confirmations" in names:
                confirming.add(path.relative_to(package).as_posix())
    # `index/foreign.py` stores what a program names itself when it creates a corpus
    assert confirming == {"cli/confirming.py", "cli/commands/trust_command.py", "index/foreign.py"}
