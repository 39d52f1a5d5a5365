"""Makes a corpus contain what a source has: documents are compared one by one, and changes are made in one go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Protocol

from shortlist._limits import check_canceled
from shortlist._text import clean
from shortlist.documents import Changes, Document, Problem, Skipped, Stamp, Stamps
from shortlist.errors import CorpusBusy, InputError
from shortlist.index.engine import Documents
from shortlist.index.storage.records import BATCH, PAUSE, Record, batched, to_record
from shortlist.protocols import Countable, Progress, report_phase

READING_SECONDS = 0.5  # for a batch at most, while a bar is shown


class StoredRows(Protocol):
    """The stored documents, to compare with. Each has a reference that only its engine understands."""

    def generation(self) -> int: ...
    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]: ...  # reference and hash by id
    def everything(self) -> Iterable[tuple[Any, str, str]]: ...  # reference, id and source
    def count(self) -> int: ...  # of everything
    def stamps(self) -> dict[str, Stamp]: ...
    def stamped(self, stamp: Stamp) -> set[str]: ...  # ids of the stored documents that a stamp covers


class Work(Protocol):
    """A change in progress. `settle` waits for everything that was put, and returns what the engine refused."""

    @property
    def rows(self) -> StoredRows: ...  # as this change sees it
    @property
    def began_empty(self) -> bool: ...
    def put(self, record: Record, stored: Any) -> None: ...
    def remove(self, stored: Any) -> None: ...
    def settle(self) -> Sequence[Problem]: ...
    def store_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None: ...


Reading = Callable[[], AbstractContextManager[StoredRows]]
Begin = Callable[[], AbstractContextManager[Work]]


class _Overtaken(Exception):
    """Another writer has changed the corpus since the comparison began."""


def sync(
    reading: Reading,
    begin: Begin | None,
    documents: Documents,
    prune: bool,
    progress: Progress | None,
    strict: bool = False,
) -> Changes:
    """Compare first, and take the writer's lock only at the first difference; without `begin` only compare.

    If another writer committed in between, compare again under the lock. Documents that can be read only once are
    compared under the lock from the start.
    """
    begin = begin or partial(_begin_dry_run, reading)
    first = _Sync(reading, begin, strict)
    try:
        return first.run(documents, prune, progress, locked=iter(documents) is documents)
    except _Overtaken:
        return _Sync(reading, begin, strict, expected=first.seen).run(documents, prune, progress, locked=True)


@contextmanager
def _begin_dry_run(reading: Reading) -> Iterator[Any]:
    """A change that changes nothing."""
    with reading() as rows:
        methods = dict.fromkeys(("put", "remove", "settle", "store_stamps"), lambda *_: ())
        yield SimpleNamespace(rows=rows, began_empty=False, **methods)


class _SyncProgress:
    """Reports the progress of a sync: the documents; to a bar also the phases, and files if the source counts those."""

    def __init__(self, progress: Progress | None, documents: Documents, items: Iterable[Any]) -> None:
        self._progress = progress
        self._total = next((len(one) for one in (documents, items) if isinstance(one, Sized)), None)
        self._unit = "documents"
        self._bar = progress if isinstance(progress, Countable) else None
        self.pause = 1 if self._bar else PAUSE  # documents between two reports
        size: Callable[[], tuple[int, str]] | None = getattr(documents, "size", None)
        if self._bar:
            if self._total is None and size:
                report_phase(progress, "counting")
                self._total, self._unit = size()
            self._bar.count(0, self._total, self._unit)

    def batches(self, items: Iterable[Any]) -> Iterator[list[Any]]:
        """The items in batches; while a bar is shown, a batch ends early if reading it takes long."""
        if not self._bar:
            yield from batched(items, BATCH)
            return
        report_phase(self._progress, "reading")
        batch, began = list[Any](), time.monotonic()
        for item in items:
            batch.append(item)
            if len(batch) == BATCH or time.monotonic() - began > READING_SECONDS:
                yield batch
                report_phase(self._progress, "reading")
                batch, began = [], time.monotonic()
        if batch:
            yield batch

    def report(self, documents: int, files: float) -> None:
        if self._bar:
            self._bar.count(files if self._unit == "files" else documents, self._total, self._unit)
        elif self._progress:
            self._progress(documents, self._total)

    def end(self, documents: int, files: int) -> None:
        """Report that everything was read, though it may be less than what was counted before."""
        if self._bar:
            done = files if self._unit == "files" else documents
            self._bar.count(done, done, self._unit)


class _Sync:
    """One sync in progress. `expected` are the ids that came when the documents were read before."""

    def __init__(self, reading: Reading, begin: Begin, strict: bool, expected: Set[str] = frozenset()) -> None:
        self._strict = strict  # one bad document stops them all
        self._read_state = reading
        self._begin = begin
        self._expected = expected
        self._stack = ExitStack()
        self._change: Work | None = None
        self._generation: int | None = None  # of the state that was compared with before there was a change
        self.seen: set[str] = set()
        self._known: dict[str, Stamp] = {}
        self._stamps: dict[str, Stamp] = {}
        self._unreadable: set[str] = set()
        self._failed: list[Problem] = []
        self._changed: list[str] = []
        self._added = self._unchanged = self._removed = 0

    def run(self, documents: Documents, prune: bool, progress: Progress | None, *, locked: bool) -> Changes:
        with self._stack:
            if locked:
                self._open_change()
            items = self._read(documents)
            reports = _SyncProgress(progress, documents, items)
            for batch in reports.batches(items):
                check_canceled()
                files = self._files
                for share in self._take(batch, reports.pause):
                    reports.report(self._compared, files + share * (self._files - files))
            reports.end(self._compared, self._files)
            if self._strict and self._failed:
                wrong = self._failed[0]
                raise InputError(f"The document {wrong.id!r} cannot be stored, so nothing was changed: {wrong.reason}")
            if not self._expected <= self.seen:  # a source that is used up must not empty the corpus
                raise CorpusBusy(
                    "Another writer changed the corpus during this sync, and the documents could not be read a second "
                    "time. Nothing was changed. Sync again."
                )
            if prune and not (self._change is not None and self._change.began_empty):
                self._prune()
            for problem in () if self._change is None else self._change.settle():  # refused by the engine
                self._failed.append(problem)
                if problem.id in self._changed:
                    self._changed.remove(problem.id)
                else:
                    self._added -= 1
            self._store_stamps(prune)
            if self._change is None:
                with self._reading() as rows:
                    self._compare_generation(rows)
        changed = tuple(self._changed)
        skipped = tuple(Problem(one.id, one.reason, one.source) for one in self._stamps.values() if one.skipped)
        failed = tuple(self._failed)
        counts = (self._added, len(changed), self._unchanged, self._removed)
        return Changes(*counts, failed, len(skipped), changed, skipped_files=skipped)

    def _read(self, documents: Documents) -> Iterable[Document | Problem | Stamp]:
        """The documents, minus those that the source knows to be unchanged since they were stored."""
        # much faster than isinstance(documents, Stamped)
        since: Callable[[Stamps], Iterable[Document | Problem | Stamp]] | None = getattr(documents, "since", None)
        if since is None:
            return documents
        with self._reading() as rows:
            self._known = rows.stamps()
        return since(self._known)

    @property
    def _compared(self) -> int:
        return self._added + len(self._changed) + self._unchanged + len(self._failed)

    @property
    def _files(self) -> int:
        """The number of files that came."""
        return len(self._stamps) + len(self._unreadable - {""})

    def _take(self, batch: list[Any], pause: int) -> Iterator[float]:
        """Compare and put; yields the share that is done after some documents each, and at the end."""
        records = []
        with self._reading() as rows:
            for item in batch:
                if isinstance(item, Stamp):
                    self._take_stamp(replace(item, id=clean(item.id), source=clean(item.source)), rows)
                elif record := self._admit(item):
                    records.append(record)
            is_new = self._change is not None and self._change.began_empty
            stored = {} if is_new else rows.stored([record.document.id for record in records])
        for at, record in enumerate(records):
            if at and not at % pause:
                yield at / len(records)
            there, known_hash = stored.get(record.document.id, (None, b""))
            if known_hash == record.hash:
                self._unchanged += 1
                continue
            self._open_change().put(record, there)
            if there is None:
                self._added += 1
            else:
                self._changed.append(record.document.id)
        yield 1.0

    def _take_stamp(self, stamp: Stamp, rows: StoredRows) -> None:
        """Count the documents of an unchanged stamp as seen and unchanged."""
        self._stamps[stamp.id] = stamp
        if stamp == self._known.get(stamp.id):
            unchanged = rows.stamped(stamp) - self.seen
            self._unchanged += len(unchanged)
            self.seen |= unchanged

    def _admit(self, item: Any) -> Record | None:
        """The item ready to be stored; None if it cannot be, which is counted as a failure."""
        record = to_record(item)
        if isinstance(record, Problem):
            self._failed.append(record)
            if not isinstance(item, Skipped):
                self.seen.add(record.id)
                self._unreadable.add(record.source)
            return None
        document = record.document
        if document.id in self.seen:
            self._failed.append(Problem(document.id, "Its id came twice; the first one was kept.", document.source))
            return None
        self.seen.add(document.id)
        return record

    def _store_stamps(self, prune: bool) -> None:
        """Store the new stamps, except of a file with a document that failed: that one is tried again."""
        failed = {problem.source for problem in self._failed}
        fresh = [
            stamp
            for stamp in self._stamps.values()
            if stamp.value and stamp != self._known.get(stamp.id) and stamp.source not in failed
        ]
        gone = [stamp for id, stamp in self._known.items() if prune and id not in self._stamps]
        if fresh or gone:
            self._open_change().store_stamps(fresh, gone)

    def _prune(self) -> None:
        """Remove what did not come, except what a Problem refers to: it may still exist, and only be unreadable."""
        unreadable = self._unreadable - {""}
        with self._reading() as rows:
            if rows.count() == self._unchanged + len(self._changed):
                return
            gone = [one for one, id, source in rows.everything() if id not in self.seen and source not in unreadable]
        for one in gone:
            self._open_change().remove(one)
        self._removed = len(gone)

    @contextmanager
    def _reading(self) -> Iterator[StoredRows]:
        """The state that this change sees or, before there is one, the last committed one."""
        if self._change is not None:
            yield self._change.rows
            return
        with self._read_state() as rows:
            if self._generation is None:
                self._generation = rows.generation()
            yield rows

    def _open_change(self) -> Work:
        if self._change is None:
            self._change = self._stack.enter_context(self._begin())
            self._compare_generation(self._change.rows)
        return self._change

    def _compare_generation(self, rows: StoredRows) -> None:
        if self._generation is not None and rows.generation() != self._generation:
            raise _Overtaken
