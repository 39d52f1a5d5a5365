"""Builds a corpus from a source, incrementally and in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain
from pathlib import Path
from typing import Any

from shortlist.display.progress import show_progress
from shortlist.documents import Counted, Document, Problem, Stamp, Stamps
from shortlist.errors import InputError, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.location import delete_corpus, find_corpus_file
from shortlist.index.storage.usage_log import Learning
from shortlist.library import freshness
from shortlist.library.corpus_names import find_source, make_no_source
from shortlist.protocols import ProgressOption, report_phase
from shortlist.sources import OF_TOOLS, CorpusSource

OF_CAPABILITIES = OF_TOOLS | {"skills", "packages"}  # what our own embedder ranks best
MAY_BE_TOOLS = OF_CAPABILITIES | {"list", "mapping", "records"}


def build(
    source: CorpusSource | str | Path | Mapping[str, Any] | Iterable[str | Document | Mapping[str, Any]],
    name: str | None = None,
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    engine: str | None = None,
    in_memory: bool = False,
    prune: bool = True,
    rebuild: bool = False,
    analyzer: str | None = None,
    scoring: Scoring | None = None,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    language: str | None = None,
    learning: Learning = "on",
    progress: ProgressOption = None,
) -> Corpus:
    """Sync a corpus with a source: incremental, idempotent, all or nothing. `corpus.changes` reports what was done.

    This is the way to fill a corpus. `ingest` does it for files in batches, and `register` stores the source under a
    name, so that `build(name)` and searches find it.

    `source` may be a registered or built-in name such as "skills", or the path of a folder, of a file or of a catalog
    of tools. A new corpus uses `embedder`; by default "tools" for tools, skills and packages, and "multilingual", the
    same model, for up to 2,000 documents of which most are not in English, provided that onnxruntime runs here (in
    memory, for up to 200 documents); else "default". Changing the embedder of an existing corpus needs `rebuild=True`.
    `engine` is the address of a cluster to store it in. With `prune=False`, documents that are not in the source stay.
    `language` is the code of the language of the documents; by default the language of each passage is detected. A bar
    shows the progress in a terminal and in a notebook; `progress=False` turns it off, and a function is called with the
    number of documents so far, and their total if it is known. The other options are those of `create_corpus`.
    """
    mark = ""
    if isinstance(source, str | Path) and (entry := find_source(source)):
        if prune and path is None and name in (None, entry.name):
            mark = freshness.take_mark(entry)
        source, name = entry.source(), name or entry.name
        if find_corpus_file(name, path) is None:
            embedder = entry.embedder if embedder is None else embedder
            engine = entry.engine if engine is None else engine
    if isinstance(source, Corpus | str | Path) or not isinstance(source, Iterable):
        if isinstance(source, str | Path):
            raise make_no_source(source, " Pass the source, and this name as `name`.")
        raise InputError(
            f"build() needs a source of documents, such as CorpusSource.from_files(folder), not {source!r}."
        )
    if not isinstance(source, CorpusSource):
        source = CorpusSource.from_mapping(source) if isinstance(source, Mapping) else CorpusSource.from_list(source)
    with show_progress(progress, f"building {name or source.name}") as report:
        is_new = not in_memory and find_corpus_file(name or source.name, path) is None
        default_embedder = "default"
        documents: Iterable[Document | Problem] = source
        if in_memory and source.kind in MAY_BE_TOOLS:
            documents = list(source)
            default_embedder = tools_model.default_in_memory(documents)
        elif source.kind in OF_CAPABILITIES:
            default_embedder = tools_model.default_for_tools()
        elif embedder is None and is_new:
            report_phase(report, "detecting the language")
            documents = begun = _Begun(source)
            default_embedder = tools_model.default_for_documents(begun.read_first(tools_model.MOST_DOCUMENTS + 1))
        corpus = create_corpus(
            name or source.name,
            path=path,
            embedder=embedder,
            engine=engine,
            in_memory=in_memory,
            rebuild=rebuild,
            default_embedder=default_embedder,
            analyzer=analyzer,
            scoring=scoring,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            language=language,
            learning=learning,
            progress=report,
        )
        try:
            if tools_model.has_old_model(corpus.config):
                corpus.reindex("tools", progress=report)
            corpus.sync(documents, prune=prune, progress=report)
            freshness.store_mark(corpus, mark)
        except BaseException:
            with contextlib.suppress(ShortlistError, OSError):
                if is_new and corpus.is_empty and corpus.path is not None:  # created for a source that cannot be read
                    corpus.close()
                    delete_corpus(corpus.path)
            raise
        return corpus


class _Begun:
    """A source whose first documents are read before the others, to choose an embedder, and only once."""

    def __init__(self, source: CorpusSource) -> None:
        self._source = source
        self.size = source.size
        self._items: Iterable[Document | Problem | Stamp] | None = source.since({})

    def read_first(self, most: int) -> list[Document]:
        """The first documents."""
        assert self._items is not None
        items, first, documents = iter(self._items), list[Document | Problem | Stamp](), list[Document]()
        while len(documents) < most and (item := next(items, None)) is not None:
            first.append(item)
            documents += [item] if isinstance(item, Document) else []
        count = len(self._items) if isinstance(self._items, Sized) else None
        everything: Iterable[Any] = chain(first, items)
        self._items = everything if count is None else Counted(everything, count)
        return documents

    def __iter__(self) -> Iterator[Document | Problem]:
        return iter(self._source)

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        items, self._items = self._items, None
        return self._source.since(known) if items is None or known else items
