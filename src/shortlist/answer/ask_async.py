"""Answers to questions for asynchronous programs: the model is awaited, and the rest runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from shortlist._limits import run_in_thread
from shortlist.answer.answer_stream import AnswerStream
from shortlist.answer.ask import (
    OnEvidence,
    OnText,
    conclude_answer,
    find_remote,
    list_turns,
    open_for_question,
    open_stream,
    prepare_question,
    recover_reply,
    request_reply,
)
from shortlist.answer.evidence import K
from shortlist.answer.memory import Memory
from shortlist.errors import LLMError
from shortlist.library.opening import Searchable
from shortlist.protocols import LLM, AsyncLLM, AsyncStreamingLLM, Messages, Reply
from shortlist.results import Answer, Filter, MinRelevance, accept_threshold

Value = TypeVar("Value")


@accept_threshold
async def aask(
    corpus: Searchable,
    question: str,
    llm: LLM | AsyncLLM | None = None,
    *,
    k: int = K,
    min_relevance: MinRelevance = "auto",
    filter: Filter | None = None,
    memory: Memory | None = None,
    on_text: OnText | None = None,
    on_evidence: OnEvidence | None = None,
    answer_from: float | None = None,
    keep_unsupported: bool = False,
) -> Answer:
    """Answer a question as `ask` does, without blocking the event loop; canceling it ends the work.

    A model with `acomplete`, such as OpenAIChat, is awaited; any other one runs in a thread. `on_text` and
    `on_evidence` are called in the event loop.
    """
    show_text, show_evidence = _call_in_loop(on_text), _call_in_loop(on_evidence)
    corpora = await run_in_thread(lambda: open_for_question(corpus, question, llm))
    remote = find_remote(corpora, llm=llm, answer_from=answer_from, keep_unsupported=keep_unsupported or None)
    if remote is not None:  # one without documents counts as false
        return await run_in_thread(
            lambda: remote.ask(
                question,
                k=k,
                min_relevance=min_relevance,
                filter=filter,
                history=list_turns(memory),
                on_text=show_text,
                on_evidence=show_evidence,
            )
        )
    prepared = await run_in_thread(
        lambda: prepare_question(
            corpora,
            question,
            k=k,
            min_relevance=min_relevance,
            filter=filter,
            memory=memory,
            extracts=llm is None,
        )
    )
    prepared.evidence.announce(on_evidence)
    stream = open_stream(prepared, show_text, keep_unsupported=keep_unsupported)
    reply = None
    if llm is not None and prepared.evidence.items:
        reply = await _request_reply(llm, prepared.build_messages(), stream)
    return await run_in_thread(lambda: conclude_answer(prepared, reply, stream, answer_from=answer_from))


async def _request_reply(llm: LLM | AsyncLLM, messages: Messages, stream: AnswerStream) -> Reply:
    if stream.on_text and isinstance(llm, AsyncStreamingLLM):
        try:
            return await _stream_reply(llm, messages, stream)
        except LLMError as error:
            failure = error
        return await run_in_thread(lambda: recover_reply(failure, stream))
    if isinstance(llm, AsyncLLM):
        return await llm.acomplete(messages)
    return await run_in_thread(lambda: request_reply(llm, messages, (), stream))


async def _stream_reply(llm: AsyncStreamingLLM, messages: Messages, stream: AnswerStream) -> Reply:
    """The reply of a model whose pieces are verified in a thread while the next ones are written."""
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    async def verify_pieces() -> None:
        while (piece := await pieces.get()) is not None:
            await run_in_thread(lambda: stream.add(piece))

    verifying = asyncio.create_task(verify_pieces())
    try:
        return await llm.astream(messages, pieces.put_nowait)
    except asyncio.CancelledError:
        verifying.cancel()
        raise
    finally:
        pieces.put_nowait(None)
        await asyncio.wait([verifying])
        if not verifying.cancelled():
            verifying.result()


def _call_in_loop(callback: Callable[[Value], None] | None) -> Callable[[Value], None] | None:
    """A function for other threads that calls this one in the event loop."""
    if callback is None:
        return None
    loop = asyncio.get_running_loop()

    def call(value: Value) -> None:
        loop.call_soon_threadsafe(callback, value)

    return call
