"""The engine of a corpus in a cluster: its life cycle, its configuration, and its documents."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from shortlist.documents import Problem
from shortlist.errors import CorpusBusy, CorpusDamaged, CorpusMismatch, CorpusNotFound, EngineError
from shortlist.index.config import Config
from shortlist.index.embedders.embedder_binding import EmbedderBinding
from shortlist.index.engine import Documents
from shortlist.index.engines import cluster_schema
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_client import Cluster, error_reason
from shortlist.index.engines.cluster_corpus import (
    ClusterCorpus,
    DocumentList,
    StoredDocuments,
    base_name,
    now,
    version_of,
)
from shortlist.index.engines.cluster_ranking import KnownFacts
from shortlist.index.engines.cluster_schema import PARTS
from shortlist.index.engines.cluster_snapshot import ClusterSnapshot
from shortlist.index.engines.cluster_writer import ClusterWriter
from shortlist.index.engines.facets import Query
from shortlist.index.foreign import derived_folder
from shortlist.index.restricted_engine import RestrictedEngine, without_calibration
from shortlist.index.storage.records import BATCH, PAUSE, batched, to_record
from shortlist.index.sync import sync
from shortlist.protocols import Progress, track

if TYPE_CHECKING:
    from pathlib import Path

    from shortlist.documents import Changes
    from shortlist.index.engine import Viewer
    from shortlist.protocols import Embedder

# Changes of the configuration by another process are seen after this time.
CONFIG_SECONDS = 1.0

# A rebuild that has not reported for this long is considered dead.
REBUILD_SECONDS = 60.0

MOST_VIEWERS = 100  # of which facts are remembered


class ClusterEngine(DocumentList):
    """A corpus in a cluster."""

    is_own = False  # others may write to it, from machines with other files

    def __init__(self, address: Address, folder: Path, name: str) -> None:
        super().__init__(Cluster(address), base_name(address, name))
        self.embedders = EmbedderBinding(name)
        self._name = name
        self._folder = derived_folder(folder)
        self._rows = StoredDocuments(self.cluster, self.base)
        self._known: tuple[float, Config] | None = None
        self._known_facts: dict[Viewer | None, KnownFacts] = {}  # by who reads

    def close(self) -> None:
        self.cluster.close()

    def for_viewer(self, viewer: Viewer) -> RestrictedCluster:
        return RestrictedCluster(self, viewer)

    # Configuration

    def config(self) -> Config:
        if self._known is not None and time.monotonic() - self._known[0] <= CONFIG_SECONDS:
            return self._known[1]
        return self._read_config()[0]

    def configure(self, change: Callable[[Config], Config]) -> None:
        while True:
            config, version = self._read_config()
            changed = change(config)
            if self._write_config(self.state_alias, changed, version):
                return self._remember(changed)

    def _remember(self, config: Config) -> None:
        self._known = time.monotonic(), config

    def _read_config(self) -> tuple[Config, dict[str, int]]:
        row = self._get_row(self.state_alias, "config")
        if row is None:
            raise CorpusNotFound(f"The corpus {self._name!r} does not exist in {self.cluster.address}. Build it first.")
        try:
            config = Config.from_json(row["_source"]["config"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._mismatch(f"its configuration cannot be read ({error})") from None
        self._remember(config)
        return config, version_of(row)

    def _write_config(self, alias: str, config: Config, version: dict[str, int] | None) -> bool:
        """Whether it was written: not if another writer was faster. Without a version there must be none yet."""
        row = {"what": "config", "config": config.to_json()}
        when = urlencode(version or {"op_type": "create"})
        return "error" not in self.cluster.write("PUT", f"/{alias}/_doc/config?refresh=true&{when}", row, accept=409)

    # Life cycle

    def create(self, config: Config) -> None:
        """Create the indices that do not exist. Each step may be done twice; the caller compares the config."""
        cluster_schema.check_formula(config)
        for part, alias in reversed(self.aliases.items()):
            self._create_index(part, config, cluster_schema.FIRST, alias)
        self._write_config(self.state_alias, config, None)
        self.check()

    def _index(self, part: str, generation: str) -> str:
        return f"{self.base}-{part}-{generation}"

    def _create_index(self, part: str, config: Config, generation: str, alias: str) -> None:
        body = cluster_schema.settings(part, config, self.cluster.address, self.cluster.dialect)
        index = self._index(part, generation)
        path = f"/{index}?wait_for_active_shards=1&timeout=30s"
        made = self.cluster.write("PUT", path, {**body, "aliases": {alias: {}}}, accept=400)
        if "error" in made:
            if "resource_already_exists" not in str(made):
                raise self._mismatch(f"its index of {part} cannot be created: {error_reason(made)}")
        elif not made.get("shards_acknowledged"):
            raise EngineError(
                f"The engine {self.cluster.address} has created {index!r} but has no node for its shards. See GET "
                f"/_cluster/health, and try again when its status is no longer red."
            )

    def check(self) -> None:
        """Raise if the corpus does not exist, lacks an index, or if its indices are not ours."""
        config, _ = self._read_config()
        for part, alias in self.aliases.items():
            indices = self.cluster.request("GET", f"/{alias}/_mapping", accept=404)
            if "error" in indices:
                raise CorpusDamaged(
                    f"The corpus {self._name!r} in {self.cluster.address} is damaged: its index of {part} is missing. "
                    f"Restore it from a backup, or delete the corpus and build it again."
                )
            if len(indices) != 1:
                raise self._mismatch(f"{alias} is an alias of several indices")
            (found,) = (index["mappings"] for index in indices.values())
            expected = cluster_schema.mapping(part, config, self.cluster.dialect)
            if problem := cluster_schema.find_mismatch(found, expected):
                raise self._mismatch(f"{alias} {problem}")

    def delete(self) -> None:
        """Delete the indices behind the aliases; the state last, because it makes the corpus exist."""
        for alias in reversed(self.aliases.values()):
            for index in self._indices(alias):
                self.cluster.write("DELETE", f"/{index}", accept=404)

    def _mismatch(self, problem: str) -> CorpusMismatch:
        return CorpusMismatch(
            f"The corpus {self._name!r} in {self.cluster.address} cannot be used: {problem}. Use another name or "
            f"prefix, or build it again from its source."
        )

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        self._rows.refresh()
        if strict:  # checked before anything is written, because a cluster cannot roll back
            documents = list(documents)
            sync(self._reading_rows, None, documents, False, None, strict=True)
        changes = sync(self._reading_rows, self._writing, documents, prune, progress, strict=False)
        if strict and changes.failed:
            failed = changes.failed[0]
            raise EngineError(f"The document {failed.id!r} was not stored, while the others were: {failed.reason}")
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        self._rows.refresh()
        return sync(self._reading_rows, None, documents, True, progress)

    def remove(self, ids: Sequence[str]) -> int:
        removed = 0
        self._rows.refresh()
        with self._writing() as writer:
            for batch in batched(ids, BATCH):
                for row in self._rows.find(batch).values():
                    writer.remove(row.id)
                    removed += row.ready
            writer.settle()
        return removed

    def compact(self) -> None:
        self.cluster.request("POST", f"/{self.passages_alias}/_forcemerge?max_num_segments=1", timeout=3600)

    def verify(self) -> None:
        """A cluster compares its files with checksums of its own."""

    def _reading_rows(self) -> contextlib.AbstractContextManager[StoredDocuments]:
        return contextlib.nullcontext(self._rows)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[ClusterWriter]:
        config, _ = self._read_config()
        self._end_dead_rebuild()
        embedder = self.embedders.for_config(config)
        with contextlib.closing(ClusterWriter(self._rows, config, embedder, self._folder)) as writer:
            yield writer
        self._forget_statistics()

    # Rebuilding

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        """Index all documents again into new indices, and switch all aliases to them at once.

        Meanwhile everyone can read, and no one else can write.
        """
        self._end_dead_rebuild()
        config = change(self._read_config()[0])
        cluster_schema.check_formula(config)
        generation = uuid.uuid4().hex[:12]
        fresh = StoredDocuments(self.cluster, f"{self.base}-{generation}")
        self._announce_rebuild(generation)
        try:
            with self._reporting(generation):
                for part, alias in fresh.aliases.items():
                    self._create_index(part, config, generation, alias)
                self._write_config(fresh.state_alias, config, None)
                with contextlib.closing(ClusterWriter(fresh, config, embedder, self._folder)) as writer:
                    for document in track(self.scan(), progress, self.count(), PAUSE):
                        record = to_record(document)
                        assert not isinstance(record, Problem)
                        writer.put(record, None)
                    if refused := writer.settle():
                        raise EngineError(
                            f"The document {refused[0].id!r} cannot be indexed again: {refused[0].reason}"
                        )
                    writer.store_stamps(self.stamps().values(), ())
            self._switch(generation, fresh)
        except BaseException:
            self._end_rebuild(generation)
            raise
        self._forget_statistics()
        self._remember(config)

    @contextlib.contextmanager
    def _reporting(self, generation: str) -> Iterator[None]:
        """Report again and again that the rebuild goes on, however long an embedder takes."""
        done = threading.Event()

        def report() -> None:
            while not done.wait(REBUILD_SECONDS / 4):
                with contextlib.suppress(EngineError):
                    self._announce_rebuild(generation)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            done.set()
            reporter.join()

    def _switch(self, generation: str, fresh: ClusterCorpus) -> None:
        actions: list[Query] = []
        for part, alias in self.aliases.items():
            actions += [{"remove_index": {"index": index}} for index in self._indices(alias)]
            index = self._index(part, generation)
            actions.append({"remove": {"index": index, "alias": fresh.aliases[part]}})
            actions.append({"add": {"index": index, "alias": alias}})
        self.cluster.write("POST", "/_aliases", {"actions": actions})

    def _indices(self, alias: str) -> list[str]:
        indices = self.cluster.request("GET", f"/_alias/{alias}", accept=404)
        return [] if "error" in indices else list(indices)

    def _announce_rebuild(self, generation: str) -> None:
        """Block writing until the rebuild is done or considered dead."""
        row = {"what": "rebuild", "generation": generation, "since": now()}
        self.cluster.write("PUT", f"/{self.state_alias}/_doc/rebuild?refresh=true", row)
        self._block_writing(True)

    def _block_writing(self, on: bool) -> None:
        path = f"/{self.documents_alias},{self.passages_alias}/_settings"
        self.cluster.write("PUT", path, {"index.blocks.write": on})

    def _end_rebuild(self, generation: str) -> None:
        """Restore everything as it was before."""
        for part in PARTS:
            self.cluster.request("DELETE", f"/{self._index(part, generation)}", accept=404)
        self._block_writing(False)
        self.cluster.request("DELETE", f"/{self.state_alias}/_doc/rebuild?refresh=true", accept=404)

    def _end_dead_rebuild(self) -> None:
        row = self._get_row(self.state_alias, "rebuild")
        if row is None:
            return
        if now() - row["_source"]["since"] < 1000 * REBUILD_SECONDS:
            raise CorpusBusy(f"The corpus {self._name!r} is being rebuilt. Try again later.")
        self._end_rebuild(row["_source"]["generation"])

    # Reading

    @contextlib.contextmanager
    def snapshot(self, viewer: Viewer | None = None) -> Iterator[ClusterSnapshot]:
        """The corpus as it is now; of a viewer, without what they may not see."""
        config = self.config() if viewer is None else without_calibration(self.config())
        get_embedder = partial(self.embedders.for_config, config)
        known = self._known_facts.setdefault(viewer, KnownFacts())
        if len(self._known_facts) > MOST_VIEWERS:
            self._known_facts.clear()
        yield ClusterSnapshot(self.cluster, self.base, config, get_embedder, known, viewer)

    def _forget_statistics(self) -> None:
        for known in list(self._known_facts.values()):
            known.statistics = None

    def facts(self) -> dict[str, Any]:
        stats = self.cluster.request("GET", f"/{','.join(self.aliases.values())}/_stats/store,segments")["_all"]
        health = self.cluster.request("GET", f"/_cluster/health/{self.passages_alias}?timeout=1s", accept=408)
        return {
            "documents": self.count(),
            "passages": self.count_rows(self.passages_alias),
            "segments": stats["primaries"].get("segments", {}).get("count", 0),
            "engine": str(self.cluster.address),
            "server": " ".join(self.cluster.server()),
            "health": health["status"],
            "bytes": stats["total"].get("store", {}).get("size_in_bytes", 0),
        }

    def mark(self) -> dict[str, Any]:
        return {"documents": self.count(), "passages": self.count_rows(self.passages_alias), "when": now()}


class RestrictedCluster(RestrictedEngine):
    """A corpus in a cluster for one reader. It reads only."""

    _base: ClusterEngine

    def snapshot(self) -> contextlib.AbstractContextManager[ClusterSnapshot]:  # type: ignore[override]
        return self._base.snapshot(self._viewer)
