"""Processes that search, so that searches use several cores and leave the process of the service to its connections.

ProcessPoolExecutor can neither stop a search whose caller has disconnected nor replace a process that was killed. It
imports from the working directory, and takes the service twice the CPU time for a request (`python -m bench pools`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

from shortlist._limits import Canceled, cancelable, check_canceled, max_query_characters
from shortlist._settings import Settings
from shortlist._telemetry import export, resume, to_headers
from shortlist.errors import ShortlistError
from shortlist.index.corpus import create_corpus
from shortlist.index.engines.address import sign_in
from shortlist.safety import processes
from shortlist.safety.principals import current_principal
from shortlist.server.catalog_store import NAME, CatalogStore, log
from shortlist.server.jobs import to_json
from shortlist.server.routes.corpora_routes import ServedCorpora, search_in_corpus
from shortlist.server.service_log import log_to_stderr

MOST_BY_DEFAULT = 4  # since each takes memory for itself
OVERLAPPING = 3  # searches at a time from which processes are started
IN_FLIGHT = 2  # requests that a process has: one that it answers, and the next, so that it never waits
RESTART_SECONDS = 1.0
CLOSE_SECONDS = 5.0


def count_by_default() -> int:
    cores = processes.count_cores()
    return min(cores, MOST_BY_DEFAULT) if cores > 1 else 0


class WorkerEnded(ShortlistError):
    """A process ended before it answered."""

    def __init__(self) -> None:
        super().__init__("The process that searched ended unexpectedly. Try again.")


class SearchWorkers:
    """Processes that search. One that ends is started again; its requests fail.

    Unless `server.workers` is set, threads search until searches overlap, and then a process for each core.
    """

    def __init__(self, settings: Settings, catalog: CatalogStore) -> None:
        self._settings, self._catalog = settings, catalog
        given = settings.server.workers
        self._count = count_by_default() if given is None else given
        self._slots: asyncio.Queue[_Worker] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._searches = 0  # in threads
        self._starting: asyncio.Task[None] | None = None
        self.are_ready = False

    async def start(self) -> None:
        """Start all of them, and wait until each has opened the catalog."""
        await self._start(self._dump(search_in_corpus, NAME, {"query": "ready", "mode": "lexical", "k": 1}))

    @contextlib.contextmanager
    def overlap(self, function: Callable[..., Any], name: str, options: dict[str, Any]) -> Iterator[None]:
        """While a thread searches. If others do so, too, processes are started, which take over when they are ready."""
        self._searches += 1
        if self._searches >= OVERLAPPING and self._count and not self._starting:
            work = self._start_when_busy(self._dump(function, name, options))
            self._starting = asyncio.create_task(work, context=Context())  # the log does not take it for a request
        try:
            yield
        finally:
            self._searches -= 1

    async def _start_when_busy(self, request: bytes) -> None:
        try:
            await self._start(request)
        except OSError as error:
            log.error("No search processes could be started, so threads search: %s.", error)
            await self._end()
        else:
            log.info("Searches overlap, so %d processes search from now on.", self._count)

    async def _start(self, request: bytes) -> None:
        """Start all of them, and let each answer a request, so that it has loaded what it needs."""
        workers = []
        for _ in range(self._count):
            workers.append(await self._open())
            self._tasks.append(asyncio.create_task(self._keep_running(workers[-1])))
        await asyncio.gather(*(worker.ask(request) for worker in workers), return_exceptions=True)
        self.are_ready = True

    async def answer(self, function: Callable[..., Any], name: str, options: dict[str, Any]) -> bytes:
        """The answer of `ServedCorpora.answer` as JSON, from the next process that is free."""
        request = self._dump(function, name, options)
        while (worker := await self._slots.get()).has_ended:
            pass
        return await worker.ask(request)

    def _dump(self, function: Callable[..., Any], name: str, options: dict[str, Any]) -> bytes:
        """A request as bytes. The process loads it where a failure, such as of an import, becomes its answer."""
        request = str(self._catalog.corpus.path), to_headers(), current_principal.get(), function, name, options
        return pickle.dumps(request)

    async def close(self) -> None:
        if self._starting:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._end()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self) -> _Worker:
        command, environment = processes.make_command(__name__), processes.make_environment()
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=environment)
        worker = _Worker(process, self._slots)
        worker.send(self._settings)
        return worker

    async def _reopen(self) -> _Worker:
        while True:
            await asyncio.sleep(RESTART_SECONDS)
            try:
                return await self._open()
            except OSError as error:
                log.error("A search process could not be started: %s.", error)

    async def _keep_running(self, worker: _Worker) -> None:
        try:
            for _ in range(IN_FLIGHT - 1):
                self._slots.put_nowait(worker)
            while True:
                await worker.read_answers()
                log.error("A search process ended with status %s. It is started again.", await worker.process.wait())
                worker = await self._reopen()
                for _ in range(IN_FLIGHT):
                    self._slots.put_nowait(worker)
        finally:
            await worker.close()


class _Worker:
    """One process, the requests that it has not answered yet, and where it is put when it has answered one."""

    def __init__(self, process: Process, slots: asyncio.Queue[_Worker]) -> None:
        assert process.stdin
        assert process.stdout
        self.process, self.has_ended = process, False
        self._input, self._output = process.stdin, process.stdout
        self._slots = slots
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._numbers = itertools.count(1)  # of requests

    def send(self, message: Any) -> None:
        data = pickle.dumps(message)
        self._input.write(len(data).to_bytes(4, "little") + data)

    async def ask(self, request: bytes) -> bytes:
        if self.has_ended:
            raise WorkerEnded
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        number = next(self._numbers)
        self.send((number, request))
        try:
            return await future
        except asyncio.CancelledError:
            if not self.has_ended:
                self.send(number)  # so that it stops working on it
            raise

    async def read_answers(self) -> None:
        """Pass on answers until the process ends."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await self._output.readexactly(4), "little")
                data = await self._output.readexactly(size)
                future = self._waiting.popleft()
                self._slots.put_nowait(self)
                if future.done():  # the caller no longer waits
                    continue
                if data[:1] == b"{":
                    future.set_result(data)
                else:
                    future.set_exception(pickle.loads(data))
        self.has_ended = True
        for future in self._waiting:
            if not future.done():
                future.set_exception(WorkerEnded())

    async def close(self) -> None:
        """End the process, which reads the end of its input."""
        self._input.close()
        try:
            await asyncio.wait_for(self.process.wait(), CLOSE_SECONDS)
        except TimeoutError:
            self.process.kill()


