"""The routes of the retriever at the root, and the bodies of their requests."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AliasChoices, BeforeValidator, Field, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from shortlist.compat.retriever import retrieve_from_corpus
from shortlist.compat.retriever_settings import DEFAULTS
from shortlist.compat.served_retriever import ServedRetriever
from shortlist.documents import Changes
from shortlist.errors import CorpusNotFound
from shortlist.library.opening import as_seen
from shortlist.server.catalog_store import NAME
from shortlist.server.extensions import RunSearch
from shortlist.server.http_errors import describe_responses
from shortlist.server.jobs import JSON, SHORT, Endpoints
from shortlist.server.routes.corpora_routes import Offset, SearchText, describe_changes
from shortlist.server.routes.schemas import (
    EXAMPLE,
    Body,
    DocumentBody,
    Percentage,
    QueryText,
    Temperature,
    show_example,
)

# A single document becomes a list, so that an error in it is reported once.
OneOrMore = Annotated[
    list[DocumentBody],
    BeforeValidator(
        lambda body: body if isinstance(body, list) else [body],
        json_schema_input_type=DocumentBody | list[DocumentBody],
    ),
]
Answer = dict[str, Any]


class RetrieveBody(Body):
    """A query, and settings for this call only."""

    model_config = show_example(query="give the money back", llm_tools_cutoff=5)

    query: QueryText
    temperature: Temperature | None = None
    ignore_zero: bool | None = None
    llm_tools_cutoff: Percentage | None = None


class IndexBody(Body):
    """Documents that replace all others, or from_file to use those of the document file."""

    model_config = show_example(documents=[EXAMPLE])

    documents: list[DocumentBody] | None = None
    from_file: bool = False
    rebuild: bool = True


class SettingsBody(Body):
    """Only the given settings are changed."""

    model_config = show_example(temperature=2.0)

    temperature: Temperature = DEFAULTS.temperature
    ignore_zero: bool = DEFAULTS.ignore_zero
    llm_tools_cutoff: Percentage = DEFAULTS.llm_tools_cutoff


class SwitchBody(Body):
    """The name of a file that GET /document-files lists. `filename` is another name of `file`."""

    model_config = show_example(file="tools.yaml")

    file: str = Field(min_length=1, validation_alias=AliasChoices("file", "filename"))
    confirmed: bool = True  # accepted, but not needed: changes made to the catalogs stay


class DirectRoute(APIRoute):
    """A route that passes its request on as it is: FastAPI's own parsing takes as long as a search."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive))
        await response(scope, receive, send)


def add_catalog_routes(endpoints: Endpoints, retriever: ServedRetriever, run_search: RunSearch) -> None:
    catalog = retriever.catalog

    def report(changes: Changes) -> Answer:
        return describe_changes(changes, catalog.corpus)

    async def retrieve(request: Request) -> Response:
        """The documents that the model should see: BM25 over all, a softmax of the scores, a cutoff by percentage.

        If nothing can be retrieved (the catalog is empty, or the query has no searchable word), `success` is false.
        """
        query = _parse_query(await request.body(), request.headers.get("content-type", ""))
        options = query.model_dump() | {"settings": retriever.settings}
        return await run_search(retrieve_from_corpus, NAME, options, SHORT)

    schema = {"$ref": "#/components/schemas/RetrieveBody"}
    endpoints.app.router.add_api_route(
        "/retrieve", retrieve, methods=["POST"], responses=describe_responses(answer="Retrieval"),
        tags=["catalog"], route_class_override=DirectRoute,
        openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}},
    )  # fmt: skip

    @endpoints.add("POST /index", "ChangeReport", 409, tag="catalog")
    def index(body: IndexBody | None = None) -> Answer:
        """Replace all documents with those that are sent or, with `from_file`, with those of the document file.

        With `rebuild` false, the documents are added to the present ones. Without documents, the index of the present
        ones is rebuilt.
        """
        body = body or IndexBody()
        documents = None if body.documents is None else [document.to_document() for document in body.documents]
        if documents is not None and not body.rebuild and not body.from_file:
            return report(catalog.add(documents))
        return report(catalog.index(documents, from_file=body.from_file))

    @endpoints.add("GET /documents", "CatalogDocuments", tag="catalog")
    def get_documents(
        offset: Offset = 0, limit: Annotated[int | None, Query(ge=0, le=2**31)] = None, q: SearchText = ""
    ) -> Answer:
        """The documents in the order in which they were first added; all of them unless a limit is given."""
        documents, count = as_seen(catalog.corpus, NAME).browse(q, offset, limit)
        return {"success": True, "documents": [document.copy() for document in documents], "count": count}

    @endpoints.add("POST /documents", "ChangeReport", tag="catalog")
    def add_documents(body: OneOrMore) -> Answer:
        """Add a document, or a list of them; the same id replaces."""
        return report(catalog.add([document.to_document() for document in body]))

    @endpoints.add("DELETE /documents/{id:path}", "ChangeReport", 404, tag="catalog")
    def delete_document(id: str) -> Answer:
        """Delete a document. It stays deleted even if the document file still contains it."""
        changes = catalog.delete(id)
        if not changes.removed:
            raise CorpusNotFound(f"There is no document {id!r}. GET /documents lists all documents.")
        return report(changes)

    @endpoints.add("POST /documents/reload", "ChangeReport", 409, tag="catalog")
    @endpoints.add("POST /reload", "ChangeReport", 409, tag="catalog")
    def reload() -> Answer:
        """Read the document file again, and apply what has changed in it since it was last read."""
        return report(catalog.reload())

    @endpoints.add("GET /settings", "BM25SSettings", tag="settings")
    def get_settings() -> Answer:
        """The settings of /retrieve that are in force."""
        return retriever.settings.to_dict()

    @endpoints.add("POST /settings", "BM25SSettings", tag="settings")
    def update_settings(body: SettingsBody) -> Answer:
        """Change the given settings permanently; the others stay."""
        return retriever.update_settings(body.model_dump(exclude_unset=True)).to_dict()

    @endpoints.add("GET /document-files", "CatalogFiles", tag="settings")
    def document_files() -> Answer:
        """The catalogs in the configured folder."""
        return retriever.document_files()

    @endpoints.add("POST /switch-document-file", "ChangeReport", 404, 409, tag="settings")
    def switch_document_file(body: SwitchBody) -> Answer:
        """Serve another catalog of the configured folder from now on."""
        return report(retriever.switch(body.file))


def _parse_query(body: bytes, content_type: str) -> RetrieveBody:
    """The body as its model, or the error that FastAPI would raise."""
    if "json" not in content_type:
        raise RequestValidationError([{"type": "dict_type", "loc": ("body",), "msg": "", "input": None}])
    try:
        return RetrieveBody.model_validate_json(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in details]) from None
