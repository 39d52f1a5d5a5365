"""Where does a corpus live? In a folder of this machine or, if the folder points there, in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from shortlist.errors import CorpusMismatch, CorpusNotFound
from shortlist.index.config import Config
from shortlist.index.corpus_paths import OF_A_PATH, corpus_dir, corpus_dir_of_path
from shortlist.index.embedders.embedder_binding import Chosen
from shortlist.index.engine import EMBEDDED, Engine
from shortlist.index.engines import pointers
from shortlist.index.engines.address import Address
from shortlist.index.local_engine import Embedded
from shortlist.index.storage.database import DATABASE, Store


def kept_at(name: str | Path, path: str | Path | None = None) -> Path | None:
    """The file that says that a corpus is stored, and where; None if nothing is."""
    folder = corpus_folder(name, path)
    return next((file for file in (folder / pointers.FILE, folder / DATABASE) if file.exists()), None)


def delete_corpus(name: str | Path) -> None:
    """Delete what is stored of a corpus, wherever it is kept; not while somebody writes to it on this machine."""
    folder = corpus_folder(name)
    if kept_at(name) is None:
        raise CorpusNotFound(f"There is nothing stored of the corpus {str(name)!r} (looked in {folder}).")
    place = place_of(folder, str(name))
    if isinstance(place, Elsewhere):
        with closed_on_error(place):
            place.delete()
        pointers.forget(folder)
    if (folder / DATABASE).exists():
        Store.delete(folder)
    elif folder.exists():
        Store.delete_rest(folder)


def place_of(folder: Path, name: str, engine: str | None = None) -> Here | Elsewhere:
    """Where the corpus of a folder is kept, or will be. What is asked for must not contradict what is."""
    known = pointers.read(folder)
    if engine is None:
        return Elsewhere(known.address, folder, known.name) if known else Here(folder)
    wanted = None if engine == EMBEDDED else Address.parse(engine)
    is_here = known is None and (folder / DATABASE).exists()
    is_there = known is not None and (
        wanted is None or (known.address.dialect, known.address.prefix) != (wanted.dialect, wanted.prefix)
    )
    if is_there or (is_here and wanted):
        raise CorpusMismatch(
            f"The corpus {name!r} is kept {f'in {known.address}' if known else 'on this machine'}, not "
            f"{f'in {wanted}' if wanted else 'here'}. To move it: shortlist migrate {name} --to {wanted or EMBEDDED}."
        )
    return Elsewhere(wanted, folder, known.name if known else name) if wanted else Here(folder)


class Here:
    """The embedded engine of a folder, or of none, which is memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._store: Store | None = None

    def __str__(self) -> str:
        return str(self._folder)

    def exists(self) -> bool:
        return self._folder is not None and (self._folder / DATABASE).exists()

    def create(self, config: Config) -> None:
        self._store = Store.create(self._folder, config)

    def __call__(self, name: str, chosen: Chosen) -> Engine:
        if self._store is None:
            assert self._folder is not None
            self._store = Store.open(self._folder)
        return Embedded(self._store, name, chosen)

    def point(self) -> None:
        """Let the folder mean what lies in it."""
        if self._folder is not None:
            pointers.forget(self._folder)

    def delete(self) -> None:
        if self._folder is not None:
            Store.empty(self._folder)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


class Elsewhere:
    """A cluster that keeps a corpus, and the folder that points to it."""

    def __init__(self, address: Address, folder: Path, name: str) -> None:
        from shortlist.index.engines.cluster_client import Cluster  # noqa: PLC0415  # only where a cluster is asked
        from shortlist.index.engines.cluster_engine import Remote  # noqa: PLC0415

        self._address, self._folder, self._name = address, folder, name
        self._cluster = Cluster(address)
        self._made = partial(Remote, self._cluster, folder, name)

    def __str__(self) -> str:
        return str(self._address)

    def exists(self) -> bool:
        try:
            self._made(Chosen(self._name)).check()
        except CorpusNotFound:
            return False
        return True

    def create(self, config: Config) -> None:
        self._made(Chosen(self._name)).create(config)

    def __call__(self, name: str, chosen: Chosen) -> Engine:
        return self._made(chosen)

    def point(self) -> None:
        """Let the folder mean this from now on."""
        pointers.write(self._folder, self._address, self._name)

    def delete(self) -> None:
        self._made(Chosen(self._name)).delete()
        self.close()

    def close(self) -> None:
        self._cluster.close()


@contextmanager
def closed_on_error(place: Here | Elsewhere) -> Iterator[None]:
    try:
        yield
    except BaseException:
        place.close()
        raise


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
