"""The service with the retriever: `/retrieve` and the other routes at the root, over the catalog of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import FastAPI

from shortlist.compat import retriever_answers
from shortlist.compat.catalog_routes import RetrieveBody, add_catalog_routes
from shortlist.compat.retriever_settings import CompatSettings
from shortlist.compat.served_retriever import ServedRetriever
from shortlist.safety.principals import Right
from shortlist.server import application
from shortlist.server.extensions import Extension, RunSearch
from shortlist.server.jobs import Endpoints


def create_app(settings: CompatSettings | None = None) -> FastAPI:
    """The service as an ASGI application. Its catalog is open, and closed when the application ends."""
    settings = settings or CompatSettings()
    retriever = ServedRetriever(settings)
    return application.create_app(settings, retriever.catalog, RetrieverExtension(retriever))


class RetrieverExtension(Extension):
    """Adds the routes and the settings of the retriever."""

    name = "retriever"
    timed = ("/retrieve",)
    large_bodies = ("/index",)
    rights: ClassVar[Mapping[str, Right]] = {
        "POST /retrieve": "read",
        "GET /documents": "read",
        "GET /settings": "read",
        "POST /documents": "write",
        "DELETE /documents/{id:path}": "write",
        "POST /documents/reload": "write",
        "POST /reload": "write",
        "POST /index": "write",
    }
    models = (
        RetrieveBody,
        retriever_answers.BM25SSettingsJson,
        retriever_answers.CatalogDocumentsJson,
        retriever_answers.CatalogFilesJson,
        retriever_answers.RetrievalJson,
    )

    def __init__(self, retriever: ServedRetriever) -> None:
        self._retriever = retriever

    def add_routes(self, endpoints: Endpoints, run_search: RunSearch) -> None:
        add_catalog_routes(endpoints, self._retriever, run_search)

    def status(self) -> dict[str, Any]:
        return {"settings": self._retriever.settings.to_dict()}

    def changed_settings(self) -> dict[str, tuple[Any, str]]:
        return self._retriever.state.rows()
