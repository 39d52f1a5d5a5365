"""A retriever for catalogs: BM25 over all documents, a softmax of the scores, a cut by percentage."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shortlist._limits import check_length
from shortlist._settings import SOURCE, collect_values
from shortlist._text import clean, count_of
from shortlist.compat.retriever_settings import BM25SSettings, load_retriever_defaults
from shortlist.documents import Document
from shortlist.errors import InputError, ShortlistError, SourceError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.text.chunking import CHUNKED_KINDS, LED_KINDS
from shortlist.retrieval.select import large_shares
from shortlist.server.catalog_store import read_catalog

log = logging.getLogger("shortlist")

ANALYZER = "bm25s-names-1"
SCORING = Scoring("lucene", k1=1.5, b=0.75, weights=(1.0, 1.0, 1.0))


class _Unnamed(str):
    """The type of the default of `document_file`: unlike a file that the caller names, it may be missing."""

    __slots__ = ()


DOCUMENT_FILE = _Unnamed(SOURCE)


def retriever_corpus(path: str | Path | None = None, analyzer: str = ANALYZER) -> Corpus:
    """A corpus with the scoring of the retriever, in memory or in the folder at a path."""
    return create_corpus(path=path, in_memory=path is None, embedder="none", analyzer=analyzer, scoring=SCORING)


class BM25SRetriever:
    """Retrieves the few documents of a catalog that have most of the softmax of a query.

    A `document_file` that is given must exist and be valid YAML or JSON. A given `corpus` (see `retriever_corpus`)
    keeps its documents, and the file is read only by `reload_documents`. All methods are thread-safe.

    Settings that are not given come from the environment (BM25S_TEMPERATURE, BM25S_IGNORE_ZERO, BM25S_CUTOFF), then
    from the nearest settings.yaml of the project, then from the defaults; so do the encoding of the file
    (`documents.encoding`) and, without a `document_file`, the file (`documents.source`).
    """

    def __init__(
        self,
        settings: BM25SSettings | None = None,
        document_file: str | Path | None = DOCUMENT_FILE,
        *,
        encoding: str | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        is_named = not isinstance(document_file, _Unnamed)
        if settings is None or not is_named:
            configured = load_retriever_defaults()
            settings = configured.bm25s if settings is None else settings
            if not is_named:
                document_file, is_named = configured.source, configured.source_must_exist
                encoding = encoding or configured.encoding
        if encoding is None and document_file is not None and corpus is None:
            encoding = collect_values(("documents",)).validate().documents.encoding
        self.update_settings(settings)
        self.document_file = document_file
        self.encoding = encoding or "utf-8"
        self.corpus = retriever_corpus() if corpus is None else corpus
        if corpus is not None:
            check_corpus(corpus)
        elif document_file is not None and (is_named or Path(document_file).exists()):
            self.reload_documents()

    def __getstate__(self) -> dict[str, Any]:
        """The documents or, if they are stored, the folder of the corpus: copies and pickles open it again."""
        corpus, config = self.corpus, self.corpus.config
        state = {name: value for name, value in vars(self).items() if name != "corpus"}
        if corpus.path:
            return state | {"path": corpus.path.absolute()}
        return state | {"documents": list(corpus), "options": {"analyzer": config.analyzer, "scoring": config.scoring}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        documents, path, options = (state.pop(name, None) for name in ("documents", "path", "options"))
        corpus = create_corpus(path=path, in_memory=path is None, embedder="none", **options or {})
        vars(self).update(state, corpus=corpus)
        if documents:
            corpus.add(documents, strict=True)

    def retrieve_documents(
        self,
        query: str,
        *,
        temperature: float | None = None,
        ignore_zero: bool | None = None,
        llm_tools_cutoff: float | None = None,
    ) -> dict[str, Any]:
        """The documents whose softmax reaches the cutoff, best first; options apply to this call only.

        Errors, including option values out of range, are returned in the same format with `success` False.
        """
        return retrieve_from_corpus(
            self.corpus,
            query,
            self._settings,
            temperature=temperature,
            ignore_zero=ignore_zero,
            llm_tools_cutoff=llm_tools_cutoff,
        )

    def add_documents(self, documents: Iterable[Document]) -> None:
        """Add documents, or replace those with the same ids: all of them, or none."""
        self.corpus.add(_prepare(documents), strict=True)

    def delete_documents(self, ids: str | Iterable[str]) -> int:
        """Remove documents by id, and return the number of removed ones."""
        return self.corpus.remove(ids)

    def rebuild_index(self, documents: Iterable[Document] | None = None) -> None:
        """Replace all documents by these or, if None, index the current ones again."""
        if documents is None:
            self.corpus.reindex()
        else:
            self.corpus.sync(_prepare(documents), strict=True)

    def reload_documents(self, document_file: str | Path | None = None) -> int:
        """Replace all documents by those of the file, or of another file from now on, and return their number. If the
        file is not valid, nothing changes."""
        file = self.document_file if document_file is None else document_file
        if file is None:
            raise SourceError("This retriever has no document file. Give one as document_file.")
        documents = read_catalog(Path(file), self.encoding)
        self.corpus.sync(documents)
        self.document_file = file
        return len(documents)

    def get_document_count(self) -> int:
        return len(self.corpus)

    def get_documents(self) -> list[Document]:
        """Copies of all documents, in the order in which they were first added."""
        return list(self.corpus)

    def get_settings(self) -> BM25SSettings:
        """A copy of the settings; pass it to `update_settings` to change them."""
        return replace(self._settings)

    def update_settings(self, settings: BM25SSettings) -> None:
        if not isinstance(settings, BM25SSettings):
            raise InputError(f"The settings must be a BM25SSettings, not {type(settings).__name__}.")
        self._settings = replace(settings)


def check_corpus(corpus: Corpus) -> None:
    """Raise an error unless every document of the corpus is one passage, as a softmax over documents needs."""
    counts = corpus.info()
    if counts["passages"] != counts["documents"]:
        raise InputError(f"The corpus {corpus.name!r} splits documents into parts. Use retriever_corpus(path).")


def retrieve_from_corpus(corpus: Corpus, query: str, settings: BM25SSettings, **options: Any) -> dict[str, Any]:
    """What `BM25SRetriever.retrieve_documents` returns, with options in place of some of the settings unless None."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        settings = replace(settings, **given) if given else settings
        return _retrieve(corpus, query, settings)
    except Exception as error:  # the caller always gets the same format
        if not isinstance(error, InputError):
            log.error("A retrieval failed: %s", error, exc_info=not isinstance(error, ShortlistError))
        return _response(str(error) or type(error).__name__, settings)


