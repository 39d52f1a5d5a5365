"""Opens corpora by name, by path or from texts in memory, and the states that a query reads."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from shortlist._redact import redact, secrets_in_words
from shortlist.client.addresses import is_service_address
from shortlist.documents import Changes, Document
from shortlist.errors import CorpusError, CorpusNotFound, InputError, RegistryDamaged, ShortlistError, SourceError
from shortlist.index import corpus as index_corpus
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.corpus_paths import OF_A_PATH, full_name, stored_corpora
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.index.embedders.tools_model import default_in_memory
from shortlist.index.engine import EMBEDDED, State
from shortlist.index.engines import pointers
from shortlist.index.location import find_corpus_file, wait_for_writer
from shortlist.index.storage.usage_log import Learning
from shortlist.library import freshness, registry
from shortlist.library.corpus_names import find_source, make_not_found, resolve
from shortlist.protocols import ProgressOption
from shortlist.safety.principals import ANY, current_principal
from shortlist.sources.in_memory import documents_of

OPEN_AT_ONCE = 16
WAIT_SECONDS = 5.0  # for another process that builds a corpus, before what it had before is searched
_open: dict[tuple[str, int, Learning], Corpus] = {}

Searchable = (
    Corpus
    | str
    | Path
    | tuple[Corpus | str | Path, ...]
    | Sequence[Corpus | Path]
    | Mapping[str, Any]
    | Iterable[str | Document | Mapping[str, Any]]
)


def open_corpora(
    corpus: Searchable, *, needs_vectors: bool, progress: ProgressOption = None, language: str | None = None
) -> list[Corpus]:
    """Open the given corpora. Plain texts are indexed in memory, in a language if given, with vectors only if needed.

    A tuple of names, paths or Corpus objects means corpora, and so does a list of paths or Corpus objects. The strings
    of a list are texts, whatever corpora there are.
    """
    if isinstance(corpus, Corpus | str | Path):
        corpus = (corpus,)
    elif not _are_corpora(corpus):
        if isinstance(corpus, list) and corpus and all(isinstance(item, str) and is_known(item) for item in corpus):
            advice = f"To search these corpora, pass a tuple: {tuple(corpus)}."
            warnings.warn(f"The strings of a list are searched as texts. {advice}", UserWarning, stacklevel=4)
        return [_index_in_memory(corpus, needs_vectors, language)]
    if language is not None:
        raise InputError(f"language={language!r} is for lists of texts. A stored corpus is built with its language.")
    found = [one if isinstance(one, Corpus) else open_named(one, progress) for one in corpus]
    return list({id(one): one for one in found}.values())


def _are_corpora(items: Any) -> TypeGuard[Sequence[Corpus | str | Path]]:
    if not isinstance(items, list | tuple) or not items:
        return False
    kinds = (Corpus, Path, str) if isinstance(items, tuple) else (Corpus, Path)
    return all(isinstance(item, kinds) for item in items)


def _index_in_memory(texts: Any, needs_vectors: bool, language: str | None = None) -> Corpus:
    if not isinstance(texts, Iterable):
        raise InputError(f"A corpus must be a Corpus, its name, or a list or mapping of texts, not {texts!r}.")
    documents = list(documents_of(texts))
    embedder = default_in_memory(documents) if needs_vectors else "none"
    corpus = create_corpus(in_memory=True, embedder=embedder, language=language)
    if failed := corpus.add(documents).failed:
        raise InputError(f"{failed[0].id or 'An entry'} cannot be searched: {failed[0].reason}")
    return corpus


class CorpusState(NamedTuple):
    """A corpus and one committed state of it."""

    corpus: Corpus
    state: State


@contextlib.contextmanager
def open_states(corpora: Sequence[Corpus]) -> Iterator[list[CorpusState]]:
    """Open the last committed state of each corpus; later commits do not affect it."""
    if len(corpora) == 1:
        with corpora[0].snapshot() as state:
            yield [CorpusState(corpora[0], state)]
        return
    with contextlib.ExitStack() as stack:
        # A corpus in memory is locked while it is read; one order for all callers prevents deadlocks.
        states = {id(one): stack.enter_context(one.snapshot()) for one in sorted(corpora, key=id)}
        yield [CorpusState(one, states[id(one)]) for one in corpora]


def open_corpus(
    name: str | Path,
    embedder: EmbedderSpec = None,
    *,
    engine: str | None = None,
    learning: Learning = "on",
    token: str | None = None,
    allow_http: bool = False,
) -> Corpus:
    """Open an existing corpus by its name, by its folder, or by the path of the files that it was built from.

    `engine` is where it is stored, if its folder does not say so. `learning` is what is done with use: "on" stores it
    and ranks by it, "log" only stores it, "off" does neither.

    The name may be the address of a corpus behind a service, such as "https://host/handbook". `token` is for that
    service; without one, SHORTLIST_TOKEN is sent, but only to this machine or to an address that you confirmed
    (`shortlist trust ADDRESS`). Plain http to another machine needs `allow_http`.
    """
    resolved = resolve(name)
    try:
        return index_corpus.open_corpus(
            resolved, embedder, engine=engine, learning=learning, token=token, allow_http=allow_http
        )
    except CorpusNotFound:
        if resolved == name:
            raise
        raise CorpusNotFound(f"{str(name)!r} is not indexed yet. Index it: shortlist.build({str(name)!r})") from None


def is_known(name: str) -> bool:
    """Whether a name or path means a corpus: registered, built in, stored, or of existing files."""
    try:
        resolved = resolve(name)
        return find_corpus_file(resolved) is not None or find_source(resolved) is not None
    except (OSError, ValueError, RegistryDamaged, CorpusNotFound):
        return False


def open_named(
    name: str | Path, progress: ProgressOption = None, *, can_build: bool = True, learning: Learning = "on"
) -> Corpus:
    """Open a corpus by name or path, and cache it until its file is replaced; it learns for the caller alone.

    A known corpus that was not built yet, or not completely, is built now if `can_build`, and so is that of a path with
    files that have changed. Paths of files, and the address of a corpus behind a service, are opened for a caller on
    this machine only: requests must not choose them.
    """
    name = resolve(name) if can_build else name
    if isinstance(name, str) and is_service_address(name):
        return _open_address(name, can_open=can_build)
    try:
        file = find_corpus_file(name)
        key = (str(file.resolve()), file.stat().st_ino, learning) if file else None
    except (OSError, ValueError):
        key = None
    if key is None:
        if not can_build and isinstance(name, str) and registry.find(name):
            raise describe_unbuilt(name)
        return _build_now(name, progress, learning)
    corpus = _open.pop(key, None)
    if corpus is None:
        corpus = index_corpus.open_corpus(full_name(name) if isinstance(name, str) else name, learning=learning)
        if can_build and corpus.is_empty and isinstance(name, str) and registry.find(name):
            return _cache(key, _build_now(name, progress, learning))
    corpus.changes = Changes()  # not those of an earlier call
    if can_build and isinstance(name, str) and name.startswith(OF_A_PATH):
        corpus = _follow_files(name, corpus, progress)
    return _cache(key, corpus)


def _follow_files(name: str, corpus: Corpus, progress: ProgressOption) -> Corpus:
    """The corpus of a path with what its files contain now or, if they cannot be read, as it is."""
    entry = registry.find(name)
    try:
        if entry and corpus.path and freshness.have_changed(entry, corpus):
            wait_for_writer(corpus.path, WAIT_SECONDS)
            return _build_now(name, progress, corpus.learning)
    except (ShortlistError, OSError) as error:
        warning = f"{name} has changed, and what was read before is searched: {error}"
        warnings.warn(warning, UserWarning, stacklevel=4)
    return corpus


def _open_address(url: str, *, can_open: bool) -> Corpus:
    if not can_open:
        raise CorpusNotFound(f"{url!r} is the address of another service. Serve corpora of this machine.")
    key: tuple[str, int, Learning] = (url, 0, "off")
    return _cache(key, _open.pop(key) if key in _open else index_corpus.open_corpus(url))


def _cache(key: tuple[str, int, Learning], corpus: Corpus) -> Corpus:
    _open[key] = corpus
    while len(_open) > OPEN_AT_ONCE:
        _open.pop(next(iter(_open)), None)  # another thread may have removed it
    return corpus


def describe_unbuilt(name: str) -> SourceError:
    """The error for a corpus that must be built by a command, since that may take long."""
    return SourceError(f"The corpus {name!r} was never built, or is empty. Run: shortlist build {name}")


def _build_now(name: str | Path, progress: ProgressOption, learning: Learning) -> Corpus:
    if isinstance(name, str) and registry.find(name):
        from shortlist.library.build import build  # noqa: PLC0415  # slow to load, with the readers of all sources

        return build(name, progress=progress, learning=learning)
    try:
        return index_corpus.open_corpus(name, learning=learning)  # raises the right error
    except CorpusNotFound:
        advice = f" Build it first: shortlist.build(source, name={str(name)!r})"
        raise make_not_found(name, advice) from None


def as_seen(corpus: Corpus, name: str) -> Corpus:
    """The corpus as the user sees who sends the current request; see `Corpus.for_groups`."""
    principal = current_principal.get()
    if principal is None or principal.is_operator:
        return corpus
    rules = [rule for corpus in (ANY, name) for rule in principal.grants.documents.get(corpus, {}).items()]
    return corpus.for_groups(principal.groups, sees_all=principal.sees_all(name), rules=rules)


def describe_corpora() -> list[dict[str, Any]]:
    """All known corpora as plain data: their sources and what is stored."""
    stored = stored_corpora()
    return [_describe(name, stored.get(name)) for name in registry.names()]


def _describe(name: str, folder: Path | None) -> dict[str, Any]:
    entry = registry.find(name)
    row: dict[str, Any] = {
        "name": name,
        "kind": entry.kind if entry else None,
        "roots": [redact(root, secrets_in_words(root.split())) for root in entry.roots] if entry else [],
        "built": folder is not None,
        "documents": None,
        "passages": None,
        "embedder": None,
        "languages": {},
        "advice": "",
        "engine": str(entry.engine if entry and entry.engine and folder is None else EMBEDDED),
        "bytes": size_of(folder),
        "problem": None,
    }
    if folder is not None:
        try:
            pointer = pointers.read(folder)
            row["engine"] = str(pointer.address) if pointer else EMBEDDED
            with index_corpus.open_corpus(folder) as corpus:
                info = corpus.info()
                shown = ("documents", "passages", "embedder", "languages", "advice", "bytes")
                row |= {key: info[key] for key in shown if key in info}
        except CorpusError as error:
            row["problem"] = str(error)
    return row


def size_of(folder: Path | None) -> int:
    """The bytes of all files in a folder."""
    total = 0
    for path in folder.rglob("*") if folder else ():
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
