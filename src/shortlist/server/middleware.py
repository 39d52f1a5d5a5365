"""Middleware: access control (host, origin, caller), limits of size and time, and the log and metrics of requests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import math
import re
import time
from collections.abc import Callable, Collection
from contextvars import ContextVar
from functools import lru_cache
from itertools import chain
from random import getrandbits
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shortlist._limits import ReadLimits, file_limits, max_query_characters
from shortlist._settings import Settings
from shortlist._telemetry import CONTEXT, REQUEST_HEADER, Span, current_ids, current_request, is_used, to_headers
from shortlist.safety.principals import NOTES, PRINCIPAL, current_principal
from shortlist.server.access.audit_log import AuditLog, CopiedBody
from shortlist.server.access.identity import Identity, InvalidToken
from shortlist.server.access.user_limits import UserLimits, WrongTokens, find_address, find_user, is_stream
from shortlist.server.http_errors import REQUEST_ID, make_problem
from shortlist.server.service_metrics import Metrics

log = logging.getLogger("shortlist.serve")

METADATA = "/.well-known/oauth-protected-resource"  # where clients learn which issuer they need a token of (RFC 9728)

CHANGING = ("POST", "PUT", "PATCH", "DELETE")

# These need no token: the page that asks for it, the description of the service, and its health.
OPEN_PATHS = ("/", "/health", "/ready", "/docs", "/openapi.json")
ALIVE = ("/health",)  # is answered in any case
OPEN_PREFIXES = ("/page/", "/docs/", METADATA)

MAX_HEADER_BYTES = 64 << 10  # of a request, with its path
# Bodies have up to limits.max_body_bytes if they carry documents, cases, conversations or calls. Others are parsed in
# the event loop, so they have this many, and what a query of the maximum length takes if all of it is escaped.
SMALL_BODY_BYTES = 1 << 20
ESCAPED_BYTES = 12
LARGE_BODIES = ("/mcp", "/documents", "/files", "/files/delete", "/compare", "/eval", "/ask")  # the ends of their paths

QUICK_SECONDS = 0.01  # after which it is watched whether the caller disconnects; most searches have ended by then

EXTEND = "shortlist.extend"  # the key in a scope of a function that gives the request more seconds
REQUEST_ID_FORMAT = re.compile(r"[A-Za-z0-9._:/+=-]{1,100}")


T = TypeVar("T")

_receive: ContextVar[Receive] = ContextVar("_receive")


class Disconnected(Exception):
    """The caller no longer waits for the answer."""


async def wait_while_connected(work: asyncio.Future[T]) -> T:
    """The result of the work for the current request, which is canceled if its caller disconnects."""
    receive = _receive.get()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    watcher: asyncio.Task[None] | None = None
    try:
        await asyncio.wait((work,), timeout=QUICK_SECONDS)
        if not work.done():
            watcher = asyncio.create_task(watch())
            waited: set[asyncio.Future[Any]] = {work, watcher}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                watcher.result()  # raises an error if a body that no one needs is too large
                raise Disconnected
        return work.result()
    finally:
        if watcher:
            watcher.cancel()
        work.cancel()


class Deadlines:
    """Ends requests that take too long. A timer for all takes less time than `asyncio.timeout` with one for each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Timeout, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # whose timer runs

    def add(self, limit: asyncio.Timeout) -> Callable[[float], None]:
        """Begin the time of a request, which has entered the limit. What is returned gives it more seconds."""
        loop = asyncio.get_running_loop()
        end = self._ends[limit] = loop.time() + self._seconds
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(self._seconds, self._end_late)

        def extend(seconds: float) -> None:
            self._ends[limit] = end + seconds

        return extend

    def remove(self, limit: asyncio.Timeout) -> None:
        self._ends.pop(limit, None)

    def _end_late(self) -> None:
        now = asyncio.get_running_loop().time()
        for limit in [limit for limit, end in self._ends.items() if end <= now]:
            del self._ends[limit]
            limit.reschedule(now)
        if self._ends and self._loop:  # no later than that a request which begins now ends
            self._loop.call_at(min(now + self._seconds, *self._ends.values()), self._end_late)
        else:
            self._loop = None


