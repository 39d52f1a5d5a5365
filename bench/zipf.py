"""A synthetic corpus with a Zipfian word distribution: the r-th word has a frequency of about 1 / (r + 2.7)."""

from __future__ import annotations

import numpy as np

from bench.beir import Set
from shortlist import Document

VOCABULARY = 400_000
WORDS = 60
QUERIES = 300
SHIFT = 2.7


def make(size: int, seed: int = 1) -> Set:
    """Documents, and queries of six words taken from one of them each, which is the one to be found."""
    random = np.random.default_rng(seed)
    weights = 1.0 / (np.arange(VOCABULARY) + SHIFT)
    bounds = np.cumsum(weights / weights.sum())
    words = np.array([_word(rank) for rank in range(VOCABULARY)], dtype=object)
    documents, queries, relevance = [], {}, {}
    step = max(1, size // QUERIES)
    for start in range(0, size, 10_000):
        count = min(10_000, size - start)
        drawn = np.minimum(np.searchsorted(bounds, random.random((count, WORDS))), VOCABULARY - 1)
        for row in range(count):
            number = start + row
            documents.append(Document(f"d{number}", words[drawn[row, 0]], " ".join(words[drawn[row]])))
            if number % step == 0:
                queries[f"q{number}"] = " ".join(words[random.choice(drawn[row], 6, replace=False)])
                relevance[f"q{number}"] = {f"d{number}": 1.0}
    return Set(f"zipf-{size}", documents, queries, relevance)


def _word(rank: int) -> str:
    letters = ""
    rank += 26
    while rank:
        rank, letter = divmod(rank, 26)
        letters += chr(97 + letter)
    return f"q{letters}"
