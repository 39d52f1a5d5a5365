"""Work that takes a while, answered as JSON or as server-sent events while it runs.

The stream is Starlette's: a package for events would need the same code around it, for the status of a failure before
the first event, the time limit and the disconnect of a caller who waits for JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope

from shortlist.errors import ShortlistError
from shortlist.server.access_control import EXTEND
from shortlist.server.http_errors import problem, problem_of
from shortlist.server.workers import JSON, as_json

log = logging.getLogger("shortlist.serve")

EVENTS = "text/event-stream"
LAST = "answer"  # the last event
HEADERS = {"Content-Type": EVENTS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
QUIET_SECONDS = 10.0  # after which a comment is sent, so that no proxy takes the connection for dead
PATIENCE = 1.0  # seconds that jobs get to end with the service; a model may take minutes for its next word

Event = tuple[str, bytes]
Work = Callable[["Job"], dict[str, Any]]


class Left(Exception):
    """The caller does not wait for the answer any more."""


class Job:
    """Work in a thread of its own, and the events that it sends to the event loop."""

    def __init__(self, kind: JobKind, work: Work, receive: Receive) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._is_over = threading.Event()
        self._has_ended = asyncio.Event()
        self._work = work
        self._watch = asyncio.create_task(self._wait_for_disconnect(receive))
        running = asyncio.create_task(self._run(kind.slots))
        kind.running.add(running)
        running.add_done_callback(kind.running.discard)

    async def next_event(self) -> Event:
        """The next event; the last is the answer. A failure of the work is raised."""
        event = await self._events.get()
        if isinstance(event, Exception):
            raise event
        return event

    def end(self) -> None:
        """Let the work end at its next event, or not begin."""
        self._is_over.set()
        self._watch.cancel()

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_over.set()
        self._events.put_nowait(Left())

    async def _run(self, slots: asyncio.Semaphore) -> None:
        async with slots:
            if not self._is_over.is_set():
                threading.Thread(target=self._run_in_thread, daemon=True).start()
                await self._has_ended.wait()

    # In the thread

    def check(self) -> None:
        if self._is_over.is_set():
            raise Left

    def send(self, name: str, data: dict[str, Any]) -> None:
        self.check()
        self._call(self._events.put_nowait, (name, as_json(data)))

    def _run_in_thread(self) -> None:
        try:
            self.send(LAST, self._work(self))
        except Left:
            pass
        except Exception as error:
            self._call(self._events.put_nowait, error)
        finally:
            self._call(self._has_ended.set)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)


class JobKind:
    """Jobs of one kind, of which some run at a time; their time limit and the setting that it comes from."""

    def __init__(self, most: int, seconds: float, setting: str) -> None:
        self.slots = asyncio.Semaphore(most)
        self.running: set[asyncio.Task[None]] = set()
        self.seconds = seconds
        self._too_long = f"The answer took longer than {seconds:g} seconds ({setting})."

    async def answer(self, request: Request, work: Work, *, stream: bool) -> Response:
        """The answer of the work, or its events if they are asked for."""
        limit = asyncio.get_running_loop().time() + self.seconds
        request.scope[EXTEND](self.seconds)
        job = Job(self, work, request.receive)
        is_streaming = False
        try:
            async with asyncio.timeout_at(limit):
                name, data = await job.next_event()
                if stream or EVENTS in request.headers.get("accept", ""):
                    is_streaming = True
                    return StreamingResponse(self._stream(job, (name, data), limit, request.scope), headers=HEADERS)
                while name != LAST:
                    name, data = await job.next_event()
                return Response(data, media_type=JSON)
        except Left:
            return Response(status_code=499)  # for the log
        except TimeoutError:
            raise HTTPException(503, self._too_long) from None
        finally:
            if not is_streaming:
                job.end()

    async def _stream(self, job: Job, event: Event, limit: float, scope: Scope) -> AsyncIterator[bytes]:
        """Events until the answer, a failure, the end of the connection or of the time."""
        now = asyncio.get_running_loop().time
        failure: Response | None = None
        try:
            yield _as_event(*event)
            while event[0] != LAST:
                try:
                    event = await asyncio.wait_for(job.next_event(), max(0, min(QUIET_SECONDS, limit - now())))
                    yield _as_event(*event)
                except TimeoutError:
                    if now() >= limit:
                        raise
                    yield b": one moment\n\n"
        except Left:
            pass
        except TimeoutError:
            failure = problem(scope, 503, self._too_long)
        except ShortlistError as error:
            failure = problem_of(scope, error)
        except Exception:
            log.exception("A job failed.")
            failure = problem(scope, 500, "Something unexpected went wrong. The log has the details.")
        finally:
            job.end()
        if failure:
            yield _as_event("error", as_json(json.loads(bytes(failure.body))))

    async def close(self) -> None:
        """Give what is running a moment to end."""
        if self.running:
            await asyncio.wait(self.running, timeout=PATIENCE)


def _as_event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def describe_stream(answer: str, **events: str) -> dict[int | str, dict[str, Any]]:
    """The 200 response of an operation that can stream events, for the OpenAPI document: each event and its data."""

    def refer(model: str) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/{model}"}

    models = events | {LAST: answer, "error": "Problem"}
    data = {name: {"type": "string", "contentMediaType": JSON, "contentSchema": refer(models[name])} for name in models}
    schemas = [
        {"type": "object", "properties": {"event": {"const": name}, "data": data[name]}, "required": ["event", "data"]}
        for name in models
    ]
    content = {JSON: {"schema": refer(answer)}, EVENTS: {"itemSchema": {"oneOf": schemas}}}
    return {200: {"description": f"The answer or, if asked for, its events: {', '.join(models)}.", "content": content}}
