"""Rankings by keywords: the best passages, names, and the share of the terms that are found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.query_terms import analyze
from tests.index.lexical.samples import contents, fields, index, plain, texts


def test_a_lucene_score_is_what_arithmetic_says() -> None:
    ranking = index(contents("a a b", "b c", "c")).rank("a", 10)
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert ranking.positions.tolist() == [0]
    assert ranking.scores.tolist() == pytest.approx([idf * 2 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2))])


def test_a_word_in_the_title_counts_as_often_as_its_weight() -> None:
    weighted = index([Fields(title="a", content="b"), Fields(content="a b c")], Scoring(weights=(3.0, 1.0, 1.0)))
    written_out = index(contents("a a a b", "a b c"))
    assert weighted.scores(["a"]).tolist() == written_out.scores(["a"]).tolist()


@given(passages=st.lists(fields, min_size=1, max_size=16), query=texts, k=st.integers(0, 20), data=st.data())
def test_the_ranking_is_the_best_of_the_allowed_with_all_ties(
    passages: list[Fields], query: str, k: int, data: Any
) -> None:
    ours = index(passages)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(passages), max_size=len(passages))))
    ranking = ours.rank(query, k, allowed)
    scores = np.where(allowed, ours.scores(plain.terms(query)), 0.0)
    order = sorted((at for at in range(len(passages)) if scores[at] > 0), key=lambda at: (-scores[at], at))
    least = scores[order[min(k, len(order)) - 1]] if order and k else math.inf
    assert ranking.positions.tolist() == [at for at in order if scores[at] >= least]
    assert ranking.scores.tolist() == scores[ranking.positions].tolist()


def test_the_ideal_is_never_reached_and_counts_unknown_words() -> None:
    ours = index(contents("a b", "b c", "c d"))
    assert ours.rank("a b", 1).scores[0] < ours.ideal(["a", "b"]) < ours.ideal(["a", "b", "zebra"])


def test_nothing_is_found_where_nothing_is() -> None:
    empty = Lexical([], plain)
    assert len(empty.rank("a", 10)) == 0
    assert not empty.knows(["a"])
    assert empty.named([analyze(plain, "a")]) == [{}]
    assert len(index(contents("", "")).rank("a", 10)) == 0
    assert index(contents("")).average == 0.0


def test_the_share_of_many_terms_is_that_of_all_of_them() -> None:
    words = [f"w{number}" for number in range(150)]
    parts = [Part(build(contents(" ".join(words[:100]), "w149 w3"), plain)), Part(build(contents("w130"), plain), 2)]
    ours = Lexical(parts, plain)
    assert ours.covered_at(dict.fromkeys(words, 1.0), np.arange(3)) == pytest.approx(
        [
            sum(ours._find([word]).idf[0] for word in held) / sum(ours._find([word]).idf[0] for word in words)
            for held in (words[:100], ["w149", "w3"], ["w130"])
        ]
    )


@pytest.mark.parametrize("formula", sorted(FORMULAS))
def test_terms_that_were_looked_up_score_as_their_counts_and_weights(formula: str) -> None:
    ours = index(contents("a b b", "b c", "d", "a a c"), Scoring(formula))
    query = analyze(plain, "a b b please zebra")
    ((weighed, counted),) = ours.find([query])
    some = np.array([3, 0, 2])
    for found, terms in ((weighed, query.weights), (counted, query.counts)):
        assert found == terms
        assert ours.rank(found, 3).positions.tolist() == ours.rank(terms, 3).positions.tolist()
        assert ours.scores_at(found, some) == ours.scores_at(terms, some)
        assert ours.covered_at(found, some) == ours.covered_at(query.weights, some)
        assert (ours.ideal(found), ours.knows(found)) == (ours.ideal(terms), True)
