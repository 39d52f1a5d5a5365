"""How does the world ask over HTTP? The application, and the routes of the catalog."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, Query, Request
from fastapi.middleware import Middleware
from fastapi.routing import APIRoute
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

import shortlist
from shortlist.errors import InputError, SourceError
from shortlist.search.corpora import size_of
from shortlist.serve import shapes
from shortlist.serve.guard import Guard
from shortlist.serve.metrics import Metrics
from shortlist.serve.problems import checked, responses, tell_problems
from shortlist.serve.restart import Restart
from shortlist.serve.served import Served, log
from shortlist.serve.settings import Settings
from shortlist.serve.v1 import DISCOVER, SEARCH, Contained, Offset, add_corpora, listed, told
from shortlist.serve.watch import Watch, log_to_stderr
from shortlist.serve.workers import Workers, as_text
from shortlist.types import Changes

PAGE = Path(__file__).parent / "page"
API_DOCS = Path(__file__).parent / "api_docs"
TIMED = ("/retrieve", SEARCH, DISCOVER)

# How often the document file is looked at; it is read again once it has not changed between two looks.
LOOK_SECONDS = 0.5

# Everything that a page of ours may load comes from here.
POLICY = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application. Its catalog is open, and closed at the end of its life."""
    settings = settings or Settings()
    served = Served(settings)
    workers = Workers()
    metrics = Metrics(lambda: _numbers(served))

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        following = asyncio.create_task(_follow(served, workers)) if settings.documents.auto_reload else None
        yield
        if following:
            following.cancel()
        await asyncio.to_thread(workers.close)
        served.close()

    app = FastAPI(
        title="shortlist",
        version=shortlist.__version__,
        description="Finds, for an AI agent, the few right things among many.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        responses=responses(400, 401, 403, 408, 413, 421, 422, 503),
        middleware=[
            Middleware(Watch, metrics=metrics, timed=TIMED),
            Middleware(Guard, settings=settings),
        ],
    )
    tell_problems(app)
    _add_catalog(app, served, workers)
    _add_care(app, served, workers, metrics)
    add_corpora(app, served, workers, settings.server.corpora)
    _add_pages(app)
    return app


