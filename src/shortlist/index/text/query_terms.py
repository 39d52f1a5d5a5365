"""The terms of a query and their weights.

Queries come as sentences: "Could you please help me find ...". In a catalog such words are rare, so BM25 would weight
them highly. Here they weigh little, and a repeated word counts once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortlist.index.text.analyzers import fold

if TYPE_CHECKING:
    from shortlist.index.text.analyzers import Analyzer

# The terms of a query: each counts as often as it occurs, or by its weight.
Asked = Sequence[str] | Mapping[str, float]

_words = json.loads(Path(__file__).with_name("query_words.json").read_text("utf-8"))
WEIGHTS = dict.fromkeys(_words["requesting"].split(), 0.4) | dict.fromkeys(_words["joining"].split(), 0.2)


def weight_of(word: str) -> float:
    """The weight of a query word, no matter how rare it is."""
    return WEIGHTS.get(fold(word).replace("'", "").replace("’", ""), 1.0)


class QueryTerms(NamedTuple):
    """A query, analyzed once: the terms with how often each occurs and with their weights, in the same order."""

    text: str
    counts: dict[str, int]
    weights: dict[str, float]
    has_content: bool  # whether it has more than stop words


def analyze(analyzer: Analyzer, query: str) -> QueryTerms:
    """The terms of a query; one of several words has the largest of their weights."""
    counts: dict[str, int] = {}
    weights: dict[str, float] = {}
    for word in analyzer.words(query):
        if terms := analyzer.terms_of(word):
            weight = weight_of(word)
            for term in terms:
                counts[term] = counts.get(term, 0) + 1
                weights[term] = max(weight, weights.get(term, 0.0))
    if weights:
        return QueryTerms(query, counts, weights, True)
    alone = Counter(analyzer.terms(query))  # "The Who": stop words alone
    return QueryTerms(query, alone, dict.fromkeys(alone, 1.0), False)


def weigh_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with their weights."""
    return analyze(analyzer, query).weights
