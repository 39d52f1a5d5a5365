"""How does a change become part of a corpus in a cluster? Document by document, each all or not at all.

A cluster knows no transactions, so every document has its own, kept in its row. The row is first marked as being
written, which is also a lock: nobody else may write that document for a while. Then come its passages, then the row
with its new hash. Whoever dies in between leaves a mark without a hash; the next sync sees that the document is not
what it should be and writes it again. Rows have names that follow from the document, so sending one twice does no harm.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shortlist.documents import Problem, Stamp
from shortlist.errors import CorpusBusy, EngineError
from shortlist.index.config import Config
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster, lines, reason_of
from shortlist.index.engines.cluster_rows import Pieces, document_row, key_of, passage_key, passage_rows, what_is_wrong
from shortlist.index.engines.cluster_schema import Names
from shortlist.index.storage.records import Record, batched
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from pathlib import Path

    from shortlist.index.engines.cluster_engine import Rows

T = TypeVar("T")

# Documents and characters that are sent together, how many such batches are under way at once, and how many wait.
BATCH_DOCUMENTS, BATCH_CHARACTERS = 500, 1_000_000
REQUEST_BYTES = 8 << 20
UNDER_WAY, WAITING = 3, 12

# Rows are made of so many batches at once, for whole runs of text are analysed in compiled code. The first come alone.
MOST_BATCHES = 8

# A document that another writer began to write is left to it for so long; then that writer is taken for dead.
LEASE_SECONDS = 15.0
_LOOK_AGAIN = 0.2

# What another attempt may mend: too much to do, shards that are moving.
_AGAIN = frozenset({429, 500, 502, 503, 504})
_CONFLICT, _MISSING = 409, 404

_RESULT = ",".join(f"items.*.{field}" for field in ("status", "error", "_seq_no", "_primary_term"))

ROW = ("id", "source", "hash", "added", "passages", "ready", "writer", "since")


class Stored(NamedTuple):
    """A document's row as it was read."""

    key: str
    id: str
    source: str
    hash: str
    added: int
    passages: int
    ready: bool
    writer: str
    since: int
    version: tuple[int, int]

    @classmethod
    def of(cls, found: dict[str, Any]) -> Stored:
        row = found["_source"]
        return cls(
            found["_id"],
            row["id"],
            row.get("source", ""),
            row.get("hash", ""),
            row.get("added", 0),
            row.get("passages", 0),
            row.get("ready", False),
            row.get("writer", ""),
            row.get("since", 0),
            (found["_seq_no"], found["_primary_term"]),
        )

    def is_held(self, writer: str) -> bool:
        """Whether another writer is in the middle of it."""
        return not self.hash and self.writer != writer and now() - self.since < 1000 * LEASE_SECONDS


@dataclass(slots=True, eq=False)
class Task:
    """A document to be written, or to be removed where there is no record."""

    key: str
    id: str
    source: str
    stored: Stored | None
    record: Record | None = None
    rows: list[bytes] = field(default_factory=list)
    added: int = 0
    version: tuple[int, int] = (0, 0)  # of the row since it is marked
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(map(len, self.rows))

    @property
    def most(self) -> int:
        """Passages that there may be of it."""
        return max(len(self.rows), self.stored.passages if self.stored else 0)


def now() -> int:
    return time.time_ns() // 1_000_000


