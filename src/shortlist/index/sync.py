"""How does a corpus come to hold what a source has? A comparison document by document, and one change at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

from shortlist.documents import Changes, Document, Problem, Stamp, Stamps
from shortlist.errors import CorpusBusy, InputError
from shortlist.index.engine import Documents, Progress
from shortlist.index.storage.records import Record, batched, clean, to_record

T = TypeVar("T")

BATCH = 500
PAUSE = 100  # documents between two words on how far it is


class Kept(Protocol):
    """What is stored, to be compared with. What stands for a stored document is the engine's own affair."""

    def generation(self) -> int: ...

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        """What stands for each of those documents that are stored, and its hash."""
        ...

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        """What stands for each document, its id and its source."""
        ...

    def stamps(self) -> dict[str, Stamp]: ...

    def stamped(self, stamp: Stamp) -> set[str]:
        """The ids of the stored documents that a stamp stands for."""
        ...


class Work(Protocol):
    """A change on its way."""

    @property
    def kept(self) -> Kept:
        """What is stored as this change sees it."""
        ...

    @property
    def began_empty(self) -> bool: ...

    def put(self, record: Record, stored: Any) -> None: ...

    def remove(self, stored: Any) -> None: ...

    def settle(self) -> Sequence[Problem]:
        """Wait for all that was put; what of it the engine did not take, the rest being taken."""
        ...

    def keep_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None: ...


Begin = Callable[[], AbstractContextManager[Work]]
Reading = Callable[[], AbstractContextManager[Kept]]


def counted(items: Iterable[T], total: int, progress: Progress | None) -> Iterator[T]:
    """The items; how many are done is told now and then, and at the end."""
    for done, item in enumerate(items, 1):
        yield item
        if progress and (not done % PAUSE or done == total):
            progress(done, total)


class _Overtaken(Exception):
    """Another writer has changed the corpus since the comparison began."""


def sync(
    reading: Reading,
    begin: Begin,
    documents: Documents,
    prune: bool,
    progress: Progress | None,
    strict: bool = False,
) -> Changes:
    """Compare first, and take the writer's lock only at the first difference.

    If another writer came between, what was compared before means nothing: it is done again under the lock. Documents
    that can be had only once are compared under the lock from the start.
    """
    if iter(documents) is not documents:
        first = _Sync(reading, begin, strict=strict)
        try:
            return first.run(documents, prune, progress)
        except _Overtaken:
            again = _Sync(reading, begin, strict=strict, locked=True, expected=first.seen)
            return again.run(documents, prune, progress)
    return _Sync(reading, begin, strict=strict, locked=True).run(documents, prune, progress)


def compare(reading: Reading, documents: Documents, progress: Progress | None) -> Changes:
    """What a sync would do."""
    return sync(reading, partial(_only_counting, reading), documents, True, progress)


@contextmanager
def _only_counting(reading: Reading) -> Iterator[Work]:
    with reading() as kept:
        yield _Nothing(kept)


