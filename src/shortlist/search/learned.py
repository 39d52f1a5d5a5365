"""What was learned from use: the queries that led to a document are examples, and similar queries find it.

A document with examples is ranked by a mix of its own text and of them; the more examples, the more they count. One
without any keeps its score. The numbers were fitted with `python -m bench learning`, which also shows what they bring.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.errors import CorpusError
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.vector_cache import is_cached
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import AllScores, Scores
from shortlist.index.storage.usage_log import LONGEST_QUERY, Search, UsageLog, was_forgotten
from shortlist.index.text.query_terms import weigh_terms
from shortlist.results import Ranking
from shortlist.search.relevance import FLOOR

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, LexicalIndex, Located, State
    from shortlist.results import Floats, Positions, Vectors

log = logging.getLogger("shortlist")

# How much an example counts by how it came about. A tool that is only read was looked at, not used.
WORTH = {"called": 1.0, "read": 0.5}
MOST_REPEATED = 2.0  # one query, however often it is repeated
MOST_IN_SESSION = 5  # queries of one session for one document
MOST_EXAMPLES = 30  # of one document, those with the largest weights
OFFERED = 0.25  # a use counts less if the same query was also followed by no use of what it showed
HALF_LIFE = 180 * 86_400.0  # seconds after which an example counts half

# Log odds of relevance for a change of the score by 1.
ODDS = 10.0

# The threshold is fitted to the log once it has this many searches after which something was used, and nothing was.
LEAST_USED, LEAST_UNUSED = 50, 20
FITTED = 1_000  # searches, the latest ones
LOST = 0.05  # share of what was used that would be refused
LIMITS = (0.2, 0.35)

ENCODE_SECONDS = 0.3  # for the vectors of new queries with a slow embedder; the others follow with later searches
RELEARN_AT_ONCE = 0.1  # seconds that reading the log may take with every new use
RELEARN_SHARE = 20  # a longer log is read again after this many times the time that it takes

CENTERED_BY = 10.0  # examples after which the mean of all of them is removed by half
COMPARED = 4  # documents whose examples are compared one by one with the query
ADDED = 20  # documents that examples may add to those that are found without them
CHECK_SECONDS = 30.0  # between checks for changed documents in an engine that does not announce changes


class Weight(NamedTuple):
    """A weight that grows with the number of examples, to `most`; at `half` of them it is half of that."""

    most: float
    half: float

    def of(self, examples: Any) -> Any:
        return self.most * examples / (examples + self.half)


OWN = Weight(0.95, 4.5)  # what the document's own score loses
MEANING = Weight(0.44, 1.7)  # cosine with the examples
WORDS = Weight(0.2, 2.0)  # cosine of the words
LEVEL = Weight(0.08, 2.5)  # what a query must exceed: any two queries have something in common
SIMILARITY = Weight(0.2, 1.7)  # how much more than usual the examples are like each other, so that more is expected
SAME = Weight(0.3, 1.0)  # the query is one of the examples


class Example(NamedTuple):
    query: str
    weight: float


@dataclass(frozen=True)
class Lessons:
    """The examples of a log as arrays: one row for each document, as it was defined when it was used."""

    keys: list[tuple[str, bytes]]  # id and hash
    examples: list[list[Example]]
    count: Floats  # weight of all examples of each row
    similarity: Floats  # how much more than usual the examples of each row are like each other
    mean: Vectors  # of all examples, which says how people ask here
    centers: Vectors
    vectors: Vectors  # of all examples, by row
    starts: list[int]
    words: dict[str, tuple[Positions, Floats]]  # rows with a term, and its weights
    rarity: dict[str, float]
    rarest: float
    queries: dict[str, list[tuple[int, float]]]  # rows and weights of the examples with a query

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What every query uses: weights of meaning and words, what a row must exceed, and what it keeps."""
        needed = LEVEL.of(self.count) + SIMILARITY.of(self.count) * self.similarity
        return MEANING.of(self.count), WORDS.of(self.count), needed, 1.0 - OWN.of(self.count)

    def compare(self, query: str, vector: Vectors | None, terms: Mapping[str, float]) -> tuple[Floats, Floats]:
        """What the examples of each row add to a score, and the share of its own score that it keeps."""
        by_meaning, by_words, needed, kept = self._weights
        words = self._compare_words(terms)
        meaning = words if vector is None else self._compare_vectors(vector)
        gain: Floats = by_meaning * meaning + by_words * words - needed
        for row, weight in self.queries.get(_key_of(query), ()):
            gain[row] += SAME.of(weight)
        return gain, kept

    def _compare_vectors(self, vector: Vectors) -> Floats:
        query = vector - self.mean
        query /= max(math.sqrt(query @ query), 1e-9)
        cosines: Floats = (self.centers @ query).astype(np.float64)
        for row in np.argsort(-cosines)[:COMPARED].tolist():
            nearest = (self.vectors[self.starts[row] : self.starts[row + 1]] @ query).max()
            cosines[row] = (cosines[row] + nearest) / 2
        return cosines

    def _compare_words(self, terms: Mapping[str, float]) -> Floats:
        cosines = np.zeros(len(self.keys))
        length = 0.0
        for term, weight in terms.items():
            weight *= self.rarity.get(term, self.rarest)
            length += weight * weight
            if found := self.words.get(term):
                cosines[found[0]] += weight * found[1]
        return cosines / math.sqrt(length) if length else cosines


