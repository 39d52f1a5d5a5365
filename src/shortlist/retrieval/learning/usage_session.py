"""The recent searches of one agent, so that what it uses is stored with the search that showed it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shortlist._text import clean
from shortlist.errors import CorpusError

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus
    from shortlist.index.storage.usage_log import Outcome, Use

log = logging.getLogger("shortlist")

MOST_SEARCHES = 10
REMEMBERED = 30 * 60.0  # seconds
PAUSE = 60.0  # seconds without the log after an error, since each attempt may wait for a lock

Shown = tuple[str, str, float | None]  # the name of a corpus, an id in it, and the relevance


class _Refused(NamedTuple):
    """A search that selected nothing, and what was credited to it."""

    query: str
    credited: set[tuple[str, str]]  # names of corpora and ids


class _Stored(NamedTuple):
    """A search in the log of one corpus, and the last stored outcome of each document that it showed."""

    corpus: Corpus
    number: int
    outcomes: dict[str, Outcome | None]


class UsageSession:
    """What one agent searches for and uses. Methods may be called from any thread.

    They never raise an error of the log: it is logged once, and nothing is stored for a while. After half an hour
    without a search, the next one begins a new session in the log.
    """

    def __init__(self) -> None:
        self._id = ""
        self._recent: deque[tuple[float, dict[str, _Stored], _Refused | None]] = deque(maxlen=MOST_SEARCHES)
        self._lock = threading.Lock()
        self._paused_until = 0.0
        self._has_warned = False

    def searched(self, corpora: Iterable[Corpus], query: str, shown: Sequence[Shown], *, refused: bool = False) -> None:
        """Store a search in the log of each corpus of which it showed something.

        One that is `refused` selected nothing: what is used after the next wording is credited to it as well.
        """
        by_corpus: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
        for name, id, relevance in shown:
            by_corpus[name].append((id, relevance))
        searched = [one for one in corpora if one.name in by_corpus and one.learning != "off"]
        with self._storing() as now:
            if now is None or not (searched or refused):
                return
            if not self._recent:
                self._id = uuid.uuid4().hex
            stored: dict[str, _Stored] = {}
            self._recent.append((now, stored, _Refused(clean(query), set()) if refused else None))
            for corpus in searched:
                items = by_corpus[corpus.name]
                number = corpus.usage.add(clean(query), items, session=self._id)
                stored[corpus.name] = _Stored(corpus, number, dict.fromkeys(id for id, _ in items))

    def used(self, corpus: str, id: str, outcome: Outcome) -> None:
        """Store what became of a document with the latest search that showed it; nothing if none did.

        The same outcome again after the same search is not stored.
        """
        with self._storing() as now:
            if now is None:
                return
            for at in range(len(self._recent) - 1, -1, -1):
                found = self._recent[at][1].get(corpus)
                if found is None or id not in found.outcomes:
                    continue
                is_new = found.outcomes[id] != outcome and found.corpus.learning != "off"
                if is_new and (use := found.corpus.use_of(id, outcome)):
                    found.corpus.usage.add_use(found.number, use)
                    found.outcomes[id] = outcome
                    if outcome != "failed" and self._recent[at][2] is None:
                        self._credit_refused(at, found.corpus, use)
                return

    def _credit_refused(self, at: int, corpus: Corpus, use: Use) -> None:
        """Store that the searches right before this one, which selected nothing, were about the same document."""
        for _, stored, refused in reversed([*self._recent][:at]):
            if refused is None:
                return
            if (corpus.name, use.id) in refused.credited:
                continue
            refused.credited.add((corpus.name, use.id))
            credit = use._replace(outcome="reworded")
            if corpus.name in stored:
                corpus.usage.add_use(stored[corpus.name].number, credit)
            else:
                corpus.usage.add(refused.query, [], [credit], session=self._id)

    @contextlib.contextmanager
    def _storing(self) -> Iterator[float | None]:
        """The time now, without the searches that are too old; None while nothing is stored."""
        with self._lock:
            now = time.monotonic()
            while self._recent and now - self._recent[0][0] > REMEMBERED:
                self._recent.popleft()
            try:
                yield now if now >= self._paused_until else None
            except (CorpusError, OSError) as error:
                self._paused_until = time.monotonic() + PAUSE
                if not self._has_warned:
                    log.warning("Nothing is learned from use at the moment: %s", error)
                    self._has_warned = True
