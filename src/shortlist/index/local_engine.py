"""How is a corpus kept on this machine? In a folder, or in memory: a store, its views, and changes to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shortlist.errors import CorpusBusy
from shortlist.index.config import Config
from shortlist.index.engine import Documents, Drift, Progress
from shortlist.index.snapshot import Snapshot
from shortlist.index.storage.database import Store
from shortlist.index.storage.records import (
    DOCUMENT_COLUMNS,
    Rows,
    batched,
    browse_documents,
    count_kinds,
    find_stored,
    read_document,
    to_document,
)
from shortlist.index.storage.segment import SegmentDamaged
from shortlist.index.storage.segment_set import Views
from shortlist.index.storage.sql_tables import read_config, read_last_numbers, read_segments, read_stamps, write_config
from shortlist.index.storage.writer import Change
from shortlist.index.sync import BATCH, compare, sync

if TYPE_CHECKING:
    import sqlite3

    from shortlist.documents import Changes, Document, Stamps
    from shortlist.index.embedders.embedder_binding import Chosen
    from shortlist.protocols import Embedder


class Embedded:
    """SQLite and segment files of one folder, or all of it in memory."""

    def __init__(self, store: Store, name: str, chosen: Chosen) -> None:
        self.store = store
        self._views = Views(store, name, chosen.of)
        self._chosen = chosen
        self._is_lexical = False  # as far as is known: no embedder to load

    @property
    def release(self) -> Callable[[], None]:
        return self.store.close

    def config(self) -> Config:
        with self.store.reading() as connection:
            return read_config(connection)

    def configure(self, change: Callable[[Config], Config]) -> None:
        with self.store.writing() as connection:
            write_config(connection, change(read_config(connection)))

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        changes = sync(self._rows, self._change, documents, prune, progress, strict)
        self.store.sweep()
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        return compare(self._rows, documents, progress)

    def remove(self, ids: Sequence[str]) -> int:
        removed = 0
        with self._change() as change:
            for batch in batched(ids, BATCH):
                for number, _ in find_stored(change.connection, batch).values():
                    change.remove(number)
                    removed += 1
        self.store.sweep()
        return removed

    def compact(self) -> None:
        with self._change() as change:
            change.compact()
        self.store.sweep()

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        with self.store.writing() as connection:
            config = change(read_config(connection))
            write_config(connection, config)
            with contextlib.closing(Change(self.store, connection, config, embedder)) as work:
                work.reindex(progress)
                work.finish()
        self.store.sweep()

    @contextlib.contextmanager
    def _change(self) -> Iterator[Change]:
        if not self._chosen.is_loaded and not self._is_lexical:
            # loaded before the lock is taken, since that may take long
            self._is_lexical = self._chosen.of(self.config()) is None
        with self.store.writing() as connection:
            config = read_config(connection)
            with contextlib.closing(Change(self.store, connection, config, self._chosen.of(config))) as change:
                yield change
                change.finish()

    # Reading

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        if self.store.writes_here:
            raise CorpusBusy("This thread is in the middle of a change to the corpus in memory: finish that first.")
        last_damage = None
        while True:
            with self.store.reading() as connection:
                try:
                    view = self._views.current(connection)
                except SegmentDamaged as error:
                    damage = error
                else:
                    yield Snapshot(view, connection, self._chosen.of)
                    return
            if last_damage == (damage.row, damage.generation):  # not merely merged away since the state was read
                self._views.mend(damage)
            last_damage = damage.row, damage.generation

    @contextlib.contextmanager
    def _rows(self) -> Iterator[Rows]:
        with self.store.reading() as connection:
            yield Rows(connection)

    def get(self, id: str) -> Document | None:
        with self.store.reading() as connection:
            return read_document(connection, id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        with self.store.reading() as connection:
            return browse_documents(connection, text, offset, limit)

    def scan(self) -> Iterator[Document]:
        query = f"SELECT num, {DOCUMENT_COLUMNS}, hash FROM documents WHERE num > ? ORDER BY num LIMIT {BATCH}"
        last = 0
        while True:
            with self.store.reading() as connection:
                rows = connection.execute(query, (last,)).fetchall()
                documents = [to_document(row[1:]) for row in rows]
            if not rows:
                return
            last = rows[-1][0]
            yield from documents

    def ids(self) -> list[str]:
        with self.store.reading() as connection:
            return [id for (id,) in connection.execute("SELECT id FROM documents ORDER BY num")]

    def stamps(self) -> Stamps:
        with self.store.reading() as connection:
            return read_stamps(connection)

    def count(self) -> int:
        with self.store.reading() as connection:
            return _count(connection)

    def kinds(self) -> dict[str, int]:
        with self.store.reading() as connection:
            return count_kinds(connection)

    def facts(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
            return {
                "documents": _count(connection),
                "passages": passages,
                "segments": len(read_segments(connection)),
            }

    def mark(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            return {
                "documents": _count(connection),
                "passages": _live(connection),
                "last_passage": read_last_numbers(connection)[1],
            }

    def since(self, mark: dict[str, Any]) -> Drift:
        with self.store.reading() as connection:
            return Drift(read_last_numbers(connection)[1] - mark["last_passage"], _live(connection))


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])


def _live(connection: sqlite3.Connection) -> int:
    """How many passages there are, without a walk over all of them."""
    (dead,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return sum(row.size for row in read_segments(connection)) - int(dead)
