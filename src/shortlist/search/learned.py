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
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from shortlist.errors import CorpusError
from shortlist.index.corpus import Corpus
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import Scores
from shortlist.index.text.query_terms import weigh_terms
from shortlist.index.usage_log import Search
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, LexicalIndex, State
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

CENTERED_BY = 10.0  # examples after which the mean of all of them is removed by half
COMPARED = 8  # documents whose examples are compared one by one with the query
ADDED = 20  # documents that examples may add to those that are found without them
CHECK_SECONDS = 30.0  # between checks for changed documents in an engine that does not announce changes


class Weight(NamedTuple):
    """A weight that grows with the number of examples, to `most`; at `half` of them it is half of that."""

    most: float
    half: float

    def of(self, examples: Floats) -> Floats:
        return self.most * examples / (examples + self.half)


OWN = Weight(0.95, 5.0)  # what the document's own score loses
MEANING = Weight(0.4, 1.7)  # cosine with the examples
WORDS = Weight(0.2, 2.0)  # cosine of the words
LEVEL = Weight(0.043, 1.0)  # what a query must exceed: any two queries have something in common


class Example(NamedTuple):
    query: str
    weight: float


@dataclass(frozen=True)
class Lessons:
    """The examples of a log as arrays: one row for each document, as it was defined when it was used."""

    keys: list[tuple[str, bytes]]  # id and hash
    examples: list[list[Example]]
    count: Floats  # weight of all examples of each row
    mean: Vectors  # of all examples, which says how people ask here
    centers: Vectors
    vectors: Vectors  # of all examples, by row
    starts: list[int]
    words: dict[str, tuple[Positions, Floats]]  # rows with a term, and its weights
    rarity: dict[str, float]
    rarest: float

    def compare(self, vector: Vectors | None, terms: Mapping[str, float]) -> tuple[Floats, Floats]:
        """What the examples of each row add to a score, and the share of its own score that it keeps."""
        words = self._compare_words(terms)
        meaning = words if vector is None else self._compare_vectors(vector)
        gain = MEANING.of(self.count) * meaning + WORDS.of(self.count) * words - LEVEL.of(self.count)
        return gain, 1.0 - OWN.of(self.count)

    def _compare_vectors(self, vector: Vectors) -> Floats:
        query = _unit(vector - self.mean)
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
    against: Counter[tuple[str, str]] = Counter()  # query and id
    in_session: Counter[tuple[str, str]] = Counter()  # session and id
    for search in searches:
        age = 0.5 ** (max(now - search.at, 0.0) / HALF_LIFE)
        used = set()
        for id, hash, outcome in search.uses:
            if outcome not in WORTH:
                against[search.query, id] += 1.0  # type: ignore[assignment]
                continue
            used.add(id)
            in_session[search.session, id] += 1
            if not search.session or in_session[search.session, id] <= MOST_IN_SESSION:
                worth[id, hash][search.query] += WORTH[outcome] * age
        for id in search.shown.keys() - used:
            against[search.query, id] += OFFERED  # type: ignore[assignment]
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
    if vectors:
        rows = np.array([vectors[example.query] for example in flat], np.float32)
        mean = (weights @ rows / (weights.sum() + CENTERED_BY)).astype(np.float32)
        rows = _unit(rows - mean)
        centers = _unit(np.add.reduceat(rows * weights[:, None].astype(np.float32), starts[:-1], axis=0))
    terms = [weigh_terms(lexical.analyzer, example.query) for example in flat]
    occurring = Counter(term for one in terms for term in one)
    known, size = lexical.frequency(list(occurring)), len(flat) + lexical.live
    rarity = {term: _rarity(size, count + known.get(term, 0)) for term, count in occurring.items()}
    words = _weigh_words(terms, weights, starts, rarity)
    count = np.add.reduceat(weights, starts[:-1])
    return Lessons(keys, listed, count, mean, centers, rows, starts, words, rarity, _rarity(size, 0))


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


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values()))


def _rarity(size: int, count: int) -> float:
    return math.log(1.0 + size / (count + 0.5))


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.einsum("...i,...i->...", rows, rows))[..., None]
    unit: Vectors = rows / np.maximum(lengths, np.float32(1e-9))
    return unit


@dataclass(frozen=True)
class _Places:
    """The rows of documents that are still what they were when they were used, and where they are in a state."""

    at: tuple[bool, int]
    ids: dict[str, int]  # rows by the id of the document
    numbers: dict[int, int]  # rows by the number of the document
    positions: dict[int, Positions]  # by row


@dataclass
class _Cached:
    version: int
    embedder: str
    lessons: Lessons | None
    places: _Places | None = None


_cache: WeakKeyDictionary[Corpus, _Cached] = WeakKeyDictionary()


def lessons_of(corpus: Corpus, state: State) -> Lessons | None:
    """What was learned for a corpus so far; None if nothing was."""
    cached = _refresh(corpus, state) if corpus.learning == "on" else None
    return cached.lessons if cached else None


