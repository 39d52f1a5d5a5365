"""Agents over HTTP: POST /mcp, behind the same guard as everything else.

Each request stands for itself and is answered with JSON: there is no session, and no stream to hold open. The SDK takes
a second to load, so that happens at the first request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from shortlist._http import is_loopback
from shortlist._settings import PROGRAM
from shortlist.errors import MissingExtra, ShortlistError
from shortlist.index.corpus_paths import stored_corpora
from shortlist.mcp.collection import SKILLS, Collection, is_served
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.server.access_control import EXTEND
from shortlist.server.catalog_store import NAME, log
from shortlist.server.http_errors import problem, responses, status_of
from shortlist.server.routes.corpora_routes import Shelf
from shortlist.server.service_settings import Settings
from shortlist.server.workers import Workers
from shortlist.sources.mcp_servers.mcp_config import approve_command, review_command

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager as Manager

    from shortlist.protocols import LLM

PATH = "/mcp"
SECONDS = 400.0  # that a request may take: more than any action does


class Shelved:
    """The corpora that the service may show to agents."""

    def __init__(self, shelf: Shelf, *, all_stored: bool) -> None:
        self.corpus = shelf.corpus
        self._shelf = shelf
        self._all_stored = all_stored

    def names(self) -> list[str]:
        names = self._shelf.names()
        if not self._all_stored:
            return names
        stored = stored_corpora()
        return [name for name in names if name == NAME or (name in stored and is_served(name))]

    def kinds(self, name: str) -> dict[str, int]:
        with contextlib.suppress(ShortlistError):
            return self.corpus(name).kinds()
        return {}


class Life:
    """The session manager of one run of the application, made when it is first asked for."""

    def __init__(self, make: Callable[[], Manager]) -> None:
        self._make = make
        self._is_asked, self._is_over = asyncio.Event(), asyncio.Event()
        self._manager: asyncio.Future[Manager | Exception] = asyncio.get_running_loop().create_future()

    async def manager(self) -> Manager | Exception:
        """The manager, or why there is none."""
        self._is_asked.set()
        return await asyncio.shield(self._manager)

    def end(self) -> None:
        self._is_over.set()
        self._is_asked.set()

    async def run(self) -> None:
        """Hold what belongs to one task: the manager, and with it the servers upstream."""
        await self._is_asked.wait()
        failure: Exception = RuntimeError("The service is ending.")
        try:
            if not self._is_over.is_set():
                manager = await asyncio.to_thread(self._make)
                async with manager.run():
                    self._manager.set_result(manager)
                    await self._is_over.wait()
        except Exception as error:  # told to whoever asks
            log.warning("Agents cannot be served at %s: %s", PATH, error)
            failure = error
        finally:
            if not self._manager.done():
                self._manager.set_result(failure)


class Agents:
    """The ASGI application at /mcp."""

    def __init__(self, make: Callable[[], Manager]) -> None:
        self._make = make
        self._lives: dict[asyncio.AbstractEventLoop, Life] = {}  # one application may run in several loops

    @contextlib.asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        life = self._lives[loop] = Life(self._make)
        running = asyncio.create_task(life.run())
        try:
            yield
        finally:
            life.end()
            await running
            del self._lives[loop]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            detail = "Agents POST to this address; there is no stream to listen to."
            await problem(scope, 405, detail, headers={"Allow": "POST"})(scope, receive, send)
            return
        scope[EXTEND](SECONDS)
        manager = await self._lives[asyncio.get_running_loop()].manager()
        if not isinstance(manager, Exception):
            await manager.handle_request(scope, receive, send)
            return
        status, detail = 503, "The service is ending, or something unexpected went wrong: see its log."
        if isinstance(manager, ShortlistError):
            status, detail = 501 if isinstance(manager, MissingExtra) else status_of(manager), str(manager)
        await problem(scope, status, detail)(scope, receive, send)


def add_mcp(app: FastAPI, shelf: Shelf, workers: Workers, llm: LLM | None, settings: Settings) -> Agents:
    """Add the routes; `Agents.live` belongs into the life of the application."""
    only, server, answers = settings.server.corpora, settings.server, settings.answers
    is_gateway = settings.mcp.upstream and (is_loopback(server.host) or server.token is not None)
    # A settings file comes with a folder, so the files that it names wait for approval like those of a project.
    named_by_file = settings.origins.get("mcp.config") not in (None, PROGRAM)
    configuration = GatewayConfig(settings.mcp.config, needs_trust=named_by_file, has_servers=is_gateway)

    def make() -> Manager:
        try:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  # heavy
            from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

            from shortlist.mcp.agent_server import AgentActions, make_server  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("mcp", "mcp", "What agents ask") from error
        shelved = Shelved(shelf, all_stored=only is None)
        collection = Collection(Gateway(configuration), shelved, with_skills=only is None or SKILLS in only)
        return StreamableHTTPSessionManager(
            make_server(AgentActions(collection, lambda: llm, k=answers.top_k, threshold=answers.threshold)),
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's work
            max_request_body_size=settings.limits.max_body_bytes,
        )

    def read_servers() -> dict[str, Any]:
        gateway = Gateway(configuration)  # which starts nothing
        files = [
            {"file": one.id, "servers": one.servers, "command": review_command(one.id)} for one in gateway.pending_files
        ]
        tools = [
            tool.review() | {"command": approve_command(tool.id, gateway.catalog.servers[tool.server])}
            for tool in gateway.catalog.list_pending()
        ]
        return {"servers": gateway.status(), "pending_files": files, "pending": tools}

    @app.get("/v1/mcp", responses=responses(answer="McpServers"), tags=["care"])
    async def mcp_servers() -> Response:
        """The MCP servers behind /mcp, and what waits for the user's approval, which only the command line gives."""
        return await workers.read(read_servers)

    agents = Agents(make)
    app.router.routes.append(Route(PATH, endpoint=agents))
    return agents
