"""A corpus: what is kept, so that it is found again."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from shortlist.errors import CorpusBusy, CorpusMismatch, CorpusNotFound, EmbedderError
from shortlist.index.change import Change
from shortlist.index.embed import lasting_name, load_embedder
from shortlist.index.floors import Floor, floor_of, origin
from shortlist.index.places import OF_A_PATH, corpus_dir, corpus_dir_of_path
from shortlist.index.records import (
    DOCUMENT_COLUMNS,
    batched,
    browse_documents,
    clean,
    count_kinds,
    find_stored,
    read_document,
    to_document,
)
from shortlist.index.segment import SegmentDamaged
from shortlist.index.snapshot import Snapshot
from shortlist.index.store import DATABASE, Config, Store, read_config, read_segments, read_stamps, write_config
from shortlist.index.sync import BATCH, Progress, compare, sync
from shortlist.index.view import Views
from shortlist.types import AgentTool, Changes, Document, Embedder, Problem, Stamps

ONLY_IN_A_PROGRAM = "object:"
EmbedderSpec = str | Embedder | Callable[[list[str]], Any] | None


class Unavailable:
    """Stands for an embedder that only another program has: what it encoded before can be used, and nothing more."""

    def __init__(self, name: str, dim: int, corpus: str) -> None:
        self.name = name
        self.dim = dim
        self._corpus = corpus

    def encode_query(self, text: str) -> NoReturn:
        raise EmbedderError(
            f"The corpus {self._corpus!r} was built with the embedder {self.name!r}, which only your program has: "
            f"pass it as open_corpus(..., embedder=...), or search with mode='lexical'."
        )

    def encode_documents(self, texts: Sequence[str]) -> NoReturn:
        self.encode_query("")


class Corpus:
    """Documents, indexed and stored. Open one with `open_corpus`, make one with `create_corpus` or `build`."""

    def __init__(self, store: Store, name: str, embedder: EmbedderSpec = None) -> None:
        self.name = name
        self.path = store.folder
        self._store = store
        self._views = Views(store, name, self._embedder_of)
        self._lock = threading.Lock()
        self.changes = Changes()  # what the last sync did
        self._embedder: Embedder | None = None
        self._is_lexical = False  # as far as is known: no embedder to load
        self._finalizer = weakref.finalize(self, store.close)
        try:
            with store.reading() as connection:
                config = read_config(connection)
            if embedder is not None:
                self._embedder = _matching(load_embedder(embedder), config, name)
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
        self.changes = sync(self._store, self._change, documents, prune, progress, strict)
        self._store.sweep()
        return self.changes

    def compare(self, documents: Iterable[Document | Problem], progress: Progress | None = None) -> Changes:
        """What a sync with these documents would do; nothing is changed."""
        return compare(self._store, documents, progress)

    def add(
        self, documents: Iterable[Document | Problem], progress: Progress | None = None, *, strict: bool = False
    ) -> Changes:
        """Store these documents beside the others; the same id replaces."""
        return self.sync(documents, prune=False, progress=progress, strict=strict)

    def remove(self, ids: str | Iterable[str]) -> int:
        """Remove documents by id; how many there were."""
        wanted = [clean(id) for id in ([ids] if isinstance(ids, str) else ids)]
        removed = 0
        with self._change() as change:
            for batch in batched(wanted, BATCH):
                for number, _ in find_stored(change.connection, batch).values():
                    change.remove(number)
                    removed += 1
        self._store.sweep()
        return removed

    def compact(self) -> None:
        """Merge all segments into one. Never needed, useful before a corpus is only read."""
        with self._change() as change:
            change.compact()
        self._store.sweep()

    def reindex(self, embedder: EmbedderSpec = None, **options: Any) -> None:
        """Index the stored documents again, with another embedder or other options of `create_corpus`."""
        config = self.config
        loaded = self.embedder if embedder is None else load_embedder(embedder)
        spec = config.embedder if embedder is None else _spec(embedder, loaded)
        name, dim = (loaded.name, loaded.dim) if loaded else ("none", 0)
        # floors were calibrated for the old scores
        config = replace(config, **options, embedder=spec, embedder_name=name, dim=dim, floors={}, calibrations={})
        with self._store.writing() as connection:
            write_config(connection, config)
            with contextlib.closing(Change(self._store, connection, config, loaded)) as change:
                change.reindex()
                change.finish()
        self._embedder = loaded
        self._store.sweep()

    def set_floor(self, mode: str, floor: float | None, **facts: Any) -> None:
        """Keep (or with None forget) the score below which a best hit in this mode means that nothing fits.

        What the corpus is now is remembered with it, and so are the facts.
        """
        with self._store.writing() as connection:
            config = read_config(connection)
            floors, known = dict(config.floors), dict(config.calibrations)
            floors.pop(mode, None)
            known.pop(mode, None)
            if floor is not None:
                floors[mode], known[mode] = float(floor), facts | origin(connection, config)
            write_config(connection, replace(config, floors=floors, calibrations=known))

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The last committed state; what is committed meanwhile does not disturb it."""
        if self._store.writes_here:
            raise CorpusBusy("This thread is in the middle of a change to the corpus in memory: finish that first.")
        last_damage = None
        while True:
            with self._store.reading() as connection:
                try:
                    view = self._views.current(connection)
                except SegmentDamaged as error:
                    damage = error
                else:
                    yield Snapshot(view, connection, self._embedder_of)
                    return
            if last_damage == (damage.row, damage.generation):  # not merely merged away since the state was read
                self._views.mend(damage)
            last_damage = damage.row, damage.generation

    def floor(self, mode: str) -> Floor:
        """The floor that was set for a mode, and whether the corpus has changed much since."""
        with self._store.reading() as connection:
            return floor_of(connection, read_config(connection), mode)

    def get(self, id: str) -> Document | None:
        with self._store.reading() as connection:
            return read_document(connection, clean(id))

    def browse(self, text: str = "", offset: int = 0, limit: int | None = None) -> tuple[list[Document], int]:
        """Documents that hold a text, in the order in which they were first added, and how many there are of them."""
        with self._store.reading() as connection:
            return browse_documents(connection, text, offset, limit)

    def ids(self) -> list[str]:
        with self._store.reading() as connection:
            return [id for (id,) in connection.execute("SELECT id FROM documents ORDER BY num")]

    def stamps(self) -> Stamps:
        """What is known of the files that documents came from, by id."""
        with self._store.reading() as connection:
            return read_stamps(connection)

    def __len__(self) -> int:
        with self._store.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    @property
    def is_empty(self) -> bool:
        with self._store.reading() as connection:
            return not connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").fetchone()[0]

    def kinds(self) -> dict[str, int]:
        """How many documents there are of each kind, the most frequent first."""
        with self._store.reading() as connection:
            return count_kinds(connection)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    def __iter__(self) -> Iterator[Document]:
        """All documents in the order in which they were first added."""
        query = f"SELECT num, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num > ? ORDER BY num LIMIT {BATCH}"
        last = 0
        while True:
            with self._store.reading() as connection:
                rows = connection.execute(query, (last,)).fetchall()
                documents = [to_document(row[1:]) for row in rows]
            if not rows:
                return
            last = rows[-1][0]
            yield from documents

    @property
    def config(self) -> Config:
        with self._store.reading() as connection:
            return read_config(connection)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder that the corpus is built with, loaded on first use; None for a lexical-only corpus."""
        return self._embedder_of(self.config)

    def _embedder_of(self, config: Config) -> Embedder | None:
        """The embedder of a state: another process may have built the corpus again with another one."""
        if config.embedder_name == "none":
            return None
        with self._lock:
            if self._embedder is None or self._embedder.name != config.embedder_name:
                if config.embedder.startswith(ONLY_IN_A_PROGRAM):
                    return Unavailable(config.embedder_name, config.dim, self.name)
                self._embedder = _matching(load_embedder(config.embedder), config, self.name)
            return self._embedder

    def info(self) -> dict[str, Any]:
        """Counts and configuration, as plain data."""
        with self._store.reading() as connection:
            config = read_config(connection)
            rows = read_segments(connection)
            (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
            (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
            doubts = {mode: floor_of(connection, config, mode).doubt for mode in config.floors}
        return {
            "name": self.name,
            "path": str(self.path) if self.path else None,
            "documents": documents,
            "passages": passages,
            "segments": len(rows),
            "analyzer": config.analyzer,
            "embedder": config.embedder_name,
            "dim": config.dim,
            "floors": dict(config.floors),
            "doubts": {mode: doubt for mode, doubt in doubts.items() if doubt},
        }

    def as_tool(self, **options: Any) -> AgentTool:
        """The corpus as a tool that an agent can call: `shortlist.as_tool` with its options."""
        from shortlist.search.tool import as_tool  # noqa: PLC0415  # from the floor above: see tests/test_floors.py

        return as_tool(self, **options)

    def close(self) -> None:
        self._finalizer()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, path={str(self.path) if self.path else None!r})"

    @contextlib.contextmanager
    def _change(self) -> Iterator[Change]:
        if self._embedder is None and not self._is_lexical:
            # loaded before the lock is taken, since that may take long
            self._is_lexical = self._embedder_of(self.config) is None
        with self._store.writing() as connection:
            config = read_config(connection)
            with contextlib.closing(Change(self._store, connection, config, self._embedder_of(config))) as change:
                yield change
                change.finish()


def create_corpus(
    name: str = "",
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    in_memory: bool = False,
    rebuild: bool = False,
    **options: Any,
) -> Corpus:
    """A corpus under that name or path, made if it is not there, with the default embedder unless another is given.

    An existing one keeps what it was built with; asking for something else is an error, or with `rebuild` a reindex.
    Options are those of `Config`: analyzer, scoring, chunk_size, chunk_overlap.
    """
    folder = None if in_memory else corpus_folder(name, path)
    if folder is None or not (folder / DATABASE).exists():
        wanted = "default" if embedder is None else embedder
        loaded = load_embedder(wanted)
        config = Config(**options)
        if loaded is not None:
            config = replace(config, embedder=_spec(wanted, loaded), embedder_name=loaded.name, dim=loaded.dim)
        store = Store.create(folder, config)
        embedder, rebuild = loaded or "none", False
    else:
        store = Store.open(folder)
    corpus = Corpus(store, name or (folder.name if folder else "in memory"), None if rebuild else embedder)
    if rebuild:
        corpus.reindex(embedder, **options)
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


def open_corpus(name: str | Path, embedder: EmbedderSpec = None) -> Corpus:
    """An existing corpus, by its name or by the path of its folder."""
    folder = corpus_folder(name)
    if not (folder / DATABASE).exists():
        raise CorpusNotFound(
            f"There is no corpus {str(name)!r} (looked in {folder}). "
            f"Build it first: shortlist.build(source, name={str(name)!r}), or shortlist build on the command line."
        )
    return Corpus(Store.open(folder), folder.name if isinstance(name, Path) else name, embedder)


def delete_corpus(name: str | Path) -> None:
    """Delete what is stored of a corpus; not while somebody writes to it."""
    folder = corpus_folder(name)
    if not (folder / DATABASE).exists():
        raise CorpusNotFound(f"There is nothing stored of the corpus {str(name)!r} (looked in {folder}).")
    Store.delete(folder)


def corpus_folder(name: str | Path, path: str | Path | None = None) -> Path:
    """Where a corpus lies: at its path, or under its name in the data directory.

    A name with a slash is a path, except those that say what lies there: docs:PATH and tools:PATH.
    """
    if path is not None:
        return Path(path).expanduser()
    if isinstance(name, str) and name.startswith(OF_A_PATH):
        return corpus_dir_of_path(name)
    if isinstance(name, Path) or "/" in name or "\\" in name:
        return Path(name).expanduser()
    return corpus_dir(name)


def _spec(embedder: EmbedderSpec, loaded: Embedder | None) -> str:
    """What a corpus writes down to find its embedder again."""
    if loaded is None:
        return "none"
    return lasting_name(embedder) if isinstance(embedder, str) else f"{ONLY_IN_A_PROGRAM}{loaded.name}"


def _matching(embedder: Embedder | None, config: Config, name: str) -> Embedder | None:
    given = embedder.name if embedder else "none"
    if given != config.embedder_name:
        raise CorpusMismatch(
            f"The corpus {name!r} was built with the embedder {config.embedder_name!r}, not {given!r}. Leave the "
            f"embedder out to use the one it has, build under another name, or pass rebuild=True to build it again "
            f"with {given!r}."
        )
    return embedder
