"""How is a question answered over HTTP? As JSON, or told while it is answered, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.answer.agent import agent_ask
from shortlist.answer.ask import ask
from shortlist.answer.memory import Memory
from shortlist.errors import InputError, ShortlistError
from shortlist.index.corpus import Corpus
from shortlist.serve import shapes
from shortlist.serve.guard import EXTEND
from shortlist.serve.problems import problem, responses, status_of
from shortlist.serve.settings import Limits
from shortlist.serve.v1 import Shelf
from shortlist.serve.workers import Workers, answer
from shortlist.types import Answer, Messages, Reply, StreamingLLM

ASK = "/v1/corpora/{name:path}/ask"
EVENTS = "text/event-stream"
QUIET_SECONDS = 10.0  # after which a comment is sent, so that nothing on the way takes the connection for dead
STREAMED = {
    "description": "The answer or, if events are asked for, what becomes of it: evidence, step, text, answer, error.",
    "content": {EVENTS: {"schema": {"type": "string"}}},
}

Event = tuple[str, dict[str, Any]]


class Left(Exception):
    """Nobody waits for the answer any more."""


class Underway:
    """An answer under way: a thread tells what it comes to, and the event loop hears it."""

    def __init__(self, workers: Workers, work: Callable[[Underway], Answer], receive: Receive) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._is_over = threading.Event()
        self._work = work
        self._waiting = workers.answer(self._run)
        self._watch = asyncio.create_task(self._watched(receive))

    async def hear(self) -> Event:
        """What comes next; the last is the answer. What went wrong is raised."""
        told = await self._told.get()
        if isinstance(told, Exception):
            raise told
        return told

    def end(self) -> None:
        """Let the work end at the next thing that it would tell, or not begin."""
        self._is_over.set()
        self._waiting.cancel()
        self._watch.cancel()

    async def _watched(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_over.set()
        self._told.put_nowait(Left())

    # In the thread

    def check(self) -> None:
        if self._is_over.is_set():
            raise Left

    def tell(self, name: str, data: dict[str, Any]) -> None:
        self.check()
        self._put((name, data))

    def _put(self, item: Event | Exception) -> None:
        self._loop.call_soon_threadsafe(self._told.put_nowait, item)

    def _run(self) -> None:
        try:
            self.tell("answer", self._work(self).to_dict())
        except Left:
            pass
        except Exception as error:
            self._put(error)


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


def answered(corpus: Corpus, body: shapes.AskBody, llm: StreamingLLM | None, underway: Underway) -> Answer:
    """The answer of the library, told as it comes."""
    memory = Memory()
    for turn in body.history:
        memory.add(turn.question, turn.answer)
    options: dict[str, Any] = {
        **body.model_dump(include={"k", "threshold", "filter"}),
        "memory": memory,
        "on_evidence": lambda item: underway.tell("evidence", item.to_dict()),
        "on_text": lambda text: underway.tell("text", {"text": text}),
    }
    model = Interruptible(llm, underway.check) if llm else None
    if not body.agent:
        return ask(corpus, body.question, model, **options)
    if model is None:
        raise InputError("This service has no language model, which an agent needs: set llm.url and llm.model for it.")
    return agent_ask(corpus, body.question, model, **options, on_step=lambda step: underway.tell("step", dict(step)))


class Events(Response):
    """Server-sent events until there is the answer, something goes wrong, nobody listens, or time is up."""

    def __init__(self, underway: Underway, first: Event, limit: float, seconds: float) -> None:
        super().__init__(headers={"Content-Type": EVENTS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._underway, self._first = underway, first
        self._limit, self._seconds = limit, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def write(piece: bytes, *, is_last: bool = False) -> None:
            await send({"type": "http.response.body", "body": piece, "more_body": not is_last})

        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with asyncio.timeout_at(self._limit):
                name, data = self._first
                await write(_event(name, data))
                while name != "answer":
                    try:
                        name, data = await asyncio.wait_for(self._underway.hear(), QUIET_SECONDS)
                        await write(_event(name, data))
                    except TimeoutError:
                        await write(b": one moment\n\n")
            await write(b"", is_last=True)
        except Left:
            pass
        except TimeoutError:
            await write(_failed(scope, 503, _too_long(self._seconds)), is_last=True)
        except ShortlistError as error:
            await write(_failed(scope, status_of(error), str(error)), is_last=True)
        except Exception:
            await write(_failed(scope, 500, "Something unexpected went wrong. The log tells more."), is_last=True)
            raise
        finally:
            self._underway.end()


def _event(name: str, data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


def _failed(scope: Scope, status: int, detail: str) -> bytes:
    return _event("error", json.loads(bytes(problem(scope, status, detail).body)))


def _too_long(seconds: float) -> str:
    return f"The answer took longer than {seconds:g} seconds (limits.answer_seconds)."


def add_ask(app: FastAPI, shelf: Shelf, workers: Workers, llm: StreamingLLM | None, limits: Limits) -> None:
    seconds = limits.answer_seconds

    @app.post(
        ASK,
        response_model=shapes.Answered,
        tags=["corpora"],
        responses=responses(404, 409, 502) | {200: STREAMED},
    )
    async def ask_corpus(name: str, body: shapes.AskBody, request: Request) -> Response:
        """Answer a question from the documents alone: every claim cited, every citation verified, or the refusal."""
        limit = asyncio.get_running_loop().time() + seconds
        request.scope[EXTEND](seconds)
        underway = Underway(workers, lambda it: answered(shelf.corpus(name), body, llm, it), request.receive)
        begun = False
        try:
            async with asyncio.timeout_at(limit):
                event, data = await underway.hear()
                if body.stream or EVENTS in request.headers.get("accept", ""):
                    begun = True
                    return Events(underway, (event, data), limit, seconds)
                while event != "answer":
                    event, data = await underway.hear()
                return answer(data)
        except Left:
            return Response(status_code=499)  # as the log has it; nobody reads it
        except TimeoutError:
            raise HTTPException(503, _too_long(seconds)) from None
        finally:
            if not begun:
                underway.end()
