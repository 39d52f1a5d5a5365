"""Ranks the passages of a corpus in a cluster: the server finds candidates, our formulas and exact cosines rank them.

The server rounds lengths to a byte, always down, so its BM25 is never too low: once the last candidate cannot reach the
k-th best, the first k are exactly those of the embedded engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.engines.cluster_reader import NO_HITS, PassageReader, best_of
from shortlist.index.engines.cluster_rows import round_vector, term_token
from shortlist.index.engines.cluster_schema import LENGTHS, WINDOW, repetitions
from shortlist.index.engines.facets import Condition, Query
from shortlist.index.kernels.formulas import weighted_tf
from shortlist.index.lexical.bm25 import FORMULAS, norm, weighted_length
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.lexical_ranker import bind_analyzer, count_languages, find_name_keys
from shortlist.index.query_scores import only_found
from shortlist.index.storage.records import batched
from shortlist.index.text.analyzers import Analyzer, get_analyzer, language_term, term_key
from shortlist.index.text.languages import list_languages
from shortlist.index.text.query_terms import QueryTerms, TermReadings, TermWeights, sum_weights
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Positions, Vectors

Weights = Mapping[int, float]  # of the terms of a query, by their keys

# More candidates are fetched than are wanted, because exact scores change their order.
DEEPER, LEAST_DEPTH = 2, 100

# The number of exact scores in an approximate ranking.
EXACT = 200

# Deleted passages that are not yet merged away still count in the server's own statistics.
MARGIN = 1.01

# With more terms than this, candidates are searched by the rarest of them; scores are of all.
MOST_CLAUSES = 1_000


class KnownFacts:
    """What was last seen of a corpus, to save requests: the number of its passages, and their languages."""

    size: int | None = None
    languages: dict[str, int] | None = None


@cache
def _language_filters() -> dict[str, Query]:
    keys = [term_key(language_term(code)) for code in list_languages()]
    return {str(key): {"term": {"body": term_token(key)}} for key in keys}


class BM25Query:
    """Ranks by keywords."""

    def __init__(self, reader: PassageReader, known: KnownFacts) -> None:
        self._reader = reader
        self._known = known
        self._analyzer = get_analyzer(reader.config.analyzer)
        self._scoring = reader.config.scoring
        self._formula = FORMULAS[self._scoring.formula]
        self._df: dict[int, int] = {}
        self._live: int | None = None
        self._lengths: list[float] = []  # of all passages together, by field
        # The same with what the reader may not see, by which the server scores
        self._whole_df: dict[int, int] = {}
        self._whole_live = 0
        self._whole_lengths: list[float] = []
        self._languages: dict[str, int] = {}

    @cached_property
    def analyzer(self) -> Analyzer:
        """The analyzer of queries, in the languages that were last seen: to ask first would take a request more."""
        return bind_analyzer(self._analyzer, self.languages if self._known.languages is None else self._known.languages)

    @property
    def languages(self) -> dict[str, int]:
        if self._analyzer.detects_languages:
            self._search((), [])
        return self._languages

    @property
    def live(self) -> int:
        self._search((), [])
        assert self._live is not None
        return self._live

    def rank(self, query: str | TermWeights, k: int, allowed: Condition | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        terms = _weigh(self.analyzer.terms(query) if isinstance(query, str) else query)
        if not terms or not k:
            return NO_HITS
        depth = _depth(k)
        while True:
            (hits,) = self._search(terms, [self._candidates(terms, depth, allowed)])
            positions = self._reader.locate(hits)
            scores = only_found(self._scores(terms, positions))
            ranking = best_of(positions, scores, k)
            if len(hits) < depth or depth >= WINDOW:
                return ranking
            server_scores = np.array([hit["_score"] for hit in hits])
            if len(ranking) >= k and ranking.scores[k - 1] > self._bound(server_scores, scores):
                return ranking
            depth = min(4 * depth, WINDOW)

    def approximate(self, query: TermWeights, k: int, allowed: Condition | None) -> Ranking:
        """A ranking whose first passages have exact scores; the others are in the order of the server."""
        terms = _weigh(query)
        if not terms:
            return NO_HITS
        first, *others = self._search(terms, self._first_candidates(terms, k, allowed, only_ranks=True))
        positions = self._reader.locate(first)
        scores = only_found(self._scores(terms, positions))
        if others and first:
            exact = {hit["_score"]: score for hit, score in zip(first, scores.tolist(), strict=True)}
            ratio = scores[-1] / first[-1]["_score"]
            further = [exact.get(hit["_score"], hit["_score"] * ratio) for hit in others[0]]  # ties stay ties
            positions = np.concatenate([positions, self._reader.locate(others[0])])
            scores = np.concatenate([scores, further])
        return best_of(positions, scores, k)

    def first_searches(self, query: TermWeights, k: int, allowed: Condition | None, only_ranks: bool) -> list[bytes]:
        """The first searches of a ranking, and those for the statistics of its terms."""
        terms = _weigh(query)
        if len(terms) > MOST_CLAUSES:
            return []
        candidates = self._first_candidates(terms, k, allowed, only_ranks) if terms and k else []
        return candidates + self._statistics_searches(terms)

    def name_searches(self, query: str) -> list[bytes]:
        """The search of `named`, if the query may contain names."""
        names = sorted(map(term_token, find_name_keys(query)))[:WINDOW]
        body = {"query": {"bool": {"filter": [{"terms": {"names": names}}]}}, "size": WINDOW}
        return [self._reader.select(body, scored=False)] if names else []

    def find(self, query: QueryTerms) -> tuple[TermWeights, TermWeights]:
        return TermReadings(query.weights, query.readings), TermReadings(query.counts, query.readings)

    def named(self, query: str, words: Sequence[str] | None = None) -> dict[int, int]:
        hits = [hit for search in self.name_searches(query) for hit in self._reader.hits(search)]
        return dict.fromkeys(sorted(self._reader.locate(hits).tolist()), NAME_WORDS)

    def scores(self, terms: TermWeights) -> None:
        return None

    def scores_at(self, terms: TermWeights, positions: Positions) -> Floats:
        self._reader.fetch(positions)
        return self._scores(_weigh(terms), positions)

    def covered_at(self, terms: TermWeights, positions: Positions) -> Floats:
        self._reader.fetch(positions)
        weights = self._term_weights(_weigh(terms))
        known, tfs = self._term_counts(_weigh(terms), positions)
        shares = np.zeros(len(positions))
        shares[known] = (tfs > 0) @ weights
        return np.minimum(shares / max(self._sum_once(terms, weights), 1e-9), 1.0)

    def ideal(self, terms: TermWeights) -> float:
        total = self._sum_once(terms, self._term_weights(_weigh(terms)))
        return total * self._formula.ceiling(self._scoring.k1)

    def _sum_once(self, terms: TermWeights, weights: Floats) -> float:
        """The sum of the weights of terms; a word with terms of several languages counts once."""
        if not getattr(terms, "readings", ()):
            return float(weights.sum())
        return sum_weights(terms, dict(zip(terms, weights.tolist(), strict=True)), self.frequency(list(terms)))

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        keys = {term: term_key(term) for term in dict.fromkeys(terms)}
        self._search(keys.values(), [])
        return {term: self._df[key] for term, key in keys.items()}

    def knows(self, terms: TermWeights) -> bool:
        return any(self.frequency(list(terms)).values())

    def _bound(self, server_scores: Floats, scores: Floats) -> float:
        """The maximum score of a passage that is not among the candidates.

        Most servers multiply BM25 by k1 + 1, and some do not, which the candidates show.
        """
        factor = repetitions(self._reader.config)[1] * self._scoring.k1 + 1.0
        ceiling = self._formula.ceiling(self._scoring.k1)
        longer = self._compare_lengths()
        is_multiplied = bool((server_scores * ceiling * min(longer, 1.0) >= 0.99 * factor * scores).all())
        return float(MARGIN * server_scores[-1] * ceiling * max(longer, 1.0) / (factor if is_multiplied else 1.0))

    def _compare_lengths(self) -> float:
        """The average length of what the reader may see, relative to that of all passages, by which the server scores.

        A score by the one is at most this many times the score by the other, or at most equal to it.
        """
        if self._reader.viewer is None:
            return 1.0
        weights = self._scoring.weights
        own, whole = (
            sum(weight * length for weight, length in zip(weights, lengths, strict=True)) / (live or 1)
            for lengths, live in ((self._lengths, self.live), (self._whole_lengths, self._whole_live))
        )
        return own / whole if own and whole else 1.0

    def _boosts(self, terms: Weights) -> Weights:
        """What each term counts for the server, beside its idf, which is that of all passages."""
        if self._reader.viewer is None:
            return terms
        weights = self._term_weights(terms).tolist()
        idf, live = self._formula.idf, self._whole_live
        return {key: weight / idf(live, self._whole_df[key]) for key, weight in zip(terms, weights, strict=True)}

    def _first_candidates(self, terms: Weights, k: int, allowed: Condition | None, only_ranks: bool) -> list[bytes]:
        """The first searches for candidates; with `only_ranks`, only the first ones come with their counts."""
        if not only_ranks:
            return [self._candidates(terms, _depth(k), allowed)]
        searches = [self._candidates(terms, min(k, EXACT), allowed)]
        if k > EXACT:
            searches.append(self._candidates(terms, min(k, WINDOW), allowed, after=EXACT))
        return searches

    def _candidates(self, terms: Weights, depth: int, allowed: Condition | None, after: int = 0) -> bytes:
        """A search for the best by the server's own scores; without counts and vectors if it skips the first ones."""
        keys, boosts = list(terms), self._boosts(terms)
        if len(keys) > MOST_CLAUSES:
            weights = dict(zip(terms, self._term_weights(terms).tolist(), strict=True))
            keys = sorted(keys, key=lambda key: -weights[key] if self._df[key] else 0.0)[:MOST_CLAUSES]
        clauses = [{"term": {"body": {"value": term_token(key), "boost": boosts[key]}}} for key in keys]
        query: Query = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if allowed is not None:
            query["bool"]["filter"] = [allowed.query]
        body = {"query": query, "from": after, "size": depth - after}
        return self._reader.select(body, scored=not after, by_score=True)

    def _search(self, keys: Iterable[int], searches: Sequence[bytes]) -> list[list[Query]]:
        """The hits of searches; the missing statistics of the corpus and of terms are requested with them."""
        answers = iter(self._reader.answer([*searches, *self._statistics_searches(keys)]))
        hits = [next(answers)["hits"]["hits"] for _ in searches]
        for answer in answers:
            found = answer["aggregations"]
            whole = found.get("whole", {})
            self._whole_df |= _count_buckets(whole.get("df")) | _count_buckets(whole.get("languages"))
            if "df" in found:
                self._df |= _count_buckets(found["df"])
            else:
                self._whole_live = whole.get("doc_count", 0)
                self._whole_lengths = [float(whole[name]["value"] or 0.0) for name in LENGTHS if name in whole]
                self._live = answer["hits"]["total"]["value"]
                self._lengths = [float(found[name]["value"] or 0.0) for name in LENGTHS]
                if counted := found.get("languages"):
                    self._df |= _count_buckets(counted)
                    self._languages = count_languages(
                        self._analyzer, self._live, lambda terms: {term: self._df[term_key(term)] for term in terms}
                    )
                    self._known.languages = self._languages
        return hits

    def _statistics_searches(self, keys: Iterable[int]) -> list[bytes]:
        """Searches for missing statistics: of the corpus, which the server caches until it changes, and of terms."""
        searches = []
        if self._live is None:
            sums: Query = {name: {"sum": {"field": name}} for name in LENGTHS}
            if self._analyzer.detects_languages:
                sums["languages"] = {"filters": {"filters": _language_filters()}}
            body = {"size": 0, "track_total_hits": True, "aggs": self._with_whole(sums)}
            searches.append(self._reader.make_search(body))
        for batch in batched((key for key in dict.fromkeys(keys) if key not in self._df), MOST_CLAUSES):
            terms = {str(key): {"term": {"body": term_token(key)}} for key in batch}
            counts = self._with_whole({"df": {"filters": {"filters": terms}}})
            body = {"size": 0, "track_total_hits": False, "aggs": counts}
            searches.append(self._reader.make_search(body))
        return searches

    def _with_whole(self, aggregations: Query) -> Query:
        """Aggregations, and with a viewer the same ones over all passages."""
        whole = {"whole": {"global": {}, "aggs": aggregations}} if self._reader.viewer else {}
        return aggregations | whole

    def _term_weights(self, terms: Weights) -> Floats:
        """The weight of each term: its count in the query times its idf."""
        self._search(terms, [])
        live, idf = self.live, self._formula.idf
        return np.array([n * idf(live, self._df[key]) if live else 0.0 for key, n in terms.items()], np.float64)

    def _term_counts(self, terms: Weights, positions: Positions) -> tuple[list[int], NDArray[np.uint32]]:
        """Which of the positions are known, and how often, by field, each of these terms occurs there."""
        wanted = np.array(list(terms), dtype=np.uint64)
        counts = self._reader.counts
        known = [at for at, position in enumerate(positions.tolist()) if position in counts]
        tfs = np.zeros((len(known), len(wanted)), dtype=np.uint32)
        for row, at in zip(tfs, known, strict=True):
            keys, own_tfs, _ = counts[int(positions[at])]
            if len(keys) and len(wanted):
                place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                row[:] = np.where(keys[place] == wanted, own_tfs[place], 0)
        return known, tfs

    def _scores(self, terms: Weights, positions: Positions) -> Floats:
        """Exact scores, equal to those of `lexical_ranker.Lexical`."""
        weights, scoring = self._term_weights(terms), self._scoring
        total = sum(weight * length for weight, length in zip(scoring.weights, self._lengths, strict=True))
        base, scale = norm(scoring, total / self.live if self.live else 0.0)
        scores = np.zeros(len(positions))
        known, tfs = self._term_counts(terms, positions)
        if not known:
            return scores
        own_lengths = np.array([self._reader.counts[int(positions[at])].lengths for at in known])
        lengths = weighted_length(own_lengths, scoring.weights)
        for weight, column in zip(weights, tfs.T, strict=True):
            tf = weighted_tf(column, scoring.weights)
            gain = self._formula.gain(np.maximum(tf, 1e-300), base + scale * lengths, scoring.k1, self._formula.delta)
            scores[known] += np.where(tf > 0, weight * gain, 0.0)
        return scores


