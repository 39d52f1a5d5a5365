"""Ranks the passages of a corpus in a cluster: the server finds candidates, our formulas and exact cosines rank them.

The server rounds lengths to a byte and its graph of vectors may miss some, so a few more candidates are fetched than
are wanted. `docs/guides/engines.md` says how often the result then differs from that of the embedded engine.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.engines.cluster_reader import NO_HITS, PassageReader, best_of
from shortlist.index.engines.cluster_rows import round_vector, term_token
from shortlist.index.engines.cluster_schema import LENGTHS, WINDOW, find_width, repetitions
from shortlist.index.engines.facets import Condition, Query
from shortlist.index.kernels.formulas import weighted_tf
from shortlist.index.lexical.bm25 import FORMULAS, norm, weighted_length
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.lexical_ranker import bind_analyzer, count_languages, find_name_keys
from shortlist.index.query_scores import only_found
from shortlist.index.storage.records import batched
from shortlist.index.text.analyzers import Analyzer, find_identifiers, get_analyzer, language_term, name_words, term_key
from shortlist.index.text.languages import list_languages
from shortlist.index.text.query_terms import QueryTerms, TermReadings, TermWeights, sum_weights
from shortlist.protocols import Embedder
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Positions, Vectors

Weights = Mapping[int, float]  # of the terms of a query, by their keys

# Candidates beyond those that are wanted: of one ranking, and of each of two that are blended. In three sets of 394
# queries none of the first ten by keywords differ. Of a blend up to 0.07 % differ, and 0.7 % with ten more of each.
MORE, MORE_TO_BLEND = 10, 20

# The number of exact scores in an approximate ranking.
EXACT = 200

# Deleted passages that are not yet merged away still count in the server's own statistics.
MARGIN = 1.01

# With more terms than this, candidates are searched by the rarest of them; scores are of all.
MOST_CLAUSES = 1_000

# Statistics are read again after this time, which is when changes by another process count in scores.
STATISTICS_SECONDS = 1.0
MOST_TERMS = 20_000  # whose frequencies are remembered

# The score of a passage whose name the query is, so that it is among the candidates.
NAMED_SCORE = 10_000.0

# Up to this many passages that the query names are taken from the candidates; of more, all are searched.
FEW_NAMED = 10

# How often the number of segments is read, by which the width of a vector search is chosen.
SEGMENTS_SECONDS = 10.0


@dataclass
class PassageCounts:
    """Of some passages: their number, the length of each field in all of them, the time of the last change, and how
    many of them have a term."""

    live: int
    lengths: tuple[float, ...]
    written: float
    df: dict[int, int] = field(default_factory=dict, compare=False)

    def average_length(self, weights: Sequence[float]) -> float:
        """Of a passage, by the weights of its fields; 0 if there is none."""
        total = sum(weight * length for weight, length in zip(weights, self.lengths, strict=True))
        return total / self.live if self.live else 0.0


@dataclass
class Statistics:
    """What passages are scored by. The server scores by those of all passages, the reader may see fewer."""

    seen: PassageCounts
    whole: PassageCounts
    languages: dict[str, int]
    read_at: float = field(compare=False)

    @property
    def is_fresh(self) -> bool:
        return self.seen.live > 0 and time.monotonic() - self.read_at <= STATISTICS_SECONDS


class KnownFacts:
    """What was last read of a corpus, to save requests."""

    statistics: Statistics | None = None
    segments: int = 1
    segments_read_at: float = -math.inf


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
        self._statistics = known.statistics
        self._is_fresh = self._statistics is not None and self._statistics.is_fresh
        self.texts_read_for: str | None = None  # the query of the candidates whose texts were read
        self._named_among: str | None = None  # the query whose explicit names are among the candidates

    @cached_property
    def analyzer(self) -> Analyzer:
        """The analyzer of queries, in the languages that were last seen: to ask first would take a request more."""
        return bind_analyzer(self._analyzer, self._statistics.languages if self._statistics else self.languages)

    @property
    def languages(self) -> dict[str, int]:
        return self._read().languages

    @property
    def live(self) -> int:
        return self._read().seen.live

    def rank(self, query: str | TermWeights, k: int, allowed: Condition | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        terms = self.analyzer.terms(query) if isinstance(query, str) else query
        return self.rank_candidates(terms, min(k + MORE, WINDOW), allowed).cut(k)

    def rank_candidates(self, query: TermWeights, depth: int, allowed: Condition | None, **options: Any) -> Ranking:
        """The first ones by the scores of the server, ranked by exact scores; the options are those of the search."""
        terms = _weigh(query)
        if not terms or not depth:
            return NO_HITS
        wanted, most = max(depth - MORE, 1), depth
        while True:
            (hits,) = self._search(terms, [self._search_candidates(terms, depth, allowed, **options)])
            positions = self._reader.locate(hits)
            scores = only_found(self._scores(terms, positions))
            ranking = best_of(positions, scores, most)
            if self._reader.viewer is None or len(hits) < depth or depth == WINDOW:
                break
            if len(ranking) >= wanted and ranking.scores[wanted - 1] > self._bound(hits, scores):
                break
            depth = min(4 * depth, WINDOW)  # or hidden passages might change which ones are found
        self._named_among = options.get("names_in")
        return ranking

    def _bound(self, hits: Sequence[Query], scores: Floats) -> float:
        """The maximum score of a passage that is not among the hits, which have these scores.

        Most servers multiply BM25 by k1 + 1, and some do not, which the hits show.
        """
        server_scores = np.array([hit["_score"] for hit in hits])
        factor = repetitions(self._reader.config)[1] * self._scoring.k1 + 1.0
        longer, ceiling = self._compare_lengths(), self._formula.ceiling(self._scoring.k1)
        is_multiplied = bool((server_scores * ceiling * min(longer, 1.0) >= 0.99 * factor * scores).all())
        return float(MARGIN * server_scores[-1] * ceiling * max(longer, 1.0) / (factor if is_multiplied else 1.0))

    def _compare_lengths(self) -> float:
        """The average length of what the viewer may see, relative to that of all passages, by which the server scores.

        A score by the one is at most this many times the score by the other, or at most equal to it.
        """
        statistics, weights = self._read(), self._scoring.weights
        seen, whole = statistics.seen.average_length(weights), statistics.whole.average_length(weights)
        return seen / whole if seen and whole else 1.0

    def approximate(self, query: TermWeights, k: int, allowed: Condition | None) -> Ranking:
        """A ranking whose first passages have exact scores; the others are in the order of the server."""
        terms = _weigh(query)
        if not terms:
            return NO_HITS
        first, *others = self._search(terms, self._approximate_searches(terms, k, allowed))
        positions = self._reader.locate(first)
        scores = only_found(self._scores(terms, positions))
        if others and first:
            exact = {hit["_score"]: score for hit, score in zip(first, scores.tolist(), strict=True)}
            ratio = scores[-1] / first[-1]["_score"]
            further = [exact.get(hit["_score"], hit["_score"] * ratio) for hit in others[0]]  # ties stay ties
            positions = np.concatenate([positions, self._reader.locate(others[0])])
            scores = np.concatenate([scores, further])
        return best_of(positions, scores, k)

    def first_searches(
        self, query: TermWeights, depth: int, allowed: Condition | None, only_ranks: bool, **options: Any
    ) -> list[bytes]:
        """The first searches of a ranking, and those for the statistics of its terms."""
        terms = _weigh(query)
        if len(terms) > MOST_CLAUSES:
            return []
        searches: list[bytes] = []
        if terms and depth:
            first = self._approximate_searches if only_ranks else self._list_candidates
            searches = first(terms, depth, allowed, **options)
        return searches + self._statistics_searches(terms)

    def name_searches(self, query: str, *, explicit: bool) -> list[bytes]:
        """The search for passages with a name in the query, or with an explicit one, if the query has any."""
        names = list_explicit_names(query) if explicit else sorted(map(term_token, find_name_keys(query)))[:WINDOW]
        size = FEW_NAMED + 1 if explicit else WINDOW
        body = {"query": {"bool": {"filter": [{"terms": {"names": names}}]}}, "size": size}
        return [self._reader.select(body, scored=False, shown=explicit)] if names else []

    def find(self, queries: Sequence[QueryTerms]) -> list[tuple[TermWeights, TermWeights]]:
        return [
            (TermReadings(query.weights, query.readings), TermReadings(query.counts, query.readings))
            for query in queries
        ]

    def named(self, queries: Sequence[QueryTerms]) -> list[dict[int, int]]:
        return [self._find_named(query.text, query.name_words) for query in queries]

    def _find_named(self, query: str, words: Sequence[str]) -> dict[int, int]:
        if self.texts_read_for == query:
            if self._named_among != query:
                self._find_positions(self.name_searches(query, explicit=True))
            found = self._reader.find_named(words)
            if len(found) <= FEW_NAMED:
                return found
        return dict.fromkeys(self._find_positions(self.name_searches(query, explicit=False)), NAME_WORDS)

    def _find_positions(self, searches: Sequence[bytes]) -> list[int]:
        hits = [hit for search in searches for hit in self._reader.hits(search)]
        return sorted(self._reader.locate(hits).tolist())

    def scores(self, terms: TermWeights) -> None:
        return None

    def scores_at(self, terms: TermWeights, positions: Positions) -> list[float]:
        self._reader.fetch(positions, self._reader.counts)
        scores: list[float] = self._scores(_weigh(terms), positions).tolist()
        return scores

    def covered_at(self, terms: TermWeights, positions: Positions) -> list[float]:
        self._reader.fetch(positions, self._reader.counts)
        weights = self._term_weights(_weigh(terms))
        known, tfs = self._term_counts(_weigh(terms), positions)
        shares = np.zeros(len(positions))
        shares[known] = (tfs > 0) @ weights
        covered: list[float] = np.minimum(shares / max(self._sum_once(terms, weights), 1e-9), 1.0).tolist()
        return covered

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
        df = self._read().seen.df
        return {term: df[key] for term, key in keys.items()}

    def knows(self, terms: TermWeights) -> bool:
        return any(self.frequency(list(terms)).values())

    def _boosts(self, terms: Weights) -> Weights:
        """What each term counts for the server, beside its idf, which is that of all passages."""
        if self._reader.viewer is None:
            return terms
        weights = self._term_weights(terms).tolist()
        idf, whole = self._formula.idf, self._read().whole
        return {key: weight / idf(whole.live, whole.df[key]) for key, weight in zip(terms, weights, strict=True)}

    def _approximate_searches(self, terms: Weights, k: int, allowed: Condition | None) -> list[bytes]:
        """The searches of an approximate ranking, of which only the first ones come with their counts."""
        searches = [self._search_candidates(terms, min(k, EXACT), allowed)]
        if k > EXACT:
            searches.append(self._search_candidates(terms, min(k, WINDOW), allowed, after=EXACT))
        return searches

    def _list_candidates(self, *arguments: Any, **options: Any) -> list[bytes]:
        return [self._search_candidates(*arguments, **options)]

    def _search_candidates(
        self,
        terms: Weights,
        depth: int,
        allowed: Condition | None,
        *,
        after: int = 0,
        names_in: str | None = None,
        with_vectors: bool = True,
    ) -> bytes:
        """A search for the best by the server's own scores; without counts and vectors if it skips the first ones.

        With `names_in`, a query, the passages with an explicit name come first, and all come with their texts.
        """
        keys, boosts = list(terms), self._boosts(terms)
        if len(keys) > MOST_CLAUSES:
            weights, df = dict(zip(terms, self._term_weights(terms).tolist(), strict=True)), self._read().seen.df
            keys = sorted(keys, key=lambda key: -weights[key] if df[key] else 0.0)[:MOST_CLAUSES]
        clauses: list[Query] = [{"term": {"body": {"value": term_token(key), "boost": boosts[key]}}} for key in keys]
        if names_in is not None and (names := list_explicit_names(names_in)):
            named = {"filter": {"terms": {"names": names}}, "boost": NAMED_SCORE}
            clauses.append({"constant_score": named})
        query: Query = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if allowed is not None:
            query["bool"]["filter"] = [allowed.query]
        body = {"query": query, "from": after, "size": depth - after}
        columns = {"scored": not after, "with_vectors": with_vectors, "shown": names_in is not None}
        return self._reader.select(body, by_score=True, **columns)

    def _read(self) -> Statistics:
        if not self._is_fresh:
            self._search((), [])
        assert self._statistics is not None
        return self._statistics

    def _search(self, keys: Iterable[int], searches: Sequence[bytes]) -> list[list[Query]]:
        """The hits of searches; the missing statistics of the corpus and of terms are requested with them."""
        keys = list(dict.fromkeys(keys))
        answers = self._reader.answer([*searches, *self._statistics_searches(keys)])
        for answer in answers[len(searches) :]:
            self._take_statistics(answer["aggregations"])
        if len(answers) > len(searches) and self._statistics_searches(keys):  # the corpus has changed
            self._search(keys, [])
        return [answer["hits"]["hits"] for answer in answers[: len(searches)]]

    def _take_statistics(self, found: Query) -> None:
        if "df" in found:
            assert self._statistics is not None
            for counts, own in ((self._statistics.whole, found.get("whole", {})), (self._statistics.seen, found)):
                counts.df |= _count_buckets(own.get("df"))
            return
        seen = _count(found)
        whole = _count(found["whole"]) if "whole" in found else seen
        languages = count_languages(
            self._analyzer, seen.live, lambda terms: {term: seen.df[term_key(term)] for term in terms}
        )
        read = Statistics(seen, whole, languages, time.monotonic())
        if self._statistics == read and len(self._statistics.whole.df) < MOST_TERMS:
            self._statistics.read_at = read.read_at
        else:
            self._statistics = self._known.statistics = read
        self._is_fresh = True

    def _statistics_searches(self, keys: Iterable[int]) -> list[bytes]:
        """Searches for missing statistics: of the corpus, which the server caches until it changes, and of terms."""
        searches = []
        if not self._is_fresh:
            sums: Query = {name: {"sum": {"field": name}} for name in LENGTHS}
            sums |= {"written": {"max": {"field": "written"}}, "live": {"value_count": {"field": "ordinal"}}}
            if self._analyzer.detects_languages:
                sums["languages"] = {"filters": {"filters": _language_filters()}}
            body = {"size": 0, "track_total_hits": False, "aggs": self._with_whole(sums)}
            searches.append(self._reader.make_search(body))
        known: Mapping[int, int] = self._statistics.seen.df if self._statistics else {}
        for batch in batched((key for key in dict.fromkeys(keys) if key not in known), MOST_CLAUSES):
            terms = {str(key): {"term": {"body": term_token(key)}} for key in batch}
            having = {"terms": {"body": list(map(term_token, batch))}}
            counts = self._with_whole({"df": {"filters": {"filters": terms}}})
            body = {"query": having, "size": 0, "track_total_hits": False, "aggs": counts}
            searches.append(self._reader.make_search(body))
        return searches

    def _with_whole(self, aggregations: Query) -> Query:
        """Aggregations, and with a viewer the same ones over all passages."""
        whole = {"whole": {"global": {}, "aggs": aggregations}} if self._reader.viewer else {}
        return aggregations | whole

    def _term_weights(self, terms: Weights) -> Floats:
        """The weight of each term: its count in the query times its idf."""
        self._search(terms, [])
        seen, idf = self._read().seen, self._formula.idf
        return np.array([n * idf(seen.live, seen.df[key]) if seen.live else 0.0 for key, n in terms.items()])

    def _term_counts(self, terms: Weights, positions: Positions) -> tuple[list[int], NDArray[np.uint32]]:
        """Which of the positions are known, and how often, by field, each of these terms occurs there."""
        rows = [(at, row) for at, p in enumerate(positions.tolist()) if (row := self._reader.counts.get(p)) is not None]
        tfs = np.zeros((len(rows), len(terms)), dtype=np.uint32)
        if rows and terms:
            keys, own_tfs = (np.concatenate(column) for column in list(zip(*(row for _, row in rows), strict=True))[:2])
            passage = np.repeat(np.arange(len(rows)), [len(row.keys) for _, row in rows])
            wanted = np.array(list(terms), dtype=np.uint64)
            order = np.argsort(wanted)
            place = np.minimum(np.searchsorted(wanted, keys, sorter=order), len(wanted) - 1)
            is_wanted = wanted[order[place]] == keys
            tfs[passage[is_wanted], order[place[is_wanted]]] = own_tfs[is_wanted]
        return [at for at, _ in rows], tfs

    def _scores(self, terms: Weights, positions: Positions) -> Floats:
        """Exact scores, equal to those of `lexical_ranker.Lexical`."""
        weights, scoring, seen = self._term_weights(terms), self._scoring, self._read().seen
        base, scale = norm(scoring, seen.average_length(scoring.weights))
        scores = np.zeros(len(positions))
        known, tfs = self._term_counts(terms, positions)
        if not known or not terms:
            return scores
        own_lengths = np.array([self._reader.counts[int(positions[at])].lengths for at in known])
        norms = base + scale * weighted_length(own_lengths, scoring.weights)
        tf = weighted_tf(tfs, scoring.weights)
        gains = self._formula.gain(np.maximum(tf, 1e-300), norms[:, None], scoring.k1, self._formula.delta)
        # Added one after the other, as in the embedded engine
        scores[known] = np.add.accumulate(np.where(tf > 0, weights * gains, 0.0), axis=1)[:, -1]
        return scores


class VectorQuery:
    """Ranks by meaning."""

    def __init__(self, reader: PassageReader, embedder: Embedder, known: KnownFacts) -> None:
        self._reader = reader
        self._known = known
        self.encode = lru_cache(maxsize=1)(embedder.encode_query)

    def rank(
        self, query: str, depth: int, size: int, allowed: Condition | None, *, only_ranks: bool, exact: bool
    ) -> Ranking:
        """The nearest of `size` passages, ranked by exact cosines; with `only_ranks` as the server ranks."""
        vector = self.encode(query)
        if not vector.any():
            return NO_HITS
        while True:
            hits = self._reader.hits(self._search(vector, depth, size, allowed, only_ranks=only_ranks, exact=exact))
            positions = self._reader.locate(hits)
            if only_ranks:
                return Ranking(positions, np.array([hit["_score"] for hit in hits], dtype=np.float64))
            scores = self._products(vector, positions)
            are_ties = len(hits) == depth < min(size, WINDOW) and scores.min() == scores.max()
            if size > WINDOW or not are_ties:
                return best_of(positions, scores, len(positions))
            depth = min(4 * depth, WINDOW)  # which of them are first depends on their ids

    def first_searches(self, query: str, *search: Any, **options: Any) -> list[bytes]:
        """The first search of `rank`."""
        vector = self.encode(query)
        return [self._search(vector, *search, **options)] if vector.any() else []

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self.encode(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reader.fetch(positions, self._reader.vectors)
        return self._products(vector, positions)

    def _search(
        self, vector: Vectors, depth: int, size: int, allowed: Condition | None, *, only_ranks: bool, exact: bool
    ) -> bytes:
        dialect, rounded = self._reader.cluster.dialect, round_vector(vector)
        conditions = [allowed.query] if allowed else []
        conditions += [self._reader.visible] if self._reader.viewer else []
        condition = {"bool": {"filter": conditions}} if conditions else None
        if size <= WINDOW:
            body = {"query": dialect.compare_all(rounded, condition), "size": depth}
        else:
            width = WINDOW if exact else find_width(depth, self._segments())
            body = dialect.search_graph(rounded, depth, width, condition)
        return self._reader.select(body, scored=not only_ranks, shown=not only_ranks, is_restricted=True)

    def _segments(self) -> int:
        """The number of segments, each of which has a graph of its own; it is read every few seconds."""
        known, now = self._known, time.monotonic()
        if now - known.segments_read_at > SEGMENTS_SECONDS:
            known.segments, known.segments_read_at = self._reader.count_segments(), now
        return known.segments

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [at for at, position in enumerate(positions.tolist()) if position in self._reader.vectors]
        if known:
            scores[known] = np.array([self._reader.vectors[int(positions[at])] for at in known]) @ vector
        return scores


def _count_buckets(aggregation: Query | None) -> dict[int, int]:
    buckets = aggregation["buckets"] if aggregation else {}
    return {int(key): bucket["doc_count"] for key, bucket in buckets.items()}


def _count(found: Query) -> PassageCounts:
    lengths = tuple(float(found[name]["value"] or 0.0) for name in LENGTHS)
    written = float(found["written"]["value"] or 0.0)
    return PassageCounts(int(found["live"]["value"]), lengths, written, _count_buckets(found.get("languages")))


def list_explicit_names(query: str) -> list[str]:
    """The names, as they are indexed, that a document is identified by in any query: the whole query, and identifiers
    of several words in it."""
    names = find_identifiers(query) | {tuple(name_words(query))}
    keys = {term_key(" ".join(parts)) for parts in names if 0 < len(parts) <= NAME_WORDS}
    return sorted(map(term_token, keys))


def _weigh(terms: TermWeights) -> dict[int, float]:
    """The keys of terms, each with its number of occurrences or its weight."""
    weights = terms if isinstance(terms, Mapping) else Counter(terms)
    return {term_key(term): float(weight) for term, weight in weights.items()}
