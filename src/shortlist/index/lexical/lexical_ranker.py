"""The lexical ranker over the postings of all segments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.lexical.bm25 import FIELDS, FORMULAS, Scoring
from shortlist.index.lexical.compiled_parts import BOUNDED_UP_TO, CompiledParts, Shared
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.live_postings import Part
from shortlist.index.text.analyzers import Analyzer, language_term, name_words, span_keys, term_key
from shortlist.index.text.languages import ENGLISH, ENGLISH_STOP_WORDS, list_languages
from shortlist.index.text.query_terms import QueryTerms, Readings, TermReadings, TermWeights, sum_weights
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Floats, Mask, Positions


# The share of passages in a language from which on all queries are analyzed in it; below, those in that language.
FREQUENT_LANGUAGE = 0.02


def top(scores: Floats, k: int) -> Positions:
    """Places of the k best scores above minus infinity and of all that tie with the last, best first, then by place."""
    cut = len(scores) - k
    least = -np.inf
    if cut > 0:
        least = np.partition(scores, cut)[cut] if k else np.inf
    found = np.flatnonzero(scores >= least if least > -np.inf else scores > -np.inf)
    return found[np.argsort(-scores[found], kind="stable")].astype(np.int64, copy=False)


def find_name_keys(query: str) -> set[int]:
    """The keys of all names that a query may contain."""
    words = name_words(query)
    can_be_names = _can_be_names(words)
    runs = span_keys(words, NAME_WORDS)
    return {key for start, end, key in runs if end - start > 1 or can_be_names[start]}


def _can_be_names(words: Sequence[str]) -> list[bool]:
    """Whether each word of a query alone may be a name, as `can_be_name` says."""
    return [True] if len(words) == 1 else [word not in ENGLISH_STOP_WORDS for word in words]


def can_be_name(name: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether words of a query can be meant as a name; a stop word ("it", "no") only if it is the whole query."""
    return 0 < len(name) <= NAME_WORDS and (len(name) > 1 or len(asked) == 1 or name[0] not in ENGLISH_STOP_WORDS)


def count_languages(
    analyzer: Analyzer, passages: int, frequency: Callable[[list[str]], Mapping[str, int]]
) -> dict[str, int]:
    """The number of passages in each language, the most frequent first; empty if the analyzer stores none."""
    if not analyzer.detects_languages or not passages:
        return {}
    terms = _language_terms()
    counts = {terms[term]: count for term, count in frequency(list(terms)).items() if count}
    counts[ENGLISH] = passages - sum(counts.values())
    return {code: counts[code] for code in sorted(counts, key=lambda code: (-counts[code], code)) if counts[code] > 0}


@cache
def _language_terms() -> dict[str, str]:
    """The terms that stand for languages other than English, with their codes."""
    return {language_term(code): code for code in list_languages() if code != ENGLISH}


def bind_analyzer(analyzer: Analyzer, languages: Mapping[str, int]) -> Analyzer:
    """The analyzer of queries of a corpus with that many passages in each language."""
    least = FREQUENT_LANGUAGE * sum(languages.values())
    frequent = [code for code, count in languages.items() if count >= least]
    return analyzer.bind(frequent, [code for code in languages if code not in frequent])


class LocatedTerms(NamedTuple):
    """The terms of a query: where they are, in how many passages, and their weights (idf times count)."""

    spans: Any  # as the parts have it
    df: list[int]
    idf: list[float]
    weights: list[float]
    shares: list[float]  # what each term counts for in `Lexical.covered_at`: the weights, not those by count
    known: dict[int, Shared]  # by position, what the shares say of its passage, where that is known


class FoundTerms(TermReadings):
    """The terms of a query with their counts or weights, and where they are in one index."""

    def __init__(self, terms: Mapping[str, float], readings: Readings, found: LocatedTerms) -> None:
        super().__init__(terms, readings)
        self.found = found
        self.ranked: tuple[int, Mask | None, Ranking] | None = None  # for a k and a mask, by `Lexical.rank_all`


def _sum_once(terms: TermWeights, weights: list[float], df: list[int]) -> float:
    """The sum of the weights of terms; a word with terms of several languages counts once."""
    if not getattr(terms, "readings", ()):
        return sum(weights)
    return sum_weights(terms, dict(zip(terms, weights, strict=True)), dict(zip(terms, df, strict=True)))


