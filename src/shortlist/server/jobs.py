"""How is work answered that takes a while? As JSON, or told while it is done, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.errors import ShortlistError
from shortlist.server.access_control import EXTEND
from shortlist.server.http_errors import problem, problem_of
from shortlist.server.workers import JSON, Work, as_json

EVENTS = "text/event-stream"
LAST = "answer"  # the event after which nothing comes
QUIET_SECONDS = 10.0  # after which a comment is sent, so that nothing on the way takes the connection for dead

Event = tuple[str, bytes]
Do = Callable[[Work], "asyncio.Future[Any]"]


class Left(Exception):
    """Nobody waits for the answer any more."""


class Underway:
    """Work under way: a thread tells what it comes to, and the event loop hears it."""

    def __init__(self, do: Do, work: Callable[[Underway], dict[str, Any]], receive: Receive) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._is_over = threading.Event()
        self._work = work
        self._waiting = do(self._run)
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
        self._put((name, as_json(data)))

    def _put(self, item: Event | Exception) -> None:
        self._loop.call_soon_threadsafe(self._told.put_nowait, item)

    def _run(self) -> None:
        try:
            self.tell(LAST, self._work(self))
        except Left:
            pass
        except Exception as error:
            self._put(error)


async def answered(
    request: Request,
    do: Do,
    work: Callable[[Underway], dict[str, Any]],
    *,
    stream: bool,
    seconds: float,
    limit_of: str,
) -> Response:
    """What the work comes to within some seconds, or all that it tells if that is asked for."""
    limit = asyncio.get_running_loop().time() + seconds
    too_long = f"The answer took longer than {seconds:g} seconds ({limit_of})."
    request.scope[EXTEND](seconds)
    underway = Underway(do, work, request.receive)
    begun = False
    try:
        async with asyncio.timeout_at(limit):
            name, data = await underway.hear()
            if stream or EVENTS in request.headers.get("accept", ""):
                begun = True
                return _Events(underway, (name, data), limit, too_long)
            while name != LAST:
                name, data = await underway.hear()
            return Response(data, media_type=JSON)
    except Left:
        return Response(status_code=499)  # as the log has it; nobody reads it
    except TimeoutError:
        raise HTTPException(503, too_long) from None
    finally:
        if not begun:
            underway.end()


class _Events(Response):
    """Server-sent events until there is the answer, something goes wrong, nobody listens, or time is up."""

    def __init__(self, underway: Underway, first: Event, limit: float, too_long: str) -> None:
        super().__init__(headers={"Content-Type": EVENTS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._underway, self._first = underway, first
        self._limit, self._too_long = limit, too_long

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def write(piece: bytes, *, is_last: bool = False) -> None:
            await send({"type": "http.response.body", "body": piece, "more_body": not is_last})

        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with asyncio.timeout_at(self._limit):
                name, data = self._first
                await write(_event(name, data))
                while name != LAST:
                    try:
                        name, data = await asyncio.wait_for(self._underway.hear(), QUIET_SECONDS)
                        await write(_event(name, data))
                    except TimeoutError:
                        await write(b": one moment\n\n")
            await write(b"", is_last=True)
        except Left:
            pass
        except TimeoutError:
            await write(_failed(problem(scope, 503, self._too_long)), is_last=True)
        except ShortlistError as error:
            await write(_failed(problem_of(scope, error)), is_last=True)
        except Exception:
            unexpected = problem(scope, 500, "Something unexpected went wrong. The log tells more.")
            await write(_failed(unexpected), is_last=True)
            raise
        finally:
            self._underway.end()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def _failed(told: Response) -> bytes:
    return _event("error", as_json(json.loads(bytes(told.body))))


def streamed(answer: type[BaseModel], **events: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The 200 response of an operation that can stream events, for the OpenAPI document: each event and its data."""
    data = {name: model.__name__ for name, model in events.items()} | {LAST: answer.__name__, "error": "Problem"}
    schema = {"oneOf": [_event_schema(name, model) for name, model in data.items()]}
    description = f"The answer or, if events are asked for, what becomes of it: {', '.join(data)}."
    return {200: {"description": description, "content": {EVENTS: {"itemSchema": schema}}}}


def _event_schema(name: str, model: str) -> dict[str, Any]:
    content = {"$ref": f"#/components/schemas/{model}"}
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": content}
    return {
        "type": "object",
        "properties": {"event": {"const": name}, "data": data},
        "required": ["event", "data"],
    }
