"""The client that some servers run for: who it is, its roots, and how it is reached between its requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.session import ServerSession
    from mcp_types import LoggingLevel, Root

ROOTS_SECONDS = 20.0  # for the client to list its roots, for which servers wait
MOST_ROOTS_REQUESTS = 3  # in a row that a client does not answer
SESSION_HEADER = "mcp-session-id"
RELAYED = ("elicitation", "sampling")  # the capabilities of a client that servers can use through the gateway


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """What a server learns about a client: its name, and what it can be asked, as JSON."""

    name: str = ""
    version: str = ""
    capabilities: str = "{}"

    @classmethod
    def of(cls, session: ServerSession) -> ClientProfile:
        declared, params = session.client_capabilities, session.client_params
        can = declared.model_dump(by_alias=True, mode="json", exclude_none=True, include={*RELAYED}) if declared else {}
        name, version = (params.client_info.name, params.client_info.version) if params else ("", "")
        return cls(name, version, json.dumps(can, sort_keys=True))

    @property
    def variant(self) -> str:
        """A word for what the client can be asked: servers offer other tools depending on it."""
        can = json.loads(self.capabilities)
        return "_".join("-".join([name, *sorted(parts)]) for name, parts in sorted(can.items()))


class Roots:
    """The folders of the client that servers may work in."""

    def __init__(self, on_change: Callable[[], Awaitable[object]]) -> None:
        self._on_change = on_change
        self._request: asyncio.Task[None] | None = None
        self._known: list[Root] | None = None
        self._failures = 0
        self.is_outdated = False  # and to be requested with the next request of the client

    def request(self, read: Callable[[], Awaitable[list[Root]]]) -> None:
        """Ask the client for its roots, in the background."""
        self.is_outdated = False
        self._request = asyncio.create_task(self._update(read))

    async def list_known(self) -> list[Root]:
        """The roots, once the client has answered; none if it has none."""
        if self._request:
            await asyncio.wait([self._request])
        return self._known or []

    async def _update(self, read: Callable[[], Awaitable[list[Root]]]) -> None:
        try:
            async with asyncio.timeout(ROOTS_SECONDS):
                roots = await read()
        except Exception:  # a client that never answers has no roots
            self._failures += 1
            self.is_outdated = self._failures < MOST_ROOTS_REQUESTS
            return
        self._failures = 0
        if roots != self._known:
            self._known = roots
            with contextlib.suppress(Exception):  # a server may be gone
                await self._on_change()


class ClientLink:
    """The client that some connections to servers are for: who it is, and what it hears between its requests."""

    def __init__(self, on_roots: Callable[[], Awaitable[object]], profile: ClientProfile | None = None) -> None:
        self.profile = profile or ClientProfile()
        self.roots = Roots(on_roots)
        self.session: ServerSession | None = None
        self.level: LoggingLevel | None = None
        self.subscribed: dict[tuple[str, str], str] = {}  # by server and its URI, the URI that the client used

    async def notify(self, send: Callable[[ServerSession], Awaitable[None]]) -> None:
        """Send a notification, if the client can be reached."""
        if self.session:
            with contextlib.suppress(Exception):  # it may be gone
                await send(self.session)
