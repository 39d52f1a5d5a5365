"""The service as an ASGI application: its routes, its pages, and how it is doing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.middleware import Middleware
from fastapi.routing import APIRoute
from starlette.responses import FileResponse, Response
from starlette.routing import Match
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

import shortlist
from shortlist.errors import SourceError
from shortlist.index.engines.address import sign_in
from shortlist.library.opening import size_of
from shortlist.server import web
from shortlist.server.access_control import Guard
from shortlist.server.catalog_store import Served, log
from shortlist.server.http_errors import handle_errors, responses
from shortlist.server.llm_settings import connect
from shortlist.server.request_log import Watch
from shortlist.server.routes.ask_routes import add_ask
from shortlist.server.routes.catalog_routes import add_catalog
from shortlist.server.routes.corpora_routes import DISCOVER, SEARCH, Shelf, add_corpora
from shortlist.server.routes.eval_routes import add_evaluation
from shortlist.server.routes.mcp_routes import add_mcp
from shortlist.server.routes.schemas import answer_schemas
from shortlist.server.service_metrics import Metrics
from shortlist.server.service_settings import Settings
from shortlist.server.workers import Workers

API_DOCS = Path(__file__).parent / "api_docs"
TIMED = ("/retrieve", SEARCH, DISCOVER)

# How often the document file is looked at; it is read again once it has not changed between two looks.
LOOK_SECONDS = 0.5

# Everything that the pages of /docs load comes from here.
POLICY = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Readable(APIRoute):
    """A route that answers HEAD where it answers GET; the server leaves out the body."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return Match.FULL if match is Match.PARTIAL and self._is_head(scope) else match, child_scope

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.app if self._is_head(scope) else super().handle)(scope, receive, send)

    def _is_head(self, scope: Scope) -> bool:
        return scope["method"] == "HEAD" and "GET" in (self.methods or ())


class Service(FastAPI):
    """An application whose OpenAPI document has the schemas of answers, which no route names by type."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.openapi_version = "3.2.0"  # the first that can describe event streams
        self.router.route_class = Readable

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            super().openapi()["components"]["schemas"] |= answer_schemas()
        return super().openapi()


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application. Its catalog is open, and closed at the end of its life."""
    settings = settings or Settings()
    llm = connect(settings.llm)
    who = settings.engine
    sign_in(who.user, who.password.get_secret_value() if who.password else "", who.certificate)
    served = Served(settings)
    workers = Workers()
    metrics = Metrics(lambda: _numbers(served))

    @contextlib.asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[None]:
        following = asyncio.create_task(_follow(served, workers)) if settings.documents.auto_reload else None
        async with agents.live() if agents else contextlib.nullcontext():
            yield
        if following:
            following.cancel()
        await asyncio.to_thread(workers.close)
        for jobs in (answers, evaluations):
            await jobs.close()
        served.close()
        if llm:
            llm.close()

    app = Service(
        title="shortlist",
        version=shortlist.__version__,
        description="Find the right few tools, skills and documents for an AI agent.",
        docs_url=None,
        redoc_url=None,
        lifespan=live,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        responses=responses(400, 401, 403, 408, 413, 421, 422, 503),
        middleware=[Middleware(Watch, metrics=metrics, timed=TIMED), Middleware(Guard, settings=settings)],
    )
    handle_errors(app)
    add_catalog(app, served, workers)
    _add_status(app, served, workers, metrics, llm.model if llm else "")
    shelf = Shelf(served, settings.server.corpora)
    add_corpora(app, shelf, workers)
    answers = add_ask(app, shelf, llm, settings)
    evaluations = add_evaluation(app, shelf, settings.limits)
    agents = add_mcp(app, shelf, workers, llm, settings) if settings.mcp.enabled else None
    _add_pages(app)
    return app


def _add_status(app: FastAPI, served: Served, workers: Workers, metrics: Metrics, model: str) -> None:
    began = time.monotonic()

    def read_status() -> dict[str, Any]:
        index = _index_facts(served)
        return {
            "status": "degraded" if served.problem else "ok",
            "version": shortlist.__version__,
            "uptime_seconds": round(time.monotonic() - began, 3),
            "document_file": str(served.document_file),
            "documents": index["documents"],
            "problem": served.problem,
            "index": index,
            "llm": model,
            "settings": served.settings(),
            "configuration": served.configuration(),
            "latency": metrics.latencies.summary(),
        }

    @app.get("/status", responses=responses(answer="Status"), tags=["care"])
    async def status() -> Response:
        """Sizes, settings in force, latencies."""
        return await workers.read(read_status)

    @app.get("/health", response_model=None, responses=responses(answer="Alive"), tags=["care"])
    async def health() -> dict[str, str]:
        """Whether the process lives."""
        return {"status": "ok"}

    @app.get("/ready", responses=responses(answer="Alive"), tags=["care"])
    async def ready() -> Response:
        """Whether the index can be read."""

        def look() -> dict[str, str]:
            with served.corpus.snapshot():
                return {"status": "ok"}

        return await workers.read(look)

    @app.get("/metrics", response_class=Response, tags=["care"], responses={200: {"content": {"text/plain": {}}}})
    async def prometheus() -> Response:
        """Counters and gauges in the text format of Prometheus."""
        return await workers.read(lambda: Response(metrics.exposition(), media_type="text/plain; version=0.0.4"))


def _index_facts(served: Served) -> dict[str, Any]:
    corpus = served.corpus
    with corpus.snapshot() as snapshot:
        generation = snapshot.generation or 0
    facts = corpus.info()
    chosen = {key: facts[key] for key in ("documents", "passages", "segments", "analyzer", "embedder", "dim")}
    return {**chosen, "generation": generation, "bytes": size_of(corpus.path)}


def _numbers(served: Served) -> dict[str, float]:
    facts = _index_facts(served)
    return {f"index_{key}": facts[key] for key in ("documents", "passages", "segments", "generation", "bytes")}


async def _follow(served: Served, workers: Workers) -> None:
    """Read the document file again whenever it has changed."""
    last = served.stamp()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = served.stamp()
        if now == last and now != served.stamp_read:
            try:
                await workers.write(lambda: served.reload().to_dict())
                log.info("%s was read again.", served.document_file)
            except SourceError as error:
                log.warning("%s", error)
            except Exception:  # whatever it is, the next change is looked at all the same
                log.exception("%s could not be read again.", served.document_file)
        last = now


def _add_pages(app: FastAPI) -> None:
    app.include_router(web.router)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(API_DOCS / "index.html", headers=POLICY)

    app.mount("/docs", StaticFiles(directory=API_DOCS), name="docs")
