"""The commands ingest, query and chat: with and without a model."""

from __future__ import annotations

import os
import signal
import time

import pytest

import shortlist
from shortlist import REFUSAL
from tests.answer.server import Scripted, completion, event, failure, serving, streamed
from tests.cli.conftest import INDEX, Shell
from tests.cli.terminals import Terminal

pytestmark = pytest.mark.process


def test_a_refusal_is_the_refusal_and_ends_with_3(lamp: Shell) -> None:
    done = lamp("query", "Who invented the telephone?", *INDEX)
    assert (done.code, done.out.splitlines()[0]) == (3, REFUSAL)
    assert lamp("query", "Who invented the telephone?", *INDEX, "--json").json["text"] == REFUSAL


def test_a_missing_index_is_reported_with_the_command_that_makes_it(lamp: Shell) -> None:
    done = lamp("query", "What?", "--index-dir", "other")
    assert done.code == 1
    assert "Nothing is in other yet. Run: shortlist ingest PATH... --index-dir other" in done.err
    assert str(lamp.folder) in lamp("chat").err


def test_b1_the_default_index_belongs_to_the_project(lamp: Shell) -> None:
    question = "What colour is the lamp in the hall?"
    assert lamp("ingest", "lamps").code == 0
    assert lamp("query", question).code == 0
    index = lamp("status", "--json").json["index"]
    assert (index["project"], index["ingested"]) == (str(lamp.folder), True)
    assert f"Index of {lamp.folder}: {index['path']}" in lamp("status", index["name"]).out
    assert index["name"] in lamp("ls", "--quiet").out.splitlines()
    assert lamp("query", "-c", index["name"], question).code == 0

    other = Shell(lamp.folder.parent / "other")
    (other.folder / "deep" / "down").mkdir(parents=True)
    (other.folder / ".git").mkdir()
    (other.folder / "hall.txt").write_text("The lamp in the hall is blue.")
    other.environment = lamp.environment
    done = other("query", question)
    assert (done.code, done.out) == (1, "")
    assert str(other.folder) in done.err
    assert other("ingest", "hall.txt").code == 0
    other.folder = other.folder / "deep" / "down"
    assert other("query", question).out.startswith("The lamp in the hall is blue.")
    assert lamp("query", question).out.startswith("The lamp in the hall is green.")
    assert other("status", "--json").json["index"]["name"] != index["name"]


def test_b1_one_index_for_all_projects_is_an_option(lamp: Shell) -> None:
    question = "What colour is the lamp in the hall?"
    assert "PATH... --global" in lamp("query", "--global", question).err
    assert lamp("ingest", "--global", "lamps").code == 0
    other = Shell(lamp.folder / "lamps")
    other.environment = lamp.environment
    assert "add --global" in other("query", question).err
    assert other("query", "--global", question).code == 0
    assert other("query", "-c", "documents", question).code == 0
    assert other("ingest", "--global", *INDEX, "hall.txt").code == 2
    assert other("query", "-c", "documents", *INDEX, "What?").code == 2


def test_b1_an_index_of_an_earlier_version_is_reached_with_global(lamp: Shell) -> None:
    shortlist.ingest(lamp.folder / "lamps", "documents")[0].close()  # where every ingest went before
    assert lamp("query", "--global", "What colour is the lamp in the hall?").code == 0


@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_b9_what_is_shown_and_remembered_can_be_set(lamp: Shell, how: str) -> None:
    given = {"top_k": "1", "min_relevance": "0", "memory_window_turns": "1", "agent_max_steps": "1"}
    options = {"option": [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]}.get(how, [])
    if how == "variable":
        lamp.environment |= {f"SHORTLIST_{key.upper()}": value for key, value in given.items()}
    if how == "file":
        text = "".join(f"  {key}: {value}\n" for key, value in given.items())
        (lamp.folder / "settings.yaml").write_text(f"answers:\n{text}")
    call = {"index": 0, "id": "1", "type": "function", "function": {"name": "list_sources", "arguments": "{}"}}
    look = Scripted(body=[event({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})])
    with serving(*[look, streamed("It is green [hall.txt:whole].")] * 3) as server:
        done = lamp(
            "chat", "--agent", *INDEX, *options, stdin="Zebra lamp?\nAnd the hall?\nAnd the attic?\n",
            SHORTLIST_LLM_URL=server.url, SHORTLIST_LLM_MODEL="small",
        )  # fmt: skip
    assert done.code == 0, done.err
    assert ["tools" in asked for asked in server.asked] == [True, False] * 3  # one step, then the forced answer
    first, *_, last = (server.asked[at]["messages"] for at in (0, 2, 4))
    assert first[1]["content"].count("<passage ") == 1
    assert [message["content"] for message in last[1:3]] == ["And the hall?", "It is green [hall.txt:whole]."]
    assert len(last) == 4