def _retrieve(corpus: Corpus, query: str, settings: BM25SSettings) -> dict[str, Any]:
    if not isinstance(query, str):
        return _response(f"The query is a string, not {type(query).__name__}.", settings)
    check_length(query)
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        if not lexical.live:
            return _response("No documents indexed", settings)
        terms = lexical.analyzer.terms(query)
        if not terms:
            return _response("The query has no searchable word", settings)
        scores = lexical.scores(terms)
        if scores is None:  # a softmax needs the scores of all documents
            return _response(f"The corpus {corpus.name!r} is not stored on this machine", settings)
        takes_part = scores > 0 if settings.ignore_zero else snapshot.everything()
        scores[~takes_part] = -np.inf
        best, shares, total = large_shares(scores, settings.temperature, settings.llm_tools_cutoff / 100)
        order = np.argsort(-scores[best], kind="stable")
        best, shares = best[order], shares[order]
        documents = snapshot.stored(best)
    results = list(map(_result, documents, scores[best].tolist(), shares.tolist()))
    message = f"Retrieved {len(best)} of {count_of(total, 'document')}"
    return _response(message, settings, results, total, settings.llm_tools_cutoff)


_lock = threading.Lock()
_retriever: BM25SRetriever | None = None


def get_retriever() -> BM25SRetriever:
    """The retriever that the whole process shares, created by the first call."""
    global _retriever
    with _lock:
        if _retriever is None:
            _retriever = BM25SRetriever()
        return _retriever


def retrieve_documents(
    query: str,
    documents: Iterable[Document] | None = None,
    *,
    temperature: float | None = None,
    ignore_zero: bool | None = None,
    llm_tools_cutoff: float | None = None,
) -> dict[str, Any]:
    """Retrieve from `get_retriever()` or, if given, from these documents."""
    options: dict[str, Any] = {
        "temperature": temperature,
        "ignore_zero": ignore_zero,
        "llm_tools_cutoff": llm_tools_cutoff,
    }
    if documents is None:
        return get_retriever().retrieve_documents(query, **options)
    retriever = BM25SRetriever(document_file=None)
    with retriever.corpus:
        retriever.add_documents(documents)
        return retriever.retrieve_documents(query, **options)


def _prepare(documents: Iterable[Document]) -> list[Document]:
    """The documents, of a kind that is indexed whole; of several with the same id the last."""
    if isinstance(documents, Document | str | Mapping) or not isinstance(documents, Iterable):
        raise InputError(f"The documents must be a list of Documents, not {type(documents).__name__}.")
    prepared: dict[str, Document] = {}
    for number, document in enumerate(documents, 1):
        if not isinstance(document, Document):
            raise InputError(f"Document {number} is not a Document but {type(document).__name__}. Nothing was added.")
        is_split = document.kind in CHUNKED_KINDS or document.kind in LED_KINDS
        prepared[clean(str(document.id))] = replace(document, kind="text") if is_split else document
    return list(prepared.values())


def _result(document: Document, score: float, share: float) -> dict[str, Any]:
    shown = {name: getattr(document, name) for name in ("id", "title", "content", "keywords", "metadata")}
    return shown | {"bm25_score": score, "softmax_score": share}


def _response(
    message: str,
    settings: BM25SSettings,
    documents: list[dict[str, Any]] | None = None,
    total: int = 0,
    cutoff: float = 0.0,
) -> dict[str, Any]:
    return {
        "success": documents is not None,
        "message": message,
        "documents": documents or [],
        "total_retrieved": total,
        "cutoff_percentage": cutoff,
        "settings": settings.to_dict(),
    }
