"""The service as a process: where it listens, how it ends, and when it restarts."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

import shortlist
from shortlist._files import stamp_of
from shortlist.errors import InputError
from shortlist.server.application import create_app
from shortlist.server.catalog_store import log
from shortlist.server.request_log import log_to_stderr
from shortlist.server.service_settings import Settings

LOOK_TICKS = 5  # of 0.1 seconds


def serve(settings: Settings) -> None:
    """Answer until SIGTERM or Ctrl-C; then finish what is under way."""
    log_to_stderr(settings.server.log_level)
    for sentence in settings.warnings:
        log.warning("%s", sentence)
    listener = _listen(settings.server.host, settings.server.port)
    with contextlib.closing(listener):
        config = uvicorn.Config(
            create_app(settings),
            http=_make_protocol(settings.limits.request_seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=math.ceil(settings.limits.request_seconds),
        )
        host, port = listener.getsockname()[:2]
        log.info("Serving on http://%s:%s.", f"[{host}]" if ":" in host else host, port)
        server = _Server(config, settings)
        with _stop_on_signals(server):
            server.run(sockets=[listener])
    if server.must_restart:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


class _Server(uvicorn.Server):
    """A server that, with `server.reload`, stops to restart once the settings file or the code of this package changes.

    uvicorn's own reloader sees only Python files without watchfiles, keeps the old port, and stops serving while the
    settings are invalid; this one goes on as it is then.
    """

    must_restart = False

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings
        self._last = self._stamps()

    async def on_tick(self, counter: int) -> bool:
        if self._settings.server.reload and counter % LOOK_TICKS == 0:
            self._look()
        return await super().on_tick(counter)

    def _look(self) -> None:
        now = self._stamps()
        if now != self._last:
            try:
                self._settings.read_again()
                self.must_restart = self.should_exit = True
            except InputError as error:
                log.error("%s The service goes on with the settings that it has.", error)
        self._last = now

    def _stamps(self) -> tuple[int, ...]:
        code = sorted(Path(shortlist.__file__).parent.rglob("*.py"))
        return stamp_of(*([self._settings.file] if self._settings.file else []), *code)


def _make_protocol(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which by itself waits without end for a request to begin and for the end of its headers."""
    base: Any = AutoHTTPProtocol

    class Protocol(base):  # type: ignore[misc]
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._start_timer()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:  # the headers are here
                self._stop_timer()
            elif self._timer is None:
                self._start_timer()

        def connection_lost(self, error: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(error)

        def _start_timer(self) -> None:
            self._timer = self.loop.call_later(seconds, self.transport.close)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Protocol


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"Port {port} of {host} is taken by another program. Choose another one with --port."
        else:
            reason = f"The address {host}, port {port}, cannot be listened on: {error.strerror or error}."
        raise InputError(reason) from None


@contextlib.contextmanager
def _stop_on_signals(server: uvicorn.Server) -> Iterator[None]:
    """Stop the server by a signal that arrives before it handles signals itself.

    It raises a signal again after it has handled it; that must not end the process in another way.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
