"""Where a corpus is stored: in a local folder, in memory or, if its folder points there, in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shortlist.errors import CorpusError, CorpusMismatch, CorpusNotFound
from shortlist.index.config import Config
from shortlist.index.corpus_paths import DATABASE, corpus_folder
from shortlist.index.embedders.embedder_binding import EmbedderBinding, may_load
from shortlist.index.engine import EMBEDDED, Engine
from shortlist.index.engines import pointers
from shortlist.index.engines.address import PROCESS, Address
from shortlist.index.foreign import how_to_confirm
from shortlist.index.local_engine import LocalEngine
from shortlist.index.storage.database import Store
from shortlist.safety.confirmations import Confirmation

if TYPE_CHECKING:
    from shortlist.index.engines.cluster_engine import ClusterEngine


def find_corpus_file(name: str | Path, path: str | Path | None = None) -> Path | None:
    """The file that shows that a corpus is stored, and where; None if it does not exist."""
    folder = corpus_folder(name, path)
    return next((file for file in (folder / pointers.FILE, folder / DATABASE) if file.exists()), None)


def delete_corpus(name: str | Path) -> None:
    """Delete a stored corpus, wherever it is; an error while another process on this machine writes to it."""
    folder = corpus_folder(name)
    if find_corpus_file(name) is None:
        raise CorpusNotFound(f"The corpus {str(name)!r} is not stored (looked in {folder}).")
    location = find_location(folder, str(name))
    if location.address is not None:
        location.delete()
        pointers.forget(folder)
    if (folder / DATABASE).exists():
        Store.delete(folder)
    elif folder.exists():
        Store.delete_rest(folder)


def wait_for_writer(folder: Path, seconds: float) -> None:
    """Wait until no process on this machine writes to a corpus; an error if that takes longer."""
    if (folder / DATABASE).exists():
        Store.check_no_writer(folder, seconds)


def requests_of(folder: Path) -> list[Confirmation]:
    """What a foreign folder names and the user has not confirmed: its cluster or, once that is known, its embedder."""
    location = find_location(folder, folder.name)
    if location.address is not None and not location.address.trusted:
        return [Confirmation("cluster", folder, str(location.address))]
    engine = location.open(EmbedderBinding(folder.name, folder))
    if engine is None:
        return []
    with closing(engine):
        spec = engine.config().embedder
    return [] if may_load(folder, spec) else [Confirmation("embedder", folder, spec)]


def find_location(folder: Path, name: str, engine: str | None = None) -> Location:
    """Where the corpus of a folder is stored, or will be; an error if that is not the given engine."""
    known = pointers.read(folder)
    if engine is None:
        return Location(folder, known.name, known.address) if known else Location(folder, name)
    wanted = None if engine == EMBEDDED else Address.parse(engine)
    if known is None:
        is_other = wanted is not None and (folder / DATABASE).exists()
    else:
        is_other = wanted is None or (known.address.dialect, known.address.prefix) != (wanted.dialect, wanted.prefix)
    if is_other:
        raise CorpusMismatch(
            f"The corpus {name!r} is stored {f'in {known.address}' if known else 'on this machine'}, not "
            f"{f'in {wanted}' if wanted else 'here'}. To move it: shortlist migrate {name} --to {wanted or EMBEDDED}."
        )
    return Location(folder, known.name if known else name, wanted)


class Location(NamedTuple):
    """Where a corpus is stored: with an address in a cluster, else in the folder or, without one, in memory."""

    folder: Path | None
    name: str
    address: Address | None = None

    def __str__(self) -> str:
        return str(self.address or self.folder)

    @property
    def engine(self) -> str:
        return str(self.address or EMBEDDED)

    def open(self, embedders: EmbedderBinding) -> Engine | None:
        """The engine of the corpus; None if it does not exist."""
        if self.address is not None:
            engine = self._connect(embedders)
            try:
                with close_on_error(engine):
                    engine.check()
            except CorpusNotFound:
                return None
            return engine
        if self.folder is None or not (self.folder / DATABASE).exists():
            return None
        return LocalEngine(Store.open(self.folder), self.name, embedders)

    def create(self, config: Config, embedders: EmbedderBinding) -> Engine:
        if self.address is None:
            return LocalEngine(Store.create(self.folder, config), self.name, embedders)
        engine = self._connect(embedders)
        with close_on_error(engine):
            engine.create(config)
        return engine

    def _connect(self, embedders: EmbedderBinding | None = None) -> ClusterEngine:
        from shortlist.index.engines.cluster_engine import ClusterEngine  # noqa: PLC0415  # 50 ms: only for a cluster

        assert self.address is not None
        assert self.folder is not None
        if not self.address.trusted:
            raise CorpusError(
                f"{self.folder / pointers.FILE} names the cluster {self.address}, which you have not confirmed, so no "
                f"request was sent. If you trust it, {how_to_confirm(self.folder)}, or name it with engine=."
            )
        engine = ClusterEngine(self.address.with_credentials(PROCESS.credentials), self.folder, self.name)
        engine.embedders = embedders or engine.embedders
        return engine

    def write_pointer(self) -> None:
        """Make the folder refer to this corpus."""
        if self.folder is not None and self.address is not None:
            pointers.write(self.folder, self.address, self.name)
        elif self.folder is not None:
            pointers.forget(self.folder)

    def delete(self) -> None:
        """Delete the corpus, but not the folder."""
        if self.address is not None:
            with closing(self._connect()) as engine:
                engine.delete()
        elif self.folder is not None:
            Store.empty(self.folder)


@contextmanager
def close_on_error(opened: Any) -> Iterator[None]:
    try:
        yield
    except BaseException:
        opened.close()
        raise
