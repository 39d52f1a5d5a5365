"""Which corpus is meant? A corpus, its name, or some texts that become one for a moment; and how one is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus, EmbedderSpec, corpus_folder, create_corpus, open_corpus
from shortlist.index.store import DATABASE
from shortlist.index.sync import Progress
from shortlist.sources import CorpusSource, documents_of
from shortlist.types import Document

OPEN_AT_ONCE = 16
_open: dict[tuple[str, int], Corpus] = {}

Searchable = Corpus | str | Path | Mapping[str, Any] | Iterable[str | Document | Mapping[str, Any]]


def build(
    source: CorpusSource | Searchable,
    name: str | None = None,
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    in_memory: bool = False,
    prune: bool = True,
    rebuild: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """Make a corpus hold what a source has now, and keep it: incremental, idempotent, all or nothing.

    A new corpus gets `embedder` (or the default one); an existing one keeps its own, and another is an error unless
    `rebuild` is set. What happened is in `corpus.changes`. Options are those of `create_corpus`.
    """
    if isinstance(source, Corpus | str | Path) or not isinstance(source, Iterable):
        raise InputError(
            f"build() takes a source of documents, such as CorpusSource.from_files(folder), not {source!r}."
        )
    if not isinstance(source, CorpusSource):
        source = CorpusSource.from_mapping(source) if isinstance(source, Mapping) else CorpusSource.from_list(source)
    corpus = create_corpus(
        name or source.name, path=path, embedder=embedder, in_memory=in_memory, rebuild=rebuild, **options
    )
    corpus.sync(source, prune=prune, progress=progress)
    return corpus


def resolve(corpus: Searchable, *, needs_vectors: bool) -> Corpus:
    """The corpus that is meant. Plain texts become one in memory, with vectors only if they are needed."""
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, str | Path):
        return _opened(corpus)
    if not isinstance(corpus, Iterable):
        raise InputError(f"A corpus is a Corpus, its name, or a list or mapping of texts, not {corpus!r}.")
    made = create_corpus(in_memory=True, embedder="default" if needs_vectors else "none")
    failed = made.add(documents_of(corpus)).failed
    if failed:
        raise InputError(f"{failed[0].id or 'An entry'} cannot be searched: {failed[0].reason}")
    return made


def _opened(name: str | Path) -> Corpus:
    """The corpus of that name, kept open for the next call as long as its database is the same one."""
    database = corpus_folder(name) / DATABASE
    try:
        key = str(database.resolve()), database.stat().st_ino
    except (OSError, ValueError):
        return open_corpus(name)  # which says what is wrong
    found = _open.pop(key, None)
    if found is None:
        found = open_corpus(name)
    _open[key] = found
    while len(_open) > OPEN_AT_ONCE:
        del _open[next(iter(_open))]
    return found
