"""The service as a process: where it listens, what it logs, how it stops, and when it restarts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import HANDLED_SIGNALS

import shortlist
from shortlist._files import stamp_of
from shortlist._redact import redact
from shortlist._settings import PROGRAM, Limits, Settings
from shortlist._telemetry import export
from shortlist.errors import InputError
from shortlist.safety.processes import make_restart_command
from shortlist.server.application import create_app
from shortlist.server.catalog_store import log
from shortlist.server.middleware import MAX_HEADER_BYTES
from shortlist.server.service_log import log_to_stderr, write_lines
from shortlist.server.service_settings import OPENAI, load_settings

S = TypeVar("S", bound=Settings)

POLL_TICKS = 5  # of 0.1 seconds


def serve(settings: S, make_app: Callable[[S], FastAPI] = create_app) -> None:
    """Answer requests until SIGTERM or Ctrl-C, then finish those under way. `make_app` makes the application."""
    log_to_stderr(settings.server.log_level)
    end_telemetry = export(settings.telemetry.enabled)
    for warning in settings.warnings:
        log.warning("%s", warning)
    with contextlib.closing(_listen(settings.server.host, settings.server.port)) as listener:
        config = uvicorn.Config(
            make_app(settings),
            http=_make_protocol(settings.limits),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_keep_alive=settings.limits.idle_seconds,  # type: ignore[arg-type]  # it passes it to call_later
            timeout_graceful_shutdown=math.ceil(settings.limits.request_seconds),
        )
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        log.info("Serving on %s.", url)
        if address := settings.llm.url or (settings.llm.key and OPENAI):
            origin = settings.origins.get("llm.url") or settings.origins.get("llm.key", PROGRAM)
            log.info("Questions and passages are sent to %s (%s).", redact(address), origin)
        server = _Server(config, settings, url)
        server.run(sockets=[listener])
    write_lines()
    end_telemetry()
    if server.must_restart:
        command = make_restart_command()
        if sys.platform == "win32":  # where execv ends this process, for which the terminal waits
            for number in HANDLED_SIGNALS:  # the new process gets them too, and has to end by itself
                signal.signal(number, signal.SIG_IGN)
            raise SystemExit(subprocess.run(command, check=False).returncode)
        os.execv(sys.executable, command)


class _Server(uvicorn.Server):
    """A server that shows its address on a terminal, and restarts if `server.reload` is set and a file changes.

    uvicorn's own reloader sees only Python files without watchfiles, keeps the old port, and stops serving while the
    settings are invalid; this one goes on with the old settings.
    """

    must_restart = False

    def __init__(self, config: uvicorn.Config, settings: Settings, url: str) -> None:
        super().__init__(config)
        self._settings, self._url = settings, url
        self._last = self._stamps()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what was loaded stays, so it is not searched for garbage while requests wait
        if self.started and sys.stderr.isatty():
            print(f"shortlist is running at {self._url} (Ctrl-C to stop)", file=sys.stderr)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals without raising them again at the end, as uvicorn does, which would be an error exit."""
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def on_tick(self, counter: int) -> bool:
        if self._settings.server.reload and counter % POLL_TICKS == 0 and (now := self._stamps()) != self._last:
            self._last = now
            try:
                load_settings(self._settings.file, self._settings.given, schema=type(self._settings))
                self.must_restart = self.should_exit = True
            except InputError as error:
                log.error("%s The service continues with the old settings.", error)
        write_lines()
        for connection in tuple(self.server_state.connections):
            connection.drop_if_stalled()  # type: ignore[union-attr]
        return await super().on_tick(counter)

    def _stamps(self) -> tuple[int, ...]:
        """What changes with the settings file or the code of this package."""
        code = sorted(Path(shortlist.__file__).parent.rglob("*.py"))
        return stamp_of(*([self._settings.file] if self._settings.file else []), *code)


def _make_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol with limits that it does not have.

    It would wait forever for the headers of a request and for a client that does not read its response, buffer headers
    of any size, and accept any number of connections that send nothing.
    """
    base: Any = AutoHTTPProtocol
    seconds = limits.request_seconds
    reason = f"More than {limits.max_connections} connections are open (limits.max_connections). Try again later.\n"
    refusal = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\nRetry-After: 1\r\n"
        f"Content-Length: {len(reason)}\r\n\r\n{reason}"
    ).encode()

    too_large = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    is_unlimited = hasattr(base, "on_body")  # httptools buffers headers of any size; h11 has a limit

    class Protocol(base):  # type: ignore[misc]
        _incomplete = 0  # bytes of headers, trailers or chunk extensions that are not complete
        _unread = (0, 0.0)  # bytes that wait for the client, and since when it has read none of them

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(seconds, transport.close)
            if len(self.connections) > limits.max_connections:
                transport.write(refusal)
                transport.close()

        def data_received(self, data: bytes) -> None:
            self._incomplete += len(data)
            super().data_received(data)
            is_answering = self.cycle is not None and not self.cycle.response_complete
            if is_unlimited and self._incomplete > MAX_HEADER_BYTES:
                if not is_answering:
                    self.transport.write(too_large)
                self.transport.close()
            if is_answering:  # the headers are complete
                self._timer.cancel()
            elif self._timer.cancelled():
                self._timer = self.loop.call_later(seconds, self.transport.close)

        # Called by the parser of httptools

        def on_headers_complete(self) -> None:
            self._incomplete = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._incomplete = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._incomplete = 0
            super().on_message_complete()

        def drop_if_stalled(self) -> None:
            size, now = self.transport.get_write_buffer_size(), self.loop.time()
            if not size or size != self._unread[0]:
                self._unread = (size, now)
            elif now - self._unread[1] > limits.idle_seconds:
                self.transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(error)

    return Protocol


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"Port {port} of {host} is already in use. Choose another one with --port.") from None
        raise InputError(f"Cannot listen on {host}, port {port}: {error.strerror or error}.") from None