# In a process that searches


def main() -> None:
    """Answer the requests on stdin until it ends, or until the service was killed."""
    try:
        _answer_requests()
    except BrokenPipeError:
        os._exit(1)  # at a usual exit, the answer would be written once more


def _answer_requests() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the service ends this one
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # for everything else that prints
    settings: Settings = _read(sys.stdin.buffer)
    log_to_stderr(settings.server.log_level)
    end_telemetry = export(settings.telemetry.enabled)
    login = settings.engine
    sign_in(login.user, login.password.get_secret_value() if login.password else "", login.certificate)
    path, catalog = "", SimpleNamespace(is_made=True)  # with what `ServedCorpora` needs of the catalog to search it
    corpora = ServedCorpora(cast(CatalogStore, catalog), settings.server.corpora, settings.usage.learn)
    max_query_characters.set(settings.limits.max_query_characters)
    for is_canceled, request in _receive_requests():
        try:
            wanted_path, headers, caller, *search = pickle.loads(request)
            resume(headers)
            current_principal.set(caller)
            if path != wanted_path:  # the first request, or another catalog is served now
                catalog.corpus = create_corpus(NAME, path=Path(wanted_path), learning=settings.usage.learn)
                path = wanted_path
            with cancelable(is_canceled):
                check_canceled()
                data = to_json(corpora.answer(*search))
        except Canceled:
            data = b"{}"  # which no one reads
        except Exception as error:
            error.add_note(traceback.format_exc())
            data = _dump_error(error)
        output.write(len(data).to_bytes(4, "little") + data)
        output.flush()
    end_telemetry()


def _receive_requests() -> Iterator[tuple[threading.Event, bytes]]:
    """The requests in order, each with what is set once it is canceled, also while an earlier one is answered."""
    requests: queue.SimpleQueue[tuple[threading.Event, bytes] | None] = queue.SimpleQueue()
    canceled: dict[int, threading.Event] = {}

    def receive() -> None:
        try:
            while message := _read(sys.stdin.buffer):
                if isinstance(message, int):
                    if event := canceled.get(message):
                        event.set()
                    continue
                number, request = message
                canceled.pop(number - IN_FLIGHT, None)  # it was answered before this one was sent
                canceled[number] = threading.Event()
                requests.put((canceled[number], request))
        finally:
            requests.put(None)

    threading.Thread(target=receive, daemon=True).start()
    while request := requests.get():
        yield request


def _read(stream: IO[bytes]) -> Any:
    """The next message; None at the end."""
    size = stream.read(4)
    return pickle.loads(stream.read(int.from_bytes(size, "little"))) if len(size) == 4 else None


def _dump_error(error: Exception) -> bytes:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:  # some errors cannot be sent to another process
        return pickle.dumps(RuntimeError("".join(traceback.format_exception(error))))
