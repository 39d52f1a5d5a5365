"""One server behind the gateway: started on demand, kept running, and restarted with growing pauses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shortlist.errors import SourceError
from shortlist.mcp.gateway.tool_catalog import Catalog
from shortlist.sources.mcp_servers import mcp_client
from shortlist.sources.mcp_servers.mcp_config import Server
from shortlist.sources.mcp_servers.mcp_transport import Complaints

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.server.session import ServerSession
    from mcp_types import ListRootsResult, Root

OURSELVES = "shortlist"  # the name of our own server

START_SECONDS = 30.0  # to start, and to list its tools
CALL_SECONDS = 60.0
PATIENCE = 10.0  # seconds that a call waits for the next start
ROOTS_SECONDS = 5.0  # for the client to list its roots
LIST_AGAIN = 60.0  # seconds after which the tools are listed again before a call
BETWEEN_LISTS = 1.0  # minimum number of seconds between lists, however often the server reports changes

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
MOST_FAILURES = 6  # in a row, after which the server is started only by a call
STEADY = 60.0  # seconds of running after which earlier failures no longer count

State = Literal["idle", "starting", "ready", "waiting", "failed"]


class ServerError(SourceError):
    """The error that a server returned."""


class Roots:
    """The folders that servers may work in: the roots of the client or, if it has none, the working directory."""

    def __init__(self, on_change: Callable[[], Awaitable[Any]]) -> None:
        self._on_change = on_change
        self._request: asyncio.Task[None] | None = None
        self._known: list[Root] | None = None

    def request(self, session: ServerSession) -> None:
        """Ask the client for its roots, if it has any and accepts requests."""
        capabilities = session.client_capabilities
        if capabilities and capabilities.roots and session.can_send_request:
            self._request = asyncio.create_task(self._send_request(session))

    async def list_for(self, folder: Path | None) -> ListRootsResult:
        """The roots for a server that runs in a folder, by default the working directory."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415  # slow to load

        if self._request:
            await asyncio.wait([self._request])
        folder = folder or Path.cwd()
        own = Root.model_validate({"uri": folder.as_uri(), "name": folder.name or None})
        return ListRootsResult(roots=self._known or [own])

    async def _send_request(self, session: ServerSession) -> None:
        import mcp_types  # noqa: PLC0415

        with contextlib.suppress(Exception):  # whatever a client does, the working directory remains
            async with asyncio.timeout(ROOTS_SECONDS):
                answer = await session.send_request(mcp_types.ListRootsRequest(), mcp_types.ListRootsResult)
            if answer.roots != self._known:
                self._known = answer.roots
                await self._on_change()


