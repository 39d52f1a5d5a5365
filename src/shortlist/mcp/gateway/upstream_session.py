"""A connection to one server behind the gateway: requests, questions, logs and notices. Imports the SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import mcp_types
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from shortlist import __version__
from shortlist._redact import replace_values
from shortlist._telemetry import Span
from shortlist.errors import SourceError
from shortlist.mcp.gateway.client_link import ClientLink
from shortlist.mcp.gateway.relay import Answer, Caller, current_caller, is_as_severe, refuse, send_log
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp_client.connection import AS_WRITTEN, connect, list_entries
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import ServerError, StderrTail, needs_sign_in

OURSELVES = "shortlist"  # the name of our own server

CALL_SECONDS = 60.0
RETRY_DELAY_SECONDS = 0.25  # before a request is repeated that a server could not answer yet


class PendingRequest:
    """A request that a server has not answered yet, its caller, and its time limit, which progress extends."""

    def __init__(self, caller: Caller | None, seconds: float) -> None:
        self.caller, self._seconds = caller, seconds
        self.limit = asyncio.timeout(seconds)

    def extend(self, *, without_limit: bool = False) -> None:
        end = asyncio.get_running_loop().time() + self._seconds
        with contextlib.suppress(RuntimeError):  # it is over
            self.limit.reschedule(None if without_limit else end)

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.extend()
        if self.caller:
            await self.caller.report(progress, total, message)

    async def ask(self, request: Any) -> Answer:
        """The answer of the caller, for which the server does not have to account."""
        assert self.caller
        self.extend(without_limit=True)
        try:
            return await self.caller.ask(request)
        finally:
            self.extend()


class UpstreamSession:
    """A connection to a server. `wake` is called when it is lost, or when the server reports other tools."""

    def __init__(self, server: ServerConfig, catalog: ToolCatalog, link: ClientLink, wake: Callable[[], None]) -> None:
        self._server, self._catalog, self._link, self._wake = server, catalog, link, wake
        self._client: Client
        self._stderr_tail: StderrTail
        self._pending: list[PendingRequest] = []
        self._sent_level: mcp_types.LoggingLevel | None = None
        self.is_over = False  # lost or closed
        self.refusal: Exception | None = None  # why the server needs a sign-in

    @contextlib.asynccontextmanager
    async def open(self, stderr_tail: StderrTail) -> AsyncIterator[None]:
        """Start or contact the server, and end the connection with the context."""
        self._stderr_tail = stderr_tail
        try:
            async with connect(self._server, stderr_tail, self.disconnect, **self._make_options()) as self._client:
                if self._client.server_info and self._client.server_info.name == OURSELVES:
                    raise SourceError("it is shortlist itself, which would call itself forever")
                yield
        finally:
            self.is_over = True

    @property
    def is_busy(self) -> bool:
        return bool(self._pending)

    @property
    def capabilities(self) -> mcp_types.ServerCapabilities:
        return self._client.server_capabilities

    async def list_entries(self, request: str, key: str) -> list[dict[str, Any]]:
        """The entries of a list, as the server wrote them."""
        return [entry async for entry in list_entries(self._client, request, key)]

    def disconnect(self) -> None:
        """Use the connection no longer: it is lost."""
        self.is_over = True
        self._wake()

    def check_sign_in(self, error: Exception) -> None:
        """Raise what the user can do if an error means that the server needs a sign-in."""
        if needs_sign_in(error):
            self.refusal = error
            self.disconnect()
            raise SourceError(str(error)) from None

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The valid result of a call, as the server returned it."""
        params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
        with Span("shortlist.call") as span:  # the SDK uses OpenTelemetry
            span.set({"shortlist.server": self._server.name, "gen_ai.tool.name": tool})
            result = await self.send(mcp_types.CallToolRequest(params=params))
            span.set({"shortlist.failed": bool(result.get("isError"))})
            return result

    async def send(self, request: Any) -> dict[str, Any]:
        """The valid result of a request, as the server returned it. The current caller is informed and asked."""
        name, seconds = self._server.name, self._server.seconds or CALL_SECONDS
        pending = PendingRequest(current_caller.get(), seconds)
        self._pending.append(pending)
        try:
            async with pending.limit:
                await self.forward_level(pending.caller)
                result = await self._exchange(request, pending)
                return self._without_secrets(result) if self._server.redacts_results else result
        except TimeoutError:
            raise SourceError(
                f"{name} did not answer within {seconds:g} seconds; the call may still complete. To allow more time, "
                f"set 'timeout_seconds' of the server in its configuration."
            ) from None
        except Exception as error:  # whatever a server does, the agent gets an answer
            self.check_sign_in(error)
            if isinstance(error, MCPError) and not self._is_disconnected(error):
                if error.code == mcp_types.URL_ELICITATION_REQUIRED:
                    raise  # the client opens the URL, then tries again
                message = self._server.without_secrets(f"{name} returned an error: {error}")
                raise ServerError(message, error.code) from None
            if isinstance(error, ValueError):
                raise SourceError(f"{name} returned an invalid result.") from None
            if not self.is_over:
                self.disconnect()
            stopped = f", as it {self._stderr_tail.stop_reason}" if self._stderr_tail.stop_reason else ""
            raise SourceError(
                f"Lost connection to {name} during the call{stopped}; it may or may not have completed. {name} is "
                f"being restarted. Retry only if the call is safe to repeat."
            ) from None
        finally:
            self._pending.remove(pending)

    def _is_disconnected(self, error: MCPError) -> bool:
        """Whether a request failed on the way, rather than at the server."""
        if self.is_over or str(error) in ("Connection closed", "Session terminated"):
            return True
        # over stdio any server can send it
        return bool(self._server.url) and error.code == mcp_types.CONNECTION_CLOSED

    def _without_secrets(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result without the secrets of any server: one tool may read what another was configured with."""
        secrets = [secret for server in self._catalog.servers.values() for secret in server.list_secrets()]
        return dict(_map_texts(result, lambda text: replace_values(text, secrets)))

    async def _exchange(self, request: Any, pending: PendingRequest) -> dict[str, Any]:
        """The result of a request, after all questions of the server were answered."""
        if pending.caller and pending.caller.level:
            request = _change_params(request, meta={mcp_types.LOG_LEVEL_META_KEY: pending.caller.level})
        result = await self._send_once(request, pending)
        while result.get("resultType") == "input_required":
            asked = mcp_types.InputRequiredResult.model_validate(result)
            questions = asked.input_requests or {}
            given = await asyncio.gather(*(self._ask(question, pending) for question in questions.values()))
            for answer in given:
                if isinstance(answer, mcp_types.ErrorData):
                    raise MCPError.from_error_data(answer)
            if not questions:
                await asyncio.sleep(RETRY_DELAY_SECONDS)
            answers = dict(zip(questions, given, strict=True))
            request = _change_params(request, input_responses=answers, request_state=asked.request_state)
            result = await self._send_once(request, pending)
        return result

    async def _send_once(self, request: Any, pending: PendingRequest) -> dict[str, Any]:
        """Send without the SDK's validation of a tool's result, which would lose one that differs from the schema."""
        report = pending.report if pending.caller and pending.caller.wants_progress else None
        session = self._client.session
        try:
            return dict(await session.send_request(request, AS_WRITTEN, progress_callback=report))
        except MCPError as error:
            if error.code != mcp_types.HEADER_MISMATCH:
                raise
            await self._client.list_tools()  # which teaches the SDK the headers that the tool needs
            return dict(await session.send_request(request, AS_WRITTEN, progress_callback=report))

    async def forward_level(self, caller: Caller | None = None) -> None:
        """Forward the client's log level."""
        level = (caller and caller.level) or self._link.level
        if level and level != self._sent_level and self.capabilities.logging is not None:
            self._sent_level = level
            params = mcp_types.SetLevelRequestParams(level=level)
            with contextlib.suppress(Exception):  # since 2026, there is no such request: see _exchange
                await self._client.session.send_request(mcp_types.SetLevelRequest(params=params), mcp_types.EmptyResult)

    async def send_roots_changed(self) -> None:
        """Let the server ask for the roots again; newer protocol versions ask anyway."""
        if self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._client.session.send_notification(mcp_types.RootsListChangedNotification())

    def list_subscribed(self) -> list[str]:
        """The resources of the server that the client has subscribed to."""
        return [uri for server, uri in self._link.subscribed if server == self._server.name]

    async def restore(self, subscribed: Iterable[str]) -> None:
        """Restore the log level and subscriptions after a restart."""
        await self.forward_level()
        for uri in subscribed:
            with contextlib.suppress(Exception):  # the resource may be gone
                params = mcp_types.SubscribeRequestParams(uri=uri)
                await self._client.session.send_request(
                    mcp_types.SubscribeRequest(params=params), mcp_types.EmptyResult
                )

    def _find_pending(self) -> PendingRequest | None:
        """The request that a message of the server is about: the last one, if all are of the same client."""
        pending = [request for request in self._pending if request.caller]
        return pending[-1] if len({request.caller.key for request in pending if request.caller}) == 1 else None

    async def _ask(self, question: Any, pending: PendingRequest | None = None) -> Answer:
        """The answer of the client to a question of the server, by default about the request that is open."""
        kind = question.method.partition("/")[0]
        if kind == "roots":
            return await self._list_roots()
        if kind not in json.loads(self._link.profile.capabilities):
            return refuse(f"{kind.capitalize()} not supported")
        pending = pending or self._find_pending()
        if pending is None or pending.caller is None:
            return refuse("No request of a client is open, or several of different clients are.")
        return await pending.ask(_name_asker(self._server, question) if kind == "elicitation" else question)

    async def _list_roots(self, _: ClientRequestContext | None = None) -> mcp_types.ListRootsResult:
        """The roots of the client only: a server such as `filesystem` replaces its configured folders by them."""
        return mcp_types.ListRootsResult(roots=await self._link.roots.list_known())

    async def _elicit(self, _: ClientRequestContext, params: mcp_types.ElicitRequestParams) -> Answer:
        return await self._ask(mcp_types.ElicitRequest(params=params))

    async def _sample(self, _: ClientRequestContext, params: mcp_types.CreateMessageRequestParams) -> Answer:
        return await self._ask(mcp_types.CreateMessageRequest(params=params))

    async def _log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on, with the name of the server and without its secrets."""
        if self._link.level and not is_as_severe(params.level, self._link.level):
            return
        logger = f"{self._server.name}/{params.logger}" if params.logger else self._server.name
        data = _map_texts(params.data, self._server.without_secrets)
        shown = params.model_copy(update={"logger": logger, "data": data})
        if pending := self._find_pending():
            assert pending.caller
            await pending.caller.log(shown)
        elif not self._pending:
            await self._link.notify(lambda session: send_log(session, shown))

    async def _handle_message(self, message: IncomingMessage) -> None:
        """React to notifications of the server."""
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            if uri := self._link.subscribed.get((self._server.name, str(message.params.uri))):
                await self._link.notify(lambda session: session.send_resource_updated(uri))
        elif isinstance(message, mcp_types.ElicitCompleteNotification):
            await self._link.notify(lambda session: session.send_notification(message))
        elif getattr(message, "method", "").endswith("/list_changed"):
            self._wake()

    def _make_options(self) -> dict[str, Any]:
        """The options of the SDK's client: what ours is called, and what it can be asked."""
        profile = self._link.profile
        can = mcp_types.ClientCapabilities.model_validate_json(profile.capabilities)
        name = f"{profile.name} (via {OURSELVES} {__version__})" if profile.name else OURSELVES
        return {
            "make": _declare(can),
            "client_info": mcp_types.Implementation(name=name, version=profile.version or __version__),
            "message_handler": self._handle_message,
            "logging_callback": self._log,
            "list_roots_callback": self._list_roots,
            "elicitation_callback": self._elicit if can.elicitation else None,
            "sampling_callback": self._sample if can.sampling else None,
            "sampling_capabilities": can.sampling,
        }


def _declare(can: mcp_types.ClientCapabilities) -> type[Client]:
    """The SDK's client, which declares the kinds of elicitation that a client supports, not all."""

    class DeclaringClient(Client):
        async def _build_session(self, exit_stack: contextlib.AsyncExitStack) -> ClientSession:
            session = await super()._build_session(exit_stack)
            build = session._build_capabilities
            session._build_capabilities = lambda version: build(version).model_copy(  # type: ignore[method-assign]
                update={"elicitation": can.elicitation}
            )
            return session

    return DeclaringClient


def _name_asker(server: ServerConfig, request: Any) -> Any:
    """A question to a person, with the name of the server that asks it and without its secrets."""
    return _change_params(request, message=f"{server.name}: {server.without_secrets(request.params.message)}")


def _change_params(request: Any, **changes: Any) -> Any:
    return request.model_copy(update={"params": request.params.model_copy(update=changes)})


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with all its strings changed, except images and other encoded data."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        encoded = "data" if value.get("type") in ("image", "audio") else "blob" if "uri" in value else None
        return {key: inner if key == encoded else _map_texts(inner, change) for key, inner in value.items()}
    return [_map_texts(inner, change) for inner in value] if isinstance(value, list) else value
