"""Reads many queries from one snapshot per corpus and remembers the passages that were read.

One thread: a second one took as long on corpora of 150 to 75,000 documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from shortlist.documents import Passage
from shortlist.index.corpus import Corpus
from shortlist.index.engine import Allowed, State
from shortlist.library.opening import open_states
from shortlist.results import Mode
from shortlist.search.filters import Filter, allowed
from shortlist.search.retrieve import Found, check_comparable, check_mode, look

if TYPE_CHECKING:
    from shortlist.results import Positions

# Passages that are kept at most.
REMEMBERED = 50_000

Seen = tuple[Corpus, State, Allowed | None]
Read = Callable[["Positions"], list[Passage]]


class Reader:
    """Corpora, each in one state, with the passages that were read already."""

    def __init__(self, states: Sequence[Seen], mode: Mode) -> None:
        self._states = states
        self._mode = mode
        self._whole = [_remembering(snapshot.passages) for _, snapshot, _ in states]
        self._bare = [_remembering(partial(_read_ids, snapshot)) for _, snapshot, _ in states]

    def look(self, query: str, k: int) -> list[Found]:
        """What `retrieve` finds."""
        return self._look(query, k, self._whole)

    def look_deep(self, query: str, k: int) -> list[Found]:
        """The same with hits of which only the id is known."""
        return self._look(query, k, self._bare)

    def knows(self, terms: Sequence[str]) -> bool:
        """Whether any of these terms occurs at all."""
        return any(snapshot.lexical.knows(terms) for _, snapshot, _ in self._states)

    def _look(self, query: str, k: int, readers: Sequence[Read]) -> list[Found]:
        several = len(self._states) > 1
        return [
            look(corpus, snapshot, query, self._mode, k, mask, beside_others=several, read=read)
            for (corpus, snapshot, mask), read in zip(self._states, readers, strict=True)
        ]


@contextmanager
def reading(corpora: Sequence[Corpus], mode: Mode, filter: Filter | None = None) -> Iterator[Reader]:
    """A reader of what the corpora hold now."""
    check_mode(mode)
    with open_states(corpora) as states:
        check_comparable(states, mode)
        yield Reader([(*one, allowed(one.state, filter)) for one in states], mode)


def _read_ids(snapshot: State, positions: Positions) -> list[Passage]:
    return [Passage(id, id, "") for id in snapshot.ids(positions)]


def _remembering(read: Read) -> Read:
    known: dict[int, Passage] = {}

    def read_once(positions: Positions) -> list[Passage]:
        if len(known) > REMEMBERED:
            known.clear()
        places = positions.tolist()
        missing = positions[[place not in known for place in places]]
        if len(missing):
            known.update(zip(missing.tolist(), read(missing), strict=True))
        return [known[place] for place in places]

    return read_once
