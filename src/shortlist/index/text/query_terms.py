"""The terms of a query and their weights.

Queries come as sentences: "Could you please help me find ...". In a catalog such words are rare, so BM25 would weight
them highly. Here they weigh little, and a repeated word counts once. A word that has other terms in another language of
the corpus has the terms of all of them, and counts as one word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.index.text import analyzers
from shortlist.index.text.analyzers import folded_parts, name_words, term_key
from shortlist.index.text.language_terms import has_pairs, normalize_letters, share_terms, split_pairs
from shortlist.index.text.languages import ENGLISH, detect_language, get_request_words, get_stop_words
from shortlist.index.text.word_parts import CACHED_WORDS, fold

if TYPE_CHECKING:
    from shortlist.index.text.analyzers import Analyzer

# The terms of a query: each counts as often as it occurs, or by its weight.
TermWeights = Sequence[str] | Mapping[str, float]

# For each word that has other terms in another language: its terms in each.
Readings = Sequence[Sequence[tuple[str, ...]]]

# A query needs more evidence for a language than a text: names and short English queries have words of others.
_EVIDENCE_IN_QUERIES = 1.2

_words = json.loads(Path(__file__).with_name("query_words.json").read_text("utf-8"))
WEIGHTS = dict.fromkeys(_words["requesting"].split(), 0.4) | dict.fromkeys(_words["joining"].split(), 0.2)


def find_query_language(analyzer: Analyzer, query: str) -> str:
    """The language of a query; without much evidence, the most frequent one of the corpus."""
    return detect_language(query, default=analyzer.languages[0], least_evidence=_EVIDENCE_IN_QUERIES)


def weight_of(word: str, language: str = ENGLISH) -> float:
    """The weight of a query word, no matter how rare it is."""
    if language != ENGLISH:
        weight = _weigh_words_of(language).get(normalize_letters(language, word))
        if weight or not word.isascii():
            return weight or 1.0
    return WEIGHTS.get(fold(word).replace("'", "").replace("’", ""), 1.0)


@cache
def _weigh_words_of(language: str) -> dict[str, float]:
    """The stop words and request words of a language, and their pairs of characters if its terms are such."""
    weights: dict[str, float] = {}
    for words, weight in ((get_request_words(language), 0.4), (get_stop_words(language), 0.2)):
        for word in words:
            weights[normalize_letters(language, word)] = weight
            if has_pairs(language):
                weights.update((pair, min(weight, weights.get(pair, 1.0))) for pair in split_pairs(word))
    return weights


class TermReadings(dict[str, float]):
    """Terms with their counts or weights, and the readings of words: their terms in each language."""

    def __init__(self, terms: Mapping[str, float], readings: Readings = ()) -> None:
        super().__init__(terms)
        self.readings = readings


def sum_weights(terms: object, weights: Mapping[str, float], frequency: Mapping[str, int]) -> float:
    """The sum of the weights of terms; of each word only those in one language: the most that passages have."""
    total = sum(weights.values())
    for readings in getattr(terms, "readings", ()):
        known = [reading for reading in readings if any(frequency[term] for term in reading)] or readings
        most = max(sum(weights[term] for term in reading) for reading in known)
        all_terms = dict.fromkeys(term for reading in readings for term in reading)  # in their order, unlike a set
        total -= sum(weights[term] for term in all_terms) - most
    return total


class QueryTerms(NamedTuple):
    """A query, analyzed once: the terms with how often each occurs, their weights and their keys, in the same order."""

    text: str
    counts: dict[str, float]
    weights: dict[str, float]
    keys: list[int]
    has_content: bool  # whether it has more than stop words
    name_words: list[str]  # the words in which a name of a document may be
    readings: Readings  # of the words that have other terms in another language
    language: str


class QueryWord(NamedTuple):
    """The terms of a word, each with its key, its share and its weight; its parts in a name; its readings."""

    terms: list[tuple[str, int, float, float]]
    parts: tuple[str, ...]
    readings: list[tuple[str, ...]]


class _KnownWords(dict[str, QueryWord]):
    """The words that queries in a language had. A plain dict: it touches less memory than `lru_cache` does."""

    def __init__(self, analyzer: Analyzer, language: str) -> None:
        super().__init__()
        self._analyzer, self._language = analyzer, language

    def __missing__(self, word: str) -> QueryWord:
        if len(self) >= CACHED_WORDS:
            self.clear()
        found = self[word] = _analyze_word(self._analyzer, word, self._language)
        return found


_get_known_words = lru_cache(maxsize=64)(_KnownWords)


def _analyze_word(analyzer: Analyzer, word: str, language: str) -> QueryWord:
    readings, weight = analyzer.list_readings(word), weight_of(word, language)
    of_pairs = _weigh_words_of(language) if weight == 1.0 and has_pairs(language) else {}
    terms: dict[str, tuple[str, int, float, float]] = {}
    for reading in readings:
        for term, share in zip(reading, share_terms(language, word, reading), strict=True):
            if term not in terms or share > terms[term][2]:
                terms[term] = (term, term_key(term), share, share * weight * of_pairs.get(term, 1.0))
    return QueryWord(list(terms.values()), folded_parts(word), readings)


def analyze(analyzer: Analyzer, query: str) -> QueryTerms:
    """The terms of a query; one of several words has the largest of their weights."""
    counts: dict[str, float] = {}
    weights: dict[str, float] = {}
    keys: list[int] = []
    in_names: list[str] = []
    readings: list[list[tuple[str, ...]]] = []
    language = find_query_language(analyzer, query)
    analyzer = analyzer.for_query(language)
    known = _get_known_words(analyzer, language)
    for word in analyzer.words(query):
        terms, parts, different = known[word]
        in_names += parts
        if len(different) > 1 and different not in readings:
            readings.append(different)
        for term, key, share, weight in terms:
            if term in counts:
                counts[term] += share
                weights[term] = max(weight, weights[term])
            else:
                counts[term], weights[term] = share, weight
                keys.append(key)
    has_content = bool(counts)
    if not has_content:
        counts = dict(Counter(analyzer.terms(query)))  # "The Who": stop words alone
        weights = dict.fromkeys(counts, 1.0)
        keys = list(map(term_key, counts))
    if analyzer.words is not analyzers.words:
        in_names = name_words(query)
    return QueryTerms(query, counts, weights, keys, has_content, in_names, readings, language)


def weigh_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with their weights."""
    return analyze(analyzer, query).weights