class Guard:
    """Rejects requests, or limits their size and time. If it is mounted in another application, no path is open."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        *,
        is_mounted: bool = False,
        large_bodies: tuple[str, ...] = LARGE_BODIES,
    ) -> None:
        self._app = app
        self._has_open_paths, self._section = not is_mounted, "" if is_mounted else "server."
        server, limits = settings.server, settings.limits
        self._token = server.token.get_secret_value().encode() if server.token else None
        self._identity = Identity(settings) if settings.access.has_rules and not is_mounted else None
        self._issuer, self._url = settings.access.issuer, settings.access.url.rstrip("/")
        self._user_limits, self._wrong_tokens = UserLimits(limits), WrongTokens(limits.wrong_tokens_per_minute)
        self._hosts = {"localhost", server.host.lower(), *(host.lower() for host in server.allowed_hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in server.allowed_origins} | {*server.cors_origins}
        self._max_bytes, self._max_seconds = limits.max_body_bytes, limits.request_seconds
        self._deadlines = Deadlines(limits.request_seconds)
        self._max_characters = limits.max_query_characters
        self._file_limits = ReadLimits(limits.file_seconds, limits.file_memory_mb)
        self._small_bytes = min(self._max_bytes, SMALL_BODY_BYTES + ESCAPED_BYTES * self._max_characters)
        self._large = "" if is_mounted else large_bodies  # all paths end with the empty string

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif rejection := self._reject(scope):
            await make_problem(scope, *rejection)(scope, receive, send)
        elif refusal := await self._identify(scope):
            await refusal(scope, receive, send)
        elif (user := find_user(scope)) and not self._is_open(scope["path"]):
            await self._run_as_user(user, scope, receive, send)
        else:
            await self._run_within_limits(scope, receive, send)

    async def _run_as_user(self, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        has_stream = is_stream(scope)
        if wait := self._user_limits.enter(user, is_stream=has_stream):
            await _refuse_for_now(scope, f"Too many requests of {user}.", wait)(scope, receive, send)
            return
        try:
            await self._run_within_limits(scope, receive, send)
        finally:
            if not has_stream:
                self._user_limits.leave(user)

    async def _identify(self, scope: Scope) -> ASGIApp | None:
        """Find the caller, if there are rules of access; else the one token permits everything. Or a refusal."""
        if (self._identity is None and self._token is None) or self._is_open(scope["path"]):
            return None
        kind, _, given = (_read_header(scope, b"authorization") or "").partition(" ")
        token, address = given.strip() if kind.lower() == "bearer" else "", find_address(scope)
        if token and (wait := self._wrong_tokens.find_wait(address, token)):
            return _refuse_for_now(scope, f"Too many wrong tokens from {address}.", wait)
        try:
            if self._identity is not None:
                scope[PRINCIPAL] = await self._identity.find_caller(token)
                current_principal.set(scope[PRINCIPAL])
            elif not hmac.compare_digest(token.encode(), self._token or b""):
                raise InvalidToken("The token is missing or wrong. Send it in the header: Authorization: Bearer TOKEN.")
        except InvalidToken as error:
            if token:
                self._wrong_tokens.add(address)
            return make_problem(scope, 401, str(error), headers={"WWW-Authenticate": self._challenge(scope)})
        if token:
            self._wrong_tokens.accept(token)
        return None

    def _challenge(self, scope: Scope) -> str:
        """What a client needs to get a token, as RFC 9728 and MCP say."""
        if not self._issuer:
            return "Bearer"
        has_token = "authorization" in Headers(scope=scope)
        error = 'error="invalid_token", ' if has_token else ""
        return f'Bearer {error}resource_metadata="{address_of(scope, self._url)}{METADATA}{quote(scope["path"])}"'

    def _is_open(self, path: str) -> bool:
        return self._has_open_paths and is_open(path)

    def _reject(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = scope["headers"], scope["path"]
        size = sum(map(len, chain.from_iterable(headers)))
        if size + len(scope.get("raw_path") or b"") + len(scope.get("query_string", b"")) > MAX_HEADER_BYTES:
            return 431, f"The path and headers are larger than {MAX_HEADER_BYTES} bytes."
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) > 1:  # of which a proxy may have checked the other one
            return 400, f"The request has {len(hosts)} Host headers. Send one."
        host = hosts[0].decode("latin-1").lower() if hosts else ""
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        # IP addresses and our own names only: any other name may be made to point here (DNS rebinding).
        if name not in self._hosts and "*" not in self._hosts and not _is_address(name):
            return 421, f"Host {name!r} is not allowed. Add it to {self._section}allowed_hosts."
        origin = _read_header(scope, b"origin") if scope["method"] in CHANGING else None
        own = f"http://{host}", f"https://{host}"
        if origin is not None and origin.lower() not in {*own, *self._origins}:
            return 403, f"Pages of {origin!r} may not make changes. Add it to {self._section}allowed_origins."
        length = _read_header(scope, b"content-length") or "0"
        return (413, self._too_large(path)) if length.isdecimal() and int(length) > self._limit(path) else None

    def _limit(self, path: str) -> int:
        return self._max_bytes if path.endswith(self._large) else self._small_bytes

    def _too_large(self, path: str) -> str:
        limit = self._limit(path)
        if limit == self._max_bytes:
            return f"The body is larger than {limit} bytes (limits.max_body_bytes). Send it in parts."
        return f"The body is larger than {limit} bytes, the limit of requests that send no documents."

    async def _run_within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit_bytes = self._limit(scope["path"])
        received, is_complete, is_waiting, has_started = 0, False, False, False

        async def receive_limited() -> Message:
            nonlocal received, is_complete, is_waiting
            is_waiting = not is_complete
            message = await receive()
            is_waiting = False
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                is_complete = not message.get("more_body", False)
                if received > limit_bytes:
                    raise HTTPException(413, self._too_large(scope["path"]), {"Connection": "close"})
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        _receive.set(receive_limited)
        max_query_characters.set(self._max_characters)
        file_limits.set(self._file_limits)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                scope[EXTEND] = self._deadlines.add(limit)
                try:
                    await self._app(scope, receive_limited, send_and_note)
                finally:
                    self._deadlines.remove(limit)
        except TimeoutError:
            if has_started:
                raise ConnectionError("The time limit was reached after the response had started.") from None
            seconds = f"{self._max_seconds:g} seconds (limits.request_seconds)"
            late = 408, f"The body did not arrive within {seconds}."
            slow = 503, f"The request took longer than {seconds}. A change may still be carried out."
            status, detail = late if is_waiting else slow
            headers = None if is_complete else {"Connection": "close"}  # the rest of the body is not read
            await make_problem(scope, status, detail, headers=headers)(scope, receive, send)


def _refuse_for_now(scope: Scope, problem: str, wait: float) -> ASGIApp:
    seconds = str(math.ceil(wait))
    return make_problem(scope, 429, f"{problem} Try again in {seconds} seconds.", headers={"Retry-After": seconds})


def is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIXES)


def address_of(scope: Scope, configured: str) -> str:
    """The address of the service, as its settings say or as the request was sent."""
    return configured or f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}"


def _read_header(scope: Scope, name: bytes) -> str | None:
    """The first header of this name; `Headers` takes several times as long."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


