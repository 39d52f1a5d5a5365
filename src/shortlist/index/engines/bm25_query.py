"""Ranks the passages of a corpus in a cluster by keywords: the server's BM25 finds candidates, our formulas rank them.

The server rounds lengths to a byte, always down, so its scores are never too low: once the last candidate cannot reach
the k-th best, the first k are exactly those of the embedded engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shortlist.index.engines.cluster_client import Search
from shortlist.index.engines.cluster_reader import Condition, PassageReader
from shortlist.index.engines.cluster_rows import token
from shortlist.index.engines.cluster_schema import LENGTHS, WINDOW, repetitions
from shortlist.index.engines.facets import Query
from shortlist.index.kernels.formulas import weighted_tf
from shortlist.index.lexical.bm25 import FORMULAS, norm, weighted_length
from shortlist.index.lexical.lexical_ranker import find_name_keys, top
from shortlist.index.query_scores import only_found
from shortlist.index.text.analyzers import Analyzer, get_analyzer, term_key
from shortlist.index.text.query_terms import Asked
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Positions

# More candidates are fetched than are wanted, because exact scores change their order.
DEEPER, LEAST_DEPTH = 2, 100

# The number of exact scores in an approximate ranking.
EXACT = 200

# Deleted passages that are not yet merged away still count in the server's own statistics.
MARGIN = 1.01

# With more terms than this, candidates are searched by the rarest of them; scores are of all.
MOST_CLAUSES = 1_000
MOST_NAMES = 10_000


class Statistics(NamedTuple):
    """The statistics of the whole corpus that scores depend on."""

    live: int
    lengths: tuple[float, ...]


class BM25Query:
    """Ranks by keywords."""

    def __init__(self, reader: PassageReader) -> None:
        self._reader = reader
        self.analyzer: Analyzer = get_analyzer(reader.config.analyzer)
        self._scoring = reader.config.scoring
        self._formula = FORMULAS[self._scoring.formula]
        self._df: dict[int, int] = {}
        self._known: Statistics | None = None

    @property
    def live(self) -> int:
        return self._learn(()).live

    def rank(self, query: str | Asked, k: int, allowed: Condition | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        counts = _weigh(self.analyzer.terms(query) if isinstance(query, str) else query)
        if not counts or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        depth = _depth(k)
        while True:
            (hits,) = self._search(counts, [self._candidates(counts, depth, allowed)])
            positions = self._reader.note(hits)
            scores = only_found(self._scores(counts, positions))
            best = top(scores, k)
            if len(hits) < depth or depth >= WINDOW:
                break
            server_scores = np.array([hit["_score"] for hit in hits])
            if len(best) >= k and scores[best[k - 1]] > self._bound(server_scores, scores):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def approximate(self, terms: Asked, k: int, allowed: Condition | None) -> Ranking:
        """A ranking whose first passages have exact scores; the others are in the order of the server."""
        counts = _weigh(terms)
        if not counts:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        first, *others = self._search(counts, self._split_candidates(counts, k, allowed))
        positions = self._reader.note(first)
        scores = only_found(self._scores(counts, positions))
        if others and first:
            exact = {hit["_score"]: score for hit, score in zip(first, scores.tolist(), strict=True)}
            ratio = scores[-1] / first[-1]["_score"]
            further = [exact.get(hit["_score"], hit["_score"] * ratio) for hit in others[0]]  # ties stay ties
            positions = np.concatenate([positions, self._reader.note(others[0])])
            scores = np.concatenate([scores, further])
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def foresee(self, terms: Asked, k: int, allowed: Condition | None, only_ranks: bool) -> list[Search]:
        """The first searches of a ranking, and those for the statistics of its terms."""
        counts = _weigh(terms)
        if len(counts) > MOST_CLAUSES:
            return []
        searches: list[Search] = []
        if counts and k and only_ranks:
            searches = self._split_candidates(counts, k, allowed)
        elif counts and k:
            searches = [self._candidates(counts, _depth(k), allowed)]
        return searches + self._statistics_searches(counts)

    def foresee_names(self, query: str) -> list[Search]:
        """The search of `named`, if the query has names."""
        names = sorted(token(key) for key in find_name_keys(query))
        if not names:
            return []
        body = {"query": {"bool": {"filter": [{"terms": {"names": names[:MOST_NAMES]}}]}}, "size": WINDOW}
        return [Search(self._reader.select(body, scored=False))]

    def named(self, query: str) -> Positions:
        hits = [hit for search in self.foresee_names(query) for hit in self._reader.hits(search)]
        return np.sort(self._reader.note(hits))

    def scores(self, terms: Asked) -> None:
        return None

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        self._reader.fetch(positions)
        return self._scores(_weigh(terms), positions)

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        self._reader.fetch(positions)
        counts = _weigh(terms)
        weights = self._weights(counts)
        there, tfs = self._term_counts(counts, positions)
        held = np.zeros(len(positions))
        held[there] = (tfs > 0) @ weights
        return held / max(float(weights.sum()), 1e-9)

    def ideal(self, terms: Asked) -> float:
        return float(self._weights(_weigh(terms)).sum() * self._formula.ceiling(self._scoring.k1))

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        keys = {term: term_key(term) for term in dict.fromkeys(terms)}
        self._learn(keys.values())
        return {term: self._df[key] for term, key in keys.items()}

    def knows(self, terms: Asked) -> bool:
        return any(self.frequency(list(terms)).values())

    def _bound(self, server_scores: Floats, scores: Floats) -> float:
        """The maximum score of a passage that is not among the candidates.

        Most servers multiply BM25 by k1 + 1, and some do not, which the candidates show.
        """
        factor = repetitions(self._reader.config)[1] * self._scoring.k1 + 1.0
        ceiling = self._formula.ceiling(self._scoring.k1)
        is_multiplied = bool((server_scores * ceiling >= 0.99 * factor * scores).all())
        return float(MARGIN * server_scores[-1] * ceiling / (factor if is_multiplied else 1.0))

    def _split_candidates(self, counts: Mapping[int, float], k: int, allowed: Condition | None) -> list[Search]:
        """Searches for the first candidates, with their counts, and for the others without."""
        searches = [self._candidates(counts, min(k, EXACT), allowed)]
        if k > EXACT:
            searches.append(self._candidates(counts, min(k, WINDOW), allowed, after=EXACT))
        return searches

    def _candidates(self, counts: Mapping[int, float], depth: int, allowed: Condition | None, after: int = 0) -> Search:
        """A search for the best by the server's own scores; without counts and vectors if it skips the first ones."""
        wanted = list(counts)
        if len(counts) > MOST_CLAUSES:
            weights = dict(zip(counts, self._weights(counts).tolist(), strict=True))
            wanted.sort(key=lambda key: -weights[key] if self._df[key] else 0.0)
        terms = [{"term": {"body": {"value": token(key), "boost": counts[key]}}} for key in wanted[:MOST_CLAUSES]]
        query: Query = {"bool": {"should": terms, "minimum_should_match": 1}}
        if allowed is not None:
            query["bool"]["filter"] = [allowed.query]
        body = self._reader.select({"query": query, "from": after, "size": depth - after}, scored=not after)
        return Search(body, by_score=True)

    def _learn(self, keys: Iterable[int]) -> Statistics:
        self._search(keys, [])
        assert self._known is not None
        return self._known

    def _search(self, keys: Iterable[int], searches: Sequence[Search]) -> list[list[Query]]:
        """The hits of searches; the missing statistics of the corpus and of terms are requested with them."""
        missing = self._statistics_searches(keys)
        answers = self._reader.answer([*searches, *missing])
        statistics = iter(answers[len(searches) :])
        if missing and self._known is None:
            answer = next(statistics)
            lengths = tuple(float(answer["aggregations"][name]["value"] or 0.0) for name in LENGTHS)
            self._known = Statistics(answer["hits"]["total"]["value"], lengths)
        for answer in statistics:
            buckets = answer["aggregations"]["df"]["buckets"]
            self._df |= {int(key): bucket["doc_count"] for key, bucket in buckets.items()}
        return [answer["hits"]["hits"] for answer in answers[: len(searches)]]

    def _statistics_searches(self, keys: Iterable[int]) -> list[Search]:
        """Searches for missing statistics: of the corpus, which the server caches until it changes, and of terms."""
        searches = []
        if self._known is None:
            sums = {name: {"sum": {"field": name}} for name in LENGTHS}
            searches.append(Search({"size": 0, "track_total_hits": True, "aggs": sums}))
        unknown = [key for key in dict.fromkeys(keys) if key not in self._df]
        for start in range(0, len(unknown), MOST_CLAUSES):
            terms = {str(key): {"term": {"body": token(key)}} for key in unknown[start : start + MOST_CLAUSES]}
            aggregations = {"df": {"filters": {"filters": terms}}}
            searches.append(Search({"size": 0, "track_total_hits": False, "aggs": aggregations}))
        return searches

    def _weights(self, counts: Mapping[int, float]) -> Floats:
        """The weight of each term: its count in the query times its idf."""
        live = self._learn(counts).live
        idf = self._formula.idf
        return np.array([n * idf(live, self._df[key]) if live else 0.0 for key, n in counts.items()], np.float64)

    def _term_counts(self, counts: Mapping[int, float], positions: Positions) -> tuple[list[int], NDArray[np.uint32]]:
        """Which of the positions are known, and how often, by field, each of these terms occurs there."""
        wanted = np.array(list(counts), dtype=np.uint64)
        known = self._reader.counts
        there = [at for at, position in enumerate(positions.tolist()) if position in known]
        tfs = np.zeros((len(there), len(wanted)), dtype=np.uint32)
        for row, at in zip(tfs, there, strict=True):
            held = known[int(positions[at])]
            if len(held.keys) and len(wanted):
                place = np.minimum(np.searchsorted(held.keys, wanted), len(held.keys) - 1)
                row[:] = np.where(held.keys[place] == wanted, held.tfs[place], 0)
        return there, tfs

    def _scores(self, counts: Mapping[int, float], positions: Positions) -> Floats:
        """Exact scores, as `lexical_ranker.Lexical` has them."""
        weights, statistics, scoring = self._weights(counts), self._learn(()), self._scoring
        total = sum(weight * length for weight, length in zip(scoring.weights, statistics.lengths, strict=True))
        base, scale = norm(scoring, total / statistics.live if statistics.live else 0.0)
        scores = np.zeros(len(positions))
        there, tfs = self._term_counts(counts, positions)
        if not there:
            return scores
        known = self._reader.counts
        lengths = weighted_length(np.array([known[int(positions[at])].lengths for at in there]), scoring.weights)
        for weight, column in zip(weights, tfs.T, strict=True):
            tf = weighted_tf(column, scoring.weights)
            gain = self._formula.gain(np.maximum(tf, 1e-300), base + scale * lengths, scoring.k1, self._formula.delta)
            scores[there] += np.where(tf > 0, weight * gain, 0.0)
        return scores


def _depth(k: int) -> int:
    return min(max(DEEPER * k, LEAST_DEPTH), WINDOW)


def _weigh(terms: Asked) -> dict[int, float]:
    """The keys of terms, each with its number of occurrences or its weight."""
    weights = terms if isinstance(terms, Mapping) else Counter(terms)
    return {term_key(term): float(weight) for term, weight in weights.items()}
