"""Asynchronous answers: those of `ask`, with a model that is awaited."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from shortlist import REFUSAL, LLMError, OpenAIChat, Reply, ScriptedLLM, aask, ask
from shortlist.protocols import AsyncLLM, AsyncStreamingLLM, Messages
from tests.answer.server import completion, failure, serving, streamed

MOONS = {
    "mars.txt": "Mars has two moons, Phobos and Deimos. They were discovered in 1877 by Asaph Hall.",
    "venus.txt": "Venus has no moons. A day on Venus is longer than its year.",
}
QUESTION = "How many moons does Mars have?"
SENTENCE = "Mars has two moons [mars.txt:whole]."


class AsyncScript:
    """A model that can only be awaited."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.threads: list[threading.Thread] = []

    async def acomplete(self, messages: Messages, tools: Messages = ()) -> Reply:
        self.threads.append(threading.current_thread())
        return Reply("".join(self.pieces))

    async def astream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        for piece in self.pieces:
            on_text(piece)
            await asyncio.sleep(0)
        return await self.acomplete(messages, tools)


def test_answers_are_those_of_ask() -> None:
    for llm in (None, ScriptedLLM(SENTENCE)):
        same = None if llm is None else ScriptedLLM(SENTENCE)
        assert asyncio.run(aask(MOONS, QUESTION, llm)).to_dict() == ask(MOONS, QUESTION, same).to_dict()
    assert asyncio.run(aask(MOONS, "Who won the chess final?", ScriptedLLM())).text == REFUSAL


def test_an_asynchronous_model_is_awaited_in_the_event_loop() -> None:
    llm = AsyncScript(SENTENCE)
    assert isinstance(llm, AsyncLLM)
    answer = asyncio.run(aask(MOONS, QUESTION, llm))
    assert (answer.refused, answer.by) == (False, "llm")
    assert llm.threads == [threading.main_thread()]


def test_text_and_evidence_are_passed_on_in_the_event_loop() -> None:
    texts: list[str] = []
    threads: set[threading.Thread] = set()

    def on_text(text: str) -> None:
        texts.append(text)
        threads.add(threading.current_thread())

    evidence: list[str] = []
    llm = AsyncScript(
        "Mars has two ", "moons [mars.txt:whole]. ", "It was settled by Martians in 1990 [mars.txt:whole]."
    )
    answer = asyncio.run(
        aask(MOONS, QUESTION, llm, on_text=on_text, on_evidence=lambda item: evidence.append(item.source))
    )
    assert "".join(texts).strip() == answer.text.strip() == SENTENCE
    assert threads == {threading.main_thread()}
    assert evidence


def test_the_client_of_a_real_endpoint_is_asynchronous() -> None:
    async def run(url: str) -> tuple[Reply, Reply, list[str]]:
        chat = OpenAIChat(url, "small")
        assert isinstance(chat, AsyncStreamingLLM)
        pieces: list[str] = []
        whole = await chat.acomplete([{"role": "user", "content": "Hello?"}])
        return whole, await chat.astream([{"role": "user", "content": "Hello?"}], pieces.append), pieces

    with serving(failure(503, Retry_After="0"), completion("The sky."), streamed("The ", "sky.")) as server:
        whole, parts, pieces = asyncio.run(run(server.url))
    assert whole.text == parts.text == "The sky."
    assert pieces == ["The ", "sky."]
    assert [body.get("stream") for body in server.asked] == [None, None, True]


def test_a_refused_key_is_the_same_error_as_without_async() -> None:
    async def run(url: str) -> None:
        await OpenAIChat(url, "small", "sk-secret").acomplete([{"role": "user", "content": "Hello?"}])

    with serving(failure(401, "no")) as server, pytest.raises(LLMError, match="refuses the key"):
        asyncio.run(run(server.url))