def collect_examples(searches: Sequence[Search], now: float) -> dict[tuple[str, bytes], list[Example]]:
    """The queries that led to each document, weighed by how often, how recently and how consistently they did."""
    worth: dict[tuple[str, bytes], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    against: dict[tuple[str, str], float] = defaultdict(float)  # query and id
    in_session: Counter[tuple[str, str]] = Counter()  # session and id
    for search in searches:
        age = 0.5 ** (max(now - search.at, 0.0) / HALF_LIFE)
        for id, hash, outcome in search.uses:
            if outcome not in WORTH:
                against[search.query, id] += 1.0
                continue
            in_session[search.session, id] += 1
            if not search.session or in_session[search.session, id] <= MOST_IN_SESSION:
                worth[id, hash][search.query] += WORTH[outcome] * age
        for id in search.shown.keys() - {use.id for use in search.uses}:
            against[search.query, id] += OFFERED
    examples = {}
    for (id, hash), queries in worth.items():
        weighed = [
            Example(query, min(value, MOST_REPEATED) * value / (value + against[query, id]))
            for query, value in queries.items()
        ]
        weighed.sort(key=lambda example: -example.weight)
        examples[id, hash] = weighed[:MOST_EXAMPLES]
    return examples


def make_lessons(
    examples: Mapping[tuple[str, bytes], list[Example]], vectors: Mapping[str, Vectors], lexical: LexicalIndex
) -> Lessons:
    """Arrays of the examples; `vectors` are those of their queries, empty without an embedder."""
    keys, listed = list(examples), list(examples.values())
    flat = [example for row in listed for example in row]
    weights = np.array([example.weight for example in flat])
    starts = [0, *np.cumsum([len(row) for row in listed]).tolist()]
    mean, centers, rows = np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)
    similarity = np.zeros(len(keys))
    if vectors:
        rows = np.array([vectors[example.query] for example in flat], np.float32)
        mean = (weights @ rows / (weights.sum() + CENTERED_BY)).astype(np.float32)
        rows = _unit(rows - mean)
        weighed = rows * weights[:, None].astype(np.float32)
        sums = np.add.reduceat(weighed, starts[:-1], axis=0)
        centers, similarity = _unit(sums), _compare_within(rows, weighed, sums, starts)
    terms = [weigh_terms(lexical.analyzer, example.query) for example in flat]
    occurring = Counter(term for one in terms for term in one)
    known, size = lexical.frequency(list(occurring)), len(flat) + lexical.live
    rarity = {term: _rarity(size, count + known.get(term, 0)) for term, count in occurring.items()}
    words = _weigh_words(terms, weights, starts, rarity)
    count = np.add.reduceat(weights, starts[:-1])
    queries: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row, own in enumerate(listed):
        for example in own:
            queries[_key_of(example.query)].append((row, example.weight))
    rarest = _rarity(size, 0)
    return Lessons(keys, listed, count, similarity, mean, centers, rows, starts, words, rarity, rarest, dict(queries))


def _compare_within(rows: Vectors, weighed: Vectors, sums: Vectors, starts: Sequence[int]) -> Floats:
    """How like the others the examples of each row are, less the mean of all; a row with few is drawn to the mean."""
    sizes = np.diff(starts)
    others = _unit(np.repeat(sums, sizes, axis=0) - weighed)
    cosines = np.einsum("ij,ij->i", rows, others)
    compared = sizes > 1
    if not compared.any():
        return np.zeros(len(sizes))
    mean = cosines[np.repeat(compared, sizes)].mean()
    total = np.add.reduceat(cosines, starts[:-1])
    similarity: Floats = np.where(compared, (total - sizes * mean) / (sizes + 2), 0.0)
    return similarity


def _weigh_words(
    terms: Sequence[Mapping[str, float]], weights: Floats, starts: Sequence[int], rarity: Mapping[str, float]
) -> dict[str, tuple[Positions, Floats]]:
    """For each term the rows with it, and its weight in the unit vector of each row."""
    by_term: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row, (start, end) in enumerate(pairwise(starts)):
        total: dict[str, float] = defaultdict(float)
        for at in range(start, end):
            own = {term: weight * rarity[term] for term, weight in terms[at].items()}
            scale = weights[at] / (_length(own) or 1.0)
            for term, weight in own.items():
                total[term] += scale * weight
        length = _length(total) or 1.0
        for term, weight in total.items():
            by_term[term].append((row, weight / length))
    return {
        term: (np.array([row for row, _ in found]), np.array([weight for _, weight in found]))
        for term, found in by_term.items()
    }


