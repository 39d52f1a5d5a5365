"""The service as an ASGI application: its routes, its pages and its status."""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

import shortlist
from shortlist._files import stamp_of
from shortlist._settings import Settings
from shortlist.errors import SourceError
from shortlist.index.engines.address import sign_in
from shortlist.library.opening import size_of
from shortlist.library.uploads import Uploads
from shortlist.mcp.collection import SKILLS
from shortlist.safety.principals import ANY
from shortlist.server.access.audit_log import AuditLog
from shortlist.server.catalog_store import CatalogStore, log
from shortlist.server.extensions import Extension
from shortlist.server.http_errors import describe_responses, handle_errors
from shortlist.server.jobs import JSON, Endpoints, respond_while_connected
from shortlist.server.llm_settings import connect
from shortlist.server.middleware import CHANGING, LARGE_BODIES, Guard, Watch
from shortlist.server.page_document import read_page
from shortlist.server.routes.api_document import add_schemas, summarize_operations
from shortlist.server.routes.authorization import add_metadata, authorize_routes
from shortlist.server.routes.corpora_routes import DISCOVER, SEARCH, ServedCorpora, add_corpora
from shortlist.server.routes.job_routes import add_ask, add_evaluation
from shortlist.server.routes.mcp_routes import add_mcp
from shortlist.server.routes.service_route import ServiceRoute
from shortlist.server.routes.upload_routes import add_uploads
from shortlist.server.search_workers import SearchWorkers
from shortlist.server.service_metrics import Metrics

# That pages of `server.cors_origins` may send, and read besides those that every page may.
CORS_HEADERS = (
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "x-request-id",
)
EXPOSED_HEADERS = ("mcp-session-id", "retry-after", "www-authenticate", "x-request-id")
CORS_SECONDS = 600  # for which a browser remembers that

TIMED = (SEARCH, DISCOVER)
POLL_SECONDS = 0.5  # between looks at the document file, which is read once it is the same in two looks

FILES_POLICY = "default-src 'none'; frame-ancestors 'none'"  # of the files below /page, which are no documents
DOCS_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}


class Service(FastAPI):
    """An application whose OpenAPI document has the schemas of answers, which no route names by type."""

    extension = Extension()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._route = self.router.middleware_stack
        self.router.middleware_stack = self._route_by_segment

    async def _route_by_segment(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Try the routes whose first segment the path has, and only then all of them."""
        path = scope.get("path", "")
        for route in self._routes.get(path.split("/", 2)[1], ()) if path.startswith("/") else ():
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                await route.handle(scope, receive, send)
                return
        await self._route(scope, receive, send)

    @cached_property
    def _routes(self) -> Mapping[str, Sequence[Route]]:
        """The routes by the first segment of their paths, in order."""
        routes: dict[str, list[Route]] = {}
        for route in self.router.routes:
            if isinstance(route, Route):
                routes.setdefault(route.path.split("/", 2)[1], []).append(route)
        return routes

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            add_schemas(document["components"]["schemas"], self.extension.models)
            summarize_operations(document["paths"])
        return super().openapi()


def create_app(
    settings: Settings | None = None, catalog: CatalogStore | None = None, extension: Extension | None = None
) -> FastAPI:
    """The service as an ASGI application. Its catalog is open, and closed when the application ends.

    The catalog is the corpus of the document file in `settings`, unless another one is given. `extension` adds routes.
    """
    settings, extension = settings or Settings(), extension or Extension()
    settings.access.check_complete()
    settings.audit.check_complete()
    audit = AuditLog(settings.audit) if settings.audit.file else None
    llm = connect(settings.llm)
    login = settings.engine
    sign_in(login.user, login.password.get_secret_value() if login.password else "", login.certificate)
    served = catalog or CatalogStore(settings)
    metrics = Metrics(lambda: {f"index_{key}": value for key, value in _index_sizes(served).items()})

    @contextlib.asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        following = asyncio.create_task(_follow(served, endpoints)) if settings.documents.auto_reload else None
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(workers.close)
            if settings.server.workers:
                await workers.start()
            yield await stack.enter_async_context(agents.live()) if agents else {}
        if following:
            following.cancel()
        await asyncio.to_thread(endpoints.close)
        for jobs in (answers, evaluations, builds):
            await jobs.close()
        served.close()
        if llm:
            llm.close()
        if audit:
            audit.close()

    app = Service(
        title="shortlist",
        version=shortlist.__version__,
        description="Find the right few tools, skills and documents for an AI agent.",
        docs_url=None,
        redoc_url=None,
        lifespan=live,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        responses=describe_responses(400, 401, 403, 408, 413, 421, 422, 429, 431, 503),
        middleware=[
            *_allow_origins(settings.server.cors_origins),
            Middleware(Watch, metrics=metrics, timed=(*TIMED, *extension.timed), audit=audit),
            Middleware(Guard, settings=settings, large_bodies=(*LARGE_BODIES, *extension.large_bodies)),
        ],
    )
    app.extension = extension
    app.openapi_version = "3.2.0"  # the first that can describe event streams
    app.router.route_class = ServiceRoute
    handle_errors(app)
    endpoints = Endpoints(app)
    uploads = Uploads()
    corpora = ServedCorpora(served, settings.server.corpora, settings.usage.learn, uploads)
    workers = SearchWorkers(settings, served)

    async def run_search(
        function: Callable[..., dict[str, Any]], name: str, options: dict[str, Any], pool: str
    ) -> Response:
        if workers.are_ready:
            answer = asyncio.ensure_future(workers.answer(function, name, options))
            return await respond_while_connected(answer, lambda data: Response(data, media_type=JSON))
        with workers.overlap(function, name, options):
            return await endpoints.run(pool, lambda: corpora.answer(function, name, options))

    extension.add_routes(endpoints, run_search)
    _add_status(endpoints, served, metrics, llm.model if llm else "", settings, extension)
    add_corpora(endpoints, corpora, run_search)
    answers = add_ask(app, corpora, llm, settings)
    evaluations = add_evaluation(app, corpora, settings)
    builds = add_uploads(endpoints, settings, uploads)
    agents = add_mcp(endpoints, corpora, llm, settings) if settings.mcp.enabled else None
    add_pages(app)
    if settings.access.issuer:
        add_metadata(app, settings.access)
    if settings.access.has_rules:
        authorize_routes(app, extension.rights)
        _warn_of_unserved({*settings.access.grants, *settings.access.documents} - {ANY, SKILLS, *corpora.names()})
    return app


def _allow_origins(origins: Sequence[str]) -> list[Middleware]:
    """What lets the pages of these origins send requests and read the answers."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", *CHANGING),
            allow_headers=CORS_HEADERS,
            expose_headers=EXPOSED_HEADERS,
            max_age=CORS_SECONDS,
        )
    ]


