"""Where is the work done? In threads, so that the event loop is free; changes one after another in one of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.responses import Response

Render = Callable[[Any], Response]

# More threads than this take turns at the interpreter more than they work.
READERS = 4


class Workers:
    """Threads that read, and one that changes."""

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(READERS, "shortlist-read")
        self._writer = ThreadPoolExecutor(1, "shortlist-write")

    async def read(self, work: Callable[[], Any], render: Render | None = None) -> Response:
        """The answer with what the work returns, as JSON unless it is rendered otherwise."""
        return await self._run(self._readers, work, render or answer)

    async def write(self, work: Callable[[], Any]) -> Response:
        return await self._run(self._writer, work, answer)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], Any], render: Render) -> Response:
        return await asyncio.get_running_loop().run_in_executor(pool, lambda: render(work()))

    def close(self) -> None:
        """Wait for what is under way."""
        self._writer.shutdown()
        self._readers.shutdown()


def answer(data: Any) -> Response:
    """Plain data as JSON, without the detour through models."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), media_type="application/json")


def as_text(data: bytes) -> Response:
    """What Prometheus reads."""
    return Response(data, media_type="text/plain; version=0.0.4")
