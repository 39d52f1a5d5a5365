"""The corpora that arguments mean, and how they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from shortlist import Corpus
from shortlist._settings import FILE, VARIABLES, Learn
from shortlist.index.storage.usage_log import Learning
from shortlist.library import opening
from shortlist.mcp import agent_server
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from shortlist.sources import folder
from tests.cli.conftest import Shell


def test_the_setting_is_that_of_the_library_and_of_the_service() -> None:
    assert get_args(Learn) == get_args(Learning)
    assert VARIABLES["SHORTLIST_LEARN"] == "usage.learn"
    assert FILE == "settings.yaml"


@pytest.mark.parametrize(
    ("text", "learning"),
    [("usage: {learn: off}", "off"), ("usage: {learn: on}", "on"), ("usage: {learn: log}", "log")],
)
def test_a_search_learns_as_the_settings_file_says(shop: Shell, text: str, learning: str) -> None:
    (shop.folder / FILE).write_text(text)
    assert shop("search", "shop", "refund").code == 0
    assert [*opening._open.values()][-1].learning == learning
    assert load_settings(shop.folder / FILE, environment={}).usage.learn == learning


def test_changed_files_of_a_path_are_counted(shell: Shell) -> None:
    assert shell("search", "docs", "cafeteria", "--quiet").code == 0
    (shell.folder / "docs" / "menu.txt").write_text("The cafeteria serves soup.")
    done = shell("search", "docs", "cafeteria", "--json")
    assert done.err == "shortlist: docs has changed: 1 added.\n"
    assert done.json["hits"][0]["id"] == "menu.txt"
    assert shell("search", "docs", "cafeteria").err == ""


def test_files_of_a_path_that_cannot_be_read_again_are_noted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell("search", "docs", "refund", "--quiet").code == 0
    (shell.folder / "docs" / "new").mkdir()
    (shell.folder / "docs" / "new" / "menu.txt").write_text("The cafeteria serves soup.")
    monkeypatch.setattr(folder, "MAX_DEPTH", 0)
    done = shell("search", "docs", "refund")
    assert done.code == 0
    assert "has changed, and what was read before is searched" in done.err


def test_the_variable_comes_before_the_file_which_is_not_read_then(shop: Shell) -> None:
    (shop.folder / FILE).write_text("{% of another program %}")
    for variable, learning in (("", "off"), ("log", "log")):
        assert shop("search", "shop", "refund", SHORTLIST_LEARN=variable).code == 0
        assert [*opening._open.values()][-1].learning == learning


def test_an_unknown_value_is_an_error_that_lists_the_known_ones(shop: Shell) -> None:
    done = shop("search", "shop", "refund", SHORTLIST_LEARN="maybe")
    assert (done.code, done.err) == (
        1,
        "shortlist: SHORTLIST_LEARN: usage.learn must be one of off, log, on, not 'maybe'.\n",
    )
    assert shop("mcp", "--learn", "maybe").code == 2


def test_a_search_that_must_not_learn_ranks_without_what_was_learned(taught: Shell) -> None:
    assert taught("search", "shop", "giraffe", "--quiet").out.splitlines()[0] == "refund_payment"
    assert "refund_payment" not in taught("search", "shop", "giraffe", "--quiet", SHORTLIST_LEARN="off").out.split()[:1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Corpus]:
    """The corpora that are opened, in order."""
    corpora = []
    initialize = Corpus.__init__

    def note(corpus: Corpus, *arguments: Any) -> None:
        initialize(corpus, *arguments)
        corpora.append(corpus)

    monkeypatch.setattr(Corpus, "__init__", note)
    return corpora


def test_questions_learn_as_the_setting_says(shell: Shell, opened: list[Corpus]) -> None:
    shell("ingest", "docs/faq.txt", "--index-dir", ".index", "--embedder", "light")
    shell("query", "--extractive", "--index-dir", ".index", "How much is express delivery?", SHORTLIST_LEARN="log")
    assert opened[-1].learning == "log"


def test_each_service_learns_as_its_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[Corpus]
) -> None:
    monkeypatch.chdir(tmp_path)
    for learning in ("log", "on"):
        create_app(load_settings(given={"usage.learn": learning}, environment={"SHORTLIST_LEARN": "off"}))
    assert [corpus.learning for corpus in opened] == ["log", "on"]


def test_the_mcp_server_learns_as_its_option_says(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve_no_one(agent: agent_server.AgentActions, *_: object) -> None:
        await agent.status()
        learned.append(agent._collection._learning)
        await agent.close()

    monkeypatch.setattr(agent_server, "serve_stdio", serve_no_one)
    learned: list[Learning | None] = []
    for arguments in (["--learn", "off"], []):
        assert shell("mcp", *arguments, SHORTLIST_LEARN="log").code == 0
    assert learned == ["off", "log"]