@lru_cache(maxsize=64)  # names of up to MAX_HEADER_BYTES
def _is_address(name: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


class Watch:
    """Gives every request an id, logs and counts it, and answers unexpected errors; outside of all other middleware."""

    def __init__(self, app: ASGIApp, metrics: Metrics, timed: Collection[str], audit: AuditLog | None = None) -> None:
        self._app, self._audit = app, audit
        self._metrics = metrics
        self._timed = timed  # the routes whose latencies are recorded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        given = _read_header(scope, _ID_HEADER) or ""
        id = scope[REQUEST_ID] = given if REQUEST_ID_FORMAT.fullmatch(given) else f"{getrandbits(64):016x}"
        status = size = 0
        audit = None if is_open(scope["path"]) else self._audit
        body = CopiedBody(receive) if audit and audit.has_content else None
        scope[NOTES] = {}

        async def send_with_id(message: Message) -> None:
            nonlocal status, size
            size += len(message.get("body", b""))
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (_ID_HEADER, id.encode())]
            await send(message)

        current_request.set(id)
        self._metrics.in_progress += 1
        with _trace(scope) as span:
            scope[CONTEXT] = to_headers() if span else {REQUEST_HEADER: id}
            try:
                if self._audit and scope["path"] not in ALIVE and (problem := self._audit.find_problem()):
                    audit = None
                    await make_problem(scope, 503, problem)(scope, receive, send_with_id)
                else:
                    await self._app(scope, body or receive, send_with_id)
            except Exception:
                log.exception("A request failed.")
                if not status:
                    detail = f"An unexpected error occurred. The log of the service has details of the request {id}."
                    await make_problem(scope, 500, detail)(scope, receive, send_with_id)
            finally:
                self._metrics.in_progress -= 1
                status = status or 499  # the caller disconnected
                seconds = time.perf_counter() - started
                self._record(scope, status, seconds, current_ids() if span else {"request_id": id})
                if audit:
                    audit.record(scope, status, seconds, size, body.content if body else b"")
                if span:
                    _describe(span, scope, status)

    def _record(self, scope: Scope, status: int, seconds: float, ids: dict[str, str]) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.count(route, scope["method"], status, seconds)
        if route in self._timed:
            self._metrics.latencies.add(seconds)
        if log.isEnabledFor(logging.INFO):
            fields = {
                "method": scope["method"], "path": scope["path"], "status": status, "ms": round(1e3 * seconds, 3),
                "client": (scope.get("client") or ("",))[0],
            }  # fmt: skip
            log.handle(_make_record(fields, ids))


def _trace(scope: Scope) -> contextlib.AbstractContextManager[Span | None]:
    """A span of a request, in the trace that its headers name, if OpenTelemetry is in use."""
    if not is_used():
        return contextlib.nullcontext()
    return Span(scope["method"], is_request=True, headers=Headers(scope=scope))


def _describe(span: Span, scope: Scope, status: int) -> None:
    method, route = scope["method"], getattr(scope.get("route"), "path", "")
    described = {"http.request.method": method, "url.path": scope["path"], "http.response.status_code": status}
    described |= {"http.route": route} if route else {}
    span.set({**described, "shortlist.request_id": scope[REQUEST_ID]}, f"{method} {route}".strip())


def _make_record(fields: dict[str, Any], ids: dict[str, str]) -> logging.LogRecord:
    """The record of a request. The logger would look up the calling line, which takes longer than the rest."""
    record, now = logging.LogRecord.__new__(logging.LogRecord), time.time()
    record.__dict__ = {**_REQUEST, "fields": fields, "ids": ids, "created": now, "msecs": now % 1 * 1e3}
    return record


_ID_HEADER = REQUEST_HEADER.encode()
_REQUEST = vars(
    logging.makeLogRecord({"name": log.name, "levelno": logging.INFO, "levelname": "INFO", "msg": "request"})
)
