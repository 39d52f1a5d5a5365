"""One server behind the gateway: started when it is first needed, kept running, and restarted with growing pauses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shortlist.errors import SourceError
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
PATIENCE = 10.0  # for the next attempt to start it
ROOTS_SECONDS = 5.0  # for the client to list its roots
LIST_AGAIN = 60.0  # seconds after which a server lists its tools again before it is called
BETWEEN_LISTS = 1.0  # at least, however often it says that they have changed

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
MOST_FAILURES = 6  # in a row, after which it is started only when it is called
STEADY = 60.0  # seconds of running after which earlier failures no longer count

State = Literal["idle", "starting", "ready", "waiting", "failed"]
Take = Callable[[Server, list[dict[str, Any]]], Awaitable[None]]


class Roots:
    """The folders that servers may work in: the roots of the client or, if it has none, the working directory."""

    def __init__(self, on_change: Callable[[], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._asking: asyncio.Task[None] | None = None
        self._known: list[Root] | None = None

    def ask(self, session: ServerSession) -> None:
        """Ask the client, if it has roots and can be asked."""
        capabilities = session.client_capabilities
        if capabilities and capabilities.roots and session.can_send_request:
            self._asking = asyncio.create_task(self._ask(session))

    async def list_for(self, folder: Path | None) -> ListRootsResult:
        """The roots for a server that runs in a folder; None means ours."""
        from mcp_types import ListRootsResult, Root  # noqa: PLC0415  # slow to load

        if self._asking:
            await asyncio.wait([self._asking])
        folder = folder or Path.cwd()
        ours = Root.model_validate({"uri": folder.as_uri(), "name": folder.name or None})
        return ListRootsResult(roots=self._known or [ours])

    async def _ask(self, session: ServerSession) -> None:
        import mcp_types as types  # noqa: PLC0415

        try:
            async with asyncio.timeout(ROOTS_SECONDS):
                known = (await session.send_request(types.ListRootsRequest(), types.ListRootsResult)).roots
        except Exception:  # whatever a client does, there is the working directory
            return
        if known != self._known:
            self._known = known
            await self._on_change()


class Upstream:
    """A server, and the task that runs it. Everything here happens in one event loop."""

    def __init__(self, server: Server, take: Take, roots: Roots) -> None:
        self.server, self._take, self._roots = server, take, roots
        self.state: State = "idle"
        self.problem = ""
        self._client: Client | None = None
        self._failures = 0  # in a row
        self._attempts = 0  # to start it that have failed
        self._retry_at = self._listed_at = 0.0
        self._listing = asyncio.Lock()
        self._is_wanted = asyncio.Event()
        self._news = asyncio.Event()  # for the task: the server is lost, has other tools, or is no longer needed
        self._is_lost = self._is_outdated = self._is_over = False
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Start it if it does not run; one that has just failed only when its pause is over."""
        if self._task is None and not self._is_over:
            self._task = asyncio.create_task(self._keep())
        if self.state in ("idle", "failed"):
            self._is_wanted.set()

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a call as the server gave it."""
        import anyio  # noqa: PLC0415
        from mcp import MCPError  # noqa: PLC0415

        client = await self._ready()
        seconds = self.server.seconds or CALL_SECONDS
        try:
            with anyio.fail_after(seconds):
                return await _call(client, tool, arguments)
        except TimeoutError:
            raise SourceError(
                f"{self.server.name} did not answer within {seconds:g} seconds, and no longer needs to. What was asked "
                f"may have been done all the same. 'timeout_seconds' in its configuration allows more."
            ) from None
        except Exception as error:  # whatever a server does, the agent gets an answer
            if isinstance(error, MCPError) and not self._is_broken(client, error):
                raise SourceError(self.server.without_secrets(f"{self.server.name} refuses: {error}")) from None
            if isinstance(error, ValueError):
                raise SourceError(f"{self.server.name} answered with what is no result of a call.") from None
            if self._client is client:
                self._lose()
            raise SourceError(
                f"{self.server.name} was lost in the middle of the call, which may or may not have been carried out. "
                f"It is being started again: call again if that does no harm."
            ) from None

    async def refresh(self) -> None:
        """List its tools again, if that was long ago."""
        client = await self._ready()
        if asyncio.get_running_loop().time() - self._listed_at > LIST_AGAIN:
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self._list(client)
            except Exception as error:
                self._lose()
                reason = self.server.without_secrets(str(error) or type(error).__name__)
                raise SourceError(f"{self.server.name} does not say what it offers: {reason}") from None

    async def settle(self) -> None:
        """Wait until it is ready or has failed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state in ("ready", "waiting", "failed") or self._is_over)

    async def send_roots_changed(self) -> None:
        """Let a running server ask again for the roots; later versions of the protocol ask anyway."""
        import mcp_types  # noqa: PLC0415
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415

        if self._client and self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._client.session.send_notification(mcp_types.RootsListChangedNotification())

    async def close(self) -> None:
        self._is_over = True
        self._is_wanted.set()
        self._news.set()
        if self._task:
            await asyncio.wait([self._task], timeout=START_SECONDS)

    async def _ready(self) -> Client:
        """The client, as soon as there is one."""
        now = asyncio.get_running_loop().time()
        if self.state == "waiting" and self._retry_at - now > PATIENCE:
            raise SourceError(f"{self.problem} It is tried again in {self._retry_at - now:.0f} seconds.")
        self.wake()
        failed = self._attempts
        try:
            async with asyncio.timeout(START_SECONDS + PATIENCE), self._changed:
                await self._changed.wait_for(lambda: self._client or self._attempts > failed or self._is_over)
        except TimeoutError:
            raise SourceError(f"{self.server.name} is not ready yet. Try again later.") from None
        if self._client is None:
            raise SourceError(self.problem or f"{self.server.name} is no longer needed.")
        return self._client

    def _is_broken(self, client: Client, error: MCPError) -> bool:
        """Whether a request failed on the way, rather than at the server."""
        import mcp_types  # noqa: PLC0415

        if self._client is not client or self._is_lost or str(error) in ("Connection closed", "Session terminated"):
            return True
        return bool(self.server.url) and error.code == mcp_types.CONNECTION_CLOSED  # over stdio any server may say so

    def _lose(self) -> None:
        self._client = None
        self._is_lost = True
        self._news.set()

    async def _set_state(self, state: State) -> None:
        async with self._changed:
            self.state = state
            self._changed.notify_all()

    async def _keep(self) -> None:
        """Run the server whenever it is wanted."""
        mcp_client.silence_logs()
        time = asyncio.get_running_loop().time
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            if self._is_over:
                return
            began = time()
            await self._set_state("starting")
            self.problem = await self._live()
            if self._is_over:
                self.problem = ""
                await self._set_state("idle")
                return
            self._failures = 1 if time() - began > STEADY else self._failures + 1
            if self._failures >= MOST_FAILURES:
                self._failures = 0
                await self._set_state("failed")
                continue
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._failures - 1))
            self._retry_at = time() + pause
            await self._set_state("waiting")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    while not self._is_over:
                        self._news.clear()
                        await self._news.wait()
            self._is_wanted.set()

    async def _live(self) -> str:
        """Start it, and keep it until it is lost or no longer needed; the reason why it ended."""
        complaints = Complaints()
        self._is_lost = False
        error: Exception = SourceError("ended by itself")
        options = {
            "message_handler": self._hear,
            "list_roots_callback": lambda _: self._roots.list_for(self.server.cwd),
        }
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    connecting = mcp_client.connect(self.server, complaints, self._lose, **options)
                    client = await stack.enter_async_context(connecting)
                    if client.server_info and client.server_info.name == OURSELVES:
                        raise SourceError("it is shortlist itself, which would ask itself without end")
                    await self._list(client)
                self._client = client
                await self._set_state("ready")
                while not self._is_lost and not self._is_over:
                    self._news.clear()
                    if self._is_outdated:
                        self._is_outdated = False
                        await asyncio.sleep(BETWEEN_LISTS)
                        async with asyncio.timeout(START_SECONDS):
                            await self._list(client)
                    else:
                        await self._news.wait()
        except Exception as failure:  # whatever a server does, the others go on
            error = failure
        if self.state == "starting":
            self._attempts += 1
        self._client = None
        await asyncio.to_thread(complaints.close)
        return mcp_client.describe_failure(self.server, complaints, error, START_SECONDS)

    async def _list(self, client: Client) -> None:
        async with self._listing:
            has_tools = client.server_capabilities.tools is not None
            tools = (
                [entry async for entry in mcp_client.list_entries(client, "ListToolsRequest", "tools")]
                if has_tools
                else []
            )
            self._listed_at = asyncio.get_running_loop().time()
            await self._take(self.server, tools)

    async def _hear(self, message: Any) -> None:
        """Of the messages that a server sends unasked, only that its tools have changed matters."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._is_outdated = True
            self._news.set()


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call without the SDK's validation of the answer, which would lose one that is not as the tool promised."""
    import mcp_types  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
    request, as_it_is = mcp_types.CallToolRequest(params=params), TypeAdapter(dict[str, Any])
    try:
        return await client.session.send_request(request, as_it_is)  # type: ignore[type-var]
    except MCPError as error:
        if error.code != mcp_types.HEADER_MISMATCH:
            raise
        await client.list_tools()  # from which the SDK learns the headers that the tool wants
        return await client.session.send_request(request, as_it_is)  # type: ignore[type-var]
