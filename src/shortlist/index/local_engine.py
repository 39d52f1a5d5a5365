"""The embedded engine: a corpus in a folder or in memory, as an SQLite database and segment files."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from shortlist.errors import CorpusBusy, CorpusDamaged, CorpusError, EmbedderError, ShortlistError
from shortlist.index.config import Config
from shortlist.index.engine import Documents, Engine, Viewer
from shortlist.index.kernels.mapped_files import count_faults
from shortlist.index.restricted_engine import RestrictedEngine
from shortlist.index.snapshot import Snapshot, View, read_view
from shortlist.index.storage import segment_checks
from shortlist.index.storage.database import WAIT_SECONDS, Store
from shortlist.index.storage.records import BATCH, Rows, batched, scan
from shortlist.index.storage.segment import Segment, SegmentDamaged
from shortlist.index.storage.sql_tables import SegmentRow, read_config, read_segments, write_config
from shortlist.index.storage.writer import Change, rebuild_segment
from shortlist.index.sync import sync
from shortlist.protocols import Progress

if TYPE_CHECKING:
    from shortlist.documents import Changes, Document
    from shortlist.index.embedders.embedder_binding import EmbedderBinding
    from shortlist.protocols import Embedder

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("shortlist")

MOST_REPAIRS = 3  # of one segment, before one search


def _reads(read: Callable[Concatenate[Rows, P], T]) -> Callable[Concatenate[LocalEngine, P], T]:
    """A method of Rows as a method of the engine, in a transaction of its own."""

    def read_rows(self: LocalEngine, /, *arguments: P.args, **options: P.kwargs) -> T:
        with self._rows() as rows:
            return read(rows, *arguments, **options)

    return read_rows


class LocalEngine:
    """The engine of one store."""

    def __init__(self, store: Store, name: str, embedders: EmbedderBinding) -> None:
        self.store = store
        self.close = store.close
        self.is_own = store.is_own
        self._name = name
        self._embedders = embedders
        self._view: View | None = None  # the latest one
        self._rebuilt: dict[SegmentRow, Segment] = {}  # damaged segments that could not be rewritten
        self._compared: set[SegmentRow] = set()  # mapped files that will be compared with their checksums
        self._sound: set[tuple[str, SegmentRow]] = set()  # mapped files by the checks that they have passed
        self._damages: deque[SegmentDamaged] = deque()  # found by comparing, and not yet repaired
        self._faults = count_faults()

    def config(self) -> Config:
        with self.store.reading() as connection:
            return read_config(connection)

    def configure(self, change: Callable[[Config], Config]) -> None:
        with self.store.writing() as connection:
            write_config(connection, change(read_config(connection)))

    def for_viewer(self, viewer: Viewer) -> Engine:
        if self.store.folder is None:
            raise CorpusError("A corpus in memory is not read by several users. Store it under a name.")
        return RestrictedEngine(self, viewer)

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        changes = sync(self._rows, partial(self._change, progress), documents, prune, progress, strict)
        self.store.sweep()
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        return sync(self._rows, None, documents, True, progress)

    def remove(self, ids: Sequence[str]) -> int:
        with self._change() as change:
            numbers = {number for batch in batched(ids, BATCH) for number, _ in change.rows.stored(batch).values()}
            for number in sorted(numbers):
                change.remove(number)
        return len(numbers)

    def compact(self) -> None:
        with self._change() as change:
            change.compact()

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        with self.store.writing() as connection:
            config = change(read_config(connection))
            write_config(connection, config)
            with contextlib.closing(Change(self.store, connection, config, embedder, progress)) as work:
                work.reindex(progress)
                work.finish()
        self.store.sweep()

    @contextlib.contextmanager
    def _change(self, progress: Progress | None = None) -> Iterator[Change]:
        self._embedders.for_config(self.config())  # loaded before the lock is taken, because loading can be slow
        with self.store.writing() as connection:
            config = read_config(connection)
            embedder = self._embedders.for_config(config)
            with contextlib.closing(Change(self.store, connection, config, embedder, progress)) as change:
                yield change
                change.finish()
        self.store.sweep()

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        if self.store.is_changing_memory:
            raise CorpusBusy("This thread is in the middle of a change to the in-memory corpus. Finish that first.")
        repairs: dict[tuple[int, int], int] = {}
        while True:
            if self._faults != count_faults():
                self._reload()
            with self.store.reading() as connection:
                try:
                    if self._damages:
                        raise self._damages.popleft()
                    view = read_view(connection, partial(self._load, connection), self._last_view())
                except SegmentDamaged as error:
                    damage = error
                else:
                    if self._view is None or self._view.generation < view.generation:
                        self._view = view
                        self._compare_later(view)
                    with self._noticing_damage(view):
                        yield Snapshot(view, connection, self._embedders.for_config)
                    return
            repairs[damage.row[:2]] = tries = repairs.get(damage.row[:2], 0) + 1
            if tries > MOST_REPAIRS:
                raise CorpusDamaged(
                    f"The index of the corpus {self._name!r} is damaged ({damage}), and so is what it is rebuilt to. "
                    f"Build the corpus again from its source."
                )
            self._repair(damage)

    def verify(self) -> dict[str, Any]:
        databases = self.store.check_databases()
        problems = [f"{name}: {found}" for name, found in databases.items() if found != "ok"]
        rows, repaired = self._read_segments(), list[str]()
        for row in rows:
            try:
                self.store.check(row)
            except SegmentDamaged as damage:
                try:
                    self._repair(damage, WAIT_SECONDS)
                except ShortlistError as error:
                    problems.append(f"{damage}, and cannot be rebuilt: {error}")
                    continue
                if row in self._read_segments():
                    problems.append(
                        f"{damage}, and could not be replaced: the folder is read-only, full, locked or foreign"
                    )
                else:
                    repaired.append(str(damage))
        try:
            documents = sum(1 for _ in self.scan())
            with self.snapshot() as state:
                passages = sum(1 for _ in state.walk())
        except CorpusError as error:
            documents = passages = 0
            problems.append(str(error))
        checked = {"segments": len(rows), "bytes": sum(row.bytes for row in rows), "databases": [*databases]}
        return checked | {"documents": documents, "passages": passages, "repaired": repaired, "problems": problems}

    def _read_segments(self) -> list[SegmentRow]:
        with self.store.reading() as connection:
            return read_segments(connection)

    # Noticing damage of mapped files

    def _compare_later(self, view: View) -> None:
        """Compare the mapped files of a view in the background, each once."""
        rows = {item.row for item in view.loaded}
        fresh = {row for row in rows - self._compared if self.store.is_mapped(row)}
        self._compared = (self._compared & rows) | fresh
        self._sound = {(check, row) for check, row in [*self._sound] if row in rows}
        own = weakref.ref(self)
        for row in fresh:
            segment_checks.begin(partial(_compare, own, row))

    def check_file(self, check: Callable[..., None], row: SegmentRow, *arguments: object) -> None:
        """Check a mapped file, once, unless it is already replaced in memory; the next snapshot repairs damage."""
        if (check.__name__, row) not in self._sound and row not in self._rebuilt:
            try:
                check(row, *arguments)
            except SegmentDamaged as damage:
                self._damages.append(damage)
            else:
                self._sound.add((check.__name__, row))

    def _reload(self) -> None:
        """Forget the files that are mapped, because part of one was missing when it was read."""
        self._faults, self._view = count_faults(), None
        self._compared, self._sound = set(), set()

    @contextlib.contextmanager
    def _noticing_damage(self, view: View) -> Iterator[None]:
        """Report the damage of a mapped file that was not compared before it was used."""
        try:
            yield
        except (sqlite3.DatabaseError, IndexError) as error:  # what a damaged segment refers to is not there
            for item in view.loaded:
                if self.store.is_mapped(item.row):
                    self.check_file(self.store.check, item.row)
            if not self._damages:
                raise
            raise CorpusError(
                f"The index of the corpus {self._name!r} is damaged ({self._damages[0]}). It is rebuilt from its "
                f"documents with the next search. Try again."
            ) from error
        if self._faults != count_faults():
            raise CorpusError(
                f"A file of the index of the corpus {self._name!r} was truncated while it was read, or its disk fails. "
                f"It is rebuilt from its documents with the next search. Try again."
            )

    def _last_view(self) -> View | None:
        """The latest view, unless a segment of it was rebuilt in memory meanwhile."""
        view = self._view
        if view and any(self._rebuilt.get(item.row, item.segment) is not item.segment for item in view.loaded):
            return None
        return view

    def _load(self, connection: sqlite3.Connection, row: SegmentRow) -> Segment:
        if rebuilt := self._rebuilt.get(row):
            return rebuilt
        segment, dim = self.store.load(row, connection), read_config(connection).dim
        if segment.dim != dim:
            raise SegmentDamaged(row, f"has vectors of {segment.dim} dimensions, not {dim}")
        return segment

    def _repair(self, damage: SegmentDamaged, wait: float = 0) -> None:
        """Rebuild a damaged segment, unless it was merged meanwhile: on disk or, if that is not possible, in memory."""
        try:
            # a reader does not write to a foreign folder
            is_live = self._rewrite(damage.row, wait) if self.store.is_own else self._rebuild(damage.row)
        except (CorpusError, OSError):
            is_live = self._rebuild(damage.row)
        if is_live:
            log.warning(
                "The index of corpus %r was damaged (%s) and was rebuilt from its documents.", self._name, damage
            )

    def _rewrite(self, row: SegmentRow, wait: float) -> bool:
        """Rebuild a segment on disk; return whether it is still live."""
        with self.store.writing(wait) as connection:
            is_live = row in read_segments(connection)
            if is_live:
                segment = rebuild_segment(connection, row, self._embedders.for_config, self.store)
                self.store.replace(connection, row[:2], self.store.save(segment) if segment.size else None)
        return is_live

    def _rebuild(self, row: SegmentRow) -> bool:
        """Rebuild a segment in memory; return whether it is still live."""
        with self.store.reading() as connection:
            live = read_segments(connection)
            if row in live:
                segment = rebuild_segment(connection, row, self._find_embedder, self.store)
                self._rebuilt = {one: self._rebuilt[one] for one in live if one in self._rebuilt} | {row: segment}
        return row in live

    def _find_embedder(self, config: Config) -> Embedder | None:
        """The embedder; none if a foreign corpus may not use the one that it names: its words can be searched."""
        try:
            return self._embedders.for_config(config)
        except EmbedderError:
            if self.store.is_own:
                raise
            return None

    @contextlib.contextmanager
    def _rows(self) -> Iterator[Rows]:
        with self.store.reading() as connection:
            yield Rows(connection)

    def scan(self) -> Iterator[Document]:
        return (document for _, document, _ in scan(self._after))

    _after = _reads(Rows.after)
    get = _reads(Rows.get)
    browse = _reads(Rows.browse)
    ids = _reads(Rows.ids)
    stamps = _reads(Rows.stamps)
    count = _reads(Rows.count)
    kinds = _reads(Rows.kinds)
    facts = _reads(Rows.facts)
    mark = _reads(Rows.mark)
    since = _reads(Rows.since)


def _compare(own: weakref.ref[LocalEngine], row: SegmentRow, pause: Callable[[float], object]) -> None:
    """Compare a file of an engine, unless it is gone by then."""
    if engine := own():
        engine.check_file(engine.store.compare, row, pause)
