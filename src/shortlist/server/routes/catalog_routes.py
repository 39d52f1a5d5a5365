"""The routes of the catalog."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, FastAPI, Query, Request
from fastapi.routing import APIRoute
from pydantic import BeforeValidator
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.documents import Changes
from shortlist.server.catalog_store import Served
from shortlist.server.http_errors import parse_body, responses
from shortlist.server.routes import schemas
from shortlist.server.routes.corpora_routes import Contained, Offset, describe_changes, list_documents
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
    def report(changes: Changes) -> dict[str, Any]:
        return describe_changes(changes, served.corpus)

    async def retrieve(request: Request) -> Response:
        """The documents that the model should see: BM25 over all, a softmax of the scores, a cut by percentage.

        Where nothing can be retrieved (an empty catalog, a query without a searchable word), `success` is false.
        """
        body = await request.body()
        kind = request.headers.get("content-type", "")

        def search() -> dict[str, Any]:
            wanted = parse_body(body, kind, schemas.RetrieveBody)
            return served.retriever.retrieve_documents(**wanted.model_dump())

        return await workers.retrieve(search)

    schema = {"application/json": {"schema": schemas.RetrieveBody.model_json_schema()}}
    app.router.add_api_route(
        "/retrieve", retrieve, methods=["POST"], responses=responses(answer="Retrieval"),
        tags=["catalog"], route_class_override=Direct,
        openapi_extra={"requestBody": {"required": True, "content": schema}},
    )  # fmt: skip

    @app.post("/index", responses=responses(409, answer="Changed"), tags=["catalog"])
    async def index(body: schemas.IndexBody | None = None) -> Response:
        """Replace all documents by those that are sent or, with `from_file`, by what the document file holds.

        Without either, the present documents are indexed again.
        """
        documents = None if body is None or body.documents is None else [one.to_document() for one in body.documents]
        from_file = body is not None and body.from_file
        return await workers.write(lambda: report(served.index(documents, from_file=from_file)))

    @app.get("/documents", responses=responses(answer="Listing"), tags=["catalog"])
    async def get_documents(
        offset: Offset = 0, limit: Annotated[int | None, Query(ge=0, le=2**31)] = None, q: Contained = ""
    ) -> Response:
        """The documents in the order in which they were first added; all of them unless a limit is given."""
        return await workers.read(lambda: list_documents(served.corpus, q, offset, limit))

    @app.post("/documents", responses=responses(answer="Changed"), tags=["catalog"])
    async def add_documents(
        body: Annotated[OneOrMore, Body(examples=[schemas.TOOL, [schemas.TOOL]])],
    ) -> Response:
        """Add a document, or a list of them; the same id replaces."""
        documents = [one.to_document() for one in body]
        return await workers.write(lambda: report(served.add(documents)))

    @app.delete("/documents/{id:path}", responses=responses(404, answer="Changed"), tags=["catalog"])
    async def delete_document(id: str) -> Response:
        """Delete a document. It stays deleted, although the document file may still hold it."""
        return await workers.write(lambda: report(served.delete(id)))

    @app.post("/documents/reload", responses=responses(409, answer="Changed"), tags=["catalog"])
    @app.post("/reload", responses=responses(409, answer="Changed"), tags=["catalog"])
    async def reload() -> Response:
        """Read the document file again, and apply what has changed in it since it was last read."""
        return await workers.write(lambda: report(served.reload()))

    @app.get("/settings", responses=responses(answer="Cut"), tags=["settings"])
    async def get_settings() -> Response:
        """The settings of /retrieve that are in force."""
        return await workers.read(served.settings)

    @app.post("/settings", responses=responses(answer="Cut"), tags=["settings"])
    async def update_settings(body: schemas.SettingsBody) -> Response:
        """Change the settings that are named, for good; the others stay."""
        return await workers.write(lambda: served.update_settings(body.model_dump(exclude_unset=True)))

    @app.get("/document-files", responses=responses(answer="CatalogFiles"), tags=["settings"])
    async def document_files() -> Response:
        """The catalogs in the configured folder."""
        return await workers.read(served.document_files)

    @app.post("/switch-document-file", responses=responses(404, 409, answer="Changed"), tags=["settings"])
    async def switch_document_file(body: schemas.SwitchBody) -> Response:
        """Serve another catalog of the configured folder from now on."""
        return await workers.write(lambda: report(served.switch(body.file)))
