"""The weighting formulas: scores as defined, and as bm25s computes them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from shortlist.errors import InputError
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer
from tests.index.lexical.samples import WORDS, contents, fields, index, plain, texts


def expected(passages: Sequence[Fields], query: str, scoring: Scoring) -> list[float]:
    """Every score, straight from the definitions."""
    formula = FORMULAS[scoring.formula]
    bags = []
    for passage in passages:
        bag: Counter[str] = Counter()
        for weight, text in zip(
            scoring.weights, (passage.title, " ".join(passage.keywords), passage.content), strict=True
        ):
            for term in plain.terms(text):
                bag[term] += weight  # type: ignore[assignment]
        bags.append(bag)
    average = sum(sum(bag.values()) for bag in bags) / len(bags)
    count = len(bags)
    df = Counter(term for bag in bags for term in bag)
    asked = Counter(plain.terms(query))
    scores = []
    for bag in bags:
        if scoring.formula == "tfidf":
            there = {term: tf * formula.idf(count, df[term]) for term, tf in bag.items()}
            here = {term: tf * formula.idf(count, df[term]) for term, tf in asked.items() if df[term]}
            size = math.hypot(*there.values()) * math.hypot(*here.values())
            scores.append(sum(here[term] * there.get(term, 0.0) for term in here) / size if size else 0.0)
            continue
        norm = 1 - scoring.b + scoring.b * sum(bag.values()) / average if average else 1.0
        scores.append(
            sum(
                times * formula.idf(count, df[term]) * formula.gain(bag[term], norm, scoring.k1, formula.delta)
                for term, times in asked.items()
                if bag[term]
            )
        )
    return scores


@given(
    formula=st.sampled_from(list(FORMULAS)),
    passages=st.lists(fields, min_size=1, max_size=12),
    query=texts,
    title=st.sampled_from([1.0, 2.0, 3.5]),
)
def test_every_formula_gives_what_its_definition_says(
    formula: str, passages: list[Fields], query: str, title: float
) -> None:
    scoring = Scoring(formula, weights=(title, 1.5, 1.0))
    assert index(passages, scoring).scores(plain.terms(query)) == pytest.approx(expected(passages, query, scoring))


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
def test_scores_equal_those_of_bm25s_on_the_same_tokens(method: str) -> None:
    rng = np.random.default_rng(7)
    corpus = [" ".join(rng.choice(WORDS, size=int(rng.integers(1, 40)))) for _ in range(300)]
    theirs = bm25s.BM25(method=method, k1=1.5, b=0.75)
    theirs.index([text.split() for text in corpus], show_progress=False)
    ours = index(contents(*corpus), Scoring(method))
    for _ in range(20):
        query = rng.choice(WORDS, size=4).tolist()
        assert ours.scores(query) == pytest.approx(theirs.get_scores(query), abs=1e-4)


@pytest.mark.parametrize(
    "wrong", [{"formula": "bm26"}, {"k1": -1}, {"b": 2}, {"weights": (1.0, 1.0)}, {"weights": (0.0, 0.0, 0.0)}]
)
def test_a_scoring_that_means_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Scoring(**wrong)


def test_text_scores_as_it_does_in_bm25s_from_tokens_to_ranking() -> None:
    data = Path(__file__).parents[3] / "examples" / "data"
    corpus = [paragraph for path in sorted(data.rglob("*.*")) for paragraph in path.read_text("utf-8").split("\n\n")]
    queries = [json.loads(line)["query"] for line in (data / "cases.jsonl").read_text("utf-8").splitlines()]
    analyzer = get_analyzer("bm25s-english-1")
    ours = Lexical([Part(build(contents(*corpus), analyzer))], analyzer)
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    tokens = bm25s.tokenize(corpus, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    theirs.index(tokens, show_progress=False)
    assert len(corpus) > 300
    for query in queries:
        terms = analyzer.terms(query)
        assert ours.scores(terms) == pytest.approx(theirs.get_scores(terms), abs=1e-4)
