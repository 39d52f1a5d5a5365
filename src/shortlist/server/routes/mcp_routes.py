"""Agents over HTTP: POST /mcp, behind the same access control as all other routes.

Requests are independent and answered with JSON: there are no sessions and no streams. The SDK takes a second to load,
so it is loaded at the first request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from shortlist._http import is_loopback
from shortlist._settings import PROGRAM, ProfileChoice, Settings
from shortlist.errors import MissingExtra, ShortlistError
from shortlist.index.corpus_paths import stored_corpora
from shortlist.mcp.collection import SKILLS, Collection, is_served
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.profiles import Choice
from shortlist.server.catalog_store import NAME, log
from shortlist.server.http_errors import get_status, make_problem
from shortlist.server.jobs import Endpoints
from shortlist.server.middleware import EXTEND
from shortlist.server.routes.corpora_routes import ServedCorpora
from shortlist.sources.mcp_servers.mcp_config import approve_command, review_command

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager as Manager

    from shortlist.protocols import LLM

PATH = "/mcp"
SECONDS = 400.0  # time limit of a request: longer than any action takes


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


class Agents:
    """The ASGI application at /mcp. Its session manager is made at the first request, once per run of the service."""

    def __init__(self, make: Callable[[], Manager]) -> None:
        self._make = make

    @contextlib.asynccontextmanager
    async def live(self) -> AsyncIterator[dict[str, Any]]:
        """The state of one run of the service."""
        is_over = asyncio.Event()
        tasks: list[asyncio.Task[None]] = []
        manager: asyncio.Future[Manager | Exception] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            """Enter and leave the manager in one task, as it demands."""
            try:
                made = await asyncio.to_thread(self._make)
                async with made.run():
                    manager.set_result(made)
                    await is_over.wait()
            except Exception as error:
                log.warning("Agents cannot be served at %s: %s", PATH, error)
                if not manager.done():
                    manager.set_result(error)

        async def get_manager() -> Manager | Exception:
            if not tasks:
                tasks.append(asyncio.create_task(run()))
            return await asyncio.shield(manager)

        try:
            yield {"get_manager": get_manager}
        finally:
            is_over.set()
            await asyncio.gather(*tasks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            detail = "Agents send POST requests to this address; it has no stream."
            await make_problem(scope, 405, detail, headers={"Allow": "POST"})(scope, receive, send)
            return
        scope[EXTEND](SECONDS)
        manager = await scope["state"]["get_manager"]()
        if not isinstance(manager, Exception):
            await manager.handle_request(scope, receive, send)
            return
        status, detail = 503, "An unexpected error occurred. The log of the service has the details."
        if isinstance(manager, ShortlistError):
            status, detail = 501 if isinstance(manager, MissingExtra) else get_status(manager), str(manager)
        await make_problem(scope, status, detail)(scope, receive, send)


def make_manager(collection: Collection, llm: LLM | None, *, max_bytes: int, **options: Any) -> Manager:
    """The session manager of the SDK for a collection; options are those of `AgentActions`."""
    try:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  # slow
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

        from shortlist.mcp.agent_server import AgentActions, make_server  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "The agent server") from error
    return StreamableHTTPSessionManager(
        make_server(AgentActions(collection, lambda: llm, **options)),
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # Guard does that
        max_request_body_size=max_bytes,
    )


def add_mcp(endpoints: Endpoints, corpora: ServedCorpora, llm: LLM | None, settings: Settings) -> Agents:
    """Add the routes; `Agents.live` must run while the application does."""
    only, server, answers = settings.server.corpora, settings.server, settings.answers
    is_gateway = settings.mcp.upstream and (is_loopback(server.host) or server.token is not None)
    # A settings file may come with a cloned folder, so files that it names need approval like those of a project.
    named_by_file = settings.origins.get("mcp.config") not in (None, PROGRAM)
    choice = Choice((), *ProfileChoice.of(settings))
    configuration = GatewayConfig(settings.mcp.config, needs_trust=named_by_file, has_servers=is_gateway, choice=choice)

    def make() -> Manager:
        shown = AgentCorpora(corpora, all_stored=only is None)
        collection = Collection(Gateway(configuration), shown, with_skills=only is None or SKILLS in only)
        options = {"k": answers.top_k, "threshold": answers.threshold}
        return make_manager(collection, llm, max_bytes=settings.limits.max_body_bytes, **options)

    @endpoints.add("GET /v1/mcp", "McpServers", tag="care")
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

    agents = Agents(make)
    endpoints.app.router.routes.append(Route(PATH, endpoint=agents))
    return agents
