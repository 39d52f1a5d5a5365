"""What was learned from use: read from the log when it has changed, and applied to the scores of a query.

A document without examples keeps its score.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.errors import CorpusError
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.vector_cache import is_cached
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import AllScores, Scores
from shortlist.index.storage.usage_log import UsageLog, was_forgotten
from shortlist.results import Ranking
from shortlist.retrieval.learning.examples import AnyKey, Threshold, collect_examples, fit_threshold, key_of
from shortlist.retrieval.learning.lessons import Lessons, bound_gain, make_lessons
from shortlist.retrieval.relevance import THRESHOLD

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, Located, State
    from shortlist.results import Floats, Positions, Vectors

log = logging.getLogger("shortlist")

ENCODE_SECONDS = 0.3  # for the vectors of new queries with a slow embedder; the others follow with later searches
RELEARN_AT_ONCE = 0.5  # seconds that reading the log may take with every new use
RELEARN_SHARE = 20  # a longer log is read again after this many times the time that it takes
MOST_LOST = 0.08  # of a score: a document that was used for other things is still found in its own words
ADDED = 20  # documents that examples may add to those that are found without them
CHECK_SECONDS = 30.0  # between checks for changed documents in an engine that does not announce changes


class _Places(NamedTuple):
    """Where the documents with a row are in a state: those that are still what they were when they were used."""

    at: float  # the generation of the state, or when it was read
    rows: dict[str, int]  # by id
    positions: Positions  # of all of them, in order
    row_of: Positions  # at each of these positions


@dataclass
class Learned:
    """What was learned for a corpus so far."""

    log: UsageLog
    version: int
    embedder: str  # its name and dimension
    lessons: Lessons | None = None
    doubts: dict[str, dict[AnyKey, float]] = field(default_factory=dict)  # see Examples
    threshold: Threshold | None = None
    is_complete: bool = True  # whether the vectors of all examples are known
    next_at: float = 0.0  # when it may be read again
    places: _Places | None = None

    @property
    def least_relevance(self) -> float:
        return self.threshold.value if self.threshold else THRESHOLD

    def is_current(self, corpus: Corpus, version: int, embedder: str) -> bool:
        if self.log is not corpus.usage or self.embedder != embedder or was_forgotten(self.version, version):
            return False
        return (self.version == version and self.is_complete) or time.monotonic() < self.next_at


_cache: WeakKeyDictionary[Corpus, Learned] = WeakKeyDictionary()


def find_threshold(corpus: Corpus, state: State, mode: str) -> float:
    """The least relevance of a match, built in or fitted to the log."""
    learned = find_learned(corpus, state, mode)
    return learned.least_relevance if learned else THRESHOLD


def find_learned(corpus: Corpus, state: State, mode: str = "auto") -> Learned | None:
    """What was learned for a corpus so far; None if nothing was or it is not used: other modes rank as they say."""
    if corpus.learning != "on" or mode != "auto":
        return None
    known, embedder = _cache.get(corpus), f"{state.config.embedder_name} {state.config.dim}"
    try:
        version = corpus.usage.version()
        if known is None or not known.is_current(corpus, version, embedder):
            known = Learned(corpus.usage, version, embedder)
            if version:
                _learn(known, state)
            _cache[corpus] = known
    except CorpusError as error:  # a search works without the log
        if known is None or known.version >= 0:
            log.warning("The search of %s does not use what was learned: %s", corpus.name, error)
        known = _cache[corpus] = Learned(corpus.usage, -1, embedder)
    return known if known.lessons or known.doubts else None


def _learn(learned: Learned, state: State) -> None:
    began = time.monotonic()
    searches = list(learned.log)
    examples, learned.doubts = collect_examples(searches, time.time())
    vectors: dict[str, Vectors] = {}
    if state.has_vectors:
        needed = {example.query for row in examples.values() for example in row}
        latest = list(dict.fromkeys(search.query for search in reversed(searches) if search.query in needed))
        seconds = ENCODE_SECONDS if state.embedder and is_cached(state.embedder) else math.inf
        vectors = learned.log.vectors(latest, learned.embedder, state.encode, seconds)
        learned.is_complete = len(vectors) == len(needed)
        examples = {
            key: known for key, row in examples.items() if (known := [one for one in row if one.query in vectors])
        }
    learned.lessons = make_lessons(examples, vectors, state.lexical) if examples else None
    learned.threshold = fit_threshold(searches)
    if (took := time.monotonic() - began) > RELEARN_AT_ONCE:
        learned.next_at = time.monotonic() + RELEARN_SHARE * took


def apply_lessons(
    learned: Learned, state: State, query: str, terms: Mapping[str, float], own: Scores, k: int, mask: Allowed | None
) -> Scores:
    """The scores with what was learned: a document keeps a part of its own score and gains what its examples say.

    What it gains or loses is bounded, so it stays near its own score until many independent uses say otherwise.
    """
    perfect = 1.0 if state.has_vectors else state.lexical.ideal(terms) or 1.0
    changed = own
    if learned.lessons:
        changed = _apply_examples(learned, learned.lessons, state, query, terms, own, k, mask, perfect)
    if doubts := learned.doubts.get(key_of(query)):
        changed = _apply_doubts(doubts, state, changed, mask, perfect)
    return changed


def _apply_examples(
    learned: Learned,
    lessons: Lessons,
    state: State,
    query: str,
    terms: Mapping[str, float],
    own: Scores,
    k: int,
    mask: Allowed | None,
    perfect: float,
) -> Scores:
    gain, replaced, uses = lessons.compare(state.encode(query) if state.has_vectors else None, terms)
    gain *= perfect
    places = _find_places(learned, lessons, state)
    if not places.rows:
        return own
    if isinstance(own, AllScores):
        positions, rows = places.positions, places.row_of
    else:
        positions, rows = _find_affected(own.ranking(k + len(gain)).positions, places, gain, lessons, state)
    if mask is not None:
        positions, rows = positions[mask[positions]], rows[mask[positions]]
    before = own.at(positions)
    known = np.where(before > -np.inf, before, 0.0)
    change = np.minimum(gain[rows] - replaced[rows] * known, perfect * bound_gain(uses[rows], known / perfect))
    after = known + np.maximum(change, -MOST_LOST * perfect)
    after = np.where((before > -np.inf) | (change > 0), after, -np.inf)
    return _replace_scores(own, positions, after)


def _apply_doubts(
    doubts: Mapping[AnyKey, float], state: State, own: Scores, mask: Allowed | None, perfect: float
) -> Scores:
    """Lower the documents that were wrong for a query, by as much as the same number of uses would raise them."""
    found = state.find_documents(list({id for id, _ in doubts}))
    by_id = {id: doubts.get((id, document.hash), doubts.get((id, None), 0.0)) for id, document in found.items()}
    positions, rows = _list_positions(found, {id: row for row, id in enumerate(by_id)})
    if mask is not None:
        positions, rows = positions[mask[positions]], rows[mask[positions]]
    lost = bound_gain(np.array(list(by_id.values()))[rows], np.ones(len(rows)))
    return _replace_scores(own, positions, own.at(positions) - perfect * lost)


def _replace_scores(own: Scores, positions: Positions, scores: Floats) -> Scores:
    if not isinstance(own, AllScores):
        return _Changed(own, positions, scores)
    changed = own.scores.copy()
    changed[positions] = scores
    return AllScores(changed)


def _find_places(learned: Learned, lessons: Lessons, state: State) -> _Places:
    """The places of a state, read once; if it is not isolated, every now and then."""
    at = float(time.monotonic() // CHECK_SECONDS if state.generation is None else state.generation)
    places = learned.places
    if places is None or places.at != at:
        found = state.find_documents([id for id, _ in lessons.keys])
        rows = {id: row for row, (id, hash) in enumerate(lessons.keys) if id in found and found[id].hash == hash}
        places = learned.places = _Places(at, rows, *_list_positions(found, rows))
    return places


def _list_positions(found: Mapping[str, Located], rows: Mapping[str, int]) -> tuple[Positions, Positions]:
    """The positions of all these documents in order, and their rows."""
    listed = [found[id].positions for id in rows]
    positions = np.concatenate([*listed, np.zeros(0, np.int64)])
    row_of = np.repeat(np.array(list(rows.values()), np.int64), [len(one) for one in listed])
    order = np.argsort(positions)
    return positions[order], row_of[order]


def _find_affected(
    ranked: Positions, places: _Places, gain: Floats, lessons: Lessons, state: State
) -> tuple[Positions, Positions]:
    """Those of the ranked positions that have a row, and all positions of the rows that gain most."""
    best = np.argsort(-gain)[:ADDED]
    if state.generation is None:  # it has other positions for every query
        ids = [id for row in best[gain[best] > 0].tolist() if (id := lessons.keys[row][0]) in places.rows]
        positions, rows = _list_positions(found := state.find_documents(ids), {id: places.rows[id] for id in found})
        known = np.array([places.rows.get(id, -1) for id in state.ids(ranked)], np.int64)
    else:
        wanted = np.isin(places.row_of, best[gain[best] > 0])
        positions, rows = places.positions[wanted], places.row_of[wanted]
        at = np.minimum(np.searchsorted(places.positions, ranked), len(places.positions) - 1)
        known = np.where(places.positions[at] == ranked, places.row_of[at], -1)
    more = (known >= 0) & ~np.isin(ranked, positions)
    return np.concatenate([positions, ranked[more]]), np.concatenate([rows, known[more]])


class _Changed:
    """Scores of which some are replaced."""

    def __init__(self, own: Scores, positions: Positions, scores: Floats) -> None:
        self._own, self._positions, self._scores = own, positions, scores
        self._known = dict(zip(positions.tolist(), scores.tolist(), strict=True))

    def ranking(self, k: int) -> Ranking:
        own = self._own.ranking(k + len(self._known))
        others = ~np.isin(own.positions, self._positions)
        positions = np.concatenate([self._positions, own.positions[others]])
        scores = np.concatenate([self._scores, own.scores[others]])
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def at(self, positions: Positions) -> Floats:
        scores = self._own.at(positions)
        return np.array([self._known.get(*pair) for pair in zip(positions.tolist(), scores.tolist(), strict=True)])

    def every(self) -> None:
        return None