def test_the_former_option_of_the_lowest_relevance_is_accepted_with_a_note(lamp: Shell) -> None:
    question = ("query", "What colour is the lamp in the hall?", *INDEX, "--extractive")
    done = lamp(*question, "--threshold", "1")
    assert done.code == 3
    assert "shortlist: --threshold is deprecated. Use --min-relevance, a number from 0 to 1.\n" in done.err
    assert lamp(*question, "--min-relevance", "1").code == 3
    assert lamp(*question, "--min-relevance", "none").code == 0
    assert lamp(*question, "--min-relevance", "0.1", "--threshold", "0.1").code == 2
    assert "--threshold" not in lamp("query", "--help").out


def test_the_model_of_the_environment_is_asked_and_checked(lamp: Shell) -> None:
    reply = "The hall has a green lamp [hall.txt:whole]. It is old."
    with serving(completion(reply)) as server:
        done = lamp(
            "query", "What colour is the lamp in the hall?", *INDEX,
            SHORTLIST_LLM_URL=server.url, SHORTLIST_LLM_MODEL="small", SHORTLIST_LLM_KEY="sk-1",
        )  # fmt: skip
    assert done.out.splitlines()[0] == "The hall has a green lamp [hall.txt:whole]."
    assert "1 sentence is removed: " in done.out
    assert "18 tokens in 1 call" in done.out
    assert server.keys == ["Bearer sk-1"]


def test_the_model_of_a_dotenv_file_answers_as_an_agent(lamp: Shell) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "list_sources", "arguments": "{}"}}
    script = [completion(None, [call]), completion("There are two files [list_sources:whole].")]
    with serving(*script) as server:
        (lamp.folder / ".env").write_text(f'OPENAI_BASE_URL="{server.url}"\nOPENAI_MODEL=small\nOPENAI_API_KEY=sk-2\n')
        assert lamp("trust", "--yes").code == 0
        done = lamp("query", "--agent", "List the documents you have indexed.", *INDEX, "--json").json
    assert done["text"] == "There are two files [list_sources:whole]."
    assert server.keys == ["Bearer sk-2"] * 2
    assert next(tool["function"]["name"] for tool in server.asked[0]["tools"]) == "list_sources"


def test_an_agent_without_a_model_is_a_usage_error(lamp: Shell) -> None:
    done = lamp("query", "--agent", "What?", *INDEX)
    assert done.code == 2
    assert "SHORTLIST_LLM_URL" in done.err
    assert lamp("query", "--agent", "--extractive", "What?", *INDEX).code == 2
    assert lamp("chat", "--json", *INDEX).code == 2


def test_a_key_for_another_program_asks_no_model_and_says_so(lamp: Shell) -> None:
    done = lamp("query", "Is the lamp in the hall green?", *INDEX, OPENAI_API_KEY="sk-3")
    assert (done.code, "[hall.txt:whole]" in done.out) == (0, True)
    assert "OPENAI_API_KEY is set, but neither SHORTLIST_LLM_MODEL" in done.err
    for more in ("--extractive", "--quiet"):
        assert lamp("query", "Is the lamp in the hall green?", *INDEX, more, OPENAI_API_KEY="sk-3").err == ""
    assert lamp("query", "--agent", "What?", *INDEX, OPENAI_API_KEY="sk-3").code == 2


def test_a_model_that_is_set_up_by_half_says_what_is_missing(lamp: Shell) -> None:
    done = lamp("query", "What lamp?", *INDEX, SHORTLIST_LLM_URL="http://127.0.0.1:9/v1")
    assert done.code == 1
    assert "SHORTLIST_LLM_MODEL" in done.err


