"""A stored corpus as callers with some groups see it: other documents are as if they did not exist.

Hidden documents are deleted from the view of these callers, in the segments and in the tables. So nothing that is read,
counted or computed (document frequencies, average length, languages, names) can depend on them, and what searches and
reads needs no filter of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np

from shortlist.errors import CorpusError
from shortlist.index.engine import ACCESS, Viewer
from shortlist.index.snapshot import Loaded, Snapshot, View

if TYPE_CHECKING:
    from shortlist.documents import Document
    from shortlist.index.config import Config, Drift


class _Whole(Protocol):
    """The engine of all documents."""

    is_own: bool

    def config(self) -> Config: ...
    def snapshot(self) -> AbstractContextManager[Any]: ...


class _Restricted(NamedTuple):
    """A view without hidden documents, and their numbers."""

    base: View
    view: View
    hidden: frozenset[int]


class RestrictedEngine:
    """The engine of a corpus for one reader. It reads only."""

    def __init__(self, base: _Whole, viewer: Viewer) -> None:
        self._base, self._viewer = base, viewer
        self.is_own = base.is_own
        self._lock = threading.Lock()
        self._known: _Restricted | None = None

    def close(self) -> None:
        """The engine belongs to the whole corpus, which stays open."""

    def config(self) -> Config:
        return without_calibration(self._base.config())

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._base.snapshot() as whole:
            known = self._restrict(whole)
            with whole.hiding(known.view, known.hidden) as state:
                yield state

    def _restrict(self, whole: Snapshot) -> _Restricted:
        """The view of the reader; after a change, only what is new is looked at again."""
        with self._lock:
            if self._known is None or self._known.base is not whole.view:
                self._known = self._read_view(whole, self._known)
            return self._known

    def _read_view(self, whole: Snapshot, previous: _Restricted | None) -> _Restricted:
        # not of passages that were deleted: their document may have others now, with another `access`
        hidden = whole.everything() & whole.match(ACCESS, "", None, lambda access: not self._viewer.sees(access))
        named = whole.rows.everything() if self._viewer.rules else ()
        by_rule = [number for number, id, _ in named if not self._viewer.sees_id(id)]
        columns = {item.row: item.columns for item in previous.view.loaded} if previous else {}
        loaded: list[Loaded] = []
        numbers: list[int] = []
        offset = 0
        for item in whole.view.loaded:
            places = np.flatnonzero(hidden[item.part.span] | np.isin(item.segment.documents, by_rule))
            numbers += np.unique(item.segment.documents[places]).tolist()
            part = item.part.without(places, offset)
            if part.dead is None:  # so that the time of a search does not show that nothing is hidden
                part.dead = np.zeros(part.postings.size, dtype=bool)
            if part.live:
                loaded.append(Loaded(item.row, item.segment, part, columns.get(item.row, {})))
                offset += item.segment.size
        config = without_calibration(whole.config)
        view = View(whole.view.generation, whole.view.last_tombstone, config, tuple(loaded))
        return _Restricted(whole.view, view, frozenset(numbers))

    def get(self, id: str) -> Document | None:
        with self.snapshot() as state:
            return state.get(id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        with self.snapshot() as state:
            return state.rows.browse(text, offset, limit)

    def scan(self) -> Iterator[Document]:
        return iter(self.browse("", 0, None)[0])

    def ids(self) -> list[str]:
        with self.snapshot() as state:
            return state.rows.ids()

    def count(self) -> int:
        with self.snapshot() as state:
            return state.count()

    def kinds(self) -> dict[str, int]:
        with self.snapshot() as state:
            return state.rows.kinds()

    def facts(self) -> dict[str, Any]:
        """Without what a change of a hidden document changes, such as the number of segments."""
        with self.snapshot() as state:
            return {"documents": state.count(), "passages": state.lexical.live}

    def since(self, mark: dict[str, Any]) -> Drift:
        return self._refuse("calibration")

    def mark(self) -> dict[str, Any]:
        return self._refuse("calibration")

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse(name)

    def _refuse(self, what: str) -> NoReturn:
        raise CorpusError(f"Callers who do not see all documents of a corpus may only read it ({what}).")


def without_calibration(config: Config) -> Config:
    """What was calibrated depends on the documents that there were, hidden ones among them."""
    return replace(config, floors={}, calibrations={})
