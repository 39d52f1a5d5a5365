"""Routes whose functions run in threads, so that the event loop never waits; changes are made one after another."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from shortlist.server.http_errors import responses

# More threads than this compete for the interpreter more than they work.
THREADS = {"retrieve": 2, "read": 4, "write": 1}
JSON = "application/json"

Work = TypeVar("Work", bound=Callable[..., Any])


class Endpoints:
    """Adds routes to an application. Their functions return plain data, which is sent as JSON, or a response."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self._pools = {name: ThreadPoolExecutor(count, f"shortlist-{name}") for name, count in THREADS.items()}

    def add(self, operation: str, answer: str, *failures: int, tag: str, pool: str = "") -> Callable[[Work], Work]:
        """Decorator for the function of an operation, such as "GET /status".

        `answer` is the schema of its answer, `failures` are the statuses of its errors. By default GET only reads.
        """
        method, path = operation.split()
        threads = pool or ("read" if method == "GET" else "write")

        def decorate(work: Work) -> Work:
            @functools.wraps(work)
            async def endpoint(**arguments: Any) -> Response:
                return await self.run(threads, functools.partial(work, **arguments))

            options: Any = {"methods": [method], "tags": [tag], "responses": responses(*failures, answer=answer)}
            self.app.add_api_route(path, endpoint, response_model=None, **options)
            return work

        return decorate

    async def run(self, pool: str, work: Callable[[], Any]) -> Response:
        """Run the work in a thread and send its result."""

        def respond() -> Response:
            result = work()
            return result if isinstance(result, Response) else Response(to_json(result), media_type=JSON)

        return await asyncio.get_running_loop().run_in_executor(self._pools[pool], respond)

    def close(self) -> None:
        """Wait for running work to end."""
        for pool in self._pools.values():
            pool.shutdown()


class HeadRoute(APIRoute):
    """A route that answers HEAD if it answers GET; the server leaves out the body."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return Match.FULL if match is Match.PARTIAL and self._is_head(scope) else match, child_scope

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.app if self._is_head(scope) else super().handle)(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["method"] == "HEAD" and "GET" in (self.methods or ())


def to_json(data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
