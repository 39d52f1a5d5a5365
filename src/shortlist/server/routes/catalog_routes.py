"""How is the catalog asked and changed over HTTP?"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, FastAPI, Query, Request
from fastapi.routing import APIRoute
from pydantic import BeforeValidator
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.documents import Changes
from shortlist.server.catalog_store import Served
from shortlist.server.http_errors import checked, responses
from shortlist.server.routes import schemas
from shortlist.server.routes.corpora_routes import Contained, Offset, listed, told
from shortlist.server.workers import Workers

# A list of its own for a single one, so that a mistake is told once, of what was sent.
OneOrMore = Annotated[
    list[schemas.DocumentBody],
    BeforeValidator(
        lambda body: body if isinstance(body, list) else [body],
        json_schema_input_type=schemas.DocumentBody | list[schemas.DocumentBody],
    ),
]


class Direct(APIRoute):
    """A route that hands over its request as it is: the way through FastAPI's models costs as much as a search."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive))
        await response(scope, receive, send)


def add_catalog(app: FastAPI, served: Served, workers: Workers) -> None:
    def changed(changes: Changes) -> dict[str, Any]:
        return told(changes, served.corpus)

    async def retrieve(request: Request) -> Response:
        """The documents that the model should see: BM25 over all, a softmax of the scores, a cut by percentage.

        Where nothing can be retrieved (an empty catalog, a query without a searchable word), `success` is false.
        """
        body = await request.body()
        kind = request.headers.get("content-type", "")

        def retrieved() -> dict[str, Any]:
            wanted = checked(body, kind, schemas.RetrieveBody)
            return served.retriever.retrieve_documents(**wanted.model_dump())

        return await workers.retrieve(retrieved)

    schema = {"application/json": {"schema": schemas.RetrieveBody.model_json_schema()}}
    app.router.add_api_route(
        "/retrieve", retrieve, methods=["POST"], response_model=schemas.Retrieval, responses=responses(),
        tags=["catalog"], route_class_override=Direct,
        openapi_extra={"requestBody": {"required": True, "content": schema}},
    )  # fmt: skip

    @app.post("/index", response_model=schemas.Changed, responses=responses(409), tags=["catalog"])
    async def index(body: schemas.IndexBody | None = None) -> Response:
        """Replace all documents by those that are sent or, with `from_file`, by what the document file holds.

        Without either, the present documents are indexed again.
        """
        documents = None if body is None or body.documents is None else [one.to_document() for one in body.documents]
        from_file = body is not None and body.from_file
        return await workers.write(lambda: changed(served.index(documents, from_file=from_file)))

    @app.get("/documents", response_model=schemas.Listing, tags=["catalog"])
    async def get_documents(
        offset: Offset = 0, limit: Annotated[int | None, Query(ge=0, le=2**31)] = None, q: Contained = ""
    ) -> Response:
        """The documents in the order in which they were first added; all of them unless a limit is given."""
        return await workers.read(lambda: listed(served.corpus, q, offset, limit))

    @app.post("/documents", response_model=schemas.Changed, tags=["catalog"])
    async def add_documents(
        body: Annotated[OneOrMore, Body(examples=[schemas.TOOL, [schemas.TOOL]])],
    ) -> Response:
        """Add a document, or a list of them; the same id replaces."""
        documents = [one.to_document() for one in body]
        return await workers.write(lambda: changed(served.add(documents)))

    @app.delete("/documents/{id:path}", response_model=schemas.Changed, responses=responses(404), tags=["catalog"])
    async def delete_document(id: str) -> Response:
        """Delete a document. It stays deleted, although the document file may still hold it."""
        return await workers.write(lambda: changed(served.delete(id)))

    @app.post("/documents/reload", response_model=schemas.Changed, responses=responses(409), tags=["catalog"])
    @app.post("/reload", response_model=schemas.Changed, responses=responses(409), tags=["catalog"])
    async def reload() -> Response:
        """Read the document file again, and apply what has changed in it since it was last read."""
        return await workers.write(lambda: changed(served.reload()))

    @app.get("/settings", response_model=schemas.Cut, tags=["settings"])
    async def get_settings() -> Response:
        """The settings of /retrieve that are in force."""
        return await workers.read(served.settings)

    @app.post("/settings", response_model=schemas.Cut, tags=["settings"])
    async def update_settings(body: schemas.SettingsBody) -> Response:
        """Change the settings that are named, for good; the others stay."""
        return await workers.write(lambda: served.update_settings(body.model_dump(exclude_unset=True)))

    @app.get("/document-files", response_model=schemas.CatalogFiles, tags=["settings"])
    async def document_files() -> Response:
        """The catalogs in the configured folder."""
        return await workers.read(served.document_files)

    @app.post("/switch-document-file", response_model=schemas.Changed, responses=responses(404, 409), tags=["settings"])
    async def switch_document_file(body: schemas.SwitchBody) -> Response:
        """Serve another catalog of the configured folder from now on."""
        return await workers.write(lambda: changed(served.switch(body.file)))
