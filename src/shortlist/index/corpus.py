"""A corpus: documents, stored and indexed."""

from __future__ import annotations

import pkgutil
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from shortlist.documents import Changes, Document, Problem, Stamps
from shortlist.errors import CorpusError, CorpusMismatch, CorpusNotFound, InputError
from shortlist.index.config import Config
from shortlist.index.embedders.embedder_binding import EmbedderBinding, EmbedderSpec, spec_of
from shortlist.index.embedders.named import load_embedder
from shortlist.index.engine import EMBEDDED, State
from shortlist.index.location import LocalStore, RemoteStore, close_on_error, corpus_folder, find_store
from shortlist.index.storage.records import clean
from shortlist.index.stored_threshold import Floor, describe_origin, read_floor
from shortlist.protocols import AgentTool, Embedder, Progress


class Corpus:
    """Documents, indexed and stored. Open one with `open_corpus`, make one with `create_corpus` or `build`."""

    def __init__(
        self, store: LocalStore | RemoteStore, name: str, embedder: EmbedderSpec = None, path: Path | None = None
    ) -> None:
        self.name = name
        self.path = path
        self._chosen = EmbedderBinding(name, path)
        self._engine = store.open(name, self._chosen)
        self.changes = Changes()  # what the last sync did
        self._finalizer = weakref.finalize(self, self._engine.close)
        try:
            config = self._engine.config()
            if embedder is not None:
                self._chosen.use(embedder, config)
        except BaseException:
            self.close()
            raise

    # Writing

    def sync(
        self,
        documents: Iterable[Document | Problem],
        prune: bool = True,
        progress: Progress | None = None,
        *,
        strict: bool = False,
    ) -> Changes:
        """Make the corpus hold these documents, in one transaction: all of it happens or nothing.

        Unchanged documents cost a comparison. With `prune`, stored documents that did not come are removed, except
        those that a Problem speaks of. A document that cannot be taken is reported and does not stop the others; with
        `strict` it is an error, and nothing is changed.
        `progress` is called with how many documents were seen, and of how many if that is known.
        """
        self.changes = self._engine.sync(documents, prune, progress, strict)
        return self.changes

    def compare(self, documents: Iterable[Document | Problem], progress: Progress | None = None) -> Changes:
        """What a sync with these documents would do; nothing is changed."""
        return self._engine.compare(documents, progress)

    def add(
        self, documents: Iterable[Document | Problem], progress: Progress | None = None, *, strict: bool = False
    ) -> Changes:
        """Store these documents beside the others; the same id replaces."""
        return self.sync(documents, prune=False, progress=progress, strict=strict)

    def remove(self, ids: str | Iterable[str]) -> int:
        """Remove documents by id; how many there were."""
        return self._engine.remove([clean(id) for id in ([ids] if isinstance(ids, str) else ids)])

    def compact(self) -> None:
        """Merge all segments into one. Never needed, useful before a corpus is only read."""
        self._engine.compact()

    def reindex(self, embedder: EmbedderSpec = None, *, progress: Progress | None = None, **options: Any) -> None:
        """Index the stored documents again, with another embedder or other options of `create_corpus`."""
        loaded = self.embedder if embedder is None else load_embedder(embedder)
        chosen: dict[str, Any] = {} if embedder is None else {"embedder": spec_of(embedder, loaded)}
        name, dim = (loaded.name, loaded.dim) if loaded else ("none", 0)
        # floors were calibrated for the old scores
        fresh = options | chosen | {"embedder_name": name, "dim": dim, "floors": {}, "calibrations": {}}
        self._engine.reindex(lambda config: replace(config, **fresh).checked(), loaded, progress)
        self._chosen.loaded = loaded

    def set_floor(self, mode: str, floor: float | None, **facts: Any) -> None:
        """Keep (or with None forget) the score below which a best hit in this mode means that nothing fits.

        What the corpus is now is remembered with it, and so are the facts.
        """

        def change(config: Config) -> Config:
            floors, known = dict(config.floors), dict(config.calibrations)
            floors.pop(mode, None)
            known.pop(mode, None)
            if floor is not None:
                floors[mode], known[mode] = float(floor), facts | describe_origin(self._engine, config)
            return replace(config, floors=floors, calibrations=known)

        self._engine.configure(change)

    # Reading

    def snapshot(self) -> AbstractContextManager[State]:
        """The last committed state; what is committed meanwhile does not disturb it."""
        return self._engine.snapshot()

    def floor(self, mode: str) -> Floor:
        """The floor that was set for a mode, and whether the corpus has changed much since."""
        return read_floor(self._engine, self.config, mode)

    def get(self, id: str) -> Document | None:
        return self._engine.get(clean(id))

    def browse(self, text: str = "", offset: int = 0, limit: int | None = None) -> tuple[list[Document], int]:
        """Documents that hold a text, in the order in which they were first added, and how many there are of them."""
        return self._engine.browse(text, offset, limit)

    def ids(self) -> list[str]:
        return self._engine.ids()

    def stamps(self) -> Stamps:
        """What is known of the files that documents came from, by id."""
        return self._engine.stamps()

    def __len__(self) -> int:
        return self._engine.count()

    @property
    def is_empty(self) -> bool:
        return not self._engine.count()

    def kinds(self) -> dict[str, int]:
        """How many documents there are of each kind, the most frequent first."""
        return self._engine.kinds()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    def __iter__(self) -> Iterator[Document]:
        """All documents in the order in which they were first added."""
        return self._engine.scan()

    @property
    def config(self) -> Config:
        return self._engine.config()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder that the corpus is built with, loaded on first use; None for a lexical-only corpus."""
        return self._chosen.of(self.config)

    def info(self) -> dict[str, Any]:
        """Counts and configuration, as plain data."""
        config = self.config
        doubts = {mode: read_floor(self._engine, config, mode).doubt for mode in config.floors}
        return {
            "name": self.name,
            "path": str(self.path) if self.path else None,
            **self._engine.facts(),
            "analyzer": config.analyzer,
            "embedder": config.embedder_name,
            "dim": config.dim,
            "floors": dict(config.floors),
            "doubts": {mode: doubt for mode, doubt in doubts.items() if doubt},
        }

    def as_tool(self, **options: Any) -> AgentTool:
        """The corpus as a tool that an agent can call: `shortlist.as_tool` with its options."""
        # The only deliberate late binding: the implementation is in a higher layer.
        tool: AgentTool = pkgutil.resolve_name("shortlist.search.corpus_tool:as_tool")(self, **options)
        return tool

    def close(self) -> None:
        self._finalizer()
        self._engine = _ClosedEngine(self.name)

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, path={str(self.path) if self.path else None!r})"


class _ClosedEngine:
    """The engine of a closed corpus: everything is an error."""

    def __init__(self, name: str) -> None:
        self._corpus = name

    def __getattr__(self, name: str) -> NoReturn:
        raise CorpusError(f"The corpus {self._corpus!r} is closed. Open it again with open_corpus.")


def create_corpus(
    name: str = "",
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    engine: str | None = None,
    in_memory: bool = False,
    rebuild: bool = False,
    default_embedder: str = "default",
    progress: Progress | None = None,
    **options: Any,
) -> Corpus:
    """A corpus under that name or path, made if it is not there, with the default embedder unless another is given.

    An existing one keeps what it was built with; asking for something else is an error, or with `rebuild` a reindex,
    which tells its `progress`.
    `engine` is where a new one is kept: "embedded", which is the default, or the address of a cluster, such as
    "opensearch+http://localhost:9200/shortlist". Options are those of `Config`: analyzer, scoring, chunk_size,
    chunk_overlap.
    """
    if in_memory and engine not in (None, EMBEDDED):
        raise InputError("A corpus is kept in memory or by an engine, not both.")
    folder = None if in_memory else corpus_folder(name, path)
    own = name or (folder.name if folder else "in memory")
    store = find_store(folder, own, engine) if folder else LocalStore(None)
    with close_on_error(store):
        if not store.exists():
            wanted = default_embedder if embedder is None else embedder
            loaded = load_embedder(wanted)
            config = Config(**options).checked()
            if loaded is not None:
                config = replace(config, embedder=spec_of(wanted, loaded), embedder_name=loaded.name, dim=loaded.dim)
            store.create(config)
            embedder, rebuild = loaded or "none", False
    corpus = Corpus(store, own, None if rebuild else embedder, folder)
    store.point()
    if rebuild:
        corpus.reindex(embedder, progress=progress, **options)
    config = corpus.config
    for option, value in options.items():
        built_with = getattr(config, option)
        if built_with != value:
            corpus.close()
            raise CorpusMismatch(
                f"The corpus {corpus.name!r} was built with {option}={built_with!r}, not {value!r}. "
                f"Leave {option} out, build under another name, or pass rebuild=True to build it again."
            )
    return corpus


def open_corpus(name: str | Path, embedder: EmbedderSpec = None, *, engine: str | None = None) -> Corpus:
    """An existing corpus, by its name or by the path of its folder; `engine` is where it is kept, if not known."""
    folder = corpus_folder(name)
    own = folder.name if isinstance(name, Path) else name
    store = find_store(folder, own, engine)
    with close_on_error(store):
        if not store.exists():
            raise CorpusNotFound(
                f"There is no corpus {str(name)!r} (looked in {store}). "
                f"Build it first: shortlist.build(source, name={str(name)!r}), or shortlist build on the command line."
            )
    corpus = Corpus(store, own, embedder, folder)
    if engine is not None:
        store.point()
    return corpus
