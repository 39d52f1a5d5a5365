"""Which passages of a corpus in a cluster hold these words? Found by the engine's BM25, scored by our formulas.

The engine rounds lengths to a byte, always down, so it never scores too low: once the last candidate cannot reach the
k-th best, the first k are exactly those of the embedded engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.engines.cluster_client import Search
from shortlist.index.engines.cluster_rows import token
from shortlist.index.engines.cluster_schema import LENGTHS, repetitions
from shortlist.index.engines.dialects import WINDOW
from shortlist.index.kernels.formulas import weighted_tf
from shortlist.index.lexical.bm25 import FORMULAS, Scoring, norm, weighted_length
from shortlist.index.lexical.lexical_ranker import asked_names, top
from shortlist.index.text.analyzers import Analyzer, get_analyzer, term_key
from shortlist.index.text.query_terms import Asked
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.index.engines.cluster_snapshot import Condition, Reading
    from shortlist.results import Floats, Positions

Query = dict[str, Any]

# A ranking is looked into deeper than it is asked for, since candidates change places when they are scored exactly.
DEEPER, LEAST_DEPTH = 2, 100

# So many of a rough ranking are scored exactly.
EXACT = 200

# What was deleted and is not yet merged away still counts in the engine's own statistics.
MARGIN = 1.01

# A query of more words is looked for by the rarest of them; scores are of all.
MOST_CLAUSES = 1_000
MOST_NAMES = 10_000


class Statistics(NamedTuple):
    """What the scores of the whole corpus depend on."""

    live: int
    lengths: tuple[float, ...]


class ReadWords:
    """Ranks by shared words."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.analyzer: Analyzer = get_analyzer(reading.config.analyzer)
        self.scoring: Scoring = reading.config.scoring
        self._formula = FORMULAS[self.scoring.formula]
        self._df: dict[int, int] = {}
        self._statistics: Statistics | None = None

    @property
    def live(self) -> int:
        return self._learn(()).live

    def rank(self, query: str | Asked, k: int, allowed: Condition | None = None, roughly: bool = False) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them.

        Roughly means: by the engine's own scores, but for the first of them.
        """
        counts = _weighed(self.analyzer.terms(query) if isinstance(query, str) else query)
        if not counts or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        if roughly:
            return self._roughly(counts, k, allowed)
        depth = _depth(k)
        while True:
            (hits,) = self._asked(counts, [self._candidates(counts, depth, allowed)])
            positions = self._reading.note(hits)
            scores = self._found(counts, positions)
            best = top(scores, k)
            if len(hits) < depth or depth >= WINDOW:
                break
            engines = np.array([hit["_score"] for hit in hits])
            if len(best) >= k and scores[best[k - 1]] > self._most(engines, scores):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def _roughly(self, counts: Mapping[int, float], k: int, allowed: Condition | None) -> Ranking:
        """The first by exact scores, the others as the engine ranks them."""
        first, *others = self._asked(counts, self._in_two(counts, k, allowed))
        positions = self._reading.note(first)
        scores = self._found(counts, positions)
        if others and first:
            exact = {hit["_score"]: score for hit, score in zip(first, scores.tolist(), strict=True)}
            ratio = scores[-1] / first[-1]["_score"]
            further = [exact.get(hit["_score"], hit["_score"] * ratio) for hit in others[0]]  # equal ones stay equal
            positions = np.concatenate([positions, self._reading.note(others[0])])
            scores = np.concatenate([scores, further])
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def _in_two(self, counts: Mapping[int, float], k: int, allowed: Condition | None) -> list[Search]:
        searches = [self._candidates(counts, min(k, EXACT), allowed)]
        if k > EXACT:
            searches.append(self._candidates(counts, min(k, WINDOW), allowed, after=EXACT))
        return searches

    def foreseen(self, terms: Asked, k: int, allowed: Condition | None, roughly: bool) -> list[Search]:
        """What `rank` will ask, and whatever asks about these terms."""
        counts = _weighed(terms)
        if len(counts) > MOST_CLAUSES:
            return []
        searches: list[Search] = []
        if counts and k:
            searches = self._in_two(counts, k, allowed) if roughly else [self._candidates(counts, _depth(k), allowed)]
        return searches + self._unknown(counts)

    def names_in(self, query: str) -> Search | None:
        """What `named` will ask."""
        spans = [token(key) for key in asked_names(query)]
        if not spans:
            return None
        found = {"query": {"bool": {"filter": [{"terms": {"names": sorted(spans)[:MOST_NAMES]}}]}}, "size": WINDOW}
        return Search(self._reading.fetching(found, ()))

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        self._reading.fetch(positions, self._reading.counts, "counts")
        return self._scores(_weighed(terms), positions)

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """What share of all terms, weighed by their idf, the passage at each position holds."""
        self._reading.fetch(positions, self._reading.counts, "counts")
        counts = _weighed(terms)
        idf = self._idf(counts)
        weights = np.array([count * idf[key] for key, count in counts.items()], dtype=np.float64)
        there, tfs = self._held(counts, positions)
        held = np.zeros(len(positions))
        held[there] = (tfs > 0) @ weights
        return held / max(float(weights.sum()), 1e-9)

    def ideal(self, terms: Asked) -> float:
        counts = _weighed(terms)
        idf = self._idf(counts)
        return float(sum(count * idf[key] for key, count in counts.items()) * self._formula.ceiling(self.scoring.k1))

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        keys = {term: term_key(term) for term in dict.fromkeys(terms)}
        self._learn(keys.values())
        return {term: self._df[key] for term, key in keys.items()}

    def knows(self, terms: Asked) -> bool:
        return any(self.frequency(list(terms)).values())

    def named(self, query: str) -> Positions:
        search = self.names_in(query)
        if search is None:
            return np.zeros(0, np.int64)
        (hits,) = self._reading.hits([search])
        return np.sort(self._reading.note(hits))

    def _most(self, engines: Floats, scores: Floats) -> float:
        """What a passage can score at most that is not among the candidates.

        Most engines multiply BM25 by k1 + 1, and some do not; the candidates tell. Rounding only makes it more.
        """
        factor = repetitions(self._reading.config)[1] * self.scoring.k1 + 1.0
        ceiling = self._formula.ceiling(self.scoring.k1)
        is_multiplied = bool((engines * ceiling >= 0.99 * factor * scores).all())
        return float(MARGIN * engines[-1] * ceiling / (factor if is_multiplied else 1.0))

    def _candidates(self, counts: Mapping[int, float], depth: int, allowed: Condition | None, after: int = 0) -> Search:
        """A search for the best by the engine's own scores, best first; those after the first ones by no more."""
        wanted = counts
        if len(counts) > MOST_CLAUSES:
            idf = self._idf(counts)
            rarest = sorted(counts, key=lambda key: -counts[key] * idf[key] if self._df[key] else 0.0)
            wanted = {key: counts[key] for key in rarest[:MOST_CLAUSES]}
        clauses = [{"term": {"body": {"value": token(key), "boost": count}}} for key, count in wanted.items()]
        query: Query = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if allowed is not None:
            query["bool"]["filter"] = [allowed.query]
        fields = ("counts", "unit") if self._reading.blended else ("counts",)
        window = {"from": after, "size": depth - after} if after else {"size": depth}
        body = self._reading.fetching({"query": query, **window}, () if after else fields)
        return Search(body, by_score=True)

    def _learn(self, keys: Iterable[int]) -> Statistics:
        self._asked(keys, [])
        assert self._statistics is not None
        return self._statistics

    def _asked(self, keys: Iterable[int], others: Sequence[Search]) -> list[list[Query]]:
        """Ask for what is not yet known of the whole corpus and of these words, and for the hits of others with it."""
        unknown = self._unknown(keys)
        answers = self._reading.several([*others, *unknown])
        rest = iter(answers[len(others) :])
        if unknown and self._statistics is None:
            answer = next(rest)
            lengths = tuple(float(answer["aggregations"][name]["value"] or 0.0) for name in LENGTHS)
            self._statistics = Statistics(answer["hits"]["total"]["value"], lengths)
        for answer in rest:
            buckets = answer["aggregations"]["df"]["buckets"]
            self._df |= {int(key): bucket["doc_count"] for key, bucket in buckets.items()}
        return [answer["hits"]["hits"] for answer in answers[: len(others)]]

    def _unknown(self, keys: Iterable[int]) -> list[Search]:
        """Searches for what is not yet known of the whole corpus and of these words.

        What is asked of the corpus alone is the same for every query, so nodes answer it from memory until it changes.
        """
        searches = []
        if self._statistics is None:
            sums = {name: {"sum": {"field": name}} for name in LENGTHS}
            searches.append(Search({"size": 0, "track_total_hits": True, "aggs": sums}))
        unknown = [key for key in dict.fromkeys(keys) if key not in self._df]
        for start in range(0, len(unknown), MOST_CLAUSES):
            terms = {str(key): {"term": {"body": token(key)}} for key in unknown[start : start + MOST_CLAUSES]}
            aggregations = {"df": {"filters": {"filters": terms}}}
            searches.append(Search({"size": 0, "track_total_hits": False, "aggs": aggregations}))
        return searches

    def _idf(self, keys: Iterable[int]) -> dict[int, float]:
        keys = list(keys)
        live = self._learn(keys).live
        return {key: self._formula.idf(live, self._df[key]) if live else 0.0 for key in keys}

    def _held(self, counts: Mapping[int, float], positions: Positions) -> tuple[list[int], NDArray[np.uint32]]:
        """Which of the positions are known, and how often, by field, each of these words stands there."""
        wanted = np.array(list(counts), dtype=np.uint64)
        known = self._reading.counts
        there = [at for at, position in enumerate(positions.tolist()) if position in known]
        tfs = np.zeros((len(there), len(wanted)), dtype=np.uint32)
        for row, at in zip(tfs, there, strict=True):
            held = known[int(positions[at])]
            if len(held.keys) and len(wanted):
                place = np.minimum(np.searchsorted(held.keys, wanted), len(held.keys) - 1)
                row[:] = np.where(held.keys[place] == wanted, held.tfs[place], 0)
        return there, tfs

    def _found(self, counts: Mapping[int, float], positions: Positions) -> Floats:
        scores = self._scores(counts, positions)
        scores[scores <= 0] = -np.inf
        return scores

    def _scores(self, counts: Mapping[int, float], positions: Positions) -> Floats:
        """Exact scores, as `lexical.Lexical` has them."""
        idf = self._idf(counts)
        statistics = self._learn(())
        weights = self.scoring.weights
        total = sum(weight * length for weight, length in zip(weights, statistics.lengths, strict=True))
        base, scale = norm(self.scoring, total / statistics.live if statistics.live else 0.0)
        scores = np.zeros(len(positions))
        there, tfs = self._held(counts, positions)
        if not there:
            return scores
        known = self._reading.counts
        lengths = weighted_length(np.array([known[int(positions[at])].lengths for at in there]), weights)
        sums = np.zeros(len(there))
        for column, (key, count) in enumerate(counts.items()):
            tf = weighted_tf(tfs[:, column], weights)
            gain = self._formula.gain(
                np.maximum(tf, 1e-300), base + scale * lengths, self.scoring.k1, self._formula.delta
            )
            sums += np.where(tf > 0, count * idf[key] * gain, 0.0)
        scores[there] = sums
        return scores


def _depth(k: int) -> int:
    return min(max(DEEPER * k, LEAST_DEPTH), WINDOW)


def _weighed(terms: Asked) -> dict[int, float]:
    """The keys of terms, each with how often it comes, or what it weighs."""
    weights = terms if isinstance(terms, Mapping) else Counter(terms)
    return {term_key(term): float(weight) for term, weight in weights.items()}