def _key_of(query: str) -> str:
    return " ".join(query.split())[:LONGEST_QUERY].casefold()


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values()))


def _rarity(size: int, count: int) -> float:
    return math.log(1.0 + size / (count + 0.5))


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.einsum("...i,...i->...", rows, rows))[..., None]
    unit: Vectors = rows / np.maximum(lengths, np.float32(1e-9))
    return unit


class _Places(NamedTuple):
    """Where the documents with a row are in a state: those that are still what they were when they were used."""

    at: float  # the generation of the state, or when it was read
    rows: dict[str, int]  # by id
    positions: Positions  # of all of them, in order
    row_of: Positions  # at each of these positions


class Threshold(NamedTuple):
    """The least relevance of a match, and the searches that it was fitted to."""

    value: float
    used: int
    unused: int


def fit_threshold(searches: Sequence[Search]) -> Threshold | None:
    """Fit the threshold to the log; None without enough searches.

    What was used was relevant: the threshold is where nearly all of it would still be returned. Nothing being used is
    weak evidence that nothing matched: the threshold is raised only if that was so for most of what it then refuses.
    """
    best: dict[bool, list[float]] = {True: [], False: []}
    for search in searches[-FITTED:]:
        highest = max((relevance or 0.0 for relevance in search.shown.values()), default=0.0)
        if highest:
            best[any(outcome in WORTH for _, _, outcome in search.uses)].append(highest)
    used, unused = (np.array(best[kind]) for kind in (True, False))
    if len(used) < LEAST_USED or len(unused) < LEAST_UNUSED:
        return None
    value = min(max(float(np.quantile(used, LOST)), LIMITS[0]), LIMITS[1])
    value = FLOOR + (value - FLOOR) * len(used) / (len(used) + LEAST_USED)
    refused = [int(((kind >= FLOOR) & (kind < value)).sum()) for kind in (used, unused)]
    is_pointless = value > FLOOR and refused[0] >= refused[1]
    return Threshold(FLOOR if is_pointless else round(value, 3), len(used), len(unused))


@dataclass
class Learned:
    """What was learned for a corpus so far."""

    log: UsageLog
    version: int
    embedder: str
    lessons: Lessons | None = None
    threshold: Threshold | None = None
    is_complete: bool = True  # whether the vectors of all examples are known
    next_at: float = 0.0  # when it may be read again
    places: _Places | None = None

    @property
    def least_relevance(self) -> float:
        return self.threshold.value if self.threshold else FLOOR

    def is_current(self, corpus: Corpus, version: int, embedder: str) -> bool:
        if self.log is not corpus.usage or self.embedder != embedder or was_forgotten(self.version, version):
            return False
        return (self.version == version and self.is_complete) or time.monotonic() < self.next_at


_cache: WeakKeyDictionary[Corpus, Learned] = WeakKeyDictionary()


def find_threshold(corpus: Corpus, state: State, mode: str) -> float:
    """The least relevance of a match, built in or fitted to the log."""
    learned = find_learned(corpus, state, mode)
    return learned.least_relevance if learned else FLOOR


def find_learned(corpus: Corpus, state: State, mode: str = "auto") -> Learned | None:
    """What was learned for a corpus so far; None if nothing was or it is not used: other modes rank as they say."""
    if corpus.learning != "on" or mode != "auto":
        return None
    known, embedder = _cache.get(corpus), state.config.embedder_name
    try:
        version = corpus.usage.version()
        if known is None or not known.is_current(corpus, version, embedder):
            known = _cache[corpus] = Learned(corpus.usage, version, embedder)
            if version:
                _learn(known, state)
    except CorpusError as error:  # a search works without the log
        if known is None or known.version >= 0:
            log.warning("The search of %s does not use what was learned: %s", corpus.name, error)
        known = _cache[corpus] = Learned(corpus.usage, -1, embedder)
    return known if known.lessons else None


def _learn(learned: Learned, state: State) -> None:
    began = time.monotonic()
    searches = list(learned.log)
    examples = collect_examples(searches, time.time())
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
    """The scores with what was learned: a document keeps a part of its own score and gains what its examples say."""
    lessons = learned.lessons
    assert lessons is not None
    gain, kept = lessons.compare(query, state.encode(query) if state.has_vectors else None, terms)
    gain = gain if state.has_vectors else gain * state.lexical.ideal(terms)
    places = _find_places(learned, lessons, state)
    if isinstance(own, AllScores):
        positions, rows = places.positions, places.row_of
    else:
        positions, rows = _find_affected(own.ranking(k + len(gain)).positions, places, gain, lessons, state)
    if mask is not None:
        positions, rows = positions[mask[positions]], rows[mask[positions]]
    before = own.at(positions)
    after = kept[rows] * np.where(before > -np.inf, before, 0.0) + gain[rows]
    after = np.where((before > -np.inf) | (gain[rows] > 0), after, -np.inf)
    if isinstance(own, AllScores):
        scores = own.scores.copy()
        scores[positions] = after
        return AllScores(scores)
    return _Changed(own, positions, after)


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
