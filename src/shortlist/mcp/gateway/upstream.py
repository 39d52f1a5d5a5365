"""One server behind the gateway: started on demand, kept running, and restarted with growing pauses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from shortlist import __version__
from shortlist._redact import replace_values
from shortlist._telemetry import Span
from shortlist.errors import SourceError
from shortlist.mcp.gateway.relay import Caller, ClientLink, current_caller, is_as_severe, refuse, send_log
from shortlist.mcp.gateway.server_offers import LISTS, ServerOffers
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp_client import connection
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.stdio_transport import StderrTail
from shortlist.safety.prompt_injection import find_orders

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp_types import ClientCapabilities

OURSELVES = "shortlist"  # the name of our own server

START_SECONDS = 30.0  # to start, and to list its tools, unless the configuration of the server says otherwise
CALL_SECONDS = 60.0
START_WAIT_SECONDS = 10.0  # that a call waits for the next start
RELIST_SECONDS = 60.0  # after which the tools are listed again before a call
RETRY_DELAY_SECONDS = 0.25  # before a request is repeated that a server could not answer yet
LIST_INTERVAL_SECONDS = 1.0  # minimum between lists, however often the server reports changes

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
MOST_FAILURES = 6  # in a row, after which the server is started only by a call
STABLE_SECONDS = 60.0  # after which earlier failures no longer count

State = Literal["idle", "starting", "ready", "waiting", "failed", "needs sign-in"]


class ServerError(SourceError):
    """The error that a server returned, with its code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Flight:
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

    async def ask(self, request: Any) -> Any:
        assert self.caller
        self.extend(without_limit=True)
        try:
            return await self.caller.ask(request)
        finally:
            self.extend()


