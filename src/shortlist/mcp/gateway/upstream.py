"""One server behind the gateway: started on demand, kept running, and restarted with growing pauses."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Literal

from shortlist.errors import SourceError
from shortlist.mcp.gateway.client_link import ClientLink
from shortlist.mcp.gateway.server_offers import ServerOffers
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp.gateway.upstream_listing import UpstreamListing
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import MESSAGE_START, StderrTail, describe_failure, needs_sign_in
from shortlist.safety.prompt_injection import find_orders

if TYPE_CHECKING:
    from shortlist.mcp.gateway.upstream_session import UpstreamSession

START_SECONDS = 30.0  # to start, and to list its tools, unless the configuration of the server says otherwise
START_WAIT_SECONDS = 10.0  # that a call waits for the next start
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
MOST_FAILURES = 6  # in a row, after which the server is started only by a call
STABLE_SECONDS = 60.0  # after which earlier failures no longer count
IDLE_SECONDS = 1800.0  # without a request, after which a server is stopped, unless its configuration says otherwise

UpstreamState = Literal["idle", "starting", "ready", "waiting", "failed", "needs sign-in"]


class Upstream:
    """A server and the task that runs it, all in one event loop. A session is one connection to it."""

    def __init__(self, server: ServerConfig, catalog: ToolCatalog, offers: ServerOffers, link: ClientLink) -> None:
        self.server, self._catalog, self._link = server, catalog, link
        self._listing = UpstreamListing(server, catalog, offers, link)
        self.state: UpstreamState = "idle"
        self.problem = ""  # why it is not ready; what it says itself is left out if it addresses the model
        self.awaited_until: float | None = None  # the end of the only wait of searches for its first list
        self._session: UpstreamSession | None = None  # since it is ready
        self._failed_starts = 0
        self._retry_at = 0.0
        self._was_ready = False  # before its problem
        self._used_at = time.monotonic()
        self._is_stopping = False  # since it is idle
        self._wanted = asyncio.Event()  # for the task: a server that was stopped is to be started again
        self._closed = asyncio.Event()
        self._news = asyncio.Event()  # for the task: the server is lost, closed, or has other tools
        self._changed = asyncio.Condition()  # of the state
        self._task: asyncio.Task[None] | None = None
        self._start: asyncio.Timeout | None = None  # the limit of the last start

    @property
    def session(self) -> UpstreamSession | None:
        """The connection to the server, if it is ready and not lost."""
        return self._session if self._session and not self._session.is_over else None

    @property
    def is_busy(self) -> bool:
        """Whether a request to the server is open."""
        return self._session is not None and self._session.is_busy

    @property
    def _start_seconds(self) -> float:
        return self.server.start_seconds or START_SECONDS

    @property
    def _pause(self) -> float:
        """Seconds until the next attempt to start it."""
        return self._retry_at - time.monotonic()

    def describe(self) -> str:
        """Why the server is not ready, and what happens next; an agent that reads "try again" does so at once."""
        if self.state == "waiting" and self._pause > START_WAIT_SECONDS:
            return f"{self.problem} The next attempt is in {self._pause:.0f} seconds."
        if self.state == "failed":
            return f"{self.problem} It failed {MOST_FAILURES} times in a row. Calling a tool of it starts it again."
        if self.problem and not self._was_ready:  # only the user can fix it: a sign-in, a variable, a command
            return self.problem
        if self.problem:
            return f"{self.problem} It is being started again. Try again in a moment."
        limit = f"it may take {self._start_seconds:g} seconds to start"
        return f"The server {self.server.name} is not ready yet: {limit}. Try again in a moment."

    def start(self) -> None:
        """Start the server unless it runs or waits for its next attempt."""
        self._wanted.set()
        if not self._closed.is_set() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    def stop_if_idle(self) -> None:
        """Stop the server if it was not used for a while. It is started again when it is needed."""
        limit = IDLE_SECONDS if self.server.idle_seconds is None else self.server.idle_seconds
        if self.session is None or limit == 0:
            return
        if self.is_busy or self.session.list_subscribed():
            self._used_at = time.monotonic()
        elif time.monotonic() - self._used_at > limit:
            self._is_stopping = True
            self._wanted.clear()
            self.session.disconnect()

    async def connect(self) -> UpstreamSession:
        """The connection to the server, which is started if it does not run."""
        if self.state == "waiting" and self._pause > START_WAIT_SECONDS:
            raise SourceError(self.describe())
        self.start()
        self._used_at = time.monotonic()
        failed = self._failed_starts
        try:
            async with asyncio.timeout(self._start_seconds + START_WAIT_SECONDS), self._changed:
                await self._changed.wait_for(
                    lambda: self.session or self._failed_starts > failed or self._closed.is_set()
                )
        except TimeoutError:
            raise SourceError(self.describe()) from None
        if self.session is None:
            raise SourceError(f"{self.server.name} was stopped." if self._closed.is_set() else self.describe())
        return self.session

    async def refresh(self) -> UpstreamSession:
        """The connection to the server, after its tools were listed again if the last list is old."""
        session = await self.connect()
        if self._listing.is_old:
            try:
                async with asyncio.timeout(self._start_seconds):
                    await self._listing.list_tools(session)
            except Exception as error:
                session.check_sign_in(error)
                session.disconnect()
                reason = self.server.without_secrets(str(error) or type(error).__name__)
                raise SourceError(f"{self.server.name} did not list its tools: {reason}") from None
        return session

    async def wait_for_start(self) -> None:
        """Wait until the server is ready or has failed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state not in ("idle", "starting") or self._closed.is_set())

    async def send_roots_changed(self) -> None:
        """Let a running server ask for the roots again."""
        if self.session:
            await self.session.send_roots_changed()

    async def set_level(self) -> None:
        """Forward the client's log level to a running server."""
        if self.session:
            await self.session.forward_level()

    async def close(self) -> None:
        self._closed.set()
        self._news.set()
        self._wanted.set()
        if self._start:
            with contextlib.suppress(RuntimeError):  # it is over
                self._start.reschedule(asyncio.get_running_loop().time())
        if self._task:
            await asyncio.wait([self._task], timeout=START_SECONDS)

    async def _set_state(self, state: UpstreamState) -> None:
        async with self._changed:
            self.state = state
            self._changed.notify_all()

    async def _run(self) -> None:
        """Run the server, and restart it after failures until there are too many in a row."""
        from shortlist.mcp.gateway.upstream_session import UpstreamSession  # noqa: PLC0415  # imports the SDK

        failures = 0
        while not self._closed.is_set():
            self._news.clear()
            session = UpstreamSession(self.server, self._catalog, self._link, self._news.set)
            began = time.monotonic()
            await self._set_state("starting")
            problem = await self._run_once(session)
            self.problem = _hide_orders(problem)
            self._was_ready = self.state == "ready" and not session.refusal
            if self._closed.is_set():
                self.problem = ""
                await self._set_state("idle")
                return
            if self._is_stopping:
                self._is_stopping, self.problem = False, ""
                await self._set_state("idle")
                await self._wanted.wait()
                continue
            if self.state == "starting":
                await asyncio.to_thread(self._catalog.record_failure, self.server, problem)
                self._failed_starts += 1  # only now, so that those who wait for the start find the problem
            if session.refusal:
                await self._set_state("needs sign-in")
                return
            failures = 1 if time.monotonic() - began > STABLE_SECONDS else failures + 1
            if failures >= MOST_FAILURES:
                await self._set_state("failed")
                return
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (failures - 1))
            self._retry_at = time.monotonic() + pause
            await self._set_state("waiting")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), pause)

    async def _run_once(self, session: UpstreamSession) -> str:
        """Start the server and stay connected until it is lost or closed; the reason why it ended."""
        stderr_tail = StderrTail()
        error: Exception = SourceError("ended by itself")
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self._start_seconds) as self._start:
                    await stack.enter_async_context(session.open(stderr_tail))
                    await self._listing.list_tools(session)
                await self._follow(session)
        except Exception as failure:  # whatever a server does, the others keep running
            error = failure
        if needs_sign_in(error):
            session.refusal = error
        self._session = None
        await asyncio.to_thread(stderr_tail.close)
        advice = " (to allow more, set 'startup_timeout_sec' of the server)"
        return describe_failure(self.server, stderr_tail, session.refusal or error, self._start_seconds, advice)

    async def _follow(self, session: UpstreamSession) -> None:
        """Let others use the session, and list again what the server changes, until it is lost or closed."""
        self._session, self._used_at = session, time.monotonic()  # those who wait for it have not used it yet
        await self._set_state("ready")
        subscribed = session.list_subscribed()  # later ones are sent to this server already
        await self._listing.list_offers(session)
        await session.restore(subscribed)
        while await self._news.wait() and not (session.is_over or self._closed.is_set()):
            self._news.clear()
            await self._listing.wait_for_turn()
            async with asyncio.timeout(self._start_seconds):
                await self._listing.list_tools(session)
            await self._listing.list_offers(session)


def _hide_orders(problem: str) -> str:
    """A problem without what the server says itself if that addresses the model."""
    ours, _, words = problem.partition(MESSAGE_START)
    return f"{ours} Its message is hidden: it addresses the model." if any(find_orders(words)) else problem
