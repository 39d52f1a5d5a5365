"""Where is the work done? In threads, so that the event loop is free; changes one after another in one of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from starlette.responses import Response

# More threads than this take turns at the interpreter more than they work.
RETRIEVERS = 2
READERS = 4

# Quick work that waits is done in a row: each turn that threads take at the interpreter costs as much as some of it.
RETRIEVED_AT_ONCE = 4

ANSWERERS = 8  # which mostly wait for a language model
JUDGES = 2  # which never wait, and take the interpreter from all others
PATIENCE = 1.0  # seconds for each; a model may take minutes to say its next word

JSON = "application/json"

Work = Callable[[], Any]
Render = Callable[[Any], Response]


class Pool:
    """Threads that work for one event loop. It is woken once for all that is done by then, which costs half of what an
    executor does for each."""

    def __init__(self, threads: int, name: str, at_once: int = 1) -> None:
        self._at_once = at_once  # so much of what waits is done before it is told
        self._waiting: SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = SimpleQueue()
        self._done: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._is_told = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def do(self, work: Work) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        self._waiting.put((work, future))
        return future

    def close(self, patience: float | None = None) -> None:
        """Finish what is waiting."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(patience)

    def _run(self) -> None:
        while batch := self._next():
            done = [(future, *_outcome(work)) for work, future in batch if not future.cancelled()]
            self._done.extend(done)
            if done and not self._is_told:
                self._is_told = True
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    done[0][0].get_loop().call_soon_threadsafe(self._deliver)
            del batch, done

    def _next(self) -> list[tuple[Work, asyncio.Future[Any]]]:
        """What is to be done next, waiting for it; nothing at the end."""
        batch = []
        item = self._waiting.get()
        while item is not None:
            batch.append(item)
            if len(batch) == self._at_once:
                return batch
            try:
                item = self._waiting.get_nowait()
            except Empty:
                return batch
        if batch:
            self._waiting.put(None)  # the end, for the next time
        return batch

    def _deliver(self) -> None:
        self._is_told = False  # before looking: what is done from now on is told again
        while self._done:
            future, result, error = self._done.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


def _outcome(work: Work) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except Exception as failure:
        return None, failure


class Workers:
    """Threads that retrieve, for whatever else reads and may take longer, for answers, for evaluations, and one that
    changes."""

    def __init__(self) -> None:
        self._retrievers = Pool(RETRIEVERS, "shortlist-retrieve", at_once=RETRIEVED_AT_ONCE)
        self._readers = Pool(READERS, "shortlist-read")
        self._answerers = Pool(ANSWERERS, "shortlist-answer")
        self._judges = Pool(JUDGES, "shortlist-judge")
        self._writer = Pool(1, "shortlist-write")

    async def retrieve(self, work: Work) -> Response:
        return await self._answered(self._retrievers, work, answer)

    async def read(self, work: Work, render: Render | None = None) -> Response:
        """The answer with what the work returns, as JSON unless it is rendered otherwise."""
        return await self._answered(self._readers, work, render or answer)

    async def write(self, work: Work) -> Response:
        return await self._answered(self._writer, work, answer)

    def answer(self, work: Work) -> asyncio.Future[Any]:
        """Work that may wait for a language model, and tells by itself what it comes to."""
        return self._answerers.do(work)

    def judge(self, work: Work) -> asyncio.Future[Any]:
        """Work that asks many questions, and tells by itself what it comes to."""
        return self._judges.do(work)

    async def _answered(self, pool: Pool, work: Work, render: Render) -> Response:
        response: Response = await pool.do(lambda: render(work()))
        return response

    def close(self) -> None:
        """Wait for what is under way."""
        for pool in (self._writer, self._readers, self._retrievers):
            pool.close()
        for pool in (self._answerers, self._judges):
            pool.close(PATIENCE)


def answer(data: Any) -> Response:
    """Plain data as JSON, without the detour through models."""
    return Response(as_json(data), media_type=JSON)


def as_json(data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def as_text(data: bytes) -> Response:
    """What Prometheus reads."""
    return Response(data, media_type="text/plain; version=0.0.4")
