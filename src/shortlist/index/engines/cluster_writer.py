"""Writes documents to a cluster, one by one: each completely or not at all.

A cluster has no transactions, so every document has its own, kept in its row. The row is first marked as being written,
which is also a lock: no one else may write that document for a while. Then come its passages, then the row with its new
hash. A process that dies in between leaves a mark without a hash; the next sync sees that and writes the document
again. The keys of rows follow from the document, so sending one twice does no harm.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeVar

from shortlist.documents import Problem, Stamp
from shortlist.errors import CorpusBusy, EngineError
from shortlist.index.config import Config
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster, lines, reason_of
from shortlist.index.engines.cluster_documents import STAMPS, Rows, Stored
from shortlist.index.engines.cluster_rows import document_row, key_of, passage_key, passage_rows, what_is_wrong
from shortlist.index.engines.cluster_schema import Names
from shortlist.index.engines.facets import Query
from shortlist.index.storage.records import Record, batched
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

# Documents and characters that are sent together, and the number of such batches that are being sent and that wait.
BATCH_DOCUMENTS, BATCH_CHARACTERS = 500, 1_000_000
REQUEST_BYTES = 8 << 20
UNDER_WAY, WAITING = 3, 12

# Rows are made for this many batches at once, because compiled code analyzes long runs of text. The first come alone.
MOST_BATCHES = 8

# A document that another writer has begun to write is left to it for this long; then that writer is taken for dead.
LEASE_SECONDS = 15.0
_LOOK_AGAIN = 0.2

# Statuses that may go away: overload, shards that are moving.
_AGAIN = frozenset({429, 500, 502, 503, 504})
_CONFLICT, _MISSING = 409, 404

_RESULT = ",".join(f"items.*.{field}" for field in ("status", "error", "_seq_no", "_primary_term"))


@dataclass(slots=True, eq=False)
class Task:
    """A document to be written or, without a record, to be removed."""

    key: str
    id: str
    source: str
    stored: Stored | None
    record: Record | None = None
    rows: list[bytes] = field(default_factory=list)
    added: int = 0
    version: tuple[int, int] = (0, 0)  # of the row since it was marked
    problem: str = ""

    @property
    def most(self) -> int:
        """The most passages that may be stored of it."""
        return max(len(self.rows), self.stored.passages if self.stored else 0)

    @property
    def is_done(self) -> bool:
        """Whether another writer, or an attempt of ours that seemed to fail, has already done it."""
        if self.record is None:
            return self.stored is None
        return self.stored is not None and self.stored.hash == self.record.hash.hex()

    def is_held(self, writer: str) -> bool:
        """Whether another writer is writing it."""
        row = self.stored
        return bool(row and not row.hash and row.writer != writer and now() - row.since < 1000 * LEASE_SECONDS)


def now() -> int:
    """The time in milliseconds."""
    return time.time_ns() // 1_000_000


class Writing:
    """One change in progress."""

    def __init__(
        self, cluster: Cluster, names: Names, config: Config, embedder: Embedder | None, folder: Path | None
    ) -> None:
        self.rows = Rows(cluster, names)
        self.began_empty = self.rows.is_empty()
        self._has_stamps = self.rows.has_stamps()
        self._cluster = cluster
        self._names = names
        self._config = config
        self._embedder = embedder
        self._folder = folder
        self._writer = uuid.uuid4().hex
        self._order = itertools.count(time.time_ns() // 1000)
        self._gathered: list[Task] = []
        self._characters = 0
        self._batches = 1  # whose rows are made next
        self._pool = ThreadPoolExecutor(UNDER_WAY, thread_name_prefix="shortlist-engine")
        self._under_way: set[Future[None]] = set()
        self._refused: list[Problem] = []
        self._lock = threading.Lock()
        self._done = 0  # documents that are completely written

    def put(self, record: Record, stored: Stored | None) -> None:
        id, source = record.document.id, record.document.source
        if wrong := what_is_wrong(record.document):
            self._refuse(Problem(id, wrong, source))
        else:
            self._gather(Task(key_of(id), id, source, stored, record), len(record.document.content))

    def remove(self, stored: Stored) -> None:
        self._gather(Task(stored.key, stored.id, stored.source, stored), 0)

    def settle(self) -> Sequence[Problem]:
        """Wait until everything is written and can be found; the documents that were refused."""
        self._send()
        while self._under_way:
            self._collect()
        refresh(self._cluster, self._names)
        return self._refused

    def store_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
        write_stamps(self._cluster, self._names, stamps, gone)

    def close(self) -> None:
        """Wait for the batches that are being sent, and drop the others."""
        self._pool.shutdown(cancel_futures=True)

    def _refuse(self, problem: Problem) -> None:
        with self._lock:
            self._refused.append(problem)

    # One batch

    def _gather(self, task: Task, characters: int) -> None:
        self._gathered.append(task)
        self._characters += characters
        if (
            len(self._gathered) >= self._batches * BATCH_DOCUMENTS
            or self._characters >= self._batches * BATCH_CHARACTERS
        ):
            self._send()
            self._batches = min(2 * self._batches, MOST_BATCHES)

    def _send(self) -> None:
        """Make the rows, which may need an embedder that only this thread may use, and send them."""
        tasks, self._gathered, self._characters = self._gathered, [], 0
        records = []
        for task in tasks:
            if task.record is not None:
                task.added = task.stored.added if task.stored else next(self._order)
                records.append(task.record)
        added = [task.added for task in tasks if task.record]
        rows = iter(passage_rows(records, added, now(), self._config, self._embedder, self._folder) if records else ())
        for task in tasks:
            task.rows = next(rows) if task.record else []
        for batch in _split(tasks, lambda task: sum(map(len, task.rows)), BATCH_DOCUMENTS):
            while len(self._under_way) >= UNDER_WAY + WAITING:
                self._collect()
            self._under_way.add(self._pool.submit(self._store, batch))

    def _collect(self) -> None:
        done, self._under_way = wait(self._under_way, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                future.result()
            except EngineError as error:
                raise type(error)(f"{error} {self._progress}") from error

    @property
    def _progress(self) -> str:
        return f"Of this change {self._done} documents are stored; do it again to go on from there."

    def _store(self, tasks: list[Task]) -> None:
        """Write documents until each is written, written by another writer with the same content, or refused."""
        self._forget_stamps(tasks)
        waiting, ends = tasks, time.monotonic() + PATIENCE_WRITING
        while waiting:
            marked, held = self._mark(waiting)
            waiting = held + self._finish(self._write_passages(marked))
            if waiting and time.monotonic() > ends:
                raise CorpusBusy(
                    f"Another writer has held the document {waiting[0].id!r} for {PATIENCE_WRITING:.0f} seconds. "
                    f"{self._progress}"
                )
            if waiting:
                time.sleep(_LOOK_AGAIN)
                self._look_again(waiting)

    def _mark(self, tasks: list[Task]) -> tuple[list[Task], list[Task]]:
        """Mark rows as being written; the tasks whose rows are now ours, and those that another writer has."""
        held = [task for task in tasks if task.is_held(self._writer)]
        operations = [
            (self._mark_of(task), task) for task in tasks if not task.is_held(self._writer) and not task.is_done
        ]
        marked = []
        for task, result in self._bulk(self._names.documents, operations):
            if result["status"] in (_CONFLICT, _MISSING):
                held.append(task)
            elif "error" in result:
                self._give_up(task, reason_of(result), is_marked=False)
            else:
                task.version = result["_seq_no"], result["_primary_term"]
                marked.append(task)
        return marked, held

    def _mark_of(self, task: Task) -> bytes:
        mark: Query = {"hash": "", "passages": task.most, "writer": self._writer, "since": now()}
        if task.stored is None:
            mark |= {"id": task.id, "source": task.source, "added": task.added, "ready": False}
            return lines([{"create": {"_id": task.key}}, mark])
        if task.record is None:
            mark["ready"] = False
        return lines([{"update": {"_id": task.key, **_if(task.stored.version)}}, {"doc": mark}])

    def _write_passages(self, tasks: list[Task]) -> list[Task]:
        operations = []
        for task in tasks:
            for ordinal, row in enumerate(task.rows):
                head = b'{"index":{"_id":"%b"}}\n' % passage_key(task.key, ordinal).encode()
                operations.append((b"%b%b\n" % (head, row), task))
            operations += _delete_passages(task, len(task.rows))
        for task, result in self._bulk(self._names.passages, operations):
            if "error" in result:
                task.problem = reason_of(result)
        for task in tasks:
            if task.problem:
                self._give_up(task, task.problem)
        return [task for task in tasks if not task.problem]

    def _finish(self, tasks: list[Task]) -> list[Task]:
        """Complete the rows; the tasks that another writer has taken over meanwhile."""
        overtaken = []
        for task, result in self._bulk(self._names.documents, [(_row_of(task), task) for task in tasks]):
            if result["status"] == _CONFLICT:
                overtaken.append(task)
            elif "error" in result:
                self._give_up(task, reason_of(result))
            else:
                with self._lock:
                    self._done += 1
        return overtaken

    def _look_again(self, tasks: Sequence[Task]) -> None:
        found = self.rows.read([task.id for task in tasks])
        for task in tasks:
            task.stored = found.get(task.id)
            if task.stored is not None and task.stored.writer == self._writer and task.stored.added:
                task.added = task.stored.added

    def _give_up(self, task: Task, reason: str, *, is_marked: bool = True) -> None:
        """Report a document that the server refuses; nothing of it stays to be found."""
        self._refuse(Problem(task.id, f"The engine did not take it, and has nothing of it now: {reason}.", task.source))
        if is_marked:
            self._bulk(self._names.passages, _delete_passages(task))
            self._bulk(self._names.documents, [(_delete(task.key), task)])

    def _bulk(self, index: str, operations: list[tuple[bytes, Task]]) -> list[tuple[Task, Query]]:
        """The result of each operation; those that may yet succeed are tried again for a while."""
        results: list[tuple[Task, Query]] = []
        path = f"/{index}/_bulk?filter_path={_RESULT}"
        pause, ends = 0.1, time.monotonic() + PATIENCE_WRITING
        while operations:
            again: list[tuple[bytes, Task]] = []
            for batch in _split(operations, lambda one: len(one[0])):
                body = b"".join(operation for operation, _ in batch)
                answer = self._cluster.ask("POST", path, body, patience=PATIENCE_WRITING).body
                for (operation, task), item in zip(batch, answer["items"], strict=True):
                    (result,) = item.values()
                    if result["status"] in _AGAIN and time.monotonic() < ends:
                        again.append((operation, task))
                    elif result["status"] in _AGAIN:
                        raise EngineError(f"The engine {self._cluster.address} is not writing: {reason_of(result)}.")
                    elif "error" in result and "block" in f"{reason_of(result)} {result['error']}":
                        raise CorpusBusy("The corpus is being built again, or its engine is full: try again later.")
                    else:
                        results.append((task, result))
            if again:
                time.sleep(pause)
                pause = min(2 * pause, 5.0)
            operations = again
        return results

    def _forget_stamps(self, tasks: Sequence[Task]) -> None:
        """Delete the stamps of changed sources: a stamp stands for the documents of a source as they were stored."""
        if not self._has_stamps:
            return
        sources = {task.source for task in tasks} | {task.stored.source for task in tasks if task.stored}
        for batch in batched(sorted(sources), 10_000):
            query = {"bool": {"filter": [STAMPS, {"terms": {"source": batch}}]}}
            path = f"/{self._names.state}/_delete_by_query?conflicts=proceed&refresh=true"
            self._cluster.ask("POST", path, {"query": query}, patience=PATIENCE_WRITING)


def refresh(cluster: Cluster, names: Names) -> None:
    """Make everything visible that was written. A server whose shards have no node does not answer for a minute."""
    indices = f"{names.documents},{names.passages}"
    try:
        cluster.ask("POST", f"/{indices}/_refresh", accept=(404,), patience=PATIENCE_WRITING)
    except EngineError:
        health = cluster.ask("GET", f"/_cluster/health/{indices}?timeout=1s", accept=(408,)).body
        if health["status"] == "red":
            raise cluster.lost(f"shards without a node: {health['unassigned_shards']}") from None
        raise


def write_stamps(cluster: Cluster, names: Names, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
    operations = [_delete(_stamp_key(stamp)) for stamp in gone]
    operations += [
        lines([{"index": {"_id": _stamp_key(stamp)}}, {"what": "stamp", **asdict(stamp)}]) for stamp in stamps
    ]
    path = f"/{names.state}/_bulk?refresh=true"
    for batch in batched(operations, 5_000):
        answer = cluster.ask("POST", path, b"".join(batch), patience=PATIENCE_WRITING).body
        wrong = [result for item in answer["items"] for result in item.values() if "error" in result]
        if wrong:
            raise EngineError(f"The engine {cluster.address} did not take a stamp: {reason_of(wrong[0])}.")


def _stamp_key(stamp: Stamp) -> str:
    return f"stamp-{key_of(chr(0).join((stamp.source, stamp.id)))}"


def _if(version: tuple[int, int]) -> dict[str, int]:
    return {"if_seq_no": version[0], "if_primary_term": version[1]}


def _row_of(task: Task) -> bytes:
    if task.record is None:
        return _delete(task.key, **_if(task.version))
    row = document_row(task.record, task.added, len(task.rows))
    return lines([{"index": {"_id": task.key, **_if(task.version)}}, json.dumps(row, ensure_ascii=False).encode()])


def _delete(key: str, **conditions: int) -> bytes:
    return lines([{"delete": {"_id": key, **conditions}}])


def _delete_passages(task: Task, start: int = 0) -> list[tuple[bytes, Task]]:
    return [(_delete(passage_key(task.key, ordinal)), task) for ordinal in range(start, task.most)]


def _split(items: Sequence[T], size: Callable[[T], int], most: int | None = None) -> Iterator[list[T]]:
    """Items in batches that fit into one request."""
    batch: list[T] = []
    total = 0
    for item in items:
        if batch and (total + size(item) > REQUEST_BYTES or len(batch) == most):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