def test_a_chat_from_a_pipe_answers_line_by_line(lamp: Shell) -> None:
    lines = "What colour is the lamp in the hall?\n\nAnd when was it made?\n/reset\n/what\n/quit\nnever asked\n"
    done = lamp("chat", *INDEX, stdin=lines)
    assert done.code == 0
    answers = [line for line in done.out.splitlines() if "[hall.txt" in line]
    assert answers[0].startswith("The lamp in the hall is green. [hall.txt:whole]")
    assert "It was made in 1950. [hall.txt:whole]" in answers[1]
    assert "Started a new conversation." in done.err
    assert "/what is not a command" in done.err


def test_b11_a_chat_shows_waits_and_keeps_what_was_verified_when_the_model_breaks_off(lamp: Shell) -> None:
    script = [failure(429, "busy", Retry_After="1"), streamed("It is green [hall.txt:whole]. It was m", done=False)]
    with serving(*script) as server:
        model = {"SHORTLIST_LLM_URL": server.url, "SHORTLIST_LLM_MODEL": "small"}
        done = lamp("chat", *INDEX, stdin="What colour is the lamp in the hall?\n", **model)
    assert done.out.splitlines()[0] == "It is green [hall.txt:whole]."
    assert "Trying again in 1 s" in done.err
    assert "The answer is incomplete: The language model small" in done.err


def test_a_chat_in_a_terminal_streams_survives_ctrl_c_and_ends_with_ctrl_d(lamp: Shell) -> None:
    script = [
        streamed("The lamp is green ", "[hall.txt:whole]. It is o", "ld.", cut=5),
        failure(401, "no such key"),
        streamed("Made in 1950 [hall.txt:whole]."),
    ]
    with serving(*script) as server:
        terminal = Terminal(lamp, "chat", *INDEX, SHORTLIST_LLM_URL=server.url, SHORTLIST_LLM_MODEL="small")
        try:
            assert f"Language model: small. Questions and passages are sent to {server.url}" in terminal.wait_for("> ")
            terminal.send("What colour is the lamp?\n")
            assert "The lamp is green [1]." in terminal.wait_for("9 tokens in 1 call")
            terminal.wait_for("> ")
            terminal.send("half a line")
            terminal.wait_for("half a line")  # what is typed and not yet read would be lost, and readline wait for it
            terminal.interrupt_until("> ")
            terminal.send("When was the lamp made?\n")
            terminal.wait_for("refuses the key")
            terminal.wait_for("> ")
            terminal.send("When was the lamp made?\n")
            terminal.wait_for("Made in 1950 [1].")
            terminal.wait_for("> ")
            terminal.send("\x04")
            assert terminal.end() == 0
        except BaseException:
            os.kill(terminal.pid, signal.SIGKILL)
            raise
    assert [message["role"] for message in server.asked[2]["messages"]] == ["system", "user", "assistant", "user"]


def test_ctrl_c_ends_an_answer_and_not_the_chat(lamp: Shell) -> None:
    slow = completion("Never heard.")
    slow.waits = 3.0
    with serving(slow) as server:
        terminal = Terminal(lamp, "chat", *INDEX, SHORTLIST_LLM_URL=server.url, SHORTLIST_LLM_MODEL="small")
        try:
            terminal.wait_for("> ")
            terminal.send("What colour is the lamp?\n")
            while not server.asked:
                time.sleep(0.01)
            os.kill(terminal.pid, signal.SIGINT)
            assert "Stopped." in terminal.wait_for("> ")
            terminal.send("/exit\n")
            assert terminal.end() == 0
        except BaseException:
            os.kill(terminal.pid, signal.SIGKILL)
            raise


QUESTION = "What colour is the lamp in the hall?"
GREEN = "The lamp in the hall is green."


def test_ask_numbers_what_it_cites_and_lists_only_that_with_its_place(lamp: Shell) -> None:
    (lamp.folder / "lamps" / "hall.txt").write_text(f"About lamps.\n\n{GREEN}\n")
    assert lamp("ingest", "lamps", *INDEX).code == 0
    done = lamp("ask", QUESTION, *INDEX)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:3] == [f"{GREEN} [1]", "", "[1] lamps/hall.txt, line 3"]
    assert "rooms.csv" not in done.out
    shown = lamp("ask", QUESTION, *INDEX, "--evidence").out
    assert "Also retrieved, by relevance:" in shown
    assert "lamps/rooms.csv, row 1" in shown
    assert lamp("ask", QUESTION, *INDEX, "--quiet").out == f"{GREEN} [hall.txt:whole]\n"
    data = lamp("ask", QUESTION, *INDEX, "--json").json
    assert [citation["place"] for claim in data["sentences"] for citation in claim["citations"]] == ["line 3"]


