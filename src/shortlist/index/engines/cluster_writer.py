"""Writes documents to a cluster, each completely or not at all.

A cluster has no transactions, so every document has its own, stored in its row. The row is first marked as being
written, which is also a lock: no one else may write that document for a while. Then come its passages, then the row
with its new hash. A process that dies in between leaves a mark without a hash; the next sync sees that and writes the
document again. The keys of rows follow from the document, so sending one twice does no harm.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeVar

from shortlist._http import backoff
from shortlist.documents import Problem, Stamp
from shortlist.errors import CorpusBusy, CorpusError, EngineError
from shortlist.index.config import Config
from shortlist.index.engines import cluster_client
from shortlist.index.engines.cluster_client import error_reason, to_lines
from shortlist.index.engines.cluster_corpus import STAMPS, StoredDocuments, StoredRow, now, version_of
from shortlist.index.engines.cluster_rows import document_key, document_row, find_problem, passage_key, passage_rows
from shortlist.index.engines.facets import Query
from shortlist.index.storage.records import Record, batched
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

# Documents that are sent together, and the number of such batches that are being sent and that wait.
BATCH_DOCUMENTS, SENDING, WAITING = 500, 3, 12
REQUEST_BYTES = 8 << 20

# Rows are made for one batch first, then for twice as many documents each time, up to this number, because compiled
# code analyzes long runs of text. Long documents count by their characters.
MOST_COLLECTED, AVERAGE_CHARACTERS = 4_000, 2_000

# The time for which a document that another writer has begun to write is left to it.
LEASE_SECONDS = 15.0
_READ_AGAIN_SECONDS = 0.2

# Statuses of an overloaded server, and of shards that are moving.
_RETRIED = frozenset({429, 500, 502, 503, 504})
_CONFLICT, _MISSING = 409, 404

_RESULT = ",".join(f"items.*.{field}" for field in ("status", "error", "_seq_no", "_primary_term"))


@dataclass(slots=True, eq=False)
class Task:
    """A document to be written or, without a record, to be removed."""

    key: str
    id: str
    source: str = ""
    record: Record | None = None
    was_stored: bool = False
    stored: StoredRow | None = None
    added: int = 0  # when it was first added
    rows: list[bytes] = field(default_factory=list)
    version: dict[str, int] = field(default_factory=dict)  # of the row since it was marked

    @property
    def most_passages(self) -> int:
        """The largest number of its passages that may be stored."""
        return max(len(self.rows), self.stored.passages if self.stored else 0)

    @property
    def is_done(self) -> bool:
        """Whether another writer, or an attempt of ours that seemed to fail, has already done it."""
        if self.record is None:
            return self.stored is None
        return self.stored is not None and self.stored.hash == self.record.hash.hex()

    def is_locked(self, writer: str) -> bool:
        """Whether another writer is writing it."""
        row = self.stored
        return bool(row and not row.hash and row.writer != writer and now() - row.since < 1000 * LEASE_SECONDS)


class ClusterWriter:
    """One change in progress."""

    def __init__(self, kept: StoredDocuments, config: Config, embedder: Embedder | None, folder: Path | None) -> None:
        self.rows = kept
        self.began_empty = kept.count_rows(kept.documents_alias) == 0
        self._has_stamps = kept.count_rows(kept.state_alias, STAMPS) > 0
        self._cluster = kept.cluster
        self._config = config
        self._embedder = embedder
        self._folder = folder
        self._writer = uuid.uuid4().hex
        self._order = itertools.count(time.time_ns() // 1000)
        self._collected: list[Task] = []
        self._characters = 0
        self._limit = BATCH_DOCUMENTS  # of collected documents
        self._pool = ThreadPoolExecutor(SENDING, thread_name_prefix="shortlist-engine")
        self._sending: deque[Future[None]] = deque()
        self._refused: list[Problem] = []
        self._done: list[str] = []  # ids of documents that are completely written

    def put(self, record: Record, stored: str | None) -> None:
        """Write a document; `stored` is its id if it has a row."""
        id, source = record.document.id, record.document.source
        if problem := find_problem(record.document):
            self._refused.append(Problem(id, problem, source))
            return
        task = Task(document_key(id), id, source, record, was_stored=stored is not None)
        self._collect(task, len(record.document.content))

    def remove(self, stored: str) -> None:
        self._collect(Task(document_key(stored), stored, was_stored=True), 0)

    def settle(self) -> Sequence[Problem]:
        """Wait until everything is written and can be found; the documents that were refused."""
        self._send()
        while self._sending:
            self._wait_for_one()
        self.rows.refresh()
        return self._refused

    def store_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
        operations = [_delete(_stamp_key(stamp)) for stamp in gone]
        operations += [
            to_lines({"index": {"_id": _stamp_key(stamp)}}, {"what": "stamp", **asdict(stamp)}) for stamp in stamps
        ]
        for batch in batched(operations, 5_000):
            answer = self._cluster.write("POST", f"/{self.rows.state_alias}/_bulk?refresh=true", b"".join(batch))
            failed = [result for item in answer["items"] for result in item.values() if "error" in result]
            if failed:
                raise EngineError(f"The engine {self._cluster.address} rejected a stamp: {error_reason(failed[0])}.")

    def close(self) -> None:
        """Wait for the batches that are being sent, and drop the others."""
        self._pool.shutdown(cancel_futures=True)

    def _collect(self, task: Task, characters: int) -> None:
        self._collected.append(task)
        self._characters += characters
        if max(len(self._collected), self._characters / AVERAGE_CHARACTERS) >= self._limit:
            self._send()
            self._limit = min(2 * self._limit, MOST_COLLECTED)

    def _send(self) -> None:
        """Make the rows, which may need an embedder that only this thread may use, and send them."""
        tasks, self._collected, self._characters = self._collected, [], 0
        found = self.rows.find([task.id for task in tasks if task.was_stored])
        for task in tasks:
            task.stored = found.get(task.id)
            task.added = task.stored.added if task.stored else next(self._order)
            if task.stored and not task.record:
                task.source = task.stored.source
        records = [(task.record, task.added) for task in tasks if task.record]
        rows = iter(passage_rows(records, now(), self._config, self._embedder, self._folder) if records else ())
        for task in tasks:
            task.rows = next(rows) if task.record else []
        for batch in _split(tasks, lambda task: sum(map(len, task.rows)), BATCH_DOCUMENTS):
            while len(self._sending) >= SENDING + WAITING:
                self._wait_for_one()
            self._sending.append(self._pool.submit(self._store, batch))

    def _wait_for_one(self) -> None:
        try:
            self._sending.popleft().result()
        except CorpusError as error:
            progress = f"Documents stored by this call: {len(self._done)}. Repeat it to store the rest."
            raise type(error)(f"{error} {progress}") from error

    # One batch, in a thread of the pool

    def _store(self, tasks: list[Task]) -> None:
        """Write documents until each is written, written by another writer with the same content, or rejected."""
        self._delete_stamps(tasks)
        documents, passages = self.rows.documents_alias, self.rows.passages_alias
        ends = time.monotonic() + cluster_client.PATIENCE_WRITING
        while True:
            locked = {task for task in tasks if task.is_locked(self._writer)}
            free = [task for task in tasks if task not in locked and not task.is_done]
            marked, taken = self._write(documents, {task: [self._mark_of(task)] for task in free})
            for task, result in marked.items():
                task.version = version_of(result)
            stored, interrupted = self._write(passages, {task: _passage_operations(task) for task in marked})
            finished, overtaken = self._write(documents, {task: [_complete_row(task)] for task in stored})
            self._done.extend(task.id for task in finished)
            tasks = [*locked, *taken, *interrupted, *overtaken]
            if not tasks:
                return
            if time.monotonic() > ends:
                raise CorpusBusy(f"Another writer has been writing the document {tasks[0].id!r} for too long.")
            time.sleep(_READ_AGAIN_SECONDS)
            found = self.rows.read([task.id for task in tasks])
            for task in tasks:
                task.stored, task.version = found.get(task.id), {}

    def _mark_of(self, task: Task) -> bytes:
        mark: Query = {"hash": "", "passages": task.most_passages, "writer": self._writer, "since": now()}
        if task.stored is None:
            mark |= {"id": task.id, "source": task.source, "added": task.added, "ready": False}
            return to_lines({"create": {"_id": task.key}}, mark)
        if task.record is None:
            mark["ready"] = False
        return to_lines({"update": {"_id": task.key, **task.stored.version}}, {"doc": mark})

    def _write(self, alias: str, operations: Mapping[Task, list[bytes]]) -> tuple[dict[Task, Query], set[Task]]:
        """The tasks that were written, with their last result, and those that another writer has."""
        written: dict[Task, Query] = {task: {} for task in operations}
        taken: set[Task] = set()
        for task, result in self._bulk(alias, [(one, task) for task, own in operations.items() for one in own]):
            if task not in written:
                continue  # it is already rejected
            if "error" not in result:
                written[task] = result
            elif result["status"] in (_CONFLICT, _MISSING):
                taken.add(task)
            else:
                del written[task]
                self._reject(task, error_reason(result))
        return {task: result for task, result in written.items() if task not in taken}, taken

    def _reject(self, task: Task, reason: str) -> None:
        """Report a document that the server rejects; if its row is marked, delete everything of it."""
        self._refused.append(Problem(task.id, f"The engine rejected it: {reason}.", task.source))
        if task.version:
            deletions = [_delete(passage_key(task.key, ordinal)) for ordinal in range(task.most_passages)]
            self._bulk(self.rows.passages_alias, [(one, task) for one in deletions])
            self._bulk(self.rows.documents_alias, [(_delete(task.key), task)])

    def _bulk(self, alias: str, operations: list[tuple[bytes, Task]]) -> list[tuple[Task, Query]]:
        """The result of each operation; those that may succeed later are repeated for a while."""
        results: list[tuple[Task, Query]] = []
        waits, ends = backoff(None, first=0.1, longest=5.0), time.monotonic() + cluster_client.PATIENCE_WRITING
        while operations:
            again: list[tuple[bytes, Task]] = []
            for batch in _split(operations, lambda one: len(one[0])):
                body = b"".join(operation for operation, _ in batch)
                answer = self._cluster.write("POST", f"/{alias}/_bulk?filter_path={_RESULT}", body)
                for (operation, task), item in zip(batch, answer["items"], strict=True):
                    (result,) = item.values()
                    if result["status"] in _RETRIED and time.monotonic() < ends:
                        again.append((operation, task))
                    elif result["status"] in _RETRIED:
                        raise EngineError(f"The engine {self._cluster.address} cannot write: {error_reason(result)}.")
                    elif "block" in str(result.get("error", "")):
                        raise CorpusBusy("The corpus is being rebuilt, or its engine is full. Try again later.")
                    else:
                        results.append((task, result))
            if again:
                time.sleep(next(waits))
            operations = again
        return results

    def _delete_stamps(self, tasks: Sequence[Task]) -> None:
        """Delete the stamps of changed sources: a stamp is valid only for the documents that it was stored with."""
        if not self._has_stamps:
            return
        sources = {task.source for task in tasks} | {task.stored.source for task in tasks if task.stored}
        for batch in batched(sorted(sources), 10_000):
            query = {"bool": {"filter": [STAMPS, {"terms": {"source": batch}}]}}
            path = f"/{self.rows.state_alias}/_delete_by_query?conflicts=proceed&refresh=true"
            self._cluster.write("POST", path, {"query": query})


def _stamp_key(stamp: Stamp) -> str:
    return f"stamp-{document_key(chr(0).join((stamp.source, stamp.id)))}"


def _complete_row(task: Task) -> bytes:
    if task.record is None:
        return _delete(task.key, **task.version)
    row = document_row(task.record, task.added, len(task.rows))
    return to_lines({"index": {"_id": task.key, **task.version}}, json.dumps(row, ensure_ascii=False).encode())


def _delete(key: str, **conditions: int) -> bytes:
    return to_lines({"delete": {"_id": key, **conditions}})


def _passage_operations(task: Task) -> list[bytes]:
    """Operations that write the passages of a document and delete those of its stored version."""
    keys = [passage_key(task.key, ordinal) for ordinal in range(task.most_passages)]
    writes = [to_lines({"index": {"_id": key}}, row) for key, row in zip(keys, task.rows, strict=False)]
    return writes + [_delete(key) for key in keys[len(task.rows) :]]


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