def _warn_of_unserved(names: Collection[str]) -> None:
    for name in sorted(names):
        log.warning("access has rules for %r, but no corpus of this name is served.", name)


def _add_status(
    endpoints: Endpoints,
    served: CatalogStore,
    metrics: Metrics,
    model: str,
    settings: Settings,
    extension: Extension,
) -> None:
    app, started = endpoints.app, time.monotonic()

    @endpoints.add("GET /status", "Status", tag="service")
    def status() -> dict[str, Any]:
        """Sizes, settings in force and latencies."""
        info, sizes = served.corpus.info(), _index_sizes(served)
        return {
            "status": "degraded" if served.problem else "ok",
            "version": shortlist.__version__,
            "uptime_seconds": round(time.monotonic() - started, 3),
            "document_file": str(served.document_file),
            "documents": sizes["documents"],
            "problem": served.problem,
            "index": {**sizes, **{key: info[key] for key in ("analyzer", "embedder", "dim", "languages", "advice")}},
            "learning": served.corpus.learning,
            "llm": model,
            "configuration": settings.rows(extension.changed_settings()),
            "latency": metrics.latencies.summary(),
            "extensions": [extension.name] if extension.name else [],
            **extension.status(),
        }

    @app.get("/health", response_model=None, responses=describe_responses(answer="Health"), tags=["service"])
    async def health() -> Response:
        """Whether the process is running."""
        return Response(b'{"status":"ok"}', media_type=JSON)

    @endpoints.add("GET /ready", "Health", tag="service")
    def ready() -> dict[str, str]:
        """Whether the index can be read."""
        with served.corpus.snapshot():
            return {"status": "ok"}

    @app.get("/metrics", response_class=Response, tags=["service"], responses={200: {"content": {"text/plain": {}}}})
    async def prometheus() -> Response:
        """Counters and gauges in the text format of Prometheus."""
        text_format = "text/plain; version=0.0.4"
        return await endpoints.run("read", lambda: Response(metrics.exposition(), media_type=text_format))


def _index_sizes(served: CatalogStore) -> dict[str, Any]:
    corpus = served.corpus
    info = corpus.info()
    with corpus.snapshot() as snapshot:
        generation = snapshot.generation or 0
    sizes = {key: info[key] for key in ("documents", "passages", "segments")}
    return {**sizes, "generation": generation, "bytes": size_of(corpus.path)}


async def _follow(served: CatalogStore, endpoints: Endpoints) -> None:
    """Read the document file again whenever it has changed."""
    last = stamp_of(served.document_file)
    while True:
        await asyncio.sleep(POLL_SECONDS)
        now = stamp_of(served.document_file)
        if now == last and now != served.stamp_read:
            try:
                await endpoints.run("write", lambda: served.reload().to_dict())
                log.info("%s was read again.", served.document_file)
            except SourceError as error:
                log.warning("%s", error)
            except Exception:  # the next change is read all the same
                log.exception("%s could not be read again.", served.document_file)
        last = now


mimetypes.add_type("text/javascript", ".js")  # some systems have another type, which browsers refuse


class Pages(StaticFiles):
    """The files of a folder next to this module, with headers."""

    def __init__(self, folder: str, policy: str) -> None:
        super().__init__(directory=Path(__file__).parent / folder)
        self._headers = HEADERS | {"Content-Security-Policy": policy}

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers.update(self._headers)
        return response


def add_pages(app: FastAPI) -> None:
    """Add the web page at / with its files below /page, and the API reference at and below /docs."""
    page, docs = Pages("web", FILES_POLICY), Pages("api_docs", DOCS_POLICY)

    @app.get("/", include_in_schema=False)
    def show_page(request: Request) -> Response:
        html, compressed, tag, policy = read_page()
        headers = {**HEADERS, "Content-Security-Policy": policy, "ETag": tag, "Vary": "Accept-Encoding"}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(html, headers=headers, media_type="text/html")
        return Response(compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type="text/html")

    @app.get("/docs", include_in_schema=False)
    async def show_docs(request: Request) -> Response:
        return await docs.get_response("index.html", request.scope)

    app.mount("/page", page)
    app.mount("/docs", docs)
