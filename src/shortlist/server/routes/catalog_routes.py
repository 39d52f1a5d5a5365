"""The routes of the catalog."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.documents import Changes
from shortlist.server.catalog_store import CatalogStore
from shortlist.server.http_errors import describe_responses
from shortlist.server.jobs import JSON, Endpoints
from shortlist.server.routes import schemas
from shortlist.server.routes.corpora_routes import Offset, Search, SearchText, describe_changes

# A single document becomes a list, so that an error in it is reported once.
OneOrMore = Annotated[
    list[schemas.DocumentBody],
    BeforeValidator(
        lambda body: body if isinstance(body, list) else [body],
        json_schema_input_type=schemas.DocumentBody | list[schemas.DocumentBody],
    ),
]
Answer = dict[str, Any]


class DirectRoute(APIRoute):
    """A route that passes its request on as it is: FastAPI's own parsing takes as long as a search."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive))
        await response(scope, receive, send)


def add_catalog(endpoints: Endpoints, served: CatalogStore, search: Search) -> None:
    def report(changes: Changes) -> Answer:
        return describe_changes(changes, served.corpus)

    async def retrieve(request: Request) -> Response:
        """The documents that the model should see: BM25 over all, a softmax of the scores, a cutoff by percentage.

        If nothing can be retrieved (the catalog is empty, or the query has no searchable word), `success` is false.
        """
        query = _parse_query(await request.body(), request.headers.get("content-type", ""))
        return await search("retrieve", "", query.model_dump())

    schema = {"$ref": "#/components/schemas/RetrieveBody"}
    endpoints.app.router.add_api_route(
        "/retrieve", retrieve, methods=["POST"], responses=describe_responses(answer="Retrieval"),
        tags=["catalog"], route_class_override=DirectRoute,
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}},
    )  # fmt: skip

    @endpoints.add("POST /index", "ChangeReport", 409, tag="catalog")
    def index(body: schemas.IndexBody | None = None) -> Answer:
        """Replace all documents with those that are sent or, with `from_file`, with those of the document file.

        With `rebuild` false, the documents are added to the present ones. Without documents, the index of the present
        ones is rebuilt.
        """
        body = body or schemas.IndexBody()
        documents = None if body.documents is None else [one.to_document() for one in body.documents]
        if documents is not None and not body.rebuild and not body.from_file:
            return report(served.add(documents))
        return report(served.index(documents, from_file=body.from_file))

    @endpoints.add("GET /documents", "CatalogDocuments", tag="catalog")
    def get_documents(
        offset: Offset = 0, limit: Annotated[int | None, Query(ge=0, le=2**31)] = None, q: SearchText = ""
    ) -> Answer:
        """The documents in the order in which they were first added; all of them unless a limit is given."""
        documents, count = served.corpus.browse(q, offset, limit)
        return {"success": True, "documents": [document.copy() for document in documents], "count": count}

    @endpoints.add("POST /documents", "ChangeReport", tag="catalog")
    def add_documents(body: OneOrMore) -> Answer:
        """Add a document, or a list of them; the same id replaces."""
        return report(served.add([one.to_document() for one in body]))

    @endpoints.add("DELETE /documents/{id:path}", "ChangeReport", 404, tag="catalog")
    def delete_document(id: str) -> Answer:
        """Delete a document. It stays deleted even if the document file still contains it."""
        return report(served.delete(id))

    @endpoints.add("POST /documents/reload", "ChangeReport", 409, tag="catalog")
    @endpoints.add("POST /reload", "ChangeReport", 409, tag="catalog")
    def reload() -> Answer:
        """Read the document file again, and apply what has changed in it since it was last read."""
        return report(served.reload())

    @endpoints.add("GET /settings", "BM25SSettings", tag="settings")
    def get_settings() -> Answer:
        """The settings of /retrieve that are in force."""
        return served.settings()

    @endpoints.add("POST /settings", "BM25SSettings", tag="settings")
    def update_settings(body: schemas.SettingsBody) -> Answer:
        """Change the given settings permanently; the others stay."""
        return served.update_settings(body.model_dump(exclude_unset=True))

    @endpoints.add("GET /document-files", "CatalogFiles", tag="settings")
    def document_files() -> Answer:
        """The catalogs in the configured folder."""
        return served.document_files()

    @endpoints.add("POST /switch-document-file", "ChangeReport", 404, 409, tag="settings")
    def switch_document_file(body: schemas.SwitchBody) -> Answer:
        """Serve another catalog of the configured folder from now on."""
        return report(served.switch(body.file))


def _parse_query(body: bytes, content_type: str) -> schemas.RetrieveBody:
    """The body as its model, or the error that FastAPI would raise."""
    if "json" not in content_type:
        raise RequestValidationError([{"type": "dict_type", "loc": ("body",), "msg": "", "input": None}])
    try:
        return schemas.RetrieveBody.model_validate_json(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in details]) from None