class _Nothing:
    """Stands for a change and makes none."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.began_empty = False

    def put(self, record: Record, stored: Any) -> None: ...

    def remove(self, stored: Any) -> None: ...

    def settle(self) -> Sequence[Problem]:
        return ()

    def keep_stamps(self, stamps: Iterable[Stamp], gone: Iterable[Stamp]) -> None: ...


class _Sync:
    """One sync on its way."""

    def __init__(
        self, reading: Reading, begin: Begin, *, strict: bool, locked: bool = False, expected: Set[str] = frozenset()
    ) -> None:
        self._strict = strict  # one that cannot be taken stops them all
        self._read_state = reading
        self._begin = begin
        self._stack = ExitStack()
        self._change: Work | None = None
        self._generation: int | None = None  # of the state that was compared with, before there was a change
        self._locked = locked
        self._expected = expected  # came when the documents were read before
        self.seen: set[str] = set()
        self._known: dict[str, Stamp] = {}
        self._stamps: dict[str, Stamp] = {}
        self._unreadable: set[str] = set()
        self._failed: list[Problem] = []
        self._changed: list[str] = []
        self._added = self._unchanged = self._removed = 0

    def run(self, documents: Documents, prune: bool, progress: Progress | None) -> Changes:
        total = len(documents) if isinstance(documents, Sized) else None
        with self._stack:
            if self._locked:
                self._open_change()
            for batch in batched(self._read(documents), BATCH):
                for _ in self._take(batch):
                    if progress:
                        progress(self._done, total)
            if self._strict and self._failed:
                wrong = self._failed[0]
                raise InputError(f"The document {wrong.id!r} was not taken, nor any other: {wrong.reason}")
            if not self._expected <= self.seen:  # a source that is spent must not empty the corpus
                raise CorpusBusy(
                    "Another writer changed the corpus during this sync, and the documents could not be read a second "
                    "time. Nothing was changed. Sync again."
                )
            if prune and not (self._change is not None and self._change.began_empty):
                self._prune()
            if self._change is not None:
                self._note_refused(self._change.settle())
            self._keep_stamps(prune)
            if self._change is None:
                with self._reading() as kept:
                    self._compare_generation(kept)
        changed = tuple(self._changed)
        skipped = sum(stamp.skipped for stamp in self._stamps.values())
        return Changes(self._added, len(changed), self._unchanged, self._removed, tuple(self._failed), skipped, changed)

    @property
    def _done(self) -> int:
        return self._added + len(self._changed) + self._unchanged + len(self._failed)

    def _read(self, documents: Documents) -> Iterable[Document | Problem | Stamp]:
        """The documents, less those that the source knows to be unchanged since they were stored."""
        # much quicker than to ask whether they are Stamped
        since: Callable[[Stamps], Iterable[Document | Problem | Stamp]] | None = getattr(documents, "since", None)
        if since is None:
            return documents
        with self._reading() as kept:
            self._known = kept.stamps()
        return since(self._known)

    def _take(self, batch: list[Any]) -> Iterator[None]:
        """Compare and put, with a pause now and then."""
        batch = [_cleaned(item) if isinstance(item, Stamp) else item for item in batch]
        unchanged = self._unchanged_since([item for item in batch if isinstance(item, Stamp)])
        records = []
        for item in batch:
            if isinstance(item, Stamp):
                self._stamps[item.id] = item
                came_not = unchanged.get(item, set()) - self.seen
                self._unchanged += len(came_not)
                self.seen |= came_not
            elif record := self._admit(item):
                records.append(record)
        stored = self._stored(records)
        for at, record in enumerate(records):
            if at and not at % PAUSE:
                yield
            there, known_hash = stored.get(record.document.id, (None, b""))
            if known_hash == record.hash:
                self._unchanged += 1
                continue
            self._open_change().put(record, there)
            if there is None:
                self._added += 1
            else:
                self._changed.append(record.document.id)
        yield

    def _unchanged_since(self, stamps: list[Stamp]) -> dict[Stamp, set[str]]:
        """The ids of the documents that need not come, for those stamps that are the same as before."""
        same = [stamp for stamp in stamps if stamp == self._known.get(stamp.id)]
        if not same:
            return {}
        with self._reading() as kept:
            return {stamp: kept.stamped(stamp) for stamp in same}

    def _note_refused(self, refused: Sequence[Problem]) -> None:
        """Count among the failed what the engine did not take after all."""
        for problem in refused:
            self._failed.append(problem)
            if problem.id in self._changed:
                self._changed.remove(problem.id)
            else:
                self._added -= 1

    def _keep_stamps(self, prune: bool) -> None:
        """Write down the new stamps, but none of a file with a document that could not be taken: it is tried again."""
        failed = {problem.source for problem in self._failed}
        fresh = [stamp for stamp in self._stamps.values() if stamp.value and stamp != self._known.get(stamp.id)]
        fresh = [stamp for stamp in fresh if stamp.source not in failed]
        gone = [stamp for id, stamp in self._known.items() if prune and id not in self._stamps]
        if fresh or gone:
            self._open_change().keep_stamps(fresh, gone)

    def _admit(self, item: Any) -> Record | None:
        """The item ready to be stored, or None, after a note of what is wrong with it."""
        record = to_record(item)
        if isinstance(record, Problem):
            self._failed.append(record)
            self.seen.add(record.id)
            self._unreadable.add(record.source)
            return None
        id = record.document.id
        if id in self.seen:
            self._failed.append(Problem(id, "Its id came twice; the first one was kept.", record.document.source))
            return None
        self.seen.add(id)
        return record

    def _prune(self) -> None:
        """Remove what did not come, except what a Problem speaks of: it may still be there, only unreadable."""
        self._unreadable.discard("")
        for stored in self._gone():
            self._open_change().remove(stored)
            self._removed += 1

    def _gone(self) -> list[Any]:
        with self._reading() as kept:
            return [
                stored
                for stored, id, source in kept.everything()
                if id not in self.seen and source not in self._unreadable
            ]

    def _stored(self, records: list[Record]) -> dict[str, tuple[Any, bytes]]:
        if self._change is not None and self._change.began_empty:
            return {}
        with self._reading() as kept:
            return kept.stored([record.document.id for record in records])

    @contextmanager
    def _reading(self) -> Iterator[Kept]:
        """What this change sees or, before there is one, what everybody sees."""
        if self._change is not None:
            yield self._change.kept
            return
        with self._read_state() as kept:
            if self._generation is None:
                self._generation = kept.generation()
            yield kept

    def _open_change(self) -> Work:
        if self._change is None:
            self._change = self._stack.enter_context(self._begin())
            self._compare_generation(self._change.kept)
        return self._change

    def _compare_generation(self, kept: Kept) -> None:
        if self._generation is not None and kept.generation() != self._generation:
            raise _Overtaken


def _cleaned(stamp: Stamp) -> Stamp:
    return replace(stamp, id=clean(stamp.id), source=clean(stamp.source))
