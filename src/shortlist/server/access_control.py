"""May this request come in, and how much may it cost? Host, origin and token; size and time."""

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

# What may be seen without the token: the page that asks for it, what describes the service, and whether it lives.
OPEN_PATHS = ("/", "/health", "/ready", "/docs", "/openapi.json")
OPEN_BELOW = ("/page/", "/docs/")

EXTEND = "shortlist.extend"  # where a scope holds a function that allows a request so many seconds more


class Guard:
    """ASGI middleware that lets in what may come in."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        server, limits = settings.server, settings.limits
        self._token = server.token.get_secret_value().encode() if server.token else None
        self._hosts = {"localhost", server.host.lower(), *(host.lower() for host in server.allowed_hosts)}
        self._origins = {origin.lower().rstrip("/") for origin in server.allowed_origins}
        self._most_bytes = limits.max_body_bytes
        self._most_seconds = limits.request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            status, detail = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(scope, status, detail, headers=headers)(scope, receive, send)
            return
        await self._within_limits(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = _name_of(host)
        if not self._answers_to(name):
            return 421, f"This service does not answer to the host {name!r}; server.allowed_hosts may name it."
        origin = headers.get("origin")
        if origin is not None and scope["method"] in CHANGING and not self._is_ours(origin, host):
            return 403, f"A page of {origin!r} may change nothing here; server.allowed_origins may name it."
        if self._token is not None and not _is_open(scope["path"]):
            kind, _, given = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                return 401, "This service wants its token, as the header Authorization: Bearer TOKEN."
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._most_bytes:
            return 413, self._too_large()
        return None

    def _answers_to(self, name: str) -> bool:
        """Addresses and own names only: a name of somebody else's may be made to point here (DNS rebinding)."""
        return name in self._hosts or "*" in self._hosts or _is_address(name)

    def _is_ours(self, origin: str, host: str) -> bool:
        given = origin.lower()
        return given in self._origins or given in (f"http://{host.lower()}", f"https://{host.lower()}")

    def _too_large(self) -> str:
        return f"The body has more than {self._most_bytes} bytes (limits.max_body_bytes). Send it in parts."

    async def _within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken, is_whole, is_waiting, started = 0, False, False, False

        async def receive_counted() -> Message:
            nonlocal taken, is_whole, is_waiting
            is_waiting = not is_whole
            message = await receive()
            is_waiting = False
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if taken > self._most_bytes:
                    raise HTTPException(413, self._too_large(), {"Connection": "close"})
            return message

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            async with asyncio.timeout(self._most_seconds) as limit:
                end = asyncio.get_running_loop().time() + self._most_seconds
                scope[EXTEND] = lambda seconds: limit.reschedule(end + seconds)
                await self._app(scope, receive_counted, send_noted)
        except TimeoutError:
            seconds = f"{self._most_seconds:g} seconds (limits.request_seconds)"
            if is_waiting:
                answer = problem(scope, 408, f"The body did not arrive within {seconds}.")
            else:
                answer = problem(scope, 503, f"This took longer than {seconds}. A change may still be carried out.")
        else:
            return
        if started:
            raise ConnectionError("The answer had begun when the limit was reached.")
        await answer(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_BELOW)


def _name_of(host: str) -> str:
    """The host without its port, and without the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


@lru_cache(256)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
