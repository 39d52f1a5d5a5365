"""Work outside of the event loop: in thread pools, or as long-running jobs that stream server-sent events.

The stream is Starlette's: an SSE package would need the same code around it, for the status of a failure before the
first event, the time limit, and the disconnect of a caller that waits for JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from pydantic_core import PydanticSerializationError
from pydantic_core import to_json as to_quick_json
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope

from shortlist._limits import Canceled, cancelable, check_canceled
from shortlist._paths import describe_os_error
from shortlist.errors import ShortlistError
from shortlist.safety.principals import show_sources
from shortlist.server.http_errors import describe_responses, make_error_problem, make_problem
from shortlist.server.middleware import EXTEND, Disconnected, wait_while_connected

log = logging.getLogger("shortlist.serve")

# More threads than this compete for the interpreter more than they work.
SHORT = "short"  # work of about a millisecond, which does not wait for other reads
READ = "read"
WRITE = "write"
THREADS = {SHORT: 2, READ: 4, WRITE: 1}
JSON = "application/json"
EVENTS = "text/event-stream"
LAST = "answer"  # the last event
HEADERS = {"Content-Type": EVENTS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
QUIET_SECONDS = 10.0  # after which a comment is sent, so that no proxy closes the connection
CLOSE_SECONDS = 1.0  # that jobs get to end with the service; a model may take minutes for its next word

T = TypeVar("T")
Func = TypeVar("Func", bound=Callable[..., Any])
Event = tuple[str, bytes]
Work = Callable[["Job"], dict[str, Any]]


class Endpoints:
    """Adds routes to an application. Their functions return plain data, which is sent as JSON, or a response."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._pools = {name: ThreadPoolExecutor(count, f"shortlist-{name}") for name, count in THREADS.items()}

    def add(self, operation: str, answer: str, *failures: int, tag: str, pool: str = "") -> Callable[[Func], Func]:
        """Decorator for the function of an operation, such as "GET /status".

        `answer` is the schema of its answer, `failures` are the statuses of its errors. By default GET only reads.
        A coroutine function runs in the event loop, and returns a response.
        """
        method, path = operation.split()
        threads = pool or (READ if method == "GET" else WRITE)

        def decorate(work: Func) -> Func:
            @functools.wraps(work)
            async def endpoint(**arguments: Any) -> Response:
                return await self.run(threads, functools.partial(work, **arguments))

            options: Any = {
                "methods": [method],
                "tags": [tag],
                "responses": describe_responses(*failures, answer=answer),
            }
            function = work if inspect.iscoroutinefunction(work) else endpoint
            self.app.add_api_route(path, function, response_model=None, **options)
            return work

        return decorate

    async def run(self, pool: str, work: Callable[[], Any]) -> Response:
        """Run the work in a thread and send its result.

        Work that changes nothing ends if the request is canceled, takes too long, or its caller disconnects.
        """
        is_canceled = threading.Event()

        def respond() -> Response:
            with cancelable(is_canceled) if pool != WRITE else contextlib.nullcontext():
                check_canceled()
                result = work()
            return result if isinstance(result, Response) else Response(to_json(result), media_type=JSON)

        loop, run = asyncio.get_running_loop(), contextvars.copy_context().run
        response = loop.run_in_executor(self._pools[pool], run, respond)
        if pool == WRITE:
            return await response
        try:
            return await respond_while_connected(response, lambda response: response)
        finally:
            is_canceled.set()

    def close(self) -> None:
        """Wait for running work to end."""
        for pool in self._pools.values():
            pool.shutdown()


async def respond_while_connected(work: asyncio.Future[T], make: Callable[[T], Response]) -> Response:
    """The response to the current request from the result of its work, which is canceled if the caller disconnects."""
    try:
        return make(await wait_while_connected(work))
    except Disconnected:
        return Response(status_code=499)  # for the log


def to_json(data: Any) -> bytes:
    """The data as JSON for the current caller; halves of surrogate pairs are replaced, and infinity is an error."""
    data = show_sources(data)
    with contextlib.suppress(PydanticSerializationError):
        quick = to_quick_json(data)
        if b"NaN" not in quick and b"Infinity" not in quick:
            return quick
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


