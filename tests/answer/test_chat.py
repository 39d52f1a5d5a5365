"""A conversation: earlier turns are part of the prompt and of the search."""

from __future__ import annotations

import pytest

import shortlist
from shortlist import (
    Chat,
    ScriptedLLM,
)
from tests.answer.test_ask import MOONS


def test_a_chat_tells_the_model_what_was_said_between_the_rules_and_the_question() -> None:
    llm = ScriptedLLM("Mars has two moons [mars.txt:whole].", "Hall did [mars.txt:whole].", "Again [mars.txt:whole].")
    chat = Chat(MOONS, llm)
    chat.ask("How many moons does Mars have?")
    chat.ask("Who discovered them?")
    assert [message["role"] for message in llm.heard[1]] == ["system", "user", "assistant", "user"]
    assert llm.heard[1][1]["content"] == "How many moons does Mars have?"
    assert "mars.txt" in llm.heard[1][3]["content"]
    chat.reset()
    chat.ask("How many moons does Mars have?")
    assert len(llm.heard[2]) == 2


def test_without_a_model_a_follow_up_is_read_with_the_question_before() -> None:
    chat = Chat(MOONS)
    assert "two moons" in chat.ask("How many moons does Mars have?").text
    assert "Asaph Hall" in chat.ask("And who discovered them?").text


@pytest.mark.parametrize("embedder", ["default", "none"])
def test_a_follow_up_of_a_single_word_still_finds_what_it_is_about(embedder: str) -> None:
    llm = ScriptedLLM("Mars has two moons [mars.txt:whole].", "Phobos and Deimos are moons of Mars [mars.txt:whole].")
    chat = Chat(shortlist.build(MOONS, in_memory=True, embedder=embedder), llm)
    chat.ask("How many moons does Mars have?")
    assert not chat.ask("Why?").refused
