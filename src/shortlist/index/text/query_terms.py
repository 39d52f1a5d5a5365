"""The terms of a query and their weights.

Queries come as sentences: "Could you please help me find ...". In a catalog such words are rare, so BM25 would weight
them highly. Here they weigh little, and a repeated word counts once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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


def weigh_terms(analyzer: Analyzer, query: str) -> dict[str, float]:
    """The terms of a query with their weights; a term of several words has the largest of their weights."""
    weights: dict[str, float] = {}
    for word in analyzer.words(query):
        for term in analyzer.terms_of(word):
            weights[term] = max(weight_of(word), weights.get(term, 0.0))
    return weights or dict.fromkeys(analyzer.terms(query), 1.0)  # "The Who": stop words alone