def test_a_refusal_of_ask_says_how_to_see_what_was_retrieved(lamp: Shell) -> None:
    done = lamp("ask", "What colour is the telephone in the hall?", *INDEX)
    assert (done.code, done.out.splitlines()[0]) == (3, REFUSAL)
    assert "--evidence" in done.out.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [("docs:lamps", QUESTION), ("docs:lamps", *QUESTION.split()), (QUESTION, "-c", "docs:lamps")],
)
def test_the_first_word_may_be_the_corpus_to_ask(lamp: Shell, words: tuple[str, ...]) -> None:
    assert lamp("ask", *words).out.startswith(GREEN)


def test_a_corpus_without_a_question_is_a_usage_error(lamp: Shell) -> None:
    (lamp.folder / "my files").mkdir()
    (lamp.folder / "my files" / "note.txt").write_text("Buy seeds.")
    done = lamp("ask", "my files")
    assert done.code == 2
    assert "The question is missing. Example: shortlist ask 'my files' " in done.err


def test_a_question_of_several_words_is_asked_from_the_index(lamp: Shell) -> None:
    assert lamp("ask", *QUESTION.split(), *INDEX).out.startswith(GREEN)
    assert lamp("ingest", "lamps").code == 0
    assert lamp("ask", *QUESTION.split()).out.startswith(GREEN)
    done = lamp("ask", "lmaps", QUESTION)
    assert done.code == 1
    assert "'lmaps' is not a registered corpus" in done.err


def test_ask_prints_sentences_while_the_model_writes(lamp: Shell) -> None:
    reply = ("The lamp is green ", "[hall.txt:whole]. It was made in 1950 [hall.txt:whole].")
    with serving(streamed(*reply)) as server:
        model = {"SHORTLIST_LLM_URL": server.url, "SHORTLIST_LLM_MODEL": "small"}
        done = lamp("ask", QUESTION, *INDEX, **model)
    assert server.asked[0]["stream"] is True
    lines = done.out.splitlines()
    assert lines[0] == "The lamp is green [1]. It was made in 1950 [1]."
    assert lines[2] == "[1] lamps/hall.txt"
    assert any(line.startswith("confidence 0.") or line == "confidence 1.00" for line in lines)


@pytest.mark.parametrize("command", ["ask", "query", "chat"])
def test_a_model_that_fails_is_one_sentence_and_the_offer_to_answer_without_it(lamp: Shell, command: str) -> None:
    with serving(failure(500, "out of memory")) as server:
        model = {"SHORTLIST_LLM_URL": server.url, "SHORTLIST_LLM_MODEL": "small"}
        words = () if command == "chat" else (QUESTION,)
        done = lamp(command, *words, *INDEX, stdin=f"{QUESTION}\n", **model)
    assert done.code == (0 if command == "chat" else 1)
    assert "answered 500: out of memory. To answer without a language model, add --extractive." in done.err


def test_a_spinner_shows_in_a_terminal_until_the_answer_comes(lamp: Shell) -> None:
    with serving(Scripted(body=streamed("It is green [hall.txt:whole].").body, waits=0.5)) as server:
        model = {"SHORTLIST_LLM_URL": server.url, "SHORTLIST_LLM_MODEL": "small", "TERM": "xterm-256color"}
        terminal = Terminal(lamp, "ask", QUESTION, *INDEX, **model)
        assert terminal.end() == 0
    assert "Reading the documents ..." in terminal.screen
    assert "It is green [1]." in terminal.screen
    assert "Reading" not in lamp("ask", QUESTION, *INDEX).err


def test_query_is_the_hidden_former_name(lamp: Shell) -> None:
    assert lamp("query", QUESTION, *INDEX).out.startswith(f"{GREEN} [hall.txt:whole]")
    shown = lamp("--help").out
    assert "  ask " in shown
    assert "  query " not in shown