class VectorQuery:
    """Ranks by meaning."""

    def __init__(self, reader: PassageReader, embedder: Embedder) -> None:
        self._reader = reader
        self.encode = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(self, query: str, k: int, size: int, allowed: Condition | None, only_ranks: bool) -> Ranking:
        """The k nearest of `size` passages, and those that tie with the last; with `only_ranks` as the server ranks."""
        vector = self.encode(query)
        if not vector.any():
            return NO_HITS
        depth = _vector_depth(k, only_ranks)
        while True:
            hits = self._reader.hits(self._search(vector, depth, size, allowed, only_ranks))
            positions = self._reader.locate(hits)
            if only_ranks:
                return Ranking(positions, np.array([hit["_score"] for hit in hits], dtype=np.float64))
            scores = self._products(vector, positions)
            ranking = best_of(positions, scores, k)
            if size > WINDOW or len(positions) < depth or depth >= WINDOW:
                return ranking
            if k < depth and ranking.scores[k - 1] > scores.min():
                return ranking
            depth = min(4 * depth, WINDOW)

    def first_searches(self, query: str, k: int, size: int, allowed: Condition | None, only_ranks: bool) -> list[bytes]:
        """The first search of `rank`."""
        vector = self.encode(query)
        return [self._search(vector, _vector_depth(k, only_ranks), size, allowed, only_ranks)] if vector.any() else []

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self.encode(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reader.fetch(positions)
        return self._products(vector, positions)

    def _search(self, vector: Vectors, depth: int, size: int, allowed: Condition | None, only_ranks: bool) -> bytes:
        dialect, rounded = self._reader.cluster.dialect, round_vector(vector)
        conditions = [allowed.query] if allowed else []
        conditions += [self._reader.visible] if self._reader.viewer else []
        condition = {"bool": {"filter": conditions}} if conditions else None
        if size <= WINDOW:
            body = {"query": dialect.compare_all(rounded, condition), "size": depth}
        else:
            body = dialect.search_graph(rounded, depth, condition)
        return self._reader.select(body, scored=not only_ranks, is_restricted=True)

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [at for at, position in enumerate(positions.tolist()) if position in self._reader.vectors]
        if known:
            scores[known] = np.array([self._reader.vectors[int(positions[at])] for at in known]) @ vector
        return scores


def _count_buckets(aggregation: Query | None) -> dict[int, int]:
    buckets = aggregation["buckets"] if aggregation else {}
    return {int(key): bucket["doc_count"] for key, bucket in buckets.items()}


def _depth(k: int) -> int:
    return min(max(DEEPER * k, LEAST_DEPTH), WINDOW)


def _weigh(terms: TermWeights) -> dict[int, float]:
    """The keys of terms, each with its number of occurrences or its weight."""
    weights = terms if isinstance(terms, Mapping) else Counter(terms)
    return {term_key(term): float(weight) for term, weight in weights.items()}


def _vector_depth(k: int, only_ranks: bool) -> int:
    return min(k if only_ranks else k + max(10, k // 10), WINDOW)