class Upstream:
    """A server and the task that runs it, all in one event loop."""

    def __init__(self, server: Server, catalog: Catalog, roots: Roots) -> None:
        self.server, self._catalog, self._roots = server, catalog, roots
        self.state: State = "idle"
        self.problem = ""
        self._client: Client | None = None
        self._failed_starts = 0
        self._retry_at = self._listed_at = 0.0
        self._is_lost = False
        self._closed = asyncio.Event()
        self._news = asyncio.Event()  # for the task: the server is lost, closed, or has other tools
        self._changed = asyncio.Condition()  # of the state
        self._listing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the server unless it runs or waits for its next attempt."""
        if not self._closed.is_set() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The valid result of a call, as the server returned it."""
        from mcp import MCPError  # noqa: PLC0415

        client = await self._connect()
        name, seconds = self.server.name, self.server.seconds or CALL_SECONDS
        try:
            async with asyncio.timeout(seconds):
                return await _call(client, tool, arguments)
        except TimeoutError:
            raise SourceError(
                f"{name} did not answer within {seconds:g} seconds; the call may still complete. To allow more time, "
                f"set 'timeout_seconds' of the server in its configuration."
            ) from None
        except Exception as error:  # whatever a server does, the agent gets an answer
            if isinstance(error, MCPError) and not self._is_disconnected(client, error):
                raise ServerError(self.server.without_secrets(f"{name} returned an error: {error}")) from None
            if isinstance(error, ValueError):
                raise SourceError(f"{name} returned an invalid result.") from None
            if self._client is client:
                self._disconnect()
            raise SourceError(
                f"Lost connection to {name} during the call; it may or may not have completed. {name} is being "
                f"restarted. Retry only if the call is safe to repeat."
            ) from None

    async def refresh(self) -> None:
        """List the tools again if the last list is old."""
        client = await self._connect()
        if asyncio.get_running_loop().time() - self._listed_at > LIST_AGAIN:
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self._list_tools(client)
            except Exception as error:
                self._disconnect()
                reason = self.server.without_secrets(str(error) or type(error).__name__)
                raise SourceError(f"{self.server.name} did not list its tools: {reason}") from None

    async def wait_for_start(self) -> None:
        """Wait until the server is ready or has failed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state in ("ready", "waiting", "failed") or self._closed.is_set())

    async def send_roots_changed(self) -> None:
        """Let a running server ask for the roots again; newer protocol versions ask anyway."""
        import mcp_types  # noqa: PLC0415
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415

        if self._client and self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._client.session.send_notification(mcp_types.RootsListChangedNotification())

    async def close(self) -> None:
        self._closed.set()
        self._news.set()
        if self._task:
            await asyncio.wait([self._task], timeout=START_SECONDS)

    async def _connect(self) -> Client:
        """The client of the server, which is started if it does not run."""
        delay = self._retry_at - asyncio.get_running_loop().time()
        if self.state == "waiting" and delay > PATIENCE:
            raise SourceError(f"{self.problem} The next attempt is in {delay:.0f} seconds.")
        self.start()
        failed = self._failed_starts
        try:
            async with asyncio.timeout(START_SECONDS + PATIENCE), self._changed:
                await self._changed.wait_for(
                    lambda: self._client or self._failed_starts > failed or self._closed.is_set()
                )
        except TimeoutError:
            raise SourceError(f"{self.server.name} is not ready yet. Try again later.") from None
        if self._client is None:
            raise SourceError(self.problem or f"{self.server.name} was stopped.")
        return self._client

    def _is_disconnected(self, client: Client, error: MCPError) -> bool:
        """Whether a request failed on the way, rather than at the server."""
        import mcp_types  # noqa: PLC0415

        if self._client is not client or self._is_lost or str(error) in ("Connection closed", "Session terminated"):
            return True
        return bool(self.server.url) and error.code == mcp_types.CONNECTION_CLOSED  # over stdio any server can send it

    def _disconnect(self) -> None:
        self._client = None
        self._is_lost = True
        self._news.set()

    async def _set_state(self, state: State) -> None:
        async with self._changed:
            self.state = state
            self._changed.notify_all()

    async def _run(self) -> None:
        """Run the server, and restart it after failures until there are too many in a row."""
        mcp_client.silence_logs()
        time = asyncio.get_running_loop().time
        failures = 0
        while not self._closed.is_set():
            self._is_lost = False
            self._news.clear()
            began = time()
            await self._set_state("starting")
            self.problem = await self._run_once()
            if self._closed.is_set():
                self.problem = ""
                await self._set_state("idle")
                return
            if self.state == "starting":
                await asyncio.to_thread(self._catalog.record_failure, self.server, self.problem)
            failures = 1 if time() - began > STEADY else failures + 1
            if failures >= MOST_FAILURES:
                await self._set_state("failed")
                return
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1))
            self._retry_at = time() + pause
            await self._set_state("waiting")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), pause)

    async def _run_once(self) -> str:
        """Start the server and stay connected until it is lost or closed; the reason why it ended."""
        complaints = Complaints()
        error: Exception = SourceError("ended by itself")
        options = {
            "message_handler": self._handle_message,
            "list_roots_callback": lambda _: self._roots.list_for(self.server.cwd),
        }
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    connection = mcp_client.connect(self.server, complaints, self._disconnect, **options)
                    client = await stack.enter_async_context(connection)
                    if client.server_info and client.server_info.name == OURSELVES:
                        raise SourceError("it is shortlist itself, which would call itself forever")
                    await self._list_tools(client)
                self._client = client
                await self._set_state("ready")
                while await self._news.wait() and not (self._is_lost or self._closed.is_set()):
                    self._news.clear()
                    await asyncio.sleep(BETWEEN_LISTS)
                    async with asyncio.timeout(START_SECONDS):
                        await self._list_tools(client)
        except Exception as failure:  # whatever a server does, the others keep running
            error = failure
        if self.state == "starting":
            self._failed_starts += 1
        self._client = None
        await asyncio.to_thread(complaints.close)
        return mcp_client.describe_failure(self.server, complaints, error, START_SECONDS)

    async def _list_tools(self, client: Client) -> None:
        async with self._listing:
            entries = []
            if client.server_capabilities.tools is not None:
                entries = [entry async for entry in mcp_client.list_entries(client, "ListToolsRequest", "tools")]
            self._listed_at = asyncio.get_running_loop().time()
            await asyncio.to_thread(self._catalog.update, self.server, entries)

    async def _handle_message(self, message: Any) -> None:
        """Of the messages that a server sends unasked, only that its tools have changed matters."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._news.set()


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call without the SDK's validation of the result, which would lose one that differs from the tool's schema."""
    import mcp_types  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
    request, any_result = mcp_types.CallToolRequest(params=params), TypeAdapter(dict[str, Any])
    try:
        return await client.session.send_request(request, any_result)  # type: ignore[type-var]
    except MCPError as error:
        if error.code != mcp_types.HEADER_MISMATCH:
            raise
        await client.list_tools()  # which teaches the SDK the headers that the tool needs
        return await client.session.send_request(request, any_result)  # type: ignore[type-var]