class Job:
    """Work in its own thread, and the events that it sends to the event loop."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self.is_over = threading.Event()  # if set, the work ends at its next check, or does not start
        self._loop = asyncio.get_running_loop()

    # In the thread

    def send(self, name: str, data: dict[str, Any]) -> None:
        check_canceled()
        self._call(self.events.put_nowait, (name, to_json(data)))

    def run(self, work: Work, ended: asyncio.Event) -> None:
        try:
            with cancelable(self.is_over):
                self.send(LAST, work(self))
        except Canceled:
            pass
        except Exception as error:
            self._call(self.events.put_nowait, error)
        finally:
            self._call(ended.set)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)


class JobKind:
    """Jobs of one kind, a limited number at a time; their time limit and the setting that it comes from."""

    def __init__(self, most: int, seconds: float, setting: str) -> None:
        self._slots = asyncio.Semaphore(most)
        self._running: set[asyncio.Task[None]] = set()
        self._seconds = seconds
        self._too_slow = f"The answer took longer than {seconds:g} seconds ({setting})."

    async def answer(self, request: Request, work: Work, *, stream: bool) -> Response:
        """The answer of the work, or a stream of its events if that is requested."""
        request.scope[EXTEND](self._seconds)
        events = self._run(work, request.receive)
        is_streamed = stream or EVENTS in request.headers.get("accept", "")
        try:
            async for event in events:
                if event and is_streamed:
                    return StreamingResponse(_stream(event, events, request.scope), headers=HEADERS)
                if event and event[0] == LAST:
                    return Response(event[1], media_type=JSON)
        except Disconnected:
            pass
        return Response(status_code=499)  # for the log

    async def _run(self, work: Work, receive: Receive) -> AsyncIterator[Event | None]:
        """The events of the work until its answer; None whenever there was no event for a while."""
        job, now = Job(), asyncio.get_running_loop().time
        limit, name = now() + self._seconds, ""
        running = asyncio.create_task(self._run_in_thread(job, work))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        watching = asyncio.create_task(_wait_for_disconnect(job, receive))
        try:
            while name != LAST:
                if now() >= limit:
                    raise HTTPException(503, self._too_slow)
                try:
                    event = await asyncio.wait_for(job.events.get(), min(QUIET_SECONDS, limit - now()))
                except TimeoutError:
                    yield None
                    continue
                if isinstance(event, Exception):
                    raise event
                name = event[0]
                yield event
        finally:
            job.is_over.set()
            watching.cancel()

    async def _run_in_thread(self, job: Job, work: Work) -> None:
        async with self._slots:
            if not job.is_over.is_set():
                ended = asyncio.Event()
                run = contextvars.copy_context().run
                threading.Thread(target=run, args=(job.run, work, ended), daemon=True).start()
                await ended.wait()

    async def close(self) -> None:
        """Give running jobs a moment to end."""
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_SECONDS)


async def _wait_for_disconnect(job: Job, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    job.is_over.set()
    job.events.put_nowait(Disconnected())


async def _stream(first: Event, events: AsyncIterator[Event | None], scope: Scope) -> AsyncIterator[bytes]:
    """Events until the answer, a failure or the end of the connection."""
    try:
        yield _to_event(*first)
        async for event in events:
            yield _to_event(*event) if event else b": waiting\n\n"
        return
    except Disconnected:
        return
    except HTTPException as error:
        failure = make_problem(scope, error.status_code, error.detail)
    except ShortlistError as error:
        failure = make_error_problem(scope, error)
    except OSError as error:
        log.error("%s", error)
        failure = make_problem(scope, 503, describe_os_error(error))
    except Exception:
        log.exception("A job failed.")
        failure = make_problem(scope, 500, "An unexpected error occurred. The log of the service has the details.")
    yield _to_event("error", to_json(json.loads(bytes(failure.body))))


def _to_event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def describe_stream(answer: str, **events: str) -> dict[int | str, dict[str, Any]]:
    """The 200 response of an operation that can stream events, for the OpenAPI document: each event and its data."""
    schemas = {name: {"$ref": f"#/components/schemas/{schema}"} for name, schema in events.items()}
    schemas |= {LAST: {"$ref": f"#/components/schemas/{answer}"}, "error": {"$ref": "#/components/schemas/Problem"}}
    items = []
    for name, schema in schemas.items():
        data = {"type": "string", "contentMediaType": JSON, "contentSchema": schema}
        properties = {"event": {"const": name}, "data": data}
        items.append({"type": "object", "properties": properties, "required": ["event", "data"]})
    content = {JSON: {"schema": schemas[LAST]}, EVENTS: {"itemSchema": {"oneOf": items}}}
    return {200: {"description": f"The answer or, on request, its events: {', '.join(schemas)}.", "content": content}}
