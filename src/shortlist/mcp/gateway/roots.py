"""The folders that servers may work in: the roots of the client or, if it has none, the working directory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.session import ServerSession
    from mcp_types import ListRootsResult, Root

ANSWER_SECONDS = 5.0  # for the client to say which roots it has


class Roots:
    """What the client answered when it was asked for its roots. Everything here happens in one event loop."""

    def __init__(self, on_change: Callable[[], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._asking: asyncio.Task[None] | None = None
        self._known: list[Root] | None = None

    def ask(self, session: ServerSession) -> None:
        """Ask the client, if it has roots and can be asked."""
        capabilities = session.client_capabilities
        if capabilities and capabilities.roots and session.can_send_request:
            self._asking = asyncio.create_task(self._ask(session))

    async def listed(self, folder: Path | None) -> ListRootsResult:
        """The roots for a server that runs in a folder; None means ours."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415  # takes long to load

        if self._asking:
            await asyncio.wait([self._asking])
        folder = folder or Path.cwd()
        ours = Root.model_validate({"uri": folder.as_uri(), "name": folder.name or None})
        return ListRootsResult(roots=self._known or [ours])

    async def _ask(self, session: ServerSession) -> None:
        import mcp_types as types  # noqa: PLC0415

        known: Any = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                known = (await session.send_request(types.ListRootsRequest(), types.ListRootsResult)).roots
        except Exception:  # whatever a client does, the working directory is left
            return
        if known != self._known:
            self._known = known
            await self._on_change()
