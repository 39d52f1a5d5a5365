"""Which corpora are meant? Some, their names, or texts that become one for a moment; and how one is built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from shortlist._redact import redact, secrets_in_words
from shortlist._text import did_you_mean
from shortlist.documents import Document
from shortlist.errors import CorpusError, CorpusNotFound, InputError, RegistryDamaged, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus, open_corpus
from shortlist.index.corpus_paths import OF_A_PATH, full_name, stored_corpora
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.index.engine import EMBEDDED, Progress
from shortlist.index.engines import pointers
from shortlist.index.location import delete_corpus, kept_at
from shortlist.library import registry
from shortlist.sources import OF_TOOLS, CorpusSource, documents_of

OPEN_AT_ONCE = 16
_open: dict[tuple[str, int], Corpus] = {}

Searchable = (
    Corpus
    | str
    | Path
    | Sequence[Corpus | str | Path]
    | Mapping[str, Any]
    | Iterable[str | Document | Mapping[str, Any]]
)


def build(
    source: CorpusSource | Searchable,
    name: str | None = None,
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    engine: str | None = None,
    in_memory: bool = False,
    prune: bool = True,
    rebuild: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """Make a corpus hold what a source has now, and keep it: incremental, idempotent, all or nothing.

    `source` may be a name that is registered or built in, such as "skills". A new corpus gets `embedder` (or the
    default one: for tools on disk "tools", if onnxruntime is installed); an existing one keeps its own, and another is
    an error unless `rebuild` is set. `engine` is the
    address of a cluster to keep it in, if not on this machine. What happened is in `corpus.changes`. Options are those
    of `create_corpus`.
    """
    if isinstance(source, str) and (entry := registry.find(source)):
        source, name = entry.source(), name or entry.name
        if kept_at(name, path) is None:
            embedder = entry.embedder if embedder is None else embedder
            engine = entry.engine if engine is None else engine
    if isinstance(source, Corpus | str | Path) or not isinstance(source, Iterable):
        near = did_you_mean(source, registry.names()) if isinstance(source, str) else ""
        raise InputError(
            f"build() takes a source of documents, such as CorpusSource.from_files(folder), not {source!r}.{near}"
        )
    if not isinstance(source, CorpusSource):
        source = CorpusSource.from_mapping(source) if isinstance(source, Mapping) else CorpusSource.from_list(source)
    is_new = not in_memory and kept_at(name or source.name, path) is None
    corpus = create_corpus(
        name or source.name,
        path=path,
        embedder=embedder,
        engine=engine,
        in_memory=in_memory,
        rebuild=rebuild,
        progress=progress,
        default_embedder=tools_model.default_for_tools() if source.kind in OF_TOOLS and not in_memory else "default",
        **options,
    )
    try:
        corpus.sync(source, prune=prune, progress=progress)
    except BaseException:
        if is_new:
            _discard_empty(corpus)
        raise
    return corpus


def _discard_empty(corpus: Corpus) -> None:
    """Delete a corpus that was created for a source that could not be read."""
    with contextlib.suppress(ShortlistError, OSError):
        if corpus.is_empty and corpus.path is not None:
            corpus.close()
            delete_corpus(corpus.path)


def resolve(corpus: Searchable, *, needs_vectors: bool, progress: Progress | None = None) -> list[Corpus]:
    """The corpora that are meant. Plain texts become one in memory, with vectors only if they are needed.

    A list or tuple means corpora if all in it are corpora, paths or known names; otherwise its strings are texts.
    """
    if isinstance(corpus, Corpus):
        return [corpus]
    if isinstance(corpus, str | Path):
        return [opened(corpus, progress)]
    if _means_corpora(corpus):
        found = [one if isinstance(one, Corpus) else opened(one, progress) for one in corpus]
        return list({id(one): one for one in found}.values())
    if not isinstance(corpus, Iterable):
        raise InputError(f"A corpus is a Corpus, its name, or a list or mapping of texts, not {corpus!r}.")
    made = create_corpus(in_memory=True, embedder="default" if needs_vectors else "none")
    failed = made.add(documents_of(corpus)).failed
    if failed:
        raise InputError(f"{failed[0].id or 'An entry'} cannot be searched: {failed[0].reason}")
    return [made]


def _means_corpora(items: Any) -> TypeGuard[Sequence[Corpus | str | Path]]:
    if not isinstance(items, list | tuple) or not items:
        return False
    return all(isinstance(item, Corpus | Path) or (isinstance(item, str) and is_known(item)) for item in items)


def is_known(name: str) -> bool:
    """Whether the name stands for a corpus: registered, built in or stored."""
    try:
        if kept_at(name):
            return True
        entry = registry.find(name)
        return entry is not None and (not name.startswith(OF_A_PATH) or Path(entry.roots[0]).exists())
    except (OSError, ValueError, RegistryDamaged):
        return False


def opened(name: str | Path, progress: Progress | None = None) -> Corpus:
    """The corpus of that name, kept open for the next call as long as the file that it is known by is the same one.

    A known one that was never built, or not to the end, is built now.
    """
    try:
        file = kept_at(name)
        key = (str(file.resolve()), file.stat().st_ino) if file else None
    except (OSError, ValueError):
        key = None
    if key is None:
        return _built_at_first_use(name, progress)
    found = _open.pop(key, None)
    if found is None:
        found = open_corpus(full_name(name) if isinstance(name, str) else name)
        if found.is_empty and isinstance(name, str) and registry.find(name):
            found = _built_at_first_use(name, progress)
    _open[key] = found
    while len(_open) > OPEN_AT_ONCE:
        _open.pop(next(iter(_open)), None)  # another thread may have been quicker
    return found


def _built_at_first_use(name: str | Path, progress: Progress | None) -> Corpus:
    if isinstance(name, str) and registry.find(name):
        return build(name, progress=progress)
    try:
        return open_corpus(name)  # which says what is wrong
    except CorpusNotFound as error:
        raise CorpusNotFound(f"{error}{did_you_mean(str(name), registry.names())}") from None


def overview() -> list[dict[str, Any]]:
    """Every corpus that is known, as plain data: where it comes from, and what was built of it."""
    stored = stored_corpora()
    return [_row(name, stored.get(name)) for name in registry.names()]


def _row(name: str, folder: Path | None) -> dict[str, Any]:
    entry = registry.find(name)
    row: dict[str, Any] = {
        "name": name,
        "kind": entry.kind if entry else None,
        "roots": [redact(root, secrets_in_words(root.split())) for root in entry.roots] if entry else [],
        "built": folder is not None,
        "documents": None,
        "passages": None,
        "embedder": None,
        "engine": str(entry.engine if entry and entry.engine and folder is None else EMBEDDED),
        "bytes": size_of(folder),
        "problem": None,
    }
    if folder is not None:
        try:
            pointer = pointers.read(folder)
            row["engine"] = str(pointer.address) if pointer else EMBEDDED
            with open_corpus(folder) as corpus:
                found = corpus.info()
                row |= {key: found[key] for key in ("documents", "passages", "embedder", "bytes") if key in found}
        except CorpusError as error:
            row["problem"] = str(error)
    return row


def size_of(folder: Path | None) -> int:
    """The bytes of all files in a folder; those that vanish meanwhile do not count."""
    total = 0
    for path in folder.rglob("*") if folder else ():
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