def _refresh(corpus: Corpus, state: State) -> _Cached | None:
    cached = _cache.get(corpus)
    try:
        version = corpus.usage.version()
        embedder = state.config.embedder_name
        if cached is None or (cached.version, cached.embedder) != (version, embedder):
            cached = _cache[corpus] = _Cached(version, embedder, _learn(corpus, state) if version else None)
    except CorpusError as error:  # a search works without the log
        if cached is None or cached.version >= 0:
            log.warning("The search of %s does not use what was learned: %s", corpus.name, error)
        cached = _cache[corpus] = _Cached(-1, "", None)
    return cached


def _learn(corpus: Corpus, state: State) -> Lessons | None:
    examples = collect_examples(list(corpus.usage), time.time())
    if not examples:
        return None
    queries = list(dict.fromkeys(example.query for row in examples.values() for example in row))
    vectors: dict[str, Any] = {}
    if state.has_vectors:
        found = corpus.usage.vectors(queries, state.config.embedder_name, state.encode)
        vectors = dict(zip(queries, found, strict=True))
    return make_lessons(examples, vectors, state.lexical)


def apply_lessons(
    corpus: Corpus,
    state: State,
    query: str,
    terms: Mapping[str, float],
    scores: Scores,
    mask: Allowed | None,
) -> LearnedScores | None:
    """The scores with what was learned; None if there is nothing."""
    lessons = lessons_of(corpus, state)
    if lessons is None:
        return None
    gain, kept = lessons.compare(state.encode(query) if state.has_vectors else None, terms)
    perfect = 1.0 if state.has_vectors else state.lexical.ideal(terms) or 1.0
    return LearnedScores(scores, _Rows(_cache[corpus], lessons, state), gain, kept, mask, perfect)


class _Rows:
    """The rows of the documents at positions of a state, and the positions of rows.

    A state that is not isolated has other positions for every query. There it is checked every now and then which
    documents have changed.
    """

    def __init__(self, cached: _Cached, lessons: Lessons, state: State) -> None:
        self._lessons, self._state = lessons, state
        self._is_isolated = state.generation is not None
        at = (
            self._is_isolated,
            int(time.monotonic() / CHECK_SECONDS) if state.generation is None else state.generation,
        )
        if cached.places is None or cached.places.at != at:
            cached.places = self._find(at)
        self._places = cached.places

    def _find(self, at: tuple[bool, int]) -> _Places:
        located = self._state.find_documents([id for id, _ in self._lessons.keys])
        same = {
            row: located[id].positions
            for row, (id, hash) in enumerate(self._lessons.keys)
            if id in located and located[id].hash == hash
        }
        firsts = np.array([positions[0] for positions in same.values()], np.int64)
        numbers = self._state.documents(firsts).tolist() if same else []
        ids = {self._lessons.keys[row][0]: row for row in same}
        return _Places(at, ids, dict(zip(numbers, same, strict=True)), same)

    def at(self, positions: Positions) -> Positions:
        """The row of each position, -1 without one."""
        places = self._places
        if self._is_isolated:
            rows = [places.numbers.get(number, -1) for number in self._state.documents(positions).tolist()]
        else:
            rows = [places.ids.get(id, -1) for id in self._state.ids(positions)]
        return np.array(rows, np.int64)

    def best(self, gain: Floats) -> Positions:
        """The positions of the rows that gain most."""
        places = self._places.positions
        rows = [row for row in np.argsort(-gain)[:ADDED].tolist() if gain[row] > 0 and row in places]
        found = [places[row] for row in rows]
        if rows and not self._is_isolated:
            located = self._state.find_documents([self._lessons.keys[row][0] for row in rows])
            found = [one.positions for one in located.values()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)


class LearnedScores:
    """Scores in which documents with examples keep a part of their own score and gain what the examples say."""

    def __init__(
        self, own: Scores, rows: _Rows, gain: Floats, kept: Floats, mask: Allowed | None, perfect: float
    ) -> None:
        self._own, self._rows, self._gain, self._kept, self._mask = own, rows, gain * perfect, kept, mask
        self._perfect = perfect  # the score of a perfect match

    def ranking(self, k: int) -> Ranking:
        own = self._own.ranking(k + len(self._gain)).positions
        more = self._rows.best(self._gain)
        if self._mask is not None:
            more = more[self._mask[more]]
        positions = np.union1d(own, more)
        scores = self.at(positions)
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def at(self, positions: Positions) -> Floats:
        scores = self._own.at(positions).copy()
        rows = self._rows.at(positions)
        has_row = rows >= 0
        own, gain, kept = scores[has_row], self._gain[rows[has_row]], self._kept[rows[has_row]]
        learned = kept * np.where(own > -np.inf, own, 0.0) + gain
        scores[has_row] = np.where((own > -np.inf) | (gain > 0), learned, -np.inf)
        return scores

    def changes(self, positions: Positions) -> Floats:
        """What is added to each score, or subtracted from it, as a share of a perfect one."""
        own = self._own.at(positions)
        return (self.at(positions) - np.where(own > -np.inf, own, 0.0)) / self._perfect

    def every(self) -> None:
        return None