class Writing:
    """One change on its way."""

    def __init__(
        self, cluster: Cluster, names: Names, config: Config, embedder: Embedder | None, rows: Rows, folder: Path | None
    ) -> None:
        self.kept = rows
        self.began_empty = rows.is_empty()
        self._cluster = cluster
        self._names = names
        self._config = config
        self._embedder = embedder
        self._folder = folder
        self._writer = uuid.uuid4().hex
        self._order = itertools.count(time.time_ns() // 1000)
        self._gathered: list[tuple[Record | None, Stored | None]] = []
        self._characters = 0
        self._batches = 1  # whose rows are made next
        self._pool = ThreadPoolExecutor(UNDER_WAY, thread_name_prefix="shortlist-engine")
        self._under_way: set[Future[None]] = set()
        self._refused: list[Problem] = []
        self._lock = threading.Lock()
        self.stored = 0  # documents that are written for good
        self._has_stamps = rows.has_stamps()

    def put(self, record: Record, stored: Stored | None) -> None:
        wrong = what_is_wrong(record.document)
        if wrong:
            self._refuse(Problem(record.document.id, wrong, record.document.source))
            return
        self._gathered.append((record, stored))
        self._characters += len(record.document.content)
        self._send_if_enough()

    def remove(self, stored: Stored) -> None:
        self._gathered.append((None, stored))
        self._send_if_enough()

    def settle(self) -> Sequence[Problem]:
        """Wait until all is written and can be found; what was not taken."""
        self._send()
        while self._under_way:
            self._collect()
        refresh(self._cluster, self._names)
        return self._refused

    def keep_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None:
        write_stamps(self._cluster, self._names, stamps, gone)

    def close(self) -> None:
        """Leave nothing under way."""
        self._pool.shutdown(cancel_futures=True)

    def _refuse(self, problem: Problem) -> None:
        with self._lock:
            self._refused.append(problem)

    # One batch

    def _send_if_enough(self) -> None:
        enough = self._batches * BATCH_DOCUMENTS, self._batches * BATCH_CHARACTERS
        if len(self._gathered) >= enough[0] or self._characters >= enough[1]:
            self._send()
            self._batches = min(2 * self._batches, MOST_BATCHES)

    def _send(self) -> None:
        """Make rows of what is gathered, which may need an embedder that only this thread may use, and send them."""
        if not self._gathered:
            return
        gathered, self._gathered, self._characters = self._gathered, [], 0
        puts = [Pieces.of(record, self._config) for record, _ in gathered if record]
        added = [stored.added if stored else next(self._order) for record, stored in gathered if record]
        made = passage_rows(puts, added, now(), self._config, self._embedder, self._folder)
        rows = iter(zip(made, added, strict=True))
        tasks = []
        for record, stored in gathered:
            if record is None and stored is not None:
                tasks.append(Task(stored.key, stored.id, stored.source, stored))
            elif record is not None:
                id, source = record.document.id, record.document.source
                tasks.append(Task(key_of(id), id, source, stored, record, *next(rows)))
        for batch in _portions(tasks, lambda task: task.size, BATCH_DOCUMENTS):
            while len(self._under_way) >= UNDER_WAY + WAITING:
                self._collect()
            self._under_way.add(self._pool.submit(self._store, batch))

    def _collect(self) -> None:
        done, self._under_way = wait(self._under_way, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                future.result()
            except EngineError as error:
                raise type(error)(
                    f"{error} Of this change {self.stored} documents are stored; do it again to go on from there."
                ) from error

    def _store(self, tasks: list[Task]) -> None:
        """Write documents until each is written, taken over by another writer with the same content, or refused."""
        self._forget_stamps(tasks)
        waiting, ends = tasks, time.monotonic() + PATIENCE_WRITING
        while waiting:
            marked, held = self._mark(waiting)
            written = self._write_passages(marked)
            overtaken = self._finish(written)
            waiting = held + overtaken
            if waiting and time.monotonic() > ends:
                raise CorpusBusy(
                    f"Another writer has held the document {waiting[0].id!r} for {PATIENCE_WRITING:.0f} seconds. "
                    f"Of this change {self.stored} documents are stored; do it again to go on from there."
                )
            if waiting:
                time.sleep(_LOOK_AGAIN)
                self._look_again(waiting)

    def _mark(self, tasks: list[Task]) -> tuple[list[Task], list[Task]]:
        """Mark rows as being written; those that are now ours, and those that somebody else has."""
        held = [task for task in tasks if task.stored and task.stored.is_held(self._writer)]
        free = [task for task in tasks if task not in held and not self._is_done(task)]
        operations = [(self._mark_of(task), task) for task in free]
        marked = []
        for task, result in self._bulk(self._names.documents, operations):
            if result["status"] in (_CONFLICT, _MISSING):
                held.append(task)
            elif "error" in result:
                self._give_up(task, reason_of(result), clean=False)
            else:
                task.version = result["_seq_no"], result["_primary_term"]
                marked.append(task)
        return marked, held

    def _mark_of(self, task: Task) -> bytes:
        mark: dict[str, Any] = {"hash": "", "passages": task.most, "writer": self._writer, "since": now()}
        if task.stored is None:
            mark |= {"id": task.id, "source": task.source, "added": task.added, "ready": False}
            return lines([{"create": {"_id": task.key}}, mark])
        if task.record is None:
            mark["ready"] = False
        return lines([{"update": {"_id": task.key, **_if(task.stored.version)}}, {"doc": mark}])

    def _is_done(self, task: Task) -> bool:
        """Whether another writer, or an attempt of ours that seemed to fail, has already done it."""
        if task.record is None:
            return task.stored is None
        return task.stored is not None and task.stored.hash == task.record.hash.hex()

    def _write_passages(self, tasks: list[Task]) -> list[Task]:
        operations = []
        for task in tasks:
            for ordinal, row in enumerate(task.rows):
                head = b'{"index":{"_id":"%b"}}\n' % passage_key(task.key, ordinal).encode()
                operations.append((b"%b%b\n" % (head, row), task))
            for ordinal in range(len(task.rows), task.most):
                operations.append((_delete(passage_key(task.key, ordinal)), task))
        for task, result in self._bulk(self._names.passages, operations):
            if "error" in result:
                task.problem = reason_of(result)
        for task in tasks:
            if task.problem:
                self._give_up(task, task.problem, clean=True)
        return [task for task in tasks if not task.problem]

    def _finish(self, tasks: list[Task]) -> list[Task]:
        """Write the rows for good; those tasks that another writer has taken over meanwhile."""
        operations = [(self._row_of(task), task) for task in tasks]
        overtaken = []
        for task, result in self._bulk(self._names.documents, operations):
            if result["status"] == _CONFLICT:
                overtaken.append(task)
            elif "error" in result:
                self._give_up(task, reason_of(result), clean=True)
            else:
                with self._lock:
                    self.stored += 1
        return overtaken

    def _row_of(self, task: Task) -> bytes:
        if task.record is None:
            return _delete(task.key, **_if(task.version))
        row = document_row(task.record, task.added, len(task.rows))
        return lines([{"index": {"_id": task.key, **_if(task.version)}}, json.dumps(row, ensure_ascii=False).encode()])

    def _look_again(self, tasks: Sequence[Task]) -> None:
        found = self.kept.read([task.id for task in tasks])
        for task in tasks:
            task.stored = found.get(task.id)
            if task.stored is not None and task.stored.writer == self._writer and task.stored.added:
                task.added = task.stored.added

    def _give_up(self, task: Task, reason: str, *, clean: bool) -> None:
        """Report a document that the engine does not take; nothing of it stays to be found."""
        self._refuse(Problem(task.id, f"The engine did not take it, and has nothing of it now: {reason}.", task.source))
        if clean:
            passages = [(_delete(passage_key(task.key, ordinal)), task) for ordinal in range(task.most)]
            self._bulk(self._names.passages, passages)
            self._bulk(self._names.documents, [(_delete(task.key), task)])

    def _bulk(self, index: str, operations: list[tuple[bytes, Task]]) -> list[tuple[Task, dict[str, Any]]]:
        """The result of each operation, when those that may yet succeed were tried long enough."""
        results: list[tuple[Task, dict[str, Any]]] = []
        pause, ends = 0.1, time.monotonic() + PATIENCE_WRITING
        while operations:
            again: list[tuple[bytes, Task]] = []
            for batch in _portions(operations, lambda one: len(one[0])):
                body = b"".join(operation for operation, _ in batch)
                answer = self._cluster.ask(
                    "POST", f"/{index}/_bulk?filter_path={_RESULT}", body, patience=PATIENCE_WRITING
                ).body
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
        """A stamp stands for the documents of a source as they were stored: it ends with any change of one of them."""
        if not self._has_stamps:
            return
        sources = {task.source for task in tasks} | {task.stored.source for task in tasks if task.stored}
        for batch in batched(sorted(sources), 10_000):
            query = {"bool": {"filter": [{"term": {"what": "stamp"}}, {"terms": {"source": batch}}]}}
            path = f"/{self._names.state}/_delete_by_query?conflicts=proceed&refresh=true"
            self._cluster.ask("POST", path, {"query": query}, patience=PATIENCE_WRITING)


def refresh(cluster: Cluster, names: Names) -> None:
    """Let everybody see what was written. A server whose shards have no node keeps silent about it for a minute."""
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
    for stamp in stamps:
        row = {
            "what": "stamp",
            "id": stamp.id,
            "source": stamp.source,
            "value": stamp.value,
            "skipped": stamp.skipped,
        }
        operations.append(lines([{"index": {"_id": _stamp_key(stamp)}}, row]))
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


def _delete(key: str, **conditions: int) -> bytes:
    return lines([{"delete": {"_id": key, **conditions}}])


def _portions(items: Sequence[T], size: Callable[[T], int], most: int | None = None) -> Iterator[list[T]]:
    """Items in portions of a bearable size."""
    portion: list[T] = []
    sizes = 0
    for item in items:
        if portion and (sizes + size(item) > REQUEST_BYTES or len(portion) == most):
            yield portion
            portion, sizes = [], 0
        portion.append(item)
        sizes += size(item)
    if portion:
        yield portion