class Upstream:
    """A server and the task that runs it, all in one event loop."""

    def __init__(self, server: ServerConfig, catalog: ToolCatalog, offers: ServerOffers, link: ClientLink) -> None:
        self.server, self._catalog, self._offers, self._link = server, catalog, offers, link
        self._flights: list[Flight] = []
        self._level: Any = None  # of log messages, as last sent to the server
        self.state: State = "idle"
        self.problem = ""  # why it is not ready; what it says itself is left out if it addresses the model
        self.awaited_until: float | None = None  # the end of the only wait of searches for its first list
        self._client: Client | None = None
        self._failed_starts = 0
        self._retry_at = self._listed_at = 0.0
        self._is_lost = False
        self._was_ready = False  # before its problem
        self._refusal: Exception | None = None  # why it needs a sign-in
        self._closed = asyncio.Event()
        self._news = asyncio.Event()  # for the task: the server is lost, closed, or has other tools
        self._changed = asyncio.Condition()  # of the state
        self._listing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._start: asyncio.Timeout | None = None  # the limit of the last start

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
        if not self._closed.is_set() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The valid result of a call, as the server returned it."""
        import mcp_types  # noqa: PLC0415

        params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
        with Span("shortlist.call") as span:  # the SDK uses OpenTelemetry
            span.set({"shortlist.server": self.server.name, "gen_ai.tool.name": tool})
            result = await self.send(mcp_types.CallToolRequest(params=params))
            span.set({"shortlist.failed": bool(result.get("isError"))})
            return result

    async def send(self, request: Any) -> dict[str, Any]:
        """The valid result of a request, as the server returned it. The current caller is informed and asked."""
        import mcp_types  # noqa: PLC0415
        from mcp import MCPError  # noqa: PLC0415

        client = await self._connect()
        name, seconds = self.server.name, self.server.seconds or CALL_SECONDS
        flight = Flight(current_caller.get(), seconds)
        self._flights.append(flight)
        try:
            async with flight.limit:
                await self._follow_level(client, flight.caller)
                result = await self._exchange(client, request, flight)
                return self._without_secrets(result) if self.server.redacts_results else result
        except TimeoutError:
            raise SourceError(
                f"{name} did not answer within {seconds:g} seconds; the call may still complete. To allow more time, "
                f"set 'timeout_seconds' of the server in its configuration."
            ) from None
        except Exception as error:  # whatever a server does, the agent gets an answer
            self._check_sign_in(error)
            if isinstance(error, MCPError) and not self._is_disconnected(client, error):
                if error.code == mcp_types.URL_ELICITATION_REQUIRED:
                    raise  # the client opens the URL, then tries again
                message = self.server.without_secrets(f"{name} returned an error: {error}")
                raise ServerError(message, error.code) from None
            if isinstance(error, ValueError):
                raise SourceError(f"{name} returned an invalid result.") from None
            if self._client is client:
                self._disconnect()
            raise SourceError(
                f"Lost connection to {name} during the call; it may or may not have completed. {name} is being "
                f"restarted. Retry only if the call is safe to repeat."
            ) from None
        finally:
            self._flights.remove(flight)

    def _without_secrets(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result without the secrets of any server: one tool may read what another was configured with."""
        secrets = [secret for server in self._catalog.servers.values() for secret in server.list_secrets()]
        return dict(_map_texts(result, lambda text: replace_values(text, secrets)))

    async def _exchange(self, client: Client, request: Any, flight: Flight) -> dict[str, Any]:
        """The result of a request, after all questions of the server were answered."""
        import mcp_types  # noqa: PLC0415
        from mcp import MCPError  # noqa: PLC0415

        if flight.caller and flight.caller.level:
            request = _change_params(request, meta={mcp_types.LOG_LEVEL_META_KEY: flight.caller.level})
        result = await _send(client, request, flight)
        while result.get("resultType") == "input_required":
            asked = mcp_types.InputRequiredResult.model_validate(result)
            questions = asked.input_requests or {}
            given = await asyncio.gather(*(self._ask(question, flight) for question in questions.values()))
            for answer in given:
                if isinstance(answer, mcp_types.ErrorData):
                    raise MCPError.from_error_data(answer)
            if not questions:
                await asyncio.sleep(RETRY_DELAY_SECONDS)
            answers = dict(zip(questions, given, strict=True))
            request = _change_params(request, input_responses=answers, request_state=asked.request_state)
            result = await _send(client, request, flight)
        return result

    def _find_flight(self) -> Flight | None:
        """The request that a message of the server is about: the last one, if all are of the same client."""
        flights = [flight for flight in self._flights if flight.caller]
        return flights[-1] if len({flight.caller.key for flight in flights if flight.caller}) == 1 else None

    async def _ask(self, request: Any, flight: Flight | None = None) -> Any:
        """The answer of the client to a request of the server, by default about the request that is open."""
        kind = request.method.partition("/")[0]
        if kind == "roots":
            return await self._link.roots.list_for(self.server.cwd)
        if kind not in json.loads(self._link.profile.capabilities):
            return refuse(f"{kind.capitalize()} not supported")
        flight = flight or self._find_flight()
        if flight is None or flight.caller is None:
            return refuse("No request of a client is open, or several of different clients are.")
        return await flight.ask(_name_asker(self.server, request) if kind == "elicitation" else request)

    async def _elicit(self, _: Any, params: Any) -> Any:
        import mcp_types  # noqa: PLC0415

        return await self._ask(mcp_types.ElicitRequest(params=params))

    async def _sample(self, _: Any, params: Any) -> Any:
        import mcp_types  # noqa: PLC0415

        return await self._ask(mcp_types.CreateMessageRequest(params=params))

    async def _log(self, params: Any) -> None:
        """Pass a log message on, with the name of the server and without its secrets."""
        if self._link.level and not is_as_severe(params.level, self._link.level):
            return
        logger = f"{self.server.name}/{params.logger}" if params.logger else self.server.name
        data = _map_texts(params.data, self.server.without_secrets)
        shown = params.model_copy(update={"logger": logger, "data": data})
        if flight := self._find_flight():
            assert flight.caller
            await flight.caller.log(shown)
        elif not self._flights:
            await self._link.notify(lambda session: send_log(session, shown))

    async def _follow_level(self, client: Client, caller: Caller | None = None) -> None:
        """Let the server log what the client wants to hear."""
        import mcp_types  # noqa: PLC0415

        level = (caller and caller.level) or self._link.level
        if level and level != self._level and client.server_capabilities.logging is not None:
            self._level = level
            params = mcp_types.SetLevelRequestParams(level=level)
            with contextlib.suppress(Exception):  # since 2026, there is no such request: see _exchange
                await client.session.send_request(mcp_types.SetLevelRequest(params=params), mcp_types.EmptyResult)

    async def set_level(self) -> None:
        """Let a running server log what the client wants to hear."""
        if self._client:
            await self._follow_level(self._client)

    async def refresh(self) -> None:
        """List the tools again if the last list is old."""
        client = await self._connect()
        if asyncio.get_running_loop().time() - self._listed_at > RELIST_SECONDS:
            try:
                async with asyncio.timeout(self._start_seconds):
                    await self._list_tools(client)
            except Exception as error:
                self._check_sign_in(error)
                self._disconnect()
                reason = self.server.without_secrets(str(error) or type(error).__name__)
                raise SourceError(f"{self.server.name} did not list its tools: {reason}") from None

    async def wait_for_start(self) -> None:
        """Wait until the server is ready or has failed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.state not in ("idle", "starting") or self._closed.is_set())

    async def send_roots_changed(self) -> None:
        """Let a running server ask for the roots again; newer protocol versions ask anyway."""
        import mcp_types  # noqa: PLC0415
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415

        if self._client and self._client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._client.session.send_notification(mcp_types.RootsListChangedNotification())

    async def close(self) -> None:
        self._closed.set()
        self._news.set()
        if self._start:
            with contextlib.suppress(RuntimeError):  # it is over
                self._start.reschedule(asyncio.get_running_loop().time())
        if self._task:
            await asyncio.wait([self._task], timeout=START_SECONDS)

    async def _connect(self) -> Client:
        """The client of the server, which is started if it does not run."""
        if self.state == "waiting" and self._pause > START_WAIT_SECONDS:
            raise SourceError(self.describe())
        self.start()
        failed = self._failed_starts
        try:
            async with asyncio.timeout(self._start_seconds + START_WAIT_SECONDS), self._changed:
                await self._changed.wait_for(
                    lambda: self._client or self._failed_starts > failed or self._closed.is_set()
                )
        except TimeoutError:
            raise SourceError(self.describe()) from None
        if self._client is None:
            raise SourceError(f"{self.server.name} was stopped." if self._closed.is_set() else self.describe())
        return self._client

    def _is_disconnected(self, client: Client, error: MCPError) -> bool:
        """Whether a request failed on the way, rather than at the server."""
        import mcp_types  # noqa: PLC0415

        if self._client is not client or self._is_lost or str(error) in ("Connection closed", "Session terminated"):
            return True
        return bool(self.server.url) and error.code == mcp_types.CONNECTION_CLOSED  # over stdio any server can send it

    def _check_sign_in(self, error: Exception) -> None:
        """Raise what the user can do if an error means that the server needs a sign-in."""
        if connection.needs_sign_in(error):
            self._refusal = error
            self._disconnect()
            raise SourceError(str(error)) from None

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
        connection.silence_logs()
        failures = 0
        while not self._closed.is_set():
            self._is_lost, self._refusal = False, None
            self._news.clear()
            began = time.monotonic()
            await self._set_state("starting")
            problem = await self._run_once()
            self.problem, self._was_ready = _hide_orders(problem), self.state == "ready" and not self._refusal
            if self._closed.is_set():
                self.problem = ""
                await self._set_state("idle")
                return
            if self.state == "starting":
                await asyncio.to_thread(self._catalog.record_failure, self.server, problem)
            if self._refusal:
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

    async def _run_once(self) -> str:
        """Start the server and stay connected until it is lost or closed; the reason why it ended."""
        stderr_tail = StderrTail()
        error: Exception = SourceError("ended by itself")
        self._level = None
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self._start_seconds) as self._start:
                    opening = connection.connect(self.server, stderr_tail, self._disconnect, **self._make_options())
                    client = await stack.enter_async_context(opening)
                    if client.server_info and client.server_info.name == OURSELVES:
                        raise SourceError("it is shortlist itself, which would call itself forever")
                    await self._list_tools(client)
                self._client = client
                await self._set_state("ready")
                await self._resume(client)
                while await self._news.wait() and not (self._is_lost or self._closed.is_set()):
                    self._news.clear()
                    await asyncio.sleep(LIST_INTERVAL_SECONDS)
                    async with asyncio.timeout(self._start_seconds):
                        await self._list_tools(client)
                    await self._list_offers(client)
        except Exception as failure:  # whatever a server does, the others keep running
            error = failure
        if connection.needs_sign_in(error):
            self._refusal = error
        if self.state == "starting":
            self._failed_starts += 1
        self._client = None
        await asyncio.to_thread(stderr_tail.close)
        advice = " (to allow more, set 'startup_timeout_sec' of the server)"
        reason = self._refusal or error
        return connection.describe_failure(self.server, stderr_tail, reason, self._start_seconds, advice)

    async def _list_tools(self, client: Client) -> None:
        async with self._listing:
            entries = []
            if client.server_capabilities.tools is not None:
                entries = [entry async for entry in connection.list_entries(client, "ListToolsRequest", "tools")]
            self._listed_at = asyncio.get_running_loop().time()
            await asyncio.to_thread(self._catalog.update, self.server, entries, self._link.profile.variant)

    async def _resume(self, client: Client) -> None:
        """What the client has asked for, and a new server does not know yet."""
        subscribed = [uri for server, uri in self._link.subscribed if server == self.server.name]
        await self._list_offers(client)
        await self._follow_level(client)
        for uri in subscribed:  # later ones are sent to this server already
            await self._subscribe(client, uri)

    async def _subscribe(self, client: Client, uri: str) -> None:
        import mcp_types  # noqa: PLC0415

        with contextlib.suppress(Exception):  # the resource may be gone
            params = mcp_types.SubscribeRequestParams(uri=uri)
            await client.session.send_request(mcp_types.SubscribeRequest(params=params), mcp_types.EmptyResult)

    async def _list_offers(self, client: Client) -> None:
        """List prompts and resources; a server that fails to is not worse for it."""
        lists: dict[str, list[dict[str, Any]]] = {}
        try:
            async with asyncio.timeout(START_SECONDS):
                for capability, request, key in LISTS:
                    lists[key] = []
                    if getattr(client.server_capabilities, capability) is not None:
                        lists[key] = [entry async for entry in connection.list_entries(client, request, key)]
        except Exception:
            return
        if await asyncio.to_thread(self._offers.update, self.server, lists):
            await self._link.notify(lambda session: session.send_prompt_list_changed())
            await self._link.notify(lambda session: session.send_resource_list_changed())

    async def _handle_message(self, message: Any) -> None:
        """React to messages that a server sends unasked."""
        method = getattr(message, "method", "")
        if method.endswith("/list_changed"):
            self._news.set()
        elif method == "notifications/resources/updated":
            if uri := self._link.subscribed.get((self.server.name, message.params.uri)):
                await self._link.notify(lambda session: session.send_resource_updated(uri))
        elif method == "notifications/elicitation/complete":
            await self._link.notify(lambda session: session.send_notification(message))

    def _make_options(self) -> dict[str, Any]:
        """The options of the SDK's client: what ours is called, and what it can be asked."""
        import mcp_types  # noqa: PLC0415

        profile = self._link.profile
        can = mcp_types.ClientCapabilities.model_validate_json(profile.capabilities)
        name = f"{profile.name} (via {OURSELVES} {__version__})" if profile.name else OURSELVES
        return {
            "make": _declare(can),
            "client_info": mcp_types.Implementation(name=name, version=profile.version or __version__),
            "message_handler": self._handle_message,
            "logging_callback": self._log,
            "list_roots_callback": lambda _: self._link.roots.list_for(self.server.cwd),
            "elicitation_callback": self._elicit if can.elicitation else None,
            "sampling_callback": self._sample if can.sampling else None,
            "sampling_capabilities": can.sampling,
        }


