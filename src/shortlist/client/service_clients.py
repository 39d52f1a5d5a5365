"""`Client` and `AsyncClient`: the operations of a service, sent with blocking calls or in an event loop."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from shortlist._http import AsyncJsonClient, JsonClient, Unavailable
from shortlist._limits import check_canceled
from shortlist.client import operations
from shortlist.client.addresses import find_token, parse_address
from shortlist.client.exchange import EVENTS, EventStream, ServiceRequest, ServiceResponse, Steps
from shortlist.errors import ServiceError, ShortlistError

URL = "http://localhost:9200"
TIMEOUT_SECONDS = 30.0

P = ParamSpec("P")
R = TypeVar("R")


def _describe_method(operation: Callable[..., Any], method: Callable[..., Any]) -> None:
    """Give a method the name, the text and the signature of its operation, with the type of its result."""
    functools.update_wrapper(method, operation)
    signature = inspect.signature(operation)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    returns = str(signature.return_annotation).removeprefix("Steps[").removesuffix("]")
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()], return_annotation=returns
    )


def _blocking(operation: Callable[P, Steps[R]]) -> Callable[Concatenate[Client, P], R]:
    def method(self: Client, /, *arguments: P.args, **options: P.kwargs) -> R:
        return self.perform(operation(*arguments, **options))

    _describe_method(operation, method)
    return method


def _awaitable(operation: Callable[P, Steps[R]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[R]]:
    async def method(self: AsyncClient, /, *arguments: P.args, **options: P.kwargs) -> R:
        return await self.perform(operation(*arguments, **options))

    _describe_method(operation, method)
    return method


class _ServiceClient:
    """What both clients are made from: the address, the token and the time limit."""

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        allow_http: bool = False,
    ) -> None:
        address = parse_address(url, allow_http=allow_http)
        self.url = address.origin + address.path
        self.timeout = timeout
        self._options: dict[str, Any] = {"key": find_token(address, token), "timeout": timeout}

    def _error(self, reason: str) -> ServiceError:
        return ServiceError(f"{self.url} {reason}. Start the service: shortlist serve.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class Client(_ServiceClient):
    """A running service: every corpus that it has, with the functions and the results of this package.

    `token` is sent with each request; without one, SHORTLIST_TOKEN is, but only to this machine or to an address that
    you confirmed (`shortlist trust ADDRESS`). `timeout` is the number of seconds to wait for the connection and for
    each part of an answer; every method takes another one. Plain http to another machine needs `allow_http`.

    Requests that change nothing are repeated while the service is busy or cannot be reached. Errors are those of the
    library. Close it, or use it as a context manager. Threads may share it.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        allow_http: bool = False,
    ) -> None:
        super().__init__(url, token=token, timeout=timeout, allow_http=allow_http)
        self._http = JsonClient(self.url, self._error, **self._options)

    search = _blocking(operations.search)
    search_many = _blocking(operations.search_many)
    discover = _blocking(operations.discover)
    explain = _blocking(operations.explain)
    disclose = _blocking(operations.disclose)
    ask = _blocking(operations.ask)
    evaluate = _blocking(operations.evaluate)
    lint = _blocking(operations.lint)
    browse = _blocking(operations.browse)
    get = _blocking(operations.get)
    add = _blocking(operations.add)
    remove = _blocking(operations.remove)
    push = _blocking(operations.push)
    feedback = _blocking(operations.feedback)
    usage = _blocking(operations.usage)
    forget = _blocking(operations.forget)
    corpora = _blocking(operations.corpora)
    info = _blocking(operations.info)
    mcp_servers = _blocking(operations.mcp_servers)
    status = _blocking(operations.status)
    health = _blocking(operations.health)

    def perform(self, steps: Steps[R]) -> R:
        """Carry out an operation of `shortlist.client.operations`."""
        advance: Callable[[], ServiceRequest | float] = functools.partial(next, steps)
        while True:
            check_canceled()
            try:
                step = advance()
            except StopIteration as end:
                result: R = end.value
                return result
            if not isinstance(step, ServiceRequest):
                time.sleep(step)
                advance = functools.partial(next, steps)
                continue
            try:
                advance = functools.partial(steps.send, self._send(step))
            except (Unavailable, ShortlistError) as error:
                advance = functools.partial(steps.throw, error)

    def _send(self, request: ServiceRequest) -> ServiceResponse:
        if request.on_event is not None:
            return self._receive(request)
        return ServiceResponse.read(self._http.request(request.method, request.path, request.body, request.timeout))

    def _receive(self, request: ServiceRequest) -> ServiceResponse:
        stream = EventStream(request, f"{self.url}{request.path}")
        try:
            with self._http.unavailable(), self._http.stream(request.path, request.body, request.timeout) as response:
                if not response.headers.get("content-type", "").startswith(EVENTS):
                    response.read()
                    return ServiceResponse.read(response)
                for chunk in response.iter_bytes():
                    check_canceled()
                    if (answer := stream.feed(chunk)) is not None:
                        return answer
        except Unavailable:
            if not stream.has_begun:
                raise
        raise stream.lost()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_ServiceClient):
    """`Client` for an event loop: the same methods as coroutines. A canceled task ends the work of the service, too.

    Functions such as `on_text` are called in the event loop. Close it with `aclose`, or use it as an asynchronous
    context manager.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        allow_http: bool = False,
    ) -> None:
        super().__init__(url, token=token, timeout=timeout, allow_http=allow_http)
        self._http = AsyncJsonClient(self.url, self._error, **self._options)

    search = _awaitable(operations.search)
    search_many = _awaitable(operations.search_many)
    discover = _awaitable(operations.discover)
    explain = _awaitable(operations.explain)
    disclose = _awaitable(operations.disclose)
    ask = _awaitable(operations.ask)
    evaluate = _awaitable(operations.evaluate)
    lint = _awaitable(operations.lint)
    browse = _awaitable(operations.browse)
    get = _awaitable(operations.get)
    add = _awaitable(operations.add)
    remove = _awaitable(operations.remove)
    push = _awaitable(operations.push)
    feedback = _awaitable(operations.feedback)
    usage = _awaitable(operations.usage)
    forget = _awaitable(operations.forget)
    corpora = _awaitable(operations.corpora)
    info = _awaitable(operations.info)
    mcp_servers = _awaitable(operations.mcp_servers)
    status = _awaitable(operations.status)
    health = _awaitable(operations.health)

    async def perform(self, steps: Steps[R]) -> R:
        """Carry out an operation of `shortlist.client.operations`."""
        import asyncio  # noqa: PLC0415  # slow to load, and the blocking client does not need it

        advance: Callable[[], ServiceRequest | float] = functools.partial(next, steps)
        while True:
            try:
                step = advance()
            except StopIteration as end:
                result: R = end.value
                return result
            if not isinstance(step, ServiceRequest):
                await asyncio.sleep(step)
                advance = functools.partial(next, steps)
                continue
            try:
                advance = functools.partial(steps.send, await self._send(step))
            except (Unavailable, ShortlistError) as error:
                advance = functools.partial(steps.throw, error)

    async def _send(self, request: ServiceRequest) -> ServiceResponse:
        if request.on_event is not None:
            return await self._receive(request)
        sent = self._http.request(request.method, request.path, request.body, request.timeout)
        return ServiceResponse.read(await sent)

    async def _receive(self, request: ServiceRequest) -> ServiceResponse:
        stream = EventStream(request, f"{self.url}{request.path}")
        try:
            with self._http.unavailable():
                async with self._http.stream(request.path, request.body, request.timeout) as response:
                    if not response.headers.get("content-type", "").startswith(EVENTS):
                        await response.aread()
                        return ServiceResponse.read(response)
                    async for chunk in response.aiter_bytes():
                        if (answer := stream.feed(chunk)) is not None:
                            return answer
        except Unavailable:
            if not stream.has_begun:
                raise
        raise stream.lost()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
