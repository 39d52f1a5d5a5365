"""The names of the package `ir`, on top of shortlist, so that its own tests can run against shortlist.

Only names, shapes of arguments and words of reports are translated here; what is found, selected and measured is ours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import shortlist
from shortlist import Document

from . import base, cli, eval, eval_gen, registry, select, store
from .base import SearchHit
from .select import Disclosure, DiscoveryResult, Selection, disclose, discover
from .store import CorpusStore

__all__ = ["Chunked", "CorpusSource", "CorpusStore", "SearchHit", "Skill", "WholeText", "build", "open_corpus"]
__all__ += ["search"]
__all__ += ["Disclosure", "DiscoveryResult", "Selection", "base", "cli", "disclose", "discover", "eval", "eval_gen"]
__all__ += ["registry", "select", "store"]

for _kind in ("CONFIG", "DATA", "CACHE"):
    os.environ.pop(f"SHORTLIST_{_kind}_DIR", None)


class WholeText:
    """One passage for each document."""

    kind = "text"
    options: Mapping[str, Any] = {}


class Skill(WholeText):
    """A name and a description."""


class Chunked:
    """Passages of a size."""

    kind = "file"

    def __init__(self, chunk_size: int = 800, overlap: int = 120) -> None:
        self.options = {"chunk_size": chunk_size, "chunk_overlap": overlap}


class CorpusSource:
    """Documents by id, with the strategy that cuts them."""

    def __init__(self, scope: Mapping[str, Any], name: str, strategy: Any, metadata_of: Any) -> None:
        self.scope, self.name, self.strategy, self.metadata_of = scope, name, strategy or WholeText(), metadata_of

    @classmethod
    def from_mapping(cls, scope: Any, *, name: str, strategy: Any = None, metadata_of: Any = None) -> CorpusSource:
        return cls(scope, name, strategy, metadata_of)

    @classmethod
    def from_skills(cls, *, name: str = "skills", fetcher: Any) -> CorpusSource:
        return cls({row["name"]: row for row in fetcher()}, name, Skill(), None)

    def documents(self) -> list[Document]:
        found = []
        for id, raw in self.scope.items():
            row = raw if isinstance(raw, Mapping) else {"text": raw}
            text = row.get("text") or f"{row['name']}: {row['description']}"
            more = self.metadata_of(id, raw) if self.metadata_of else {}
            found.append(Document(id, "", text, metadata={"name": id, **more}, kind=self.strategy.kind))
        return found


def build(source: Any, *, store: CorpusStore | None = None, embedder: Any = "default") -> Any:
    documents, options = source.documents(), source.strategy.options
    if store is None:
        base.use_ir_folders()
        return base.Corpus(shortlist.build(documents, name=source.name, embedder=embedder, **options))
    if store.corpus is None:
        store.corpus = shortlist.build(documents, in_memory=True, embedder=embedder, **options)
    else:
        if options:
            store.corpus.reindex(**options)
        store.corpus.sync(documents)
    return base.Corpus(store.corpus, store)


def open_corpus(name: str) -> base.Corpus:
    return base.open_corpus(name)


def build_corpus(name: str, **options: Any) -> base.Corpus:
    base.use_ir_folders()
    return base.Corpus(shortlist.build(name, **options))


def search(corpus: Any, query: str, **options: Any) -> list[Any]:
    return (base.open_corpus(corpus) if isinstance(corpus, str) else corpus).search(query, **options)


register = registry.register
