"""How is a question answered over HTTP? By the library; evidence, steps and sentences are told as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from shortlist.answer.agent import agent_ask
from shortlist.answer.ask import ask
from shortlist.answer.memory import Memory
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.protocols import Messages, Reply, StreamingLLM
from shortlist.results import Answer
from shortlist.server.http_errors import responses
from shortlist.server.jobs import Underway, answered, streamed
from shortlist.server.routes import schemas
from shortlist.server.routes.corpora_routes import Shelf
from shortlist.server.service_settings import Answers, Settings
from shortlist.server.workers import Workers

ASK = "/v1/corpora/{name:path}/ask"


class Interruptible:
    """A model that stops in the middle of a reply if nobody waits for it."""

    def __init__(self, llm: StreamingLLM, check: Callable[[], None]) -> None:
        self._llm = llm
        self._check = check

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        return self.stream(messages, lambda _: None, tools)

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        def heard(piece: str) -> None:
            self._check()
            on_text(piece)

        self._check()
        return self._llm.stream(messages, heard, tools)


def asked(
    corpus: Corpus, body: schemas.AskBody, llm: StreamingLLM | None, underway: Underway, answers: Answers
) -> Answer:
    """The answer of the library, told as it comes."""
    memory = Memory(answers.memory_window_turns)
    for turn in body.history:
        memory.add(turn.question, turn.answer)
    options: dict[str, Any] = {
        "k": body.k or answers.top_k,
        "threshold": answers.threshold if body.threshold is None else body.threshold,
        "filter": body.filter,
        "memory": memory,
        "on_evidence": lambda item: underway.tell("evidence", item.to_dict()),
        "on_text": lambda text: underway.tell("text", {"text": text}),
    }
    model = Interruptible(llm, underway.check) if llm else None
    if not body.agent:
        return ask(corpus, body.question, model, **options)
    if model is None:
        raise InputError("This service has no language model, which an agent needs: set llm.url and llm.model for it.")
    return agent_ask(
        corpus,
        body.question,
        model,
        **options,
        on_step=lambda step: underway.tell("step", dict(step)),
        max_steps=answers.agent_max_steps,
    )


def add_ask(app: FastAPI, shelf: Shelf, workers: Workers, llm: StreamingLLM | None, settings: Settings) -> None:
    @app.post(
        ASK,
        response_model=schemas.Answered,
        tags=["corpora"],
        responses=responses(404, 409, 502)
        | streamed(schemas.Answered, evidence=schemas.EvidenceRow, step=schemas.StepEvent, text=schemas.TextEvent),
    )
    async def ask_corpus(name: str, body: schemas.AskBody, request: Request) -> Response:
        """Answer a question from the documents alone: every claim cited, every citation verified, or the refusal."""
        return await answered(
            request,
            workers.answer,
            lambda underway: asked(shelf.corpus(name), body, llm, underway, settings.answers).to_dict(),
            stream=body.stream,
            seconds=settings.limits.answer_seconds,
            limit_of="limits.answer_seconds",
        )
