"""The embedded engine: a corpus in a folder or in memory, as an SQLite database and segment files."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from shortlist.errors import CorpusBusy
from shortlist.index.config import Config
from shortlist.index.engine import Documents, Drift
from shortlist.index.snapshot import Snapshot, count_documents, count_passages, drift_since
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
from shortlist.index.sync import BATCH, sync
from shortlist.protocols import Progress

if TYPE_CHECKING:
    from shortlist.documents import Changes, Document, Stamps
    from shortlist.index.embedders.embedder_binding import EmbedderBinding
    from shortlist.protocols import Embedder

P = ParamSpec("P")
T = TypeVar("T")


class LocalEngine:
    """The engine of one store."""

    def __init__(self, store: Store, name: str, chosen: EmbedderBinding) -> None:
        self.store = store
        self._views = Views(store, name, chosen.of)
        self._chosen = chosen
        self._is_lexical = False  # True once it is known that there is no embedder to load

    def close(self) -> None:
        self.store.close()

    def config(self) -> Config:
        return self._read(read_config)

    def configure(self, change: Callable[[Config], Config]) -> None:
        with self.store.writing() as connection:
            write_config(connection, change(read_config(connection)))

    # Writing

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        changes = sync(self._rows, self._change, documents, prune, progress, strict)
        self.store.sweep()
        return changes

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        return sync(self._rows, None, documents, True, progress)

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
        if self._chosen.loaded is None and not self._is_lexical:
            # loaded before the lock is taken, because loading can be slow
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
            if last_damage == (damage.row, damage.generation):  # not just merged away since the state was read
                self._views.mend(damage)
            last_damage = damage.row, damage.generation

    @contextlib.contextmanager
    def _rows(self) -> Iterator[Rows]:
        with self.store.reading() as connection:
            yield Rows(connection)

    def _read(
        self, read: Callable[Concatenate[sqlite3.Connection, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        with self.store.reading() as connection:
            return read(connection, *arguments, **options)

    def get(self, id: str) -> Document | None:
        return self._read(read_document, id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        return self._read(browse_documents, text, offset, limit)

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
        return self._read(read_stamps)

    def count(self) -> int:
        return self._read(count_documents)

    def kinds(self) -> dict[str, int]:
        return self._read(count_kinds)

    def facts(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            return {
                "documents": count_documents(connection),
                "passages": int(connection.execute("SELECT count(*) FROM passages").fetchone()[0]),
                "segments": len(read_segments(connection)),
            }

    def mark(self) -> dict[str, Any]:
        with self.store.reading() as connection:
            return {
                "documents": count_documents(connection),
                "passages": count_passages(connection),
                "last_passage": read_last_numbers(connection)[1],
            }

    def since(self, mark: dict[str, Any]) -> Drift:
        with self.store.reading() as connection:
            return drift_since(connection, mark)
