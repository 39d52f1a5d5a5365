"""The engine of a corpus in a cluster: its life cycle, its configuration, and its documents."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shortlist.documents import Problem
from shortlist.errors import CorpusBusy, CorpusMismatch, CorpusNotFound, EngineError
from shortlist.index.config import Config, Drift
from shortlist.index.embedders.embedder_binding import Chosen
from shortlist.index.engine import Documents
from shortlist.index.engines import cluster_schema
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster, reason_of
from shortlist.index.engines.cluster_documents import READY, Rows, count, pages, search_all
from shortlist.index.engines.cluster_rows import STORED, to_document
from shortlist.index.engines.cluster_schema import PARTS, Names
from shortlist.index.engines.cluster_snapshot import ClusterSnapshot, LastSize, drift_since, read_document
from shortlist.index.engines.cluster_writer import Writing, now, refresh, write_stamps
from shortlist.index.engines.facets import EVERYTHING, Query
from shortlist.index.storage.records import BATCH, PAUSE, batched, clean, to_record
from shortlist.index.sync import sync
from shortlist.protocols import Progress, track

if TYPE_CHECKING:
    from pathlib import Path

    from shortlist.documents import Changes, Document, Stamps
    from shortlist.protocols import Embedder

# Changes of the configuration by another process are seen after this time.
CONFIG_SECONDS = 1.0

# A rebuild that has given no sign of life for this long is taken for dead.
REBUILD_SECONDS = 60.0

SCANNED = 200  # documents in one request, which may be long


class ClusterEngine:
    """A corpus in a cluster."""

    def __init__(self, address: Address, folder: Path, name: str) -> None:
        self.cluster = Cluster(address)
        self.names = Names.of(address, name)
        self.chosen = Chosen(name)
        self._name = name
        self._folder = folder
        self._rows = Rows(self.cluster, self.names)
        self._known: tuple[float, Config] | None = None
        self._last_size = LastSize()

    def close(self) -> None:
        self.cluster.close()

    def _write(self, method: str, path: str, body: Any = None, accept: Sequence[int] = ()) -> Any:
        return self.cluster.ask(method, path, body, accept=accept, patience=PATIENCE_WRITING)

    def _read_state(self, id: str) -> Query | None:
        """A row of the state; None if there is none."""
        reply = self.cluster.ask("GET", f"/{self.names.state}/_doc/{id}", accept=(404,))
        return None if reply.status == 404 or not reply.body.get("found") else reply.body

    # Configuration

    def config(self) -> Config:
        if self._known is None or time.monotonic() - self._known[0] > CONFIG_SECONDS:
            self._keep(self._read_config()[0])
        assert self._known is not None
        return self._known[1]

    def configure(self, change: Callable[[Config], Config]) -> None:
        while True:
            config, version = self._read_config()
            changed = change(config)
            if self._write_config(self.names.state, changed, version):
                self._keep(changed)
                return

    def _keep(self, config: Config) -> None:
        self._known = time.monotonic(), config

    def _read_config(self) -> tuple[Config, tuple[int, int]]:
        row = self._read_state("config")
        if row is None:
            raise CorpusNotFound(f"There is no corpus {self._name!r} in {self.cluster.address}. Build it first.")
        try:
            config = Config.from_json(row["_source"]["config"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._mismatch(f"its configuration cannot be read ({error})") from None
        return config, (row["_seq_no"], row["_primary_term"])

    def _write_config(self, index: str, config: Config, version: tuple[int, int] | None) -> bool:
        """Whether it was written: not if another writer was faster. Without a version there must be none yet."""
        row = {"what": "config", "config": config.to_json()}
        when = f"if_seq_no={version[0]}&if_primary_term={version[1]}" if version else "op_type=create"
        reply = self._write("PUT", f"/{index}/_doc/config?refresh=true&{when}", row, accept=(409,))
        return bool(reply.status != 409)

    # Life cycle

    def create(self, config: Config) -> None:
        """Create the indices that do not exist. Each step may be done twice; the caller compares the config."""
        cluster_schema.check(config)
        for part in reversed(PARTS):
            self._make_index(part, config, cluster_schema.FIRST, {self.names.alias(part): {}})
        self._write_config(self.names.state, config, None)
        self.check()

    def _make_index(self, part: str, config: Config, generation: str, aliases: Query) -> None:
        body = cluster_schema.settings(part, config, self.cluster.address, self.cluster.dialect) | {"aliases": aliases}
        path = f"/{self.names.index(part, generation)}?wait_for_active_shards=1&timeout=30s"
        reply = self._write("PUT", path, body, accept=(400,))
        if reply.status == 400 and "already exists" not in reason_of(reply.body):
            raise self._mismatch(f"its index cannot be made: {reason_of(reply.body)}")
        if reply.status == 400 and "alias" in reason_of(reply.body):
            raise self._mismatch(f"its name is taken: {reason_of(reply.body)}")
        if reply.status != 400 and not reply.body.get("shards_acknowledged"):
            raise EngineError(
                f"The engine {self.cluster.address} has made {self.names.index(part, generation)!r}, and has no node "
                f"for its shards: see GET /_cluster/health, and wait until it is no longer red."
            )

    def check(self) -> None:
        """Refuse a corpus that does not exist, or whose indices are not ours."""
        config, _ = self._read_config()
        for part in PARTS:
            reply = self.cluster.ask("GET", f"/{self.names.alias(part)}/_mapping", accept=(404,))
            if reply.status == 404:
                raise CorpusNotFound(f"The corpus {self._name!r} in {self.cluster.address} lacks its {part}.")
            if len(reply.body) != 1:
                raise self._mismatch(f"{self.names.alias(part)} stands for several indices")
            (found,) = (index["mappings"] for index in reply.body.values())
            form = found.get("_meta", {}).get("shortlist")
            if form != cluster_schema.FORMAT:
                is_ours = f"has format {form}" if form else "was not made by shortlist"
                raise self._mismatch(f"{self.names.alias(part)} {is_ours}; this version reads {cluster_schema.FORMAT}")
            wrong = cluster_schema.differences(found, cluster_schema.mapping(part, config, self.cluster.dialect))
            if wrong:
                raise self._mismatch(f"in {self.names.alias(part)} {wrong[0]}")
        self._keep(config)

    def delete(self) -> None:
        """Delete the indices behind the aliases; the state last, because without it there is no corpus."""
        for part in reversed(PARTS):
            for index in self._indices(part):
                self._write("DELETE", f"/{index}", accept=(404,))

    def _mismatch(self, what: str) -> CorpusMismatch:
        return CorpusMismatch(
            f"The corpus {self._name!r} in {self.cluster.address} cannot be used: {what}. Take another name or prefix, "
            f"or build it again from its source."
        )

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        refresh(self.cluster, self.names)
        if strict:  # checked before anything is written, because a cluster cannot roll back
            documents = list(documents)
            sync(self._reading_rows, None, documents, False, None, strict=True)
        changes = sync(self._reading_rows, self._writing, documents, prune, progress, strict=False)
        if strict and changes.failed:
            wrong = changes.failed[0]
            raise EngineError(f"The document {wrong.id!r} was not taken, while the others were: {wrong.reason}")
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        refresh(self.cluster, self.names)
        return sync(self._reading_rows, None, documents, True, progress)

    def remove(self, ids: Sequence[str]) -> int:
        removed = 0
        with self._writing() as writing:
            for batch in batched(ids, BATCH):
                for row in self._rows.read(batch).values():
                    writing.remove(row)
                    removed += row.ready
            writing.settle()
        return removed

    def compact(self) -> None:
        self.cluster.ask("POST", f"/{self.names.passages}/_forcemerge?max_num_segments=1", timeout=3600)

    @contextlib.contextmanager
    def _reading_rows(self) -> Iterator[Rows]:
        yield self._rows

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writing]:
        config = self._read_config()[0]
        self._keep(config)
        self._end_dead_rebuild()
        embedder = self.chosen.of(config)
        with contextlib.closing(Writing(self.cluster, self.names, config, embedder, self._folder)) as writing:
            yield writing

    # Building again

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        """Index all documents again into new indices, and switch all aliases to them at once.

        Meanwhile everyone can read, and no one else can write.
        """
        self._end_dead_rebuild()
        config = change(self._read_config()[0])
        cluster_schema.check(config)
        generation = uuid.uuid4().hex[:12]
        fresh = Names(f"{self.names.base}-{generation}")
        self._begin_rebuild(generation)
        try:
            with self._signs_of_life(generation):
                for part in PARTS:
                    self._make_index(part, config, generation, {fresh.alias(part): {}})
                self._write_config(fresh.state, config, None)
                with contextlib.closing(Writing(self.cluster, fresh, config, embedder, self._folder)) as writing:
                    refused = self._write_again(writing, progress)
                if refused:
                    raise EngineError(f"The document {refused[0].id!r} cannot be indexed again: {refused[0].reason}")
                write_stamps(self.cluster, fresh, self.stamps().values(), ())
            self._switch(generation, fresh)
        except BaseException:
            self._end_rebuild(generation)
            raise
        self._keep(config)

    def _write_again(self, writing: Writing, progress: Progress | None) -> Sequence[Problem]:
        """Write all documents; those that were refused."""
        for document in track(self.scan(), progress, self.count(), PAUSE):
            record = to_record(document)
            assert not isinstance(record, Problem)
            writing.put(record, None)
        return writing.settle()

    @contextlib.contextmanager
    def _signs_of_life(self, generation: str) -> Iterator[None]:
        """Report again and again that the rebuild goes on, however long an embedder takes."""
        done = threading.Event()

        def report() -> None:
            while not done.wait(REBUILD_SECONDS / 4):
                with contextlib.suppress(EngineError):
                    self._begin_rebuild(generation)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            done.set()
            reporter.join()

    def _switch(self, generation: str, fresh: Names) -> None:
        actions: list[Query] = []
        for part in PARTS:
            for index in self._indices(part):
                actions.append({"remove_index": {"index": index}})
            index = self.names.index(part, generation)
            actions.append({"remove": {"index": index, "alias": fresh.alias(part)}})
            actions.append({"add": {"index": index, "alias": self.names.alias(part)}})
        self._write("POST", "/_aliases", {"actions": actions})

    def _indices(self, part: str) -> list[str]:
        reply = self.cluster.ask("GET", f"/_alias/{self.names.alias(part)}", accept=(404,))
        return [] if reply.status == 404 else list(reply.body)

    def _begin_rebuild(self, generation: str) -> None:
        """Announce the rebuild, and block writing until it is done or has given no sign of life for long."""
        row = {"what": "rebuild", "generation": generation, "since": now()}
        self._write("PUT", f"/{self.names.state}/_doc/rebuild?refresh=true", row)
        self._block(True)

    def _block(self, on: bool) -> None:
        path = f"/{self.names.documents},{self.names.passages}/_settings"
        self._write("PUT", path, {"index.blocks.write": on})

    def _end_rebuild(self, generation: str) -> None:
        """Restore everything as it was before."""
        for part in PARTS:
            self.cluster.ask("DELETE", f"/{self.names.index(part, generation)}", accept=(404,))
        self._block(False)
        self.cluster.ask("DELETE", f"/{self.names.state}/_doc/rebuild?refresh=true", accept=(404,))

    def _end_dead_rebuild(self) -> None:
        row = self._read_state("rebuild")
        if row is None:
            return
        if now() - row["_source"]["since"] < 1000 * REBUILD_SECONDS:
            raise CorpusBusy(f"The corpus {self._name!r} is being built again. Try again later.")
        self._end_rebuild(row["_source"]["generation"])

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[ClusterSnapshot]:
        config = self.config()
        yield ClusterSnapshot(self.cluster, self.names, config, lambda: self.chosen.of(config), self._last_size)

    def get(self, id: str) -> Document | None:
        return read_document(self.cluster, self.names, id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        if not text:
            end = None if limit is None else offset + limit
            return list(itertools.islice(self.scan(), offset, end)), self.count()
        wanted, total = clean(text).casefold(), 0
        found: list[Document] = []
        for document in self.scan():
            if any(wanted in part.casefold() for part in _texts(document)):
                if total >= offset and (limit is None or len(found) < limit):
                    found.append(document)
                total += 1
        return found, total

    def scan(self) -> Iterator[Document]:
        for hit in pages(self.cluster, self.names.documents, READY, ("added", "id"), STORED, size=SCANNED):
            yield to_document(hit["_source"])

    def ids(self) -> list[str]:
        hits = pages(self.cluster, self.names.documents, READY, ("added", "id"), ("id",))
        return [hit["_source"]["id"] for hit in hits]

    def stamps(self) -> Stamps:
        return self._rows.stamps()

    def count(self) -> int:
        return count(self.cluster, self.names.documents, READY)

    def kinds(self) -> dict[str, int]:
        body = {"size": 0, "query": READY, "aggs": {"kinds": {"terms": {"field": "kind", "size": 1000}}}}
        buckets = search_all(self.cluster, self.names.documents, body)["aggregations"]["kinds"]["buckets"]
        counted = {bucket["key"]: bucket["doc_count"] for bucket in buckets}
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def _count_passages(self, query: Query = EVERYTHING) -> int:
        return count(self.cluster, self.names.passages, query)

    def facts(self) -> dict[str, Any]:
        aliases = ",".join(self.names.alias(part) for part in PARTS)
        stats = self.cluster.ask("GET", f"/{aliases}/_stats/store,segments").body
        server = self.cluster.server()
        health = self.cluster.ask("GET", f"/_cluster/health/{self.names.passages}?timeout=1s", accept=(408,)).body
        return {
            "documents": self.count(),
            "passages": self._count_passages(),
            "segments": stats["_all"]["primaries"].get("segments", {}).get("count", 0),
            "engine": str(self.cluster.address),
            "server": f"{server.distribution} {server.version}",
            "health": health["status"],
            "bytes": stats["_all"]["total"].get("store", {}).get("size_in_bytes", 0),
        }

    def mark(self) -> dict[str, Any]:
        return {"documents": self.count(), "passages": self._count_passages(), "when": now()}

    def since(self, mark: dict[str, Any]) -> Drift:
        return drift_since(self.cluster, self.names, mark)


def _texts(document: Document) -> tuple[str, ...]:
    return document.id, document.title, document.content, *document.keywords
