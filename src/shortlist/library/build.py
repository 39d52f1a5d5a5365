"""Builds a corpus from a source, incrementally and in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shortlist._text import did_you_mean
from shortlist.documents import Document, Problem
from shortlist.errors import InputError, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.location import delete_corpus, find_corpus_file
from shortlist.index.storage.usage_log import Learning
from shortlist.library import registry
from shortlist.protocols import Progress
from shortlist.sources import OF_TOOLS, CorpusSource

OF_CAPABILITIES = OF_TOOLS | {"skills", "packages"}  # what our own embedder ranks best
MAY_BE_TOOLS = OF_CAPABILITIES | {"list", "mapping", "records"}


def build(
    source: CorpusSource | str | Mapping[str, Any] | Iterable[str | Document | Mapping[str, Any]],
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
    learning: Learning = "on",
    progress: Progress | None = None,
) -> Corpus:
    """Sync a corpus with a source: incremental, idempotent, all or nothing. `corpus.changes` reports what was done.

    This is the way to fill a corpus. `ingest` does it for files in batches, and `register` stores the source under a
    name, so that `build(name)` and searches find it.

    `source` may be a registered or built-in name such as "skills". A new corpus uses `embedder`; by default "tools" for
    tools, skills and packages if onnxruntime runs here (in memory, for up to 200 of them), else "default". Changing
    the embedder of an existing corpus needs `rebuild=True`. `engine` is the address of a cluster to store it in. With
    `prune=False`, documents that are not in the source stay. The other options are those of
    `create_corpus`.
    """
    if isinstance(source, str) and (entry := registry.find(source)):
        source, name = entry.source(), name or entry.name
        if find_corpus_file(name, path) is None:
            embedder = entry.embedder if embedder is None else embedder
            engine = entry.engine if engine is None else engine
    if isinstance(source, Corpus | str | Path) or not isinstance(source, Iterable):
        near = did_you_mean(source, registry.names()) if isinstance(source, str) else ""
        raise InputError(
            f"build() needs a source of documents, such as CorpusSource.from_files(folder), not {source!r}.{near}"
        )
    if not isinstance(source, CorpusSource):
        source = CorpusSource.from_mapping(source) if isinstance(source, Mapping) else CorpusSource.from_list(source)
    is_new = not in_memory and find_corpus_file(name or source.name, path) is None
    default_embedder = "default"
    documents: Iterable[Document | Problem] = source
    if in_memory and source.kind in MAY_BE_TOOLS:
        documents = list(source)
        default_embedder = tools_model.default_in_memory(documents)
    elif source.kind in OF_CAPABILITIES:
        default_embedder = tools_model.default_for_tools()
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
        learning=learning,
        progress=progress,
    )
    try:
        if tools_model.has_old_model(corpus.config):
            corpus.reindex("tools", progress=progress)
        corpus.sync(documents, prune=prune, progress=progress)
    except BaseException:
        with contextlib.suppress(ShortlistError, OSError):
            if is_new and corpus.is_empty and corpus.path is not None:  # created for a source that cannot be read
                corpus.close()
                delete_corpus(corpus.path)
        raise
    return corpus
