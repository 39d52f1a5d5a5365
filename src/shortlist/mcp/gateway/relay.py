"""Relays elicitation, sampling, logging and roots between clients and the servers behind the gateway.

Since 2026, the protocol has no requests from a server to a client: a question is the result of the client's request,
which the client then sends again with the answer. An `Exchange` translates: to the server behind the gateway, it is one
request that takes a while. Imports the SDK.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast, get_args

import mcp_types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    LOG_LEVEL_META_KEY,
    ErrorData,
    InputRequiredResult,
    ListRootsResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    RequestId,
    Root,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from shortlist.errors import InputError
from shortlist.mcp.gateway.client_link import SESSION_HEADER, Roots

ANSWER_SECONDS = 600.0  # for a person or a model to answer a question of a server
MOST_EXCHANGES = 100  # that wait for their clients

Answer = Any  # a result of the SDK, or an ErrorData


class Caller:
    """A request of a client while it is answered. Servers report to it and ask it; `key` tells clients apart."""

    def __init__(self, context: ServerRequestContext[Any, Any], key: str) -> None:
        self.context, self.key = context, key

    @property
    def wants_progress(self) -> bool:
        return "progress_token" in (self.context.meta or {})

    @property
    def level(self) -> LoggingLevel | None:
        """The least severe log messages that the request asks for, since 2026."""
        return cast("LoggingLevel | None", (self.context.meta or {}).get(LOG_LEVEL_META_KEY))

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        await self.context.session.report_progress(progress, total, message)

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        if not is_modern(self.context) or (self.level and is_as_severe(params.level, self.level)):
            await send_log(self.context.session, params, self.context.request_id)

    async def ask(self, request: Any) -> Answer:
        """The answer of the client to a request of a server."""
        kinds: dict[str, Any] = {
            "elicitation/create": mcp_types.ElicitResult,
            "roots/list": mcp_types.ListRootsResult,
            "sampling/createMessage": mcp_types.CreateMessageResultWithTools
            if getattr(request.params, "tools", None)
            else mcp_types.CreateMessageResult,
        }
        related = ServerMessageMetadata(related_request_id=self.context.request_id)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.context.session.send_request(request, kinds[request.method], metadata=related)
        except MCPError as error:
            return error.error
        except TimeoutError:
            return refuse(f"The client did not answer within {ANSWER_SECONDS:g} seconds.")


class Exchange(Caller):
    """A request that its client sends again and again, each time with answers, until the result is there."""

    def __init__(self, context: ServerRequestContext[Any, Any], key: str) -> None:
        super().__init__(context, key)
        self.questions: dict[str, tuple[Any, asyncio.Future[Answer]]] = {}
        self._is_asked = asyncio.Event()
        self._numbers = itertools.count(1)
        self.work: asyncio.Task[Any] | None = None

    async def ask(self, request: Any) -> Answer:
        name = f"question-{next(self._numbers)}"
        self.questions[name] = request, asyncio.get_running_loop().create_future()
        self._is_asked.set()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.questions[name][1]
        except TimeoutError:
            return refuse(f"The client did not answer within {ANSWER_SECONDS:g} seconds.")
        finally:
            del self.questions[name]

    def answer(self, answers: dict[str, Answer]) -> None:
        for name, (_, future) in self.questions.items():
            if name in answers and not future.done():
                future.set_result(answers[name])

    async def wait(self) -> dict[str, Any]:
        """The questions that are open, once there are any or the work is done."""
        assert self.work
        self._is_asked.clear()
        if not self._list_open():
            asked = asyncio.create_task(self._is_asked.wait())
            try:
                await asyncio.wait({self.work, asked}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                asked.cancel()
        return self._list_open()

    def _list_open(self) -> dict[str, Any]:
        return {name: request for name, (request, future) in self.questions.items() if not future.done()}


class Exchanges:
    """The exchanges that wait for their clients, by a state that no one can guess."""

    def __init__(self) -> None:
        self._waiting: dict[str, Exchange] = {}

    async def run(
        self, context: ServerRequestContext[Any, Any], params: Any, work: Callable[[], Awaitable[Any]]
    ) -> Any:
        """The result of the work for a request, during which servers may ask the client."""
        if not is_modern(context):
            current_caller.set(Caller(context, key_of(context)))
            return await work()
        exchange = self._waiting.pop(params.request_state or "", None)
        if exchange is None and params.request_state:
            raise InputError("The request to which this answer belongs is over. Start again.")
        if exchange is None:
            exchange = Exchange(context, key_of(context))
            current_caller.set(exchange)
            exchange.work = asyncio.ensure_future(work())
        exchange.context = context
        exchange.answer(params.input_responses or {})
        assert exchange.work
        try:
            questions = await exchange.wait()
        except asyncio.CancelledError:
            exchange.work.cancel()
            raise
        if exchange.work.done():
            return exchange.work.result()
        state = secrets.token_urlsafe(16)
        self._waiting[state] = exchange
        while len(self._waiting) > MOST_EXCHANGES:
            self._stop(next(iter(self._waiting)))
        return InputRequiredResult(input_requests=questions, request_state=state)

    def _stop(self, state: str) -> None:
        work = self._waiting.pop(state).work
        if work:
            work.cancel()

    def close(self) -> None:
        for state in list(self._waiting):
            self._stop(state)


current_caller: ContextVar[Caller | None] = ContextVar("current_caller", default=None)


def key_of(context: ServerRequestContext[Any, Any]) -> str:
    """A word for the client of a request: empty over stdio, else its session, or only this request if it has none."""
    if context.request is None:
        return ""
    session, client = context.request.headers.get(SESSION_HEADER), context.request.client
    return f"session {client.host if client else ''} {session}" if session else f"request {secrets.token_hex(8)}"


def request_roots(roots: Roots, session: ServerSession, request_id: RequestId | None = None) -> None:
    """Ask the client for its roots, if it has any and accepts requests, in the stream of a request if one is given."""
    related = None if request_id is None else ServerMessageMetadata(related_request_id=request_id)

    async def read() -> list[Root]:
        return (await session.send_request(mcp_types.ListRootsRequest(), ListRootsResult, metadata=related)).roots

    capabilities = session.client_capabilities
    if capabilities and capabilities.roots and session.can_send_request:
        roots.request(read)


def is_modern(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request is of a version of the protocol without requests to clients."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def refuse(reason: str) -> ErrorData:
    return ErrorData(code=mcp_types.INVALID_REQUEST, message=reason)


async def send_log(
    session: ServerSession, params: LoggingMessageNotificationParams, request_id: RequestId | None = None
) -> None:
    await session.send_notification(mcp_types.LoggingMessageNotification(params=params), request_id)


def is_as_severe(level: str, least: str) -> bool:
    """Whether log messages of a level are wanted by a client that wants those of another one and more severe ones."""
    levels = get_args(LoggingLevel)  # the least severe one first
    return least not in levels or levels.index(level) >= levels.index(least)