class Direct(APIRoute):
    """A route that hands over its request as it is: the way through FastAPI's models costs as much as a search."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive))
        await response(scope, receive, send)


def _add_catalog(app: FastAPI, served: Served, workers: Workers) -> None:
    def changed(changes: Changes) -> dict[str, Any]:
        return told(changes, served.corpus)

    async def retrieve(request: Request) -> Response:
        """The documents that the model should see: BM25 over all, a softmax of the scores, a cut by percentage.

        Where nothing can be retrieved (an empty catalog, a query without a searchable word), `success` is false.
        """
        body = await request.body()
        kind = request.headers.get("content-type", "")

        def retrieved() -> dict[str, Any]:
            wanted = checked(body, kind, shapes.RetrieveBody)
            return served.retriever.retrieve_documents(**wanted.model_dump())

        return await workers.retrieve(retrieved)

    schema = {"application/json": {"schema": shapes.RetrieveBody.model_json_schema()}}
    app.router.add_api_route(
        "/retrieve", retrieve, methods=["POST"], response_model=shapes.Retrieval, responses=responses(),
        tags=["catalog"], route_class_override=Direct,
        openapi_extra={"requestBody": {"required": True, "content": schema}},
    )  # fmt: skip

    @app.post("/index", response_model=shapes.Changed, responses=responses(409), tags=["catalog"])
    async def index(body: shapes.IndexBody | None = None) -> Response:
        """Replace all documents by those that are sent or, with `from_file`, by what the document file holds.

        Without either, the present documents are indexed again.
        """
        documents = None if body is None or body.documents is None else [one.to_document() for one in body.documents]
        from_file = body is not None and body.from_file
        return await workers.write(lambda: changed(served.index(documents, from_file=from_file)))

    @app.get("/documents", response_model=shapes.Listing, tags=["catalog"])
    async def get_documents(
        offset: Offset = 0, limit: Annotated[int | None, Query(ge=0, le=2**31)] = None, q: Contained = ""
    ) -> Response:
        """The documents in the order in which they were first added; all of them unless a limit is given."""
        return await workers.read(lambda: listed(served.corpus, q, offset, limit))

    @app.post("/documents", response_model=shapes.Changed, tags=["catalog"])
    async def add_documents(
        body: Annotated[shapes.DocumentBody | list[shapes.DocumentBody], Body(examples=[shapes.TOOL, [shapes.TOOL]])],
    ) -> Response:
        """Add a document, or a list of them; the same id replaces."""
        documents = [one.to_document() for one in (body if isinstance(body, list) else [body])]
        return await workers.write(lambda: changed(served.add(documents)))

    @app.delete("/documents/{id:path}", response_model=shapes.Changed, responses=responses(404), tags=["catalog"])
    async def delete_document(id: str) -> Response:
        """Delete a document. It stays deleted, although the document file may still hold it."""
        return await workers.write(lambda: changed(served.delete(id)))

    @app.post("/documents/reload", response_model=shapes.Changed, responses=responses(409), tags=["catalog"])
    @app.post("/reload", response_model=shapes.Changed, responses=responses(409), tags=["catalog"])
    async def reload() -> Response:
        """Read the document file again, and apply what has changed in it since it was last read."""
        return await workers.write(lambda: changed(served.reload()))

    @app.get("/settings", response_model=shapes.Cut, tags=["settings"])
    async def get_settings() -> Response:
        """The settings of /retrieve that are in force."""
        return await workers.read(served.settings)

    @app.post("/settings", response_model=shapes.Cut, tags=["settings"])
    async def update_settings(body: shapes.SettingsBody) -> Response:
        """Change the settings that are named, for good; the others stay."""
        return await workers.write(lambda: served.update_settings(body.model_dump(exclude_unset=True)))

    @app.get("/document-files", response_model=shapes.CatalogFiles, tags=["settings"])
    async def document_files() -> Response:
        """The catalogs in the configured folder."""
        return await workers.read(served.document_files)

    @app.post("/switch-document-file", response_model=shapes.Changed, responses=responses(404, 409), tags=["settings"])
    async def switch_document_file(body: shapes.SwitchBody) -> Response:
        """Serve another catalog of the configured folder from now on."""
        return await workers.write(lambda: changed(served.switch(body.file)))


def _add_care(app: FastAPI, served: Served, workers: Workers, metrics: Metrics) -> None:
    began = time.monotonic()

    def status_now() -> dict[str, Any]:
        index = _index_facts(served)
        return {
            "status": "degraded" if served.problem else "ok",
            "version": shortlist.__version__,
            "uptime_seconds": round(time.monotonic() - began, 3),
            "document_file": str(served.document_file),
            "documents": index["documents"],
            "problem": served.problem,
            "index": index,
            "settings": served.settings(),
            "configuration": served.configuration(),
            "latency": metrics.latencies.summary(),
        }

    @app.get("/status", response_model=shapes.Status, tags=["care"])
    async def status() -> Response:
        """Sizes, settings in force, latencies."""
        return await workers.read(status_now)

    @app.get("/health", response_model=shapes.Alive, tags=["care"])
    async def health() -> dict[str, str]:
        """Whether the process lives."""
        return {"status": "ok"}

    @app.get("/ready", response_model=shapes.Alive, tags=["care"])
    async def ready() -> Response:
        """Whether the index can be read."""

        def look() -> dict[str, str]:
            with served.corpus.snapshot():
                return {"status": "ok"}

        return await workers.read(look)

    @app.get("/metrics", response_class=Response, tags=["care"], responses={200: {"content": {"text/plain": {}}}})
    async def prometheus() -> Response:
        """Counters and gauges in the text format of Prometheus."""
        return await workers.read(metrics.exposition, as_text)


def _index_facts(served: Served) -> dict[str, Any]:
    corpus = served.corpus
    with corpus.snapshot() as snapshot:
        generation = snapshot.view.generation
    facts = corpus.info()
    kept = {key: facts[key] for key in ("documents", "passages", "segments", "analyzer", "embedder", "dim")}
    return {**kept, "generation": generation, "bytes": size_of(corpus.path)}


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
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", headers=POLICY)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(API_DOCS / "index.html", headers=POLICY)

    app.mount("/docs", StaticFiles(directory=API_DOCS), name="docs")
    app.mount("/page", StaticFiles(directory=PAGE, check_dir=False), name="page")


def serve(settings: Settings) -> None:
    """Answer until SIGTERM or Ctrl-C; then finish what is under way."""
    import uvicorn  # noqa: PLC0415  # only a service needs a server

    log_to_stderr(settings.server.log_level)
    listener = _listen(settings.server.host, settings.server.port)
    with contextlib.closing(listener):
        config = uvicorn.Config(
            create_app(settings),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=math.ceil(settings.limits.request_seconds),
        )
        host, port = listener.getsockname()[:2]
        log.info("Serving on http://%s:%s.", f"[{host}]" if ":" in host else host, port)
        server = uvicorn.Server(config)
        restart = (
            Restart(settings.file, lambda: setattr(server, "should_exit", True)) if settings.server.reload else None
        )
        with _quiet_signals():
            server.run(sockets=[listener])
    if restart:
        restart.end()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"Port {port} of {host} is taken by another program. Choose another one with --port."
        else:
            reason = f"The address {host}, port {port}, cannot be listened on: {error.strerror or error}."
        raise InputError(reason) from None


@contextlib.contextmanager
def _quiet_signals() -> Iterator[None]:
    """The server raises a signal again after it has heeded it; that must not end the process in another way."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