def _hide_orders(problem: str) -> str:
    """A problem without what the server says itself if that addresses the model."""
    ours, _, words = problem.partition(connection.MESSAGE_START)
    return f"{ours} Its message is hidden: it addresses the model." if any(find_orders(words)) else problem


def _declare(can: ClientCapabilities) -> Any:
    """The SDK's client, which declares the kinds of elicitation that a client supports, not all."""
    from mcp import Client  # noqa: PLC0415

    class DeclaringClient(Client):
        async def _build_session(self, exit_stack: contextlib.AsyncExitStack) -> Any:
            session = await super()._build_session(exit_stack)
            build = session._build_capabilities
            session._build_capabilities = lambda version: build(version).model_copy(  # type: ignore[method-assign]
                update={"elicitation": can.elicitation}
            )
            return session

    return DeclaringClient


async def _send(client: Client, request: Any, flight: Flight) -> dict[str, Any]:
    """Send without the SDK's validation of a tool's result, which would lose one that differs from the schema."""
    import mcp_types  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    any_result: Any = TypeAdapter(dict[str, Any])
    report = flight.report if flight.caller and flight.caller.wants_progress else None
    try:
        return await client.session.send_request(request, any_result, progress_callback=report)  # type: ignore[no-any-return]
    except MCPError as error:
        if error.code != mcp_types.HEADER_MISMATCH:
            raise
        await client.list_tools()  # which teaches the SDK the headers that the tool needs
        return await client.session.send_request(request, any_result, progress_callback=report)  # type: ignore[no-any-return]


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
