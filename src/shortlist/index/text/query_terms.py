"""The terms of a query and their weights.

Queries come as sentences: "Could you please help me find ...". In a catalog such words are rare, so BM25 would weight
them highly. Here they weigh little, and a repeated word counts once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.index.text import analyzers
from shortlist.index.text.analyzers import CACHED_WORDS, fold, folded_parts, name_words, term_key

if TYPE_CHECKING:
    from shortlist.index.text.analyzers import Analyzer

# The terms of a query: each counts as often as it occurs, or by its weight.
TermWeights = Sequence[str] | Mapping[str, float]

_words = json.loads(Path(__file__).with_name("query_words.json").read_text("utf-8"))
WEIGHTS = dict.fromkeys(_words["requesting"].split(), 0.4) | dict.fromkeys(_words["joining"].split(), 0.2)


def weight_of(word: str) -> float:
    """The weight of a query word, no matter how rare it is."""
    return WEIGHTS.get(fold(word).replace("'", "").replace("’", ""), 1.0)


class QueryTerms(NamedTuple):
    """A query, analyzed once: the terms with how often each occurs, their weights and their keys, in the same order."""

    text: str
    counts: dict[str, int]
    weights: dict[str, float]
    keys: list[int]
    has_content: bool  # whether it has more than stop words
    name_words: list[str]  # the words in which a name of a document may be


@lru_cache(maxsize=CACHED_WORDS)
def _analyze_word(analyzer: Analyzer, word: str) -> tuple[list[tuple[str, int]], float, tuple[str, ...]]:
    """The terms of a word with their keys, its weight, and its parts in a name."""
    return [(term, term_key(term)) for term in analyzer.terms_of(word)], weight_of(word), folded_parts(word)


def analyze(analyzer: Analyzer, query: str) -> QueryTerms:
    """The terms of a query; one of several words has the largest of their weights."""
    counts: dict[str, int] = {}
    weights: dict[str, float] = {}
    keys: list[int] = []
    in_names: list[str] = []
    for word in analyzer.words(query):
        terms, weight, parts = _analyze_word(analyzer, word)
        in_names += parts
        for term, key in terms:
            if term in counts:
                counts[term] += 1
                weights[term] = max(weight, weights[term])
            else:
                counts[term], weights[term] = 1, weight
                keys.append(key)
    has_content = bool(counts)
    if not has_content:
        counts = Counter(analyzer.terms(query))  # "The Who": stop words alone
        weights = dict.fromkeys(counts, 1.0)
        keys = list(map(term_key, counts))
    if analyzer.words is not analyzers.words:
        in_names = name_words(query)
    return QueryTerms(query, counts, weights, keys, has_content, in_names)


def weigh_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with their weights."""
    return analyze(analyzer, query).weights
