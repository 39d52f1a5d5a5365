"""Passages of a few words, and rankers over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from shortlist.index.lexical import lexical_ranker
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer

thorough = settings(max_examples=3 * settings().max_examples)


plain = get_analyzer("alphanumeric-1")


WORDS = [f"w{number}" for number in range(12)]


texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


fields = st.builds(Fields, title=texts, keywords=st.lists(texts, max_size=2), content=texts)


def index(passages: Sequence[Fields], scoring: Scoring | None = None) -> Lexical:
    return Lexical([Part(build(passages, plain))], plain, scoring)


def contents(*texts: str) -> list[Fields]:
    return [Fields(content=text) for text in texts]


def assert_ranks_as_if_exhaustive(ours: Lexical, query: str, k: int, allowed: Any) -> None:
    """The compiled ranking is the best of all scores, with all that tie with the last, to the bit."""
    scores = ours.scores(plain.terms(query), allowed)
    best = lexical_ranker.top(np.where(scores > 0, scores, -np.inf), k)
    coarse = ours.rank(query, k, allowed)
    assert coarse.positions.tolist() == best.tolist()
    assert coarse.scores.tolist() == scores[best].tolist()
