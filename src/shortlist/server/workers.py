"""Threads for work that would block the event loop; changes are made one after another in one of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.responses import Response

# More threads than this take turns at the interpreter more than they work.
THREADS = {"retrieve": 2, "read": 4, "write": 1}
JSON = "application/json"

Work = Callable[[], Any]


class Workers:
    """Threads that retrieve, that read whatever may take longer, and one that changes."""

    def __init__(self) -> None:
        self._pools = {name: ThreadPoolExecutor(count, f"shortlist-{name}") for name, count in THREADS.items()}

    async def retrieve(self, work: Work) -> Response:
        return await self._answer("retrieve", work)

    async def read(self, work: Work) -> Response:
        return await self._answer("read", work)

    async def write(self, work: Work) -> Response:
        return await self._answer("write", work)

    async def _answer(self, pool: str, work: Work) -> Response:
        """What the work returns, as JSON unless it is a response."""

        def respond() -> Response:
            result = work()
            return result if isinstance(result, Response) else Response(as_json(result), media_type=JSON)

        return await asyncio.get_running_loop().run_in_executor(self._pools[pool], respond)

    def close(self) -> None:
        """Finish what is under way."""
        for pool in self._pools.values():
            pool.shutdown()


def as_json(data: Any) -> bytes:
    """Plain data as JSON, without the detour through models."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
