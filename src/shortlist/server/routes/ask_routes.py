"""Questions over HTTP; evidence, steps and sentences are sent as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from shortlist._settings import Answers, Settings
from shortlist.answer.agent import agent_ask
from shortlist.answer.ask import ask
from shortlist.answer.memory import Memory
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.protocols import Messages, Reply, StreamingLLM
from shortlist.results import Answer
from shortlist.server.http_errors import responses
from shortlist.server.jobs import Job, JobKind, describe_stream
from shortlist.server.routes.corpora_routes import Shelf
from shortlist.server.routes.schemas import AskBody

MOST_AT_ONCE = 8  # they mostly wait for a language model


class InterruptibleLLM:
    """A model that stops in the middle of a reply when the caller disconnects."""

    def __init__(self, llm: StreamingLLM, check: Callable[[], None]) -> None:
        self._llm = llm
        self._check = check

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        return self.stream(messages, lambda _: None, tools)

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        def forward(piece: str) -> None:
            self._check()
            on_text(piece)

        self._check()
        return self._llm.stream(messages, forward, tools)


def answer_question(corpus: Corpus, body: AskBody, llm: StreamingLLM | None, job: Job, answers: Answers) -> Answer:
    memory = Memory(answers.memory_window_turns)
    for turn in body.history:
        memory.add(turn.question, turn.answer)
    options: dict[str, Any] = {
        "k": body.k or answers.top_k,
        "threshold": answers.threshold if body.threshold is None else body.threshold,
        "filter": body.filter,
        "memory": memory,
        "on_evidence": lambda item: job.send("evidence", item.to_dict()),
        "on_text": lambda text: job.send("text", {"text": text}),
    }
    model = InterruptibleLLM(llm, job.check) if llm else None
    if not body.agent:
        return ask(corpus, body.question, model, **options)
    if model is None:
        raise InputError("An agent needs a language model, and this service has none. Set llm.url and llm.model.")
    options |= {"on_step": lambda step: job.send("step", dict(step)), "max_steps": answers.agent_max_steps}
    return agent_ask(corpus, body.question, model, **options)


def add_ask(app: FastAPI, shelf: Shelf, llm: StreamingLLM | None, settings: Settings) -> JobKind:
    """Add the route; its jobs end with the application."""
    jobs = JobKind(MOST_AT_ONCE, settings.limits.answer_seconds, "limits.answer_seconds")
    events = describe_stream("Answer", evidence="Evidence", step="StepEvent", text="TextEvent")

    @app.post("/v1/corpora/{name:path}/ask", tags=["corpora"], responses=responses(404, 409, 502) | events)
    async def ask_corpus(name: str, body: AskBody, request: Request) -> Response:
        """Answer a question from the documents alone, with every claim cited and every citation verified, or refuse."""

        def work(job: Job) -> dict[str, Any]:
            return answer_question(shelf.corpus(name), body, llm, job, settings.answers).to_dict()

        return await jobs.answer(request, work, stream=body.stream)

    return jobs
