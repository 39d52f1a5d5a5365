"""The routes below /v1/corpora; the served catalog is one of the corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Query, Request
from starlette.responses import Response

from shortlist._text import did_you_mean, natural_key
from shortlist.documents import Changes, Document
from shortlist.errors import CorpusError, CorpusNotFound, SourceError
from shortlist.eval.explain import explain
from shortlist.index.corpus import Corpus, read_analyzer
from shortlist.index.corpus_paths import is_stored
from shortlist.index.engine import EMBEDDED
from shortlist.index.storage.usage_log import Learning
from shortlist.library import registry
from shortlist.library.corpus_names import resolve
from shortlist.library.opening import as_seen, describe_corpora, open_named, size_of
from shortlist.library.uploads import Uploads, is_uploaded
from shortlist.retrieval.disclose import disclose, read_hit
from shortlist.retrieval.discover import discover
from shortlist.retrieval.learning.examples import MOST_IN_SESSION, fit_threshold
from shortlist.retrieval.search import search, search_many, search_with_facts
from shortlist.safety.principals import current_principal, may_read, require, show_problem
from shortlist.server.catalog_store import NAME, CatalogStore
from shortlist.server.extensions import RunSearch
from shortlist.server.jobs import READ, Endpoints
from shortlist.server.routes import schemas
from shortlist.server.routes.matched_words import find_matcher

POSTED = (
    "search",
    "search-many",
    "discover",
    "explain",
    "disclose",
    "feedback",
    "ask",
    "eval",
    "lint",
    "build",
    "files",
)
SEARCH = "/v1/corpora/{name:path}/search"
DISCOVER = "/v1/corpora/{name:path}/discover"
DOCUMENTS = "/v1/corpora/{name:path}/documents"
DOCUMENT = "/v1/corpora/{name:path}/documents/{id:path}"
USAGE = "/v1/corpora/{name:path}/usage"

Offset = Annotated[int, Query(ge=0, le=2**31)]
Limit = Annotated[int, Query(ge=0, le=schemas.MOST_LISTED)]
SearchText = Annotated[schemas.QueryText, Query(description="Only documents that contain this text.")]
UsedId = Annotated[str | None, Query(description="Only searches after which this document was used.")]
Sort = Literal["added", "id", "title"]
Answer = dict[str, Any]


class ServedCorpora:
    """The corpora that are served: the catalog, and the given names or all known corpora.

    If names are given, an empty catalog without a document file is not listed.
    """

    def __init__(
        self,
        catalog: CatalogStore,
        only: Collection[str] | None,
        learning: Learning = "on",
        uploads: Uploads | None = None,
    ) -> None:
        self._catalog = catalog
        self._only = None if only is None else [str(resolve(name)) for name in only]
        self._uploads = uploads or Uploads()
        self._learning: Learning = learning

    def names(self) -> list[str]:
        """The corpora that the current caller may read."""
        others = (name for name in (registry.names() if self._only is None else self._only) if name != NAME)
        first = (NAME,) if self._only is None or self._catalog.is_made else ()
        return list(filter(may_read, (*first, *others)))

    def corpus(self, name: str) -> Corpus:
        """The corpus with this name, if the current caller may use it. A request never builds a corpus."""
        if name == NAME and may_read(name):
            require(name)
            return as_seen(self._catalog.corpus, name)
        is_served = self._only is None and may_read(name) and is_stored(name)
        if not is_served and name not in (names := self.names()):
            corpus, _, action = name.rpartition("/")
            is_post = corpus in names and action in POSTED  # GET takes the rest of the path as the name of a corpus
            suggestion = f" Send POST to {action} of {corpus!r}." if is_post else did_you_mean(name, names)
            raise CorpusNotFound(f"Corpus {name!r} is not served.{suggestion} GET /v1/corpora lists the served ones.")
        require(name)
        return as_seen(open_named(name, can_build=False, learning=self._learning), name)

    def document(self, name: str, id: str) -> tuple[str, Document]:
        """A document and its corpus. Both may contain slashes, so any /documents/ in the path may separate them."""
        parts = f"{name}/documents/{id}".split("/documents/")
        for at in range(1, len(parts)):
            name, id = "/documents/".join(parts[:at]), "/documents/".join(parts[at:])
            if name in self.names():
                break
        document = self.corpus(name).get(id)
        if document is None:
            raise CorpusNotFound(f"The corpus {name!r} has no document {id!r}.")
        return name, document

    def document_at_usage(self, name: str) -> tuple[str, str] | None:
        """The corpus and the id if NAME/usage is the path of a document, whose id may end like that."""
        corpus, separator, id = f"{name}/usage".partition("/documents/")
        return (corpus, id) if separator and name not in self.names() else None

    def rows(self) -> list[Answer]:
        principal = current_principal.get()
        if principal is not None and not principal.is_operator:
            return list(map(self._describe_seen, self.names()))
        names = self.names()
        listed = (row for row in describe_corpora() if row["name"] != NAME and row["name"] in names)
        others = [{**row, "uploaded": is_uploaded(row["name"])} for row in listed]
        if NAME not in names:
            return others
        catalog = self._catalog.corpus
        info = catalog.info()
        own = {
            "name": NAME,
            "kind": "catalog",
            "roots": [str(self._catalog.document_file)],
            "built": True,
            **{key: info[key] for key in ("documents", "passages", "embedder", "languages", "advice")},
            "engine": EMBEDDED,
            "bytes": size_of(catalog.path),
            "problem": self._catalog.problem or None,
            "uploaded": False,
        }
        return [own, *others]

    def _describe_seen(self, name: str) -> Answer:
        """A corpus as the current caller sees it: without its folders and its size, which tell of hidden documents."""
        entry = registry.find(name)
        row: Answer = {
            "name": name, "kind": "catalog" if name == NAME else entry.kind if entry else None, "roots": [],
            "built": True, "documents": None, "passages": None, "embedder": None, "languages": {}, "advice": "",
            "engine": EMBEDDED, "bytes": 0, "problem": None, "uploaded": is_uploaded(name),
        }  # fmt: skip
        try:
            info = self.corpus(name).info()
        except (CorpusError, SourceError) as error:
            return row | {"built": False, "problem": show_problem(str(error))}
        return row | {key: info[key] for key in ("documents", "passages", "embedder", "languages", "advice")}

    def answer(self, function: Callable[..., Answer], name: str, options: dict[str, Any]) -> Answer:
        """What a search function returns for a corpus, in this process or in one of its own."""
        return function(self.corpus(name), **options)

    def add(self, name: str, documents: list[Document]) -> Answer:
        corpus = self.corpus(name)
        changes = self._catalog.add(documents) if name == NAME else corpus.add(documents, strict=True)
        return describe_changes(changes, corpus)

    def delete(self, name: str, id: str) -> Answer:
        name, document = self.document(name, id)
        return self._delete(name, [document.id])

    def delete_several(self, name: str, ids: list[str] | None, text: str | None) -> Answer:
        """Delete the documents with these ids, or all that contain a text."""
        return self._delete(name, ids or [document.id for document in self.corpus(name).browse(text or "")[0]])

    def _delete(self, name: str, ids: list[str]) -> Answer:
        """Delete documents; of uploaded files also the files, with all their documents."""
        corpus = self.corpus(name)
        if name == NAME:
            return describe_changes(self._catalog.delete(ids), corpus)
        if is_uploaded(name):
            sources = {document.source for id in ids if (document := corpus.get(id)) and document.source}
            ids = [*{*ids, *(document.id for document in corpus.browse()[0] if document.source in sources)}]
            self._uploads.delete(name, sources)
        return describe_changes(Changes(removed=corpus.remove(ids)), corpus)


class FeedbackLimit:
    """Reports about each document by each client today. A client cannot avoid the limit with other sessions."""

    def __init__(self) -> None:
        self._day = date.min
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def allows(self, corpus: str, id: str, client: str) -> bool:
        if self._day != (today := date.today()):
            self._day, self._counts = today, Counter()
        return self._counts[corpus, id, client] < MOST_IN_SESSION

    def count(self, corpus: str, id: str, client: str, change: int = 1) -> None:
        self._counts[corpus, id, client] = max(self._counts[corpus, id, client] + change, 0)


def describe_changes(changes: Changes, corpus: Corpus) -> Answer:
    counts = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
    message = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "Nothing changed"
    answer = {"success": True, "message": f"{message}.", "count": len(corpus)}
    return answer | counts | {"unchanged": changes.unchanged}


def list_documents(
    corpus: Corpus, text: str, offset: int, limit: int | None, sort: Sort = "added", *, descending: bool = False
) -> Answer:
    if sort == "added" and not descending:
        documents, count = corpus.browse(text, offset, limit)
    else:
        with corpus.snapshot() as snapshot:
            generation = snapshot.generation
        sort_ids = _sort_ids.__wrapped__ if generation is None else _sort_ids  # None: changes are not noticed
        ids = sort_ids(_Listing(corpus, text, sort, descending, generation))
        page = ids[offset : None if limit is None else offset + limit]
        with corpus.snapshot() as snapshot:
            documents, count = [document for id in page if (document := snapshot.get(id))], len(ids)
    return {"documents": [document.to_dict() for document in documents], "count": count}


class _Listing(NamedTuple):
    corpus: Corpus
    text: str
    sort: Sort
    descending: bool
    generation: int | None


@lru_cache(maxsize=8)
def _sort_ids(listing: _Listing) -> list[str]:
    """The ids of a listing in order; numbers are compared as numbers, and case is ignored."""
    documents = listing.corpus.browse(listing.text)[0]
    if listing.sort != "added":
        names = {one.id: one.title if listing.sort == "title" and one.title else one.id for one in documents}
        documents.sort(key=lambda one: (natural_key(names[one.id].casefold()), one.id))
    ids = [document.id for document in documents]
    return ids[::-1] if listing.descending else ids


def describe_usage(corpus: Corpus) -> Answer:
    """Counts only: what was searched for is private."""
    threshold = fit_threshold(list(corpus.usage))
    fitted = threshold._asdict() if threshold else None
    return {**corpus.usage.facts(), "learning": corpus.learning, "threshold": fitted}


def search_in_corpus(corpus: Corpus, *, facts: bool = False, **options: Any) -> Answer:
    return search_with_facts(corpus, **options) if facts else search(corpus, **options).to_dict()


def search_many_in_corpus(corpus: Corpus, **options: Any) -> Answer:
    return {"results": [hits.to_dict() for hits in search_many(corpus, **options)]}


def discover_in_corpus(corpus: Corpus, **options: Any) -> Answer:
    discovery = discover(corpus, **options, roots=())
    selected = {item.id for item in discovery.results}
    analyzer = read_analyzer(corpus)
    texts = [f"{hit.name}\n{hit.text}" for hit in discovery.candidates]
    matched = find_matcher(analyzer).match(set(analyzer.terms(options["query"])), texts)
    candidates = [
        {**hit.to_dict(), "selected": hit.id in selected, "matched": words}
        for hit, words in zip(discovery.candidates, matched, strict=True)
    ]
    return {**discovery.to_dict(), "candidates": candidates, "line": discovery.signals.get("line")}


def add_corpora(endpoints: Endpoints, corpora: ServedCorpora, run_search: RunSearch) -> None:
    @endpoints.add("GET /v1/corpora", "Corpora", tag="corpora")
    def get_corpora() -> Answer:
        """The corpora that can be searched: the served catalog, and the registered, stored and built-in ones."""
        return {"corpora": corpora.rows()}

    @endpoints.add(f"POST {SEARCH}", "Hits", 404, 409, tag="corpora")
    async def post_search(name: str, body: schemas.HitsBody) -> Response:
        """Rank documents, best first."""
        return await run_search(search_in_corpus, name, body.model_dump(), READ)

    @endpoints.add("POST /v1/corpora/{name:path}/search-many", "HitsOfQueries", 404, 409, tag="corpora")
    async def post_search_many(name: str, body: schemas.QueriesBody) -> Response:
        """Rank documents for several queries. They take less time together than in a request for each."""
        return await run_search(search_many_in_corpus, name, body.model_dump(), READ)

    @endpoints.add(f"POST {DISCOVER}", "Discovery", 404, 409, tag="corpora")
    async def post_discover(name: str, body: schemas.DiscoverBody) -> Response:
        """Select the few documents that match, or none; with all candidates, which show how they were selected."""
        return await run_search(discover_in_corpus, name, body.to_options(), READ)

    @endpoints.add("POST /v1/corpora/{name:path}/explain", "Explanation", 404, 409, tag="corpora", pool="read")
    def explain_in_corpus(name: str, body: schemas.ExplainBody) -> Answer:
        """Explain why a document has its rank in what `discover` returns for the same request."""
        return explain(corpora.corpus(name), **body.to_options("level")).to_dict()

    @endpoints.add("POST /v1/corpora/{name:path}/disclose", "Disclosures", 404, 409, tag="corpora", pool="read")
    def disclose_of_corpus(name: str, body: schemas.DiscloseBody) -> Answer:
        """Show documents by their ids."""
        corpus = corpora.corpus(name)
        items = disclose([read_hit(corpus, id) for id in body.ids], body.level, roots=())
        return {"documents": [item.to_dict() for item in items]}

    reports = FeedbackLimit()

    @endpoints.add("POST /v1/corpora/{name:path}/feedback", "Feedback", 404, 409, tag="corpora")
    def learn_from_feedback(name: str, body: schemas.FeedbackBody, request: Request) -> Answer:
        """Report that a query led to a document, so that similar queries find it, or that it was wrong; or undo that.

        It is stored in the log of use of the corpus, without secrets, unless learning is off or this address has
        reported the document often enough today. `stored` says whether anything was stored or, with `undo`, deleted.
        """
        corpus = corpora.corpus(name)
        caller = current_principal.get()
        client = caller.user if caller else request.client.host if request.client else ""
        if body.undo:
            removed = corpus.learn(**body.model_dump())
            reports.count(name, body.id, client, -int(removed))
            return {"stored": removed, "learning": corpus.learning}
        stored = reports.allows(name, body.id, client) and corpus.learn(**body.model_dump())
        if stored:
            reports.count(name, body.id, client)
        return {"stored": stored, "learning": corpus.learning}

    @endpoints.add(f"GET {USAGE}", "Usage", 404, 409, tag="corpora")
    def get_corpus_usage(name: str) -> Answer:
        """How much use of a corpus is in its log. The queries are private and not returned."""
        if document := corpora.document_at_usage(name):
            return get_corpus_document(*document)
        return describe_usage(corpora.corpus(name))

    @endpoints.add(f"DELETE {USAGE}", "Forgotten", 404, 409, tag="corpora")
    def forget_corpus_usage(name: str, id: UsedId = None) -> Answer:
        """Delete the log of use of a corpus, or what it has about one document, and so what was learned from it."""
        if document := corpora.document_at_usage(name):
            return delete_corpus_document(*document)
        return {"forgotten": corpora.corpus(name).whole.usage.forget(id)}

    @endpoints.add(f"GET {DOCUMENTS}", "DocumentList", 404, 409, tag="corpora")
    def get_corpus_documents(
        name: str,
        offset: Offset = 0,
        limit: Limit = 100,
        q: SearchText = "",
        sort: Sort = "added",
        descending: bool = False,
    ) -> Answer:
        """Documents in the order in which they were first added, or by id or title, and their number."""
        return list_documents(corpora.corpus(name), q, offset, limit, sort, descending=descending)

    @endpoints.add(f"POST {DOCUMENTS}/delete", "ChangeReport", 404, 409, tag="corpora")
    def delete_corpus_documents(name: str, body: schemas.DeletedBody) -> Answer:
        """Delete several documents. A corpus with a source gets them back when it is built again, but not uploads."""
        return corpora.delete_several(name, body.ids, body.q)

    @endpoints.add(f"POST {DOCUMENTS}", "ChangeReport", 404, 409, tag="corpora")
    def add_corpus_documents(name: str, body: schemas.DocumentsBody) -> Answer:
        """Add documents; the same id replaces. In a corpus with a source they stay until it is built again."""
        return corpora.add(name, [one.to_document() for one in body.documents])

    @endpoints.add(f"GET {DOCUMENT}", "Document", 404, 409, tag="corpora")
    def get_corpus_document(name: str, id: str) -> Answer:
        """A document by its id."""
        return corpora.document(name, id)[1].to_dict()

    @endpoints.add(f"DELETE {DOCUMENT}", "ChangeReport", 404, 409, tag="corpora")
    def delete_corpus_document(name: str, id: str) -> Answer:
        """Delete a document. A corpus with a source gets it back when it is built again."""
        return corpora.delete(name, id)

    @endpoints.add("GET /v1/corpora/{name:path}", "CorpusInfo", 404, 409, tag="corpora")
    def get_corpus(name: str) -> Answer:
        """Counts and configuration of a corpus."""
        return {key: value for key, value in corpora.corpus(name).info().items() if key != "path"} | {"name": name}
