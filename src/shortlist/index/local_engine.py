"""The embedded engine: a corpus in a folder or in memory, as an SQLite database and segment files."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from shortlist.errors import CorpusBusy, CorpusError, EmbedderError
from shortlist.index.config import Config
from shortlist.index.engine import Documents
from shortlist.index.snapshot import Snapshot, View, read_view
from shortlist.index.storage.database import Store
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


def _reads(read: Callable[Concatenate[Rows, P], T]) -> Callable[Concatenate[LocalEngine, P], T]:
    """A method of Rows as a method of the engine, in a transaction of its own."""

    def read_rows(self: LocalEngine, /, *arguments: P.args, **options: P.kwargs) -> T:
        with self._rows() as rows:
            return read(rows, *arguments, **options)

    return read_rows


class LocalEngine:
    """The engine of one store."""

    def __init__(self, store: Store, name: str, chosen: EmbedderBinding) -> None:
        self.store = store
        self.close = store.close
        self.is_own = store.is_own
        self._name = name
        self._chosen = chosen
        self._view: View | None = None  # the latest one
        self._rebuilt: dict[SegmentRow, Segment] = {}  # damaged segments that could not be rewritten

    def config(self) -> Config:
        with self.store.reading() as connection:
            return read_config(connection)

    def configure(self, change: Callable[[Config], Config]) -> None:
        with self.store.writing() as connection:
            write_config(connection, change(read_config(connection)))

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
        self._chosen.of(self.config())  # loaded before the lock is taken, because loading can be slow
        with self.store.writing() as connection:
            config = read_config(connection)
            embedder = self._chosen.of(config)
            with contextlib.closing(Change(self.store, connection, config, embedder, progress)) as change:
                yield change
                change.finish()
        self.store.sweep()

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        if self.store.is_changing_memory:
            raise CorpusBusy("This thread is in the middle of a change to the in-memory corpus. Finish that first.")
        while True:
            with self.store.reading() as connection:
                try:
                    view = read_view(connection, partial(self._load, connection), self._view)
                except SegmentDamaged as error:
                    damage = error
                else:
                    if self._view is None or self._view.generation < view.generation:
                        self._view = view
                    yield Snapshot(view, connection, self._chosen.of)
                    return
            self._repair(damage)

    def _load(self, connection: sqlite3.Connection, row: SegmentRow) -> Segment:
        return self._rebuilt.get(row) or self.store.load(row, connection)

    def _repair(self, damage: SegmentDamaged) -> None:
        """Rebuild a damaged segment, unless it was merged meanwhile: on disk or, if that is not possible, in memory."""
        if not self._rewrite(damage.row):
            with self.store.reading() as connection:
                live = read_segments(connection)
                if damage.row not in live:
                    return
                segment = rebuild_segment(connection, damage.row, self._find_embedder, self.store.derived)
                rebuilt = {one: self._rebuilt[one] for one in live if one in self._rebuilt}
                self._rebuilt = rebuilt | {damage.row: segment}
        log.warning("The index of corpus %r was damaged (%s) and was rebuilt from its documents.", self._name, damage)

    def _rewrite(self, row: SegmentRow) -> bool:
        """Rebuild a segment on disk; return whether that was possible. A reader does not write to a foreign folder."""
        if not self.store.is_own:
            return False
        try:
            with self.store.writing(wait=0) as connection:
                if row in read_segments(connection):
                    segment = rebuild_segment(connection, row, self._chosen.of, self.store.derived)
                    self.store.replace(connection, row[:2], self.store.save(segment) if segment.size else None)
        except (CorpusError, OSError):
            return False
        return True

    def _find_embedder(self, config: Config) -> Embedder | None:
        """The embedder; none if a foreign corpus may not use the one that it names: its words can be searched."""
        try:
            return self._chosen.of(config)
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