def _combine(query: QueryTerms, found: LocatedTerms) -> tuple[FoundTerms, FoundTerms]:
    """The terms of a query by their weights, with which they were found, and by their counts."""
    spans, df, idf, _, shares, known = found
    weights = [count * one for count, one in zip(query.counts.values(), idf, strict=True)]
    counted = LocatedTerms(spans, df, idf, weights, shares, known)
    return FoundTerms(query.weights, query.readings, found), FoundTerms(query.counts, query.readings, counted)


class Lexical:
    """Ranks by shared terms. df, the number of passages and the average length are those of all live passages."""

    def __init__(self, parts: Sequence[Part], analyzer: Analyzer, scoring: Scoring | None = None) -> None:
        self.parts, self._analyzer, self.scoring = parts, analyzer, scoring or Scoring()
        self._formula = FORMULAS[self.scoring.formula]
        self._ceiling = self._formula.ceiling(self.scoring.k1)
        self.size = sum(part.postings.size for part in parts)
        self.live = sum(part.live for part in parts)
        sums = np.sum([part.length_sums for part in parts], axis=0) if parts else np.zeros(len(FIELDS))
        total = sum(weight * int(length) for weight, length in zip(self.scoring.weights, sums, strict=True))
        self.average = total / self.live if self.live else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles leave out what compiled loops point to."""
        return Lexical, ([part.detach() for part in self.parts], self._analyzer, self.scoring)

    @cached_property
    def languages(self) -> dict[str, int]:
        """The number of live passages in each language, the most frequent first; empty if that is not stored."""
        return count_languages(self._analyzer, self.live, self.frequency)

    @cached_property
    def analyzer(self) -> Analyzer:
        """The analyzer of queries, in the languages of the passages."""
        return bind_analyzer(self._analyzer, self.languages)

    @cached_property
    def _loops(self) -> CompiledParts:
        return CompiledParts(self.parts, self.scoring, self.average)

    def rank(self, query: str | TermWeights, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        found = self._find(self.analyzer.terms(query) if isinstance(query, str) else query)
        if isinstance(query, FoundTerms) and query.ranked and query.ranked[0] == k and query.ranked[1] is allowed:
            return query.ranked[2]
        if self._is_bounded(k):
            ranking, shared = self._loops.rank(found.spans, found.weights, found.shares, k, allowed)
            found.known.update(zip(ranking.positions.tolist(), shared, strict=True))
            return ranking
        scores = self._scores(found, allowed)
        scores[scores <= 0] = -np.inf
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def rank_all(self, queries: Sequence[FoundTerms], k: int, allowed: Mask | None) -> Callable[[], None]:
        """Begin to rank all queries, as `find` returns them, on the other processor cores. Once the function that is
        returned was called, and it must be, `rank` returns what was found."""
        if not queries or not self._is_bounded(k):
            return lambda: None
        every = [(query.found.spans, query.found.weights, query.found.shares) for query in queries]
        rank_rest = self._loops.rank_all(every, k, allowed)

        def finish() -> None:
            for query, (ranking, shared) in zip(queries, rank_rest(), strict=True):
                query.ranked = k, allowed, ranking
                query.found.known.update(zip(ranking.positions.tolist(), shared, strict=True))

        return finish

    def _is_bounded(self, k: int) -> bool:
        return self._loops.has_bounds and 0 < k <= BOUNDED_UP_TO

    def scores_at(self, terms: TermWeights, positions: Positions) -> list[float]:
        """The score of some positions, 0 for a passage that has none of the terms or is deleted."""
        found = self._find(terms)
        if found.weights is found.shares and not self._formula.is_cosine:
            known = [found.known.get(position) for position in positions.tolist()]
            if None not in known:
                return [shared[0] for shared in known if shared]
        scores: list[float] = self._look_at(found, positions).tolist()
        return scores

    def covered_at(self, terms: TermWeights, positions: Positions) -> list[float]:
        """The share of all terms, weighted by their idf, that the passage at each position has."""
        found = self._find(terms)
        wanted = positions.tolist()
        if not found.known.keys() >= set(wanted):
            self._look_at(found, positions)
        total = max(_sum_once(terms, found.shares, found.df), 1e-9)
        shares = [found.known[position][1] / total for position in wanted]
        return [share if share < 1.0 else 1.0 for share in shares]

    def _look_at(self, found: LocatedTerms, positions: Positions) -> Floats:
        scores, shared = self._loops.look_at(found.spans, self._normalized(found), found.shares, positions)
        found.known.update(zip(positions.tolist(), shared, strict=True))
        return scores

    def scores(self, terms: TermWeights, allowed: Mask | None = None) -> Floats:
        """The score of every position, 0 for a passage that has none of the terms, is deleted or is not allowed."""
        return self._scores(self._find(terms), allowed)

    def _scores(self, found: LocatedTerms, allowed: Mask | None) -> Floats:
        scores = self._loops.score_all(found.spans, self._normalized(found))
        if allowed is not None:
            scores[~allowed] = 0.0
        return scores

    def _normalized(self, found: LocatedTerms) -> list[float]:
        """The weights of terms in scores; for cosine, those of a query vector of length 1."""
        if not self._formula.is_cosine:
            return found.weights
        self._measure_vectors  # noqa: B018
        known = [weight if df else 0.0 for weight, df in zip(found.weights, found.df, strict=True)]
        length = math.sqrt(math.fsum(weight * weight for weight in known)) or 1.0
        return [weight / length * idf for weight, idf in zip(known, found.idf, strict=True)]

    @cached_property
    def _measure_vectors(self) -> None:
        """Compute the length of every passage as a tf-idf vector: one pass over all postings."""
        keys = np.unique(np.concatenate([part.postings.keys for part in self.parts] or [np.zeros(0, np.uint64)]))
        idf = np.array(self._weigh(keys.tolist(), [1.0] * len(keys)).idf)
        self._loops.set_vector_lengths([idf[np.searchsorted(keys, part.postings.keys)] for part in self.parts])

    def ideal(self, terms: TermWeights) -> float:
        """The most that a passage with all these terms could score, including terms that are in no passage."""
        found = self._find(terms)
        return 1.0 if self._ceiling == math.inf else _sum_once(terms, found.weights, found.df) * self._ceiling

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """The number of live passages that have each of these terms."""
        distinct = list(dict.fromkeys(terms))
        return dict(zip(distinct, self._loops.find(list(map(term_key, distinct)))[1], strict=True))

    def knows(self, terms: TermWeights) -> bool:
        """Whether any passage has any of these terms."""
        return any(self._find(terms).df)

    def named(self, queries: Sequence[QueryTerms]) -> list[dict[int, int]]:
        """For each query the positions of passages whose name occurs in it, word for word, each with the number of
        words of its longest one."""
        words = [query.name_words for query in queries]
        return self._loops.named(words, list(chain.from_iterable(map(_can_be_names, words))))

    def find(self, queries: Sequence[QueryTerms]) -> list[tuple[FoundTerms, FoundTerms]]:
        """The terms of each query, looked up once for all other methods: by their weights, and by their counts."""
        ends = list(accumulate(len(query.keys) for query in queries))
        spans, df = self._loops.find_all([key for query in queries for key in query.keys], ends)
        return [
            _combine(query, self._weigh_located(own, df[end - len(query.keys) : end], query.weights.values()))
            for query, own, end in zip(queries, spans, ends, strict=True)
        ]

    def _find(self, terms: TermWeights) -> LocatedTerms:
        if isinstance(terms, FoundTerms):
            return terms.found
        counts = terms if isinstance(terms, Mapping) else Counter(terms)
        return self._weigh(list(map(term_key, counts)), counts.values())

    def _weigh(self, keys: Sequence[int], counts: Iterable[float]) -> LocatedTerms:
        """Where the terms with these keys are, and their weights; each counts as often as given."""
        return self._weigh_located(*self._loops.find(keys), counts)

    def _weigh_located(self, spans: Any, df: list[int], counts: Iterable[float]) -> LocatedTerms:
        idf = list(map(self._idf, df))
        weights = [count * one for count, one in zip(counts, idf, strict=True)]
        return LocatedTerms(spans, df, idf, weights, weights, {})

    @cached_property
    def _idf(self) -> Callable[[int], float]:
        """The idf of a term by the number of its passages, most of which occur again and again."""
        formula, live = self._formula, self.live
        return lru_cache(maxsize=1 << 14)(lambda df: formula.idf(live, min(df, live)) if live else 0.0)
