"""The routes of the service: valid requests are answered without FastAPI, which describes them and what is invalid."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send

from shortlist.server.http_errors import StrictRequest
from shortlist.server.jobs import JSON
from shortlist.server.routes.schemas import Body


class ServiceRoute(APIRoute):
    """A route that answers HEAD if it answers GET (the server leaves out the body), and takes only strict JSON.

    A coroutine function without parameters returns a response, which is sent as it is. FastAPI, which takes longer
    than some searches to check a request, sees only those whose body is not valid, and describes what is wrong.
    """

    def __init__(self, path: str, *arguments: Any, **options: Any) -> None:
        super().__init__(path, *arguments, **options)
        self._start, self._end = path.partition("{")[0], path.rpartition("}")[2]  # of every path that matches
        self._checked = self.app
        if not inspect.iscoroutinefunction(self.endpoint) or self.dependencies:
            return
        if body := _find_body(self.endpoint, path):
            self.app = partial(self._answer_if_valid, body)
        elif not inspect.signature(self.endpoint).parameters:
            self.app = self._answer

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response = await self.endpoint()
        await response(scope, receive, send)

    async def _answer_if_valid(self, model: type[Body], scope: Scope, receive: Receive, send: Send) -> None:
        request, text = StrictRequest(scope, receive), None
        try:
            text = await request.body()
            is_json = request.headers.get("content-type", "").partition(";")[0].strip().lower() == JSON
            body = model.model_validate(await request.json()) if is_json else None
        except HTTPException:
            raise
        except Exception:
            body = None
        if body is None:
            await self._checked(scope, _receive_again(text, receive), send)
            return
        response: Response = await self.endpoint(**scope["path_params"], body=body)
        await response(scope, receive, send)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"]
        if not (scope.get("root_path") or (path.startswith(self._start) and path.endswith(self._end))):
            return Match.NONE, {}
        match, child_scope = super().matches(scope)
        return Match.FULL if match is Match.PARTIAL and self._is_head(scope) else match, child_scope

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.app if self._is_head(scope) else super().handle)(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["method"] == "HEAD" and "GET" in (self.methods or ())


def _find_body(endpoint: Callable[..., Any], path: str) -> type[Body] | None:
    """The type of the parameter `body` of a function whose other parameters are parts of the path."""
    others = inspect.signature(endpoint).parameters.keys() - {"body"}
    kind = get_type_hints(endpoint).get("body")
    is_body = isinstance(kind, type) and issubclass(kind, Body)
    return kind if is_body and all(f"{{{name}:path}}" in path for name in others) else None


def _receive_again(body: bytes | None, receive: Receive) -> Receive:
    """What receives a body that was read, before all else."""
    messages = iter(() if body is None else [{"type": "http.request", "body": body, "more_body": False}])

    async def receive_next() -> Message:
        return next(messages, None) or await receive()

    return receive_next
