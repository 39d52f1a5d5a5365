"""Where a corpus is stored: in a local folder, in memory or, if its folder points there, in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shortlist.errors import CorpusMismatch, CorpusNotFound
from shortlist.index.config import Config
from shortlist.index.corpus_paths import OF_A_PATH, corpus_dir, corpus_dir_of_path
from shortlist.index.embedders.embedder_binding import EmbedderBinding
from shortlist.index.engine import EMBEDDED, Engine
from shortlist.index.engines import pointers
from shortlist.index.engines.address import PROCESS, Address
from shortlist.index.local_engine import LocalEngine
from shortlist.index.storage.database import DATABASE, Store


def kept_at(name: str | Path, path: str | Path | None = None) -> Path | None:
    """The file that shows that a corpus is stored, and where; None if there is no corpus."""
    folder = corpus_folder(name, path)
    return next((file for file in (folder / pointers.FILE, folder / DATABASE) if file.exists()), None)


def delete_corpus(name: str | Path) -> None:
    """Delete a stored corpus, wherever it is; an error while another process on this machine writes to it."""
    folder = corpus_folder(name)
    if kept_at(name) is None:
        raise CorpusNotFound(f"There is nothing stored of the corpus {str(name)!r} (looked in {folder}).")
    store = find_store(folder, str(name))
    if isinstance(store, RemoteStore):
        with close_on_error(store):
            store.delete()
        pointers.forget(folder)
    if (folder / DATABASE).exists():
        Store.delete(folder)
    elif folder.exists():
        Store.delete_rest(folder)


def find_store(folder: Path, name: str, engine: str | None = None) -> LocalStore | RemoteStore:
    """Where the corpus of a folder is stored, or will be; an error if that is not the given engine."""
    known = pointers.read(folder)
    if engine is None:
        return RemoteStore(known.address, folder, known.name) if known else LocalStore(folder)
    wanted = None if engine == EMBEDDED else Address.parse(engine)
    if known is None:
        is_other = wanted is not None and (folder / DATABASE).exists()
    else:
        is_other = wanted is None or (known.address.dialect, known.address.prefix) != (wanted.dialect, wanted.prefix)
    if is_other:
        raise CorpusMismatch(
            f"The corpus {name!r} is kept {f'in {known.address}' if known else 'on this machine'}, not "
            f"{f'in {wanted}' if wanted else 'here'}. To move it: shortlist migrate {name} --to {wanted or EMBEDDED}."
        )
    return RemoteStore(wanted, folder, known.name if known else name) if wanted else LocalStore(folder)


class LocalStore:
    """A folder, or memory, that stores a corpus with the embedded engine."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._store: Store | None = None
        self.engine = EMBEDDED

    def __str__(self) -> str:
        return str(self._folder)

    def exists(self) -> bool:
        return self._folder is not None and (self._folder / DATABASE).exists()

    def create(self, config: Config) -> None:
        self._store = Store.create(self._folder, config)

    def open(self, name: str, chosen: EmbedderBinding) -> Engine:
        if self._store is None:
            assert self._folder is not None
            self._store = Store.open(self._folder)
        return LocalEngine(self._store, name, chosen)

    def point(self) -> None:
        """Make the folder stand for the corpus in it."""
        if self._folder is not None:
            pointers.forget(self._folder)

    def delete(self) -> None:
        if self._folder is not None:
            Store.empty(self._folder)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


class RemoteStore:
    """A cluster that stores a corpus, and the folder that points to it."""

    def __init__(self, address: Address, folder: Path, name: str) -> None:
        from shortlist.index.engines.cluster_engine import ClusterEngine  # noqa: PLC0415  # 50 ms: only for a cluster

        self._address, self._folder, self._name = address, folder, name
        self._engine = ClusterEngine(address.with_credentials(PROCESS.credentials), folder, name)
        self.engine = str(address)

    def __str__(self) -> str:
        return self.engine

    def exists(self) -> bool:
        try:
            self._engine.check()
        except CorpusNotFound:
            return False
        return True

    def create(self, config: Config) -> None:
        self._engine.create(config)

    def open(self, name: str, chosen: EmbedderBinding) -> Engine:
        self._engine.chosen = chosen
        return self._engine

    def point(self) -> None:
        """Make the folder stand for this corpus."""
        pointers.write(self._folder, self._address, self._name)

    def delete(self) -> None:
        self._engine.delete()
        self.close()

    def close(self) -> None:
        self._engine.close()


@contextmanager
def close_on_error(store: LocalStore | RemoteStore) -> Iterator[None]:
    try:
        yield
    except BaseException:
        store.close()
        raise


def corpus_folder(name: str | Path, path: str | Path | None = None) -> Path:
    """The folder of a corpus: its path, or its name in the data directory.

    A name with a slash is a path, except docs:PATH and tools:PATH, which are names.
    """
    if path is not None:
        return Path(path).expanduser()
    if isinstance(name, str) and name.startswith(OF_A_PATH):
        return corpus_dir_of_path(name)
    if isinstance(name, Path) or "/" in name or "\\" in name:
        return Path(name).expanduser()
    return corpus_dir(name)
