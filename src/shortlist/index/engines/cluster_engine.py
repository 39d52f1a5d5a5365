"""How is a corpus kept in a cluster? Its life, its configuration, and the rows of its documents."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shortlist.documents import Problem, Stamp
from shortlist.errors import CorpusBusy, CorpusMismatch, CorpusNotFound, EngineError, InputError
from shortlist.index.config import Config
from shortlist.index.engine import Documents, Drift, Progress
from shortlist.index.engines import cluster_schema, facets
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster, reason_of
from shortlist.index.engines.cluster_rows import STORED, key_of, to_document
from shortlist.index.engines.cluster_schema import PARTS, Names
from shortlist.index.engines.cluster_snapshot import Reading, Remembered, count, drift_since, read_document
from shortlist.index.engines.cluster_writer import ROW, Stored, Writing, now, refresh, write_stamps
from shortlist.index.engines.paging import READY, ids_of_file, pages
from shortlist.index.storage.records import batched, clean, to_record
from shortlist.index.sync import BATCH, compare, counted, sync

if TYPE_CHECKING:
    from pathlib import Path

    from shortlist.documents import Changes, Document, Stamps
    from shortlist.index.embedders.embedder_binding import Chosen
    from shortlist.protocols import Embedder

Query = dict[str, Any]

# What another process changes in the configuration is seen after so long.
CONFIG_SECONDS = 1.0

# A rebuild that has not been heard of for so long is taken for dead.
REBUILD_SECONDS = 60.0

SCANNED = 200  # documents at a time, which may be long


class Rows:
    """What is stored, to be compared with."""

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._names = names

    def generation(self) -> int:
        return 0  # each document is guarded by its own row

    def is_empty(self) -> bool:
        return count(self._cluster, self._names.documents, facets.EVERYTHING) == 0

    def has_stamps(self) -> bool:
        return count(self._cluster, self._names.state, {"term": {"what": "stamp"}}) > 0

    def read(self, ids: Sequence[str]) -> dict[str, Stored]:
        """The rows of those documents that have one, be they written to the end or not."""
        found = {}
        for batch in batched(ids, BATCH):
            path = f"/{self._names.documents}/_mget?_source_includes={','.join(ROW)}"
            keys = [key_of(id) for id in batch]
            for row in self._cluster.ask("POST", path, {"ids": keys}, patience=PATIENCE_WRITING).body["docs"]:
                if row.get("found"):
                    found[row["_source"]["id"]] = Stored.of(row)
        return found

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        return {id: (row, bytes.fromhex(row.hash)) for id, row in self.read(ids).items() if row.ready}

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        options = {"seq_no_primary_term": True}
        hits = pages(self._cluster, self._names.documents, facets.EVERYTHING, ["added", "id"], ROW, **options)
        for row in map(Stored.of, hits):
            yield row, row.id, row.source

    def stamps(self) -> dict[str, Stamp]:
        shown = ("id", "source", "value", "skipped")
        query = {"term": {"what": "stamp"}}
        found = {}
        for hit in pages(self._cluster, self._names.state, query, ["id", "source"], shown):
            row = hit["_source"]
            found[row["id"]] = Stamp(row["id"], row["source"], row["value"], row["skipped"])
        return found

    def stamped(self, stamp: Stamp) -> set[str]:
        return ids_of_file(self._cluster, self._names, stamp.id, stamp.source)


class Remote:
    """A corpus in a cluster."""

    def __init__(self, cluster: Cluster, folder: Path | None, name: str, chosen: Chosen) -> None:
        self.cluster = cluster
        self.names = Names.of(cluster.address, name)
        self._name = name
        self._folder = folder
        self._chosen = chosen
        self._rows = Rows(cluster, self.names)
        self._known: tuple[float, Config] | None = None
        self._remembered = Remembered()

    @property
    def release(self) -> Callable[[], None]:
        return self.cluster.close

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
        reply = self.cluster.ask("GET", f"/{self.names.state}/_doc/config", accept=(404,))
        if reply.status == 404 or not reply.body.get("found"):
            raise CorpusNotFound(f"There is no corpus {self._name!r} in {self.cluster.address}. Build it first.")
        try:
            config = Config.from_json(reply.body["_source"]["config"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._mismatch(f"its configuration cannot be read ({error})") from None
        return config, (reply.body["_seq_no"], reply.body["_primary_term"])

    def _write_config(self, index: str, config: Config, version: tuple[int, int] | None) -> bool:
        """Whether it was written: not if another writer was quicker. Without a version there must be none."""
        row = {"what": "config", "config": config.to_json()}
        when = f"if_seq_no={version[0]}&if_primary_term={version[1]}" if version else "op_type=create"
        path = f"/{index}/_doc/config?refresh=true&{when}"
        reply = self.cluster.ask("PUT", path, row, accept=(409,), patience=PATIENCE_WRITING)
        return reply.status != 409

    # Life

    def create(self, config: Config) -> None:
        """Make the indices if they are not there. Each step may be done twice; the caller compares the config."""
        cluster_schema.check(config)
        for part in ("documents", "passages", "state"):
            self._make_index(part, config, cluster_schema.FIRST, {self.names.alias(part): {}})
        self._write_config(self.names.state, config, None)
        self.check()

    def _make_index(self, part: str, config: Config, generation: str, aliases: Query) -> None:
        body = cluster_schema.settings(part, config, self.cluster.address, self.cluster.dialect) | {"aliases": aliases}
        path = f"/{self.names.index(part, generation)}?wait_for_active_shards=1&timeout=30s"
        reply = self.cluster.ask("PUT", path, body, accept=(400,), patience=PATIENCE_WRITING)
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
        """Refuse a corpus that is not there, or whose indices are not ours."""
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
        """Delete the indices behind the aliases: the state last, without which there is no corpus."""
        for part in ("passages", "documents", "state"):
            reply = self.cluster.ask("GET", f"/_alias/{self.names.alias(part)}", accept=(404,))
            for index in reply.body if reply.status != 404 else ():
                self.cluster.ask("DELETE", f"/{index}", accept=(404,), patience=PATIENCE_WRITING)

    def _mismatch(self, what: str) -> CorpusMismatch:
        return CorpusMismatch(
            f"The corpus {self._name!r} in {self.cluster.address} cannot be used: {what}. Take another name or prefix, "
            f"or build it again from its source."
        )

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        if strict:
            documents = _all_sound(documents)
        self._refresh()
        changes = sync(self._reading_rows, self._writing, documents, prune, progress, strict=False)
        if strict and changes.failed:
            wrong = changes.failed[0]
            raise EngineError(f"The document {wrong.id!r} was not taken, while the others were: {wrong.reason}")
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        self._refresh()
        return compare(self._reading_rows, documents, progress)

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

    def _refresh(self) -> None:
        """See also what a writer left that died before it could show it."""
        refresh(self.cluster, self.names)

    @contextlib.contextmanager
    def _reading_rows(self) -> Iterator[Rows]:
        yield self._rows

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writing]:
        config = self._read_config()[0]
        self._keep(config)
        self._end_dead_rebuild()
        embedder = self._chosen.of(config)
        writing = Writing(self.cluster, self.names, config, embedder, self._rows, self._folder)
        with contextlib.closing(writing):
            yield writing

    # Building again

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        """Index all documents again into new indices, and let the aliases point to them, all at once.

        Nobody else can write meanwhile; everybody can read.
        """
        self._end_dead_rebuild()
        config = change(self._read_config()[0])
        cluster_schema.check(config)
        generation = uuid.uuid4().hex[:12]
        fresh = Names(f"{self.names.base}-{generation}")
        self._begin_rebuild(generation)
        try:
            with self._known_to_live(generation):
                for part in PARTS:
                    self._make_index(part, config, generation, {fresh.alias(part): {}})
                self._write_config(fresh.state, config, None)
                writing = Writing(self.cluster, fresh, config, embedder, Rows(self.cluster, fresh), self._folder)
                with contextlib.closing(writing):
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
        """Write all documents; what of them was not taken."""
        for document in counted(self.scan(), self.count(), progress):
            record = to_record(document)
            assert not isinstance(record, Problem)
            writing.put(record, None)
        return writing.settle()

    @contextlib.contextmanager
    def _known_to_live(self, generation: str) -> Iterator[None]:
        """Say again and again that we build, however long an embedder takes."""
        done = threading.Event()

        def tell() -> None:
            while not done.wait(REBUILD_SECONDS / 4):
                with contextlib.suppress(EngineError):
                    self._begin_rebuild(generation)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join()

    def _switch(self, generation: str, fresh: Names) -> None:
        actions: list[Query] = []
        for part in PARTS:
            for index in self._indices(part):
                actions.append({"remove_index": {"index": index}})
            index = self.names.index(part, generation)
            actions.append({"remove": {"index": index, "alias": fresh.alias(part)}})
            actions.append({"add": {"index": index, "alias": self.names.alias(part)}})
        self.cluster.ask("POST", "/_aliases", {"actions": actions}, patience=PATIENCE_WRITING)

    def _indices(self, part: str) -> list[str]:
        return list(self.cluster.ask("GET", f"/_alias/{self.names.alias(part)}").body)

    def _begin_rebuild(self, generation: str) -> None:
        """Say that we build again, and let nobody write until we are done or not heard of for long."""
        row = {"what": "rebuild", "generation": generation, "since": now()}
        path = f"/{self.names.state}/_doc/rebuild?refresh=true"
        self.cluster.ask("PUT", path, row, patience=PATIENCE_WRITING)
        self._block(True)

    def _block(self, on: bool) -> None:
        path = f"/{self.names.documents},{self.names.passages}/_settings"
        self.cluster.ask("PUT", path, {"index.blocks.write": on}, patience=PATIENCE_WRITING)

    def _end_rebuild(self, generation: str) -> None:
        """Leave everything as it was before."""
        for part in PARTS:
            self.cluster.ask("DELETE", f"/{self.names.index(part, generation)}", accept=(404,))
        self._block(False)
        self.cluster.ask("DELETE", f"/{self.names.state}/_doc/rebuild?refresh=true", accept=(404,))

    def _end_dead_rebuild(self) -> None:
        reply = self.cluster.ask("GET", f"/{self.names.state}/_doc/rebuild", accept=(404,))
        if reply.status == 404 or not reply.body.get("found"):
            return
        row: Mapping[str, Any] = reply.body["_source"]
        if now() - row["since"] < 1000 * REBUILD_SECONDS:
            raise CorpusBusy(f"The corpus {self._name!r} is being built again. Try again later.")
        self._end_rebuild(row["generation"])

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Reading]:
        config = self.config()
        yield Reading(self.cluster, self.names, config, lambda: self._chosen.of(config), self._remembered)

    def get(self, id: str) -> Document | None:
        return read_document(self.cluster, self.names, id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        if not text:
            found = []
            for at, document in enumerate(self.scan()):
                if limit is not None and at >= offset + limit:
                    break
                if at >= offset:
                    found.append(document)
            return found, self.count()
        wanted, found, total = clean(text).casefold(), [], 0
        for document in self.scan():
            if any(wanted in each.casefold() for each in _texts(document)):
                if total >= offset and (limit is None or len(found) < limit):
                    found.append(document)
                total += 1
        return found, total

    def scan(self) -> Iterator[Document]:
        for hit in pages(self.cluster, self.names.documents, READY, ["added", "id"], STORED, size=SCANNED):
            yield to_document(hit["_source"])

    def ids(self) -> list[str]:
        hits = pages(self.cluster, self.names.documents, READY, ["added", "id"], ("id",))
        return [hit["_source"]["id"] for hit in hits]

    def stamps(self) -> Stamps:
        return self._rows.stamps()

    def count(self) -> int:
        return count(self.cluster, self.names.documents, READY)

    def kinds(self) -> dict[str, int]:
        body = {"size": 0, "query": READY, "aggs": {"kinds": {"terms": {"field": "kind", "size": 1000}}}}
        path = f"/{self.names.documents}/_search?allow_partial_search_results=false"
        buckets = self.cluster.ask("POST", path, body).body["aggregations"]["kinds"]["buckets"]
        counted = {bucket["key"]: bucket["doc_count"] for bucket in buckets}
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def facts(self) -> dict[str, Any]:
        aliases = ",".join(self.names.alias(part) for part in PARTS)
        stats = self.cluster.ask("GET", f"/{aliases}/_stats/store,segments").body
        server = self.cluster.server()
        health = self.cluster.ask("GET", f"/_cluster/health/{self.names.passages}?timeout=1s", accept=(408,)).body
        return {
            "documents": self.count(),
            "passages": count(self.cluster, self.names.passages, facets.EVERYTHING),
            "segments": stats["_all"]["primaries"].get("segments", {}).get("count", 0),
            "engine": str(self.cluster.address),
            "server": f"{server.distribution} {server.version}",
            "health": health["status"],
            "bytes": stats["_all"]["total"].get("store", {}).get("size_in_bytes", 0),
        }

    def mark(self) -> dict[str, Any]:
        passages = count(self.cluster, self.names.passages, facets.EVERYTHING)
        return {"documents": self.count(), "passages": passages, "when": now()}

    def since(self, mark: dict[str, Any]) -> Drift:
        return drift_since(self.cluster, self.names, mark)


def _texts(document: Document) -> tuple[str, ...]:
    return document.id, document.title, document.content, *document.keywords


def _all_sound(documents: Documents) -> list[Document | Problem]:
    """The documents, if all of them can be taken: here nothing is taken back."""
    items = list(documents)
    seen: set[str] = set()
    for item in items:
        record = to_record(item)
        if isinstance(record, Problem):
            raise InputError(f"The document {record.id!r} was not taken, nor any other: {record.reason}")
        if record.document.id in seen:
            raise InputError(f"The document {record.document.id!r} was not taken, nor any other: Its id came twice.")
        seen.add(record.document.id)
    return items
