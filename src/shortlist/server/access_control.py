"""Which requests are let in, and what they may cost: host, origin and token; size and time."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shortlist.server.http_errors import problem
from shortlist.server.service_settings import Settings

CHANGING = ("POST", "PUT", "PATCH", "DELETE")

# What needs no token: the page that asks for it, the description of the service, and whether it is alive.
OPEN_PATHS = ("/", "/health", "/ready", "/docs", "/openapi.json")
OPEN_BELOW = ("/page/", "/docs/")

EXTEND = "shortlist.extend"  # where a scope holds a function that gives a request more seconds


class Guard:
    """ASGI middleware that refuses requests, or limits their size and time."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        server, limits = settings.server, settings.limits
        self._token = server.token.get_secret_value().encode() if server.token else None
        self._hosts = {"localhost", server.host.lower(), *(host.lower() for host in server.allowed_hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in server.allowed_origins}
        self._most_bytes = limits.max_body_bytes
        self._most_seconds = limits.request_seconds
        self._too_large = f"The body has more than {self._most_bytes} bytes (limits.max_body_bytes). Send it in parts."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif refusal := self._refuse(scope):
            status, detail = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(scope, status, detail, headers=headers)(scope, receive, send)
        else:
            await self._run_within_limits(scope, receive, send)

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        # Addresses and own names only: a name of someone else's may be made to point here (DNS rebinding).
        if name not in self._hosts and "*" not in self._hosts and not _is_address(name):
            return 421, f"Host {name!r} is not allowed. Add it to server.allowed_hosts."
        origin, own = headers.get("origin"), (f"http://{host}", f"https://{host}")
        if origin is not None and scope["method"] in CHANGING and origin.lower() not in {*own, *self._origins}:
            return 403, f"Pages of {origin!r} may not change anything. Add it to server.allowed_origins."
        if self._token is not None and path not in OPEN_PATHS and not path.startswith(OPEN_BELOW):
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                return 401, "The token is missing or wrong. Send it as the header Authorization: Bearer TOKEN."
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most_bytes:
            return 413, self._too_large
        return None

    async def _run_within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken, is_whole, is_waiting, has_started = 0, False, False, False

        async def receive_counted() -> Message:
            nonlocal taken, is_whole, is_waiting
            is_waiting = not is_whole
            message = await receive()
            is_waiting = False
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if taken > self._most_bytes:
                    raise HTTPException(413, self._too_large, {"Connection": "close"})
            return message

        async def send_noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            async with asyncio.timeout(self._most_seconds) as limit:
                end = asyncio.get_running_loop().time() + self._most_seconds
                scope[EXTEND] = lambda seconds: limit.reschedule(end + seconds)
                await self._app(scope, receive_counted, send_noted)
        except TimeoutError:
            if has_started:
                raise ConnectionError("The answer had begun when the limit was reached.") from None
            seconds = f"{self._most_seconds:g} seconds (limits.request_seconds)"
            late = 408, f"The body did not arrive within {seconds}."
            slow = 503, f"This took longer than {seconds}. A change may still be carried out."
            await problem(scope, *(late if is_waiting else slow))(scope, receive, send)


@lru_cache(256)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
