"""The command that sets and tests the language model."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.answer.server import Scripted, completion, failure, serving, streamed
from tests.cli.conftest import INDEX, Shell

QUESTION = "What colour is the lamp in the hall?"
MODEL = ("--model", "small")


def find_file(shell: Shell) -> Path:
    return Path(shell.environment["SHORTLIST_CONFIG_DIR"]) / "llm.json"


@pytest.fixture
def lamp(lamp: Shell) -> Shell:
    lamp.environment["SHORTLIST_CONFIG_DIR"] = str(lamp.folder / "config")
    return lamp


def test_a_model_is_set_tested_used_and_unset(lamp: Shell) -> None:
    with serving(completion("OK"), streamed("It is green [hall.txt:whole].")) as server:
        done = lamp("config", "llm", "--url", server.url, *MODEL, "--key-variable", "MY_KEY", MY_KEY="sk-1")
        assert (done.code, server.keys) == (0, ["Bearer sk-1"])
        assert f"small at {server.url}, with a key" in done.out
        answer = lamp("ask", QUESTION, *INDEX, MY_KEY="sk-1")
    assert answer.out.startswith("It is green [1].")
    assert server.keys[1] == "Bearer sk-1"
    assert "sk-1" not in find_file(lamp).read_text()
    shown = lamp("config", "llm", "--show", "--json").json
    assert (shown["model"], shown["key"], shown["origin"]) == ("small", "none", str(find_file(lamp)))
    assert lamp("config", "llm", "--unset", "--json").json == {"deleted": True}
    assert lamp("config", "llm", "--show", "--json").json["model"] is None
    assert not find_file(lamp).exists()


def test_the_environment_and_the_files_of_a_project_take_precedence(lamp: Shell) -> None:
    assert lamp("config", "llm", "--url", "http://127.0.0.1:9/v1", *MODEL, "--no-test").code == 0
    other = {"SHORTLIST_LLM_URL": "http://127.0.0.1:8/v1", "SHORTLIST_LLM_MODEL": "other"}
    assert lamp("config", "llm", "--show", "--json", **other).json["model"] == "other"
    (lamp.folder / ".env").write_text("SHORTLIST_LLM_URL=http://127.0.0.1:7/v1\nSHORTLIST_LLM_MODEL=third\n")
    assert "shortlist trust" in lamp("config", "llm", "--show").out


def test_a_key_is_stored_only_on_request_and_only_for_its_address(lamp: Shell) -> None:
    with serving(completion("OK"), completion("OK"), completion("OK")) as server:
        assert lamp("config", "llm", "--url", server.url, *MODEL, "--key-in-file", stdin="sk-2\n").code == 0
        assert "sk-2" in find_file(lamp).read_text()
        assert stat.S_IMODE(find_file(lamp).stat().st_mode) == 0o600
        assert lamp("config", "llm", "--model", "large", "--json").json["ok"] is True
        other = server.url.replace("127.0.0.1", "localhost")
        assert lamp("config", "llm", "--url", other, "--no-test").code == 0
        assert lamp("config", "llm").code == 0
    assert server.keys == ["Bearer sk-2", "Bearer sk-2", None]
    assert [asked["model"] for asked in server.asked] == ["small", "large", "large"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (failure(401, "no such key"), "refuses the key"),
        (failure(404, "no such model"), "does not know the model"),
        (failure(500, "out of memory"), "answered 500: out of memory"),
        (Scripted(body=[b"<html>"]), "answered with no chat completion"),
        (completion(" "), "answered with no text"),
    ],
)
def test_a_test_that_fails_says_exactly_what_is_wrong(lamp: Shell, reply: Scripted, problem: str) -> None:
    with serving(reply) as server:
        done = lamp("config", "llm", "--url", server.url, *MODEL, "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert problem in done.json["problem"]
    assert len(server.asked) == 1


def test_what_is_missing_or_not_valid_is_a_usage_error_and_stores_nothing(lamp: Shell) -> None:
    assert "--url is missing" in lamp("config", "llm", *MODEL).err
    assert "--model is missing" in lamp("config", "llm", "--url", "http://127.0.0.1:9/v1").err
    assert lamp("config", "llm", "--url", "localhost:11434", *MODEL).code != 0
    assert lamp("config", "llm", "--url", "http://127.0.0.1:9/v1", *MODEL, "--key-in-file", stdin="\n").code == 2
    assert lamp("config", "llm", "--key-in-file", "--keyring").code == 2
    assert lamp("config", "llm").code == 1
    assert not find_file(lamp).exists()


def test_a_key_in_place_of_the_name_of_a_variable_is_not_stored(lamp: Shell) -> None:
    done = lamp("config", "llm", "--url", "http://localhost:9/v1", *MODEL, "--key-variable", "sk-1", "--no-test")
    assert (done.code, find_file(lamp).exists()) == (2, False)
    assert "sk-1" not in done.err
