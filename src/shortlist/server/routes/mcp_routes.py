"""Agents over HTTP: /mcp, behind the same access control as all other routes.

A client that initializes gets a session, with streams in which servers report and ask. A request without a session is
answered with JSON. The SDK takes a second to load, so it is loaded at the first request.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from shortlist._http import is_loopback
from shortlist._settings import PROGRAM, ProfileChoice, Settings
from shortlist.errors import MissingExtra, ShortlistError, needs_extra
from shortlist.index.corpus_paths import stored_corpora
from shortlist.mcp.collection import SKILLS, Collection, is_served
from shortlist.mcp.gateway.client_link import SESSION_HEADER
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.profiles import ServerChoice
from shortlist.mcp_client.config_files import approve_command, review_command
from shortlist.safety.principals import NOTES, PRINCIPAL, Principal, current_principal
from shortlist.server.catalog_store import NAME, log
from shortlist.server.http_errors import NotFinite, get_status, make_problem, parse_json
from shortlist.server.jobs import Endpoints
from shortlist.server.middleware import EXTEND
from shortlist.server.routes.corpora_routes import ServedCorpora

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager as Manager

    from shortlist.protocols import LLM

PATH = "/mcp"
SECONDS = 3600.0  # time limit of a request: longer than any action takes, also if a person is asked
STREAM_SECONDS = 24 * 3600.0  # time limit of the stream of a session, which a client then opens again
MOST_SESSIONS = 1_000
MESSAGE_NAMES = {"tool": "tool", "corpus": "corpus", "document": "id", "prompt": "prompt"}  # of the audit log


class AgentCorpora:
    """The corpora that the service shows to agents."""

    def __init__(self, corpora: ServedCorpora, *, all_stored: bool) -> None:
        self.corpus = corpora.corpus
        self._served = corpora
        self._all_stored = all_stored

    def names(self) -> list[str]:
        names = self._served.names()
        if not self._all_stored:
            return names
        stored = stored_corpora()
        return [name for name in names if name == NAME or (name in stored and is_served(name))]

    def kinds(self, name: str) -> dict[str, int]:
        with contextlib.suppress(ShortlistError):
            return self.corpus(name).kinds()
        return {}


class Managers(NamedTuple):
    """The managers of the SDK for requests in sessions and for single requests, and the gateway behind both."""

    sessions: Manager
    single: Manager
    gateway: Gateway

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST request. If the client closes the connection, what it asked for is canceled."""
        body = await Request(scope, receive).body()
        headers = Headers(scope=scope)
        try:
            message = _parse(body)
        except NotFinite as error:
            await make_problem(scope, 400, f"{error}. Send finite numbers only.")(scope, receive, send)
            return
        _note_message(scope, message)
        manager = self.sessions if _needs_stream(headers, message) else self.single
        is_gone = asyncio.Event()
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive_again() -> Message:
            if (first := next(messages, None)) is not None:
                return first
            await is_gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            is_gone.set()

        work = asyncio.create_task(manager.handle_request(scope, receive_again, send))
        watcher = asyncio.create_task(watch())
        try:
            await asyncio.wait({work, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and manager is self.single:
                return
            # An answer of the client to a question has an id, too: the number of the question, not of its own request.
            if not work.done() and "method" in message and "id" in message and SESSION_HEADER in headers:
                await _cancel(manager, scope, message["id"])
            await work
        finally:
            for task in (work, watcher):
                task.cancel()
            await asyncio.wait({work, watcher})

    async def end(self, session: str, scope: Scope) -> None:
        """End a session as its client would, and close its servers."""
        about = {**scope, "method": "DELETE", "headers": [(SESSION_HEADER.encode(), session.encode())]}
        await _send_message(self.sessions, about, b"")
        await self.gateway.forget(session)


class UserSession:
    """A session of a user, and the number of its requests that are being answered."""

    def __init__(self, user: str) -> None:
        self.user, self.open_requests = user, 0


def _parse(body: bytes) -> dict[str, Any]:
    """The message of a request; empty if it is none, which the SDK reports."""
    try:
        message = parse_json(body)
        return message if isinstance(message, dict) else {}
    except NotFinite:
        raise
    except (ValueError, RecursionError):
        return {}


def _note_message(scope: Scope, message: dict[str, Any]) -> None:
    """Note for the audit log what a message asks for: the names in it."""
    method, params = message.get("method"), message.get("params")
    if method is None or NOTES not in scope:
        return
    params = params if isinstance(params, dict) else {}
    own = params.get("name") if method == "tools/call" else None
    arguments = params.get("arguments") if own else {"id": params.get("uri"), "prompt": params.get("name")}
    given = arguments if isinstance(arguments, dict) else {}
    named = {key: given.get(name) for key, name in MESSAGE_NAMES.items()}
    scope[NOTES] |= {"action": f"mcp {own or method}"} | {key: value for key, value in named.items() if value}


def _needs_stream(headers: Headers, message: dict[str, Any]) -> bool:
    """Whether a request belongs to a session, begins one, or is of a version of the protocol without sessions."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415  # slow to load

    version = headers.get("mcp-protocol-version")
    is_modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
    accepts = any(kind in headers.get("accept", "") for kind in ("text/event-stream", "text/*", "*/*"))
    return SESSION_HEADER in headers or (accepts and (is_modern or message.get("method") == "initialize"))


async def _cancel(manager: Manager, scope: Scope, id: Any) -> None:
    """Cancel a request of a session, as its client would."""
    params = {"requestId": id, "reason": "The client closed the connection."}
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode()
    await _send_message(manager, dict(scope), body)


async def _send_message(manager: Manager, scope: Scope, body: bytes) -> None:
    """Send a request of our own to a session, and ignore the answer."""
    import anyio  # noqa: PLC0415  # slow to load

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(_: Message) -> None:
        pass

    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the session has ended
        await manager.handle_request(scope, receive, send)


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a record is about more than a message that arrived after the end of its session."""
    import anyio  # noqa: PLC0415  # slow to load

    return not (record.exc_info and isinstance(record.exc_info[1], anyio.ClosedResourceError))


class Agents:
    """The ASGI application at /mcp. Its managers are made at the first request, once per run of the service."""

    def __init__(
        self, make: Callable[[], Managers], key: str = "get_managers", *, sessions_per_user: int = MOST_SESSIONS
    ) -> None:
        self._make, self._key, self._most_of_user = make, key, sessions_per_user
        self._sessions: dict[str, UserSession] = {}  # those of users, by id, the latest last

    @contextlib.asynccontextmanager
    async def live(self) -> AsyncIterator[dict[str, Any]]:
        """The state of one run of the service."""
        is_over = asyncio.Event()
        tasks: list[asyncio.Task[None]] = []
        managers: asyncio.Future[Managers | Exception] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            """Enter and leave the managers in one task, as they demand."""
            try:
                made = await asyncio.to_thread(self._make)
                async with made.sessions.run(), made.single.run():
                    managers.set_result(made)
                    await is_over.wait()
            except Exception as error:
                log.warning("Agents cannot be served at %s: %s", PATH, error)
                if not managers.done():
                    managers.set_result(error)

        async def get_managers() -> Managers | Exception:
            if not tasks:
                context = contextvars.copy_context()  # for all users, not only the one who is first
                context.run(current_principal.set, None)
                tasks.append(asyncio.create_task(run(), context=context))
            return await asyncio.shield(managers)

        try:
            yield {self._key: get_managers}
        finally:
            is_over.set()
            await asyncio.gather(*tasks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = Headers(scope=scope).get(SESSION_HEADER)
        if scope["method"] != "POST" and session is None:
            detail = "Agents send POST requests to this address; only a session has a stream."
            await make_problem(scope, 405, detail, headers={"Allow": "POST"})(scope, receive, send)
            return
        own = self._sessions.get(session or "")
        if (user := _user_of(scope)) and session is not None:
            if own is None or own.user != user:
                await make_problem(scope, 404, "There is no such session. Initialize again.")(scope, receive, send)
                return
            self._sessions[session] = self._sessions.pop(session)
        scope[EXTEND](SECONDS if scope["method"] == "POST" else STREAM_SECONDS)
        managers = await scope["state"][self._key]()
        if isinstance(managers, Managers):
            if scope["method"] == "POST":
                if user and session is None:
                    if len(self._list_sessions(user, busy=True)) >= self._most_of_user:
                        detail = f"{self._most_of_user} of your sessions are answering requests. Try again later."
                        await make_problem(scope, 429, detail, headers={"Retry-After": "1"})(scope, receive, send)
                        return
                    send = self._note_session(user, send, managers, scope)
                own = own or UserSession(user)
                own.open_requests += 1
                try:
                    await managers.answer(scope, receive, send)
                finally:
                    own.open_requests -= 1
                return
            if scope["method"] == "DELETE" and session is not None:
                self._sessions.pop(session, None)
            await managers.sessions.handle_request(scope, receive, send)
            if scope["method"] == "DELETE" and session is not None:
                await managers.gateway.forget(session)
            return
        status, detail = 503, "An unexpected error occurred. The log of the service has the details."
        if isinstance(managers, ShortlistError):
            status, detail = 501 if isinstance(managers, MissingExtra) else get_status(managers), str(managers)
        await make_problem(scope, status, detail)(scope, receive, send)

    def _list_sessions(self, user: str, *, busy: bool) -> list[str]:
        """The sessions of a user that answer requests or do not, the latest last."""
        return [id for id, one in self._sessions.items() if one.user == user and bool(one.open_requests) == busy]

    def _note_session(self, user: str, send: Send, managers: Managers, scope: Scope) -> Send:
        """Remember who begins a session: no one else may use it. If the user has too many, another one ends."""

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and (id := Headers(raw=message["headers"]).get(SESSION_HEADER)):
                idle = self._list_sessions(user, busy=False)
                if idle and len(idle) + len(self._list_sessions(user, busy=True)) >= self._most_of_user:
                    del self._sessions[idle[0]]
                    # in a task of its own, as the end of a session cancels what serves it
                    await asyncio.wait([asyncio.create_task(managers.end(idle[0], scope))])
                self._sessions[id] = UserSession(user)
                while len(self._sessions) > MOST_SESSIONS:
                    del self._sessions[next(iter(self._sessions))]
            await send(message)

        return send_and_note


class AgentsOfProfiles:
    """The application at /mcp if the settings have rules of access: each user gets the servers of one profile."""

    def __init__(self, make: Callable[[str | None], Agents], profiles: Iterable[str]) -> None:
        self._operators = make("")  # who have the servers that the settings choose
        self._others = {name: make(name) for name in (None, *profiles)}

    @contextlib.asynccontextmanager
    async def live(self) -> AsyncIterator[dict[str, Any]]:
        async with contextlib.AsyncExitStack() as stack:
            state: dict[str, Any] = {}
            for agents in (self._operators, *self._others.values()):
                state |= await stack.enter_async_context(agents.live())
            yield state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal = scope[PRINCIPAL]
        agents = self._operators if principal.is_operator else self._others[principal.profile]
        await agents(scope, receive, send)


def _user_of(scope: Scope) -> str:
    principal: Principal | None = scope.get(PRINCIPAL)
    return principal.user if principal else ""


def make_managers(collection: Collection, llm: LLM | None, *, max_bytes: int, **options: Any) -> Managers:
    """The managers of the SDK for a collection; options are those of `AgentActions`."""
    with needs_extra("mcp", "The MCP server"):
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  # slow
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

        from shortlist.mcp.agent_server import AgentActions, make_server  # noqa: PLC0415
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_unexpected)
    manage = functools.partial(
        StreamableHTTPSessionManager,
        make_server(AgentActions(collection, lambda: llm, **options)),
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # Guard does that
        max_request_body_size=max_bytes,
        max_sessions=MOST_SESSIONS,
    )
    return Managers(manage(), manage(json_response=True, stateless=True), collection.gateway)


def add_mcp(
    endpoints: Endpoints, corpora: ServedCorpora, llm: LLM | None, settings: Settings
) -> Agents | AgentsOfProfiles:
    """Add the routes; `live` must run while the application does."""
    only, server, answers, access = settings.server.corpora, settings.server, settings.answers, settings.access
    is_guarded = server.token is not None or access.has_rules
    is_gateway = settings.mcp.upstream and (is_loopback(server.host) or is_guarded)
    # A settings file may come with a cloned folder, so files that it names need approval like those of a project.
    named_by_file = settings.origins.get("mcp.config") not in (None, PROGRAM)
    choice = ServerChoice((), *ProfileChoice.of(settings))
    configure = functools.partial(GatewayConfig, settings.mcp.config, needs_trust=named_by_file)
    configuration = configure(has_servers=is_gateway, choice=choice)

    def make(configuration: GatewayConfig = configuration) -> Managers:
        shown = AgentCorpora(corpora, all_stored=only is None)
        with_skills, learning = only is None or SKILLS in only, settings.usage.learn
        collection = Collection(Gateway(configuration), shown, with_skills=with_skills, learning=learning)
        options: dict[str, Any] = {"k": answers.top_k, "min_relevance": answers.min_relevance}
        options["summarizes"] = not access.has_rules
        return make_managers(collection, llm, max_bytes=settings.limits.max_body_bytes, **options)

    @endpoints.add("GET /v1/mcp", "McpServers", tag="service")
    def mcp_servers() -> dict[str, Any]:
        """The MCP servers behind /mcp, and what is pending approval, which only the command line can give."""
        gateway = Gateway(configuration)  # it starts no server
        files = [
            {"file": one.id, "servers": one.servers, "command": review_command(one.id)} for one in gateway.pending_files
        ]
        tools = [
            tool.review() | {"command": approve_command(tool.id, gateway.catalog.servers[tool.server])}
            for tool in gateway.catalog.list_pending()
        ]
        return {"servers": gateway.status(), **gateway.profile, "pending_files": files, "pending": tools}

    def make_agents(profile: str | None) -> Agents:
        """The agents for a profile of servers; "" for what the settings choose, None for no servers."""
        most = settings.limits.sessions_per_user
        if profile == "":
            return Agents(make, "managers of operators", sessions_per_user=most)
        chosen = configure(has_servers=is_gateway and profile is not None, choice=ServerChoice((), profile or ""))
        return Agents(functools.partial(make, chosen), f"managers {profile!r}", sessions_per_user=most)

    agents = AgentsOfProfiles(make_agents, access.profiles) if access.has_rules else Agents(make)
    endpoints.app.router.routes.append(Route(PATH, endpoint=agents))
    return agents
