"""The routes below /v1/corpora; the served catalog is one of the corpora."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from fastapi import FastAPI, Query
from starlette.responses import Response

from shortlist._text import did_you_mean
from shortlist.documents import Changes, Document
from shortlist.errors import CorpusNotFound, SourceError
from shortlist.index.corpus import Corpus
from shortlist.index.engine import EMBEDDED
from shortlist.index.location import find_corpus_file
from shortlist.library import registry
from shortlist.library.opening import describe_corpora, open_named, size_of
from shortlist.search.disclose import disclose, read_hit
from shortlist.search.discover import discover
from shortlist.search.retrieve import search
from shortlist.server.catalog_store import NAME, Served
from shortlist.server.http_errors import responses
from shortlist.server.routes import schemas
from shortlist.server.workers import Workers

SEARCH = "/v1/corpora/{name:path}/search"
DISCOVER = "/v1/corpora/{name:path}/discover"
DOCUMENTS = "/v1/corpora/{name:path}/documents"
DOCUMENT = "/v1/corpora/{name:path}/documents/{id:path}"

Offset = Annotated[int, Query(ge=0, le=2**31)]
Contained = Annotated[str, Query(description="Only documents that hold this text.")]


class Shelf:
    """The corpora that may be asked for: those that were named, or all that are known, and the catalog."""

    def __init__(self, served: Served, only: Collection[str] | None) -> None:
        self._served = served
        self._only = only

    def names(self) -> list[str]:
        return [NAME, *(name for name in (registry.names() if self._only is None else self._only) if name != NAME)]

    def corpus(self, name: str) -> Corpus:
        """The corpus of that name. One that was never built is not built for whoever asks."""
        if name == NAME:
            return self._served.corpus
        names = self.names()
        if name not in names:
            raise CorpusNotFound(f"There is no corpus {name!r}.{did_you_mean(name, names)} GET /v1/corpora lists them.")
        if find_corpus_file(name) is None:
            raise SourceError(f"The corpus {name!r} was never built. Run: shortlist build {name}.")
        return open_named(name)

    def document(self, name: str, id: str) -> tuple[str, Document]:
        """A document and its corpus. Both may have slashes, so the border may lie at any /documents/ between them."""
        parts = f"{name}/documents/{id}".split("/documents/")
        for at in range(1, len(parts)):
            name, id = "/documents/".join(parts[:at]), "/documents/".join(parts[at:])
            if name in self.names():
                break
        document = self.corpus(name).get(id)
        if document is None:
            raise CorpusNotFound(f"The corpus {name!r} has no document {id!r}.")
        return name, document

    def rows(self) -> list[dict[str, Any]]:
        catalog = self._served.corpus
        facts = catalog.info()
        own = {
            "name": NAME,
            "kind": "catalog",
            "roots": [str(self._served.document_file)],
            "built": True,
            **{key: facts[key] for key in ("documents", "passages", "embedder")},
            "engine": EMBEDDED,
            "bytes": size_of(catalog.path),
            "problem": self._served.problem or None,
        }
        names = self.names()
        return [own, *(row for row in describe_corpora() if row["name"] in names and row["name"] != NAME)]

    def add(self, name: str, documents: list[Document]) -> Changes:
        if name == NAME:
            return self._served.add(documents)
        return self.corpus(name).add(documents, strict=True)

    def delete(self, name: str, id: str) -> Changes:
        name, document = self.document(name, id)
        if name == NAME:
            return self._served.delete(document.id)
        return Changes(removed=self.corpus(name).remove(document.id))


def describe_changes(changes: Changes, corpus: Corpus) -> dict[str, Any]:
    """What a change did."""
    counts = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "Nothing changed"
    answer = {"success": True, "message": f"{words}.", "count": len(corpus)}
    return answer | counts | {"unchanged": changes.unchanged}


def list_documents(corpus: Corpus, text: str, offset: int, limit: int | None) -> dict[str, Any]:
    documents, count = corpus.browse(text, offset, limit)
    return {"documents": [to_plain(document) for document in documents], "count": count}


def to_plain(document: Document) -> dict[str, Any]:
    return {key: getattr(document, key) for key in ("id", "title", "content", "keywords", "metadata")}


def discover_all(corpus: Corpus, body: schemas.DiscoverBody) -> dict[str, Any]:
    """What was discovered, with every candidate in full, whether it was chosen, and the score that divides them."""
    discovery = discover(corpus, **body.model_dump(), roots=())
    chosen = {item.id for item in discovery.results}
    candidates = [{**hit.to_dict(), "selected": hit.id in chosen} for hit in discovery.candidates]
    return {**discovery.to_dict(), "candidates": candidates, "line": discovery.signals.get("line")}


def add_corpora(app: FastAPI, shelf: Shelf, workers: Workers) -> None:
    def describe(answer: str) -> dict[str, Any]:
        return {"tags": ["corpora"], "responses": responses(404, 409, answer=answer)}

    @app.get("/v1/corpora", responses=responses(answer="Corpora"), tags=["corpora"])
    async def get_corpora() -> Response:
        """The corpora that can be asked: the served catalog, and those that are registered, stored or built in."""
        return await workers.read(lambda: {"corpora": shelf.rows()})

    @app.post(SEARCH, **describe("Hits"))
    async def search_corpus(name: str, body: schemas.SearchBody) -> Response:
        """Rank documents, best first."""
        return await workers.read(lambda: search(shelf.corpus(name), **body.model_dump()).to_dict())

    @app.post(DISCOVER, **describe("Discovery"))
    async def discover_in_corpus(name: str, body: schemas.DiscoverBody) -> Response:
        """Choose the few that fit, or say that nothing does; with every candidate, so that the choice can be seen."""
        return await workers.read(lambda: discover_all(shelf.corpus(name), body))

    @app.post("/v1/corpora/{name:path}/disclose", **describe("Disclosed"))
    async def disclose_of_corpus(name: str, body: schemas.DiscloseBody) -> Response:
        """Show documents by their ids."""

        def show() -> dict[str, Any]:
            corpus = shelf.corpus(name)
            items = disclose([read_hit(corpus, id) for id in body.ids], body.level, roots=())
            return {"documents": [item.to_dict() for item in items]}

        return await workers.read(show)

    @app.get(DOCUMENTS, **describe("Listing"))
    async def get_corpus_documents(
        name: str,
        offset: Offset = 0,
        limit: Annotated[int, Query(ge=0, le=schemas.MOST_LISTED)] = 100,
        q: Contained = "",
    ) -> Response:
        """Documents in the order in which they were first added, and how many there are."""
        return await workers.read(lambda: list_documents(shelf.corpus(name), q, offset, limit))

    @app.post(DOCUMENTS, **describe("Changed"))
    async def add_corpus_documents(name: str, body: schemas.DocumentsBody) -> Response:
        """Add documents; the same id replaces. A corpus with a source holds them until it is built again."""
        documents = [one.to_document() for one in body.documents]
        return await workers.write(lambda: describe_changes(shelf.add(name, documents), shelf.corpus(name)))

    @app.get(DOCUMENT, **describe("Plain"))
    async def get_corpus_document(name: str, id: str) -> Response:
        return await workers.read(lambda: to_plain(shelf.document(name, id)[1]))

    @app.delete(DOCUMENT, **describe("Changed"))
    async def delete_corpus_document(name: str, id: str) -> Response:
        """Delete a document. A corpus with a source gets it back when it is built again."""

        def delete() -> dict[str, Any]:
            known = shelf.document(name, id)[0]
            return describe_changes(shelf.delete(name, id), shelf.corpus(known))

        return await workers.write(delete)
