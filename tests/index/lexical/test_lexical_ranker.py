from __future__ import annotations

import itertools
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.errors import InputError
from shortlist.index.kernels import ranking_loops
from shortlist.index.lexical import indexing, lexical_ranker
from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields, Postings, merge
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.query_terms import analyze
from tests.index.lexical import plain_parts
from tests.index.lexical.plain_parts import PlainParts

thorough = settings(max_examples=3 * settings().max_examples)
plain = get_analyzer("alphanumeric-1")
WORDS = [f"w{number}" for number in range(12)]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
fields = st.builds(Fields, title=texts, keywords=st.lists(texts, max_size=2), content=texts)


def index(passages: Sequence[Fields], scoring: Scoring | None = None) -> Lexical:
    return Lexical([Part(build(passages, plain))], plain, scoring)


def without_loops(ranker: Lexical) -> Lexical:
    """The same ranker, in numpy."""
    slow = Lexical(ranker.parts, ranker.analyzer, ranker.scoring)
    vars(slow)["_loops"] = PlainParts(slow.parts, slow.scoring, slow.average)
    return slow


def contents(*texts: str) -> list[Fields]:
    return [Fields(content=text) for text in texts]


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


def test_a_lucene_score_is_what_arithmetic_says() -> None:
    ranking = index(contents("a a b", "b c", "c")).rank("a", 10)
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert ranking.positions.tolist() == [0]
    assert ranking.scores.tolist() == pytest.approx([idf * 2 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2))])


def test_a_word_in_the_title_counts_as_often_as_its_weight() -> None:
    weighted = index([Fields(title="a", content="b"), Fields(content="a b c")], Scoring(weights=(3.0, 1.0, 1.0)))
    written_out = index(contents("a a a b", "a b c"))
    assert weighted.scores(["a"]).tolist() == written_out.scores(["a"]).tolist()


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


@given(
    formula=st.sampled_from(list(FORMULAS)),
    passages=st.lists(fields, min_size=2, max_size=12),
    query=texts,
    weights=st.lists(st.floats(0.25, 4), min_size=12, max_size=12),
    gone=st.sets(st.integers(0, 11), max_size=4),
    chance=st.randoms(use_true_random=False),
)
def test_compiled_loops_look_at_some_passages_as_numpy_does(
    formula: str, passages: list[Fields], query: str, weights: list[float], gone: set[int], chance: random.Random
) -> None:
    first, second = build(passages[1:], plain), build(passages[:1], plain)
    dead = np.array([at for at in gone if at < first.size], dtype=np.int64)
    parts = [Part(first).without(dead), Part(second, first.size)]
    ours = Lexical(parts, plain, Scoring(formula, weights=(2.0, 0.0, 1.0)))
    terms = dict(zip(plain.terms(query), weights, strict=False))
    some = np.array(chance.choices(range(ours.size), k=6), dtype=np.int64)
    found = ours.scores_at(terms, some).tolist(), ours.covered_at(terms, some).tolist()
    slow = without_loops(ours)
    assert found == (slow.scores_at(terms, some).tolist(), slow.covered_at(terms, some).tolist())


@given(
    passages=st.lists(fields, min_size=1, max_size=16),
    cuts=st.lists(st.integers(0, 16), max_size=3),
    dead=st.sets(st.integers(0, 15)),
    query=texts,
    formula=st.sampled_from(["lucene", "tfidf"]),
)
def test_parts_with_dead_passages_score_as_one_build_of_the_living(
    passages: list[Fields], cuts: list[int], dead: set[int], query: str, formula: str
) -> None:
    scoring = Scoring(formula, weights=(2.0, 1.5, 1.0))
    alive = [at for at in range(len(passages)) if at not in dead]
    whole = index([passages[at] for at in alive], scoring)
    borders = sorted({0, len(passages), *(cut for cut in cuts if cut < len(passages))})
    parts, pairs = [], []
    for start, end in itertools.pairwise(borders):
        postings = build(passages[start:end], plain)
        gone = np.array([at - start for at in range(start, end) if at in dead], dtype=np.int64)
        parts.append(Part(postings, start).without(gone))
        pairs.append((postings, parts[-1].dead))
    terms = plain.terms(query)
    ours = Lexical(parts, plain, scoring)
    assert ours.scores(terms)[alive].tolist() == whole.scores(terms).tolist()
    some = np.arange(len(passages))[::-2].copy()
    assert ours.scores_at(terms, some).tolist() == ours.scores(terms)[some].tolist()
    merged = merge(pairs)
    assert Lexical([Part(merged)], plain, scoring).scores(terms).tolist() == whole.scores(terms).tolist()
    assert same_arrays(merged, build([passages[at] for at in alive], plain))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking_loops, "merge", plain_parts.join)
        assert same_arrays(merge(pairs), merged)


def same_arrays(one: Postings, other: Postings) -> bool:
    return all(np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())


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


def test_counts_saturate_instead_of_spilling_into_another_field() -> None:
    ours = index([Fields(title="a " * 300, content="b " * 70_000), Fields(content="c")])
    assert ours.scores(["c"])[0] == 0.0
    assert ours.scores(["b"])[0] == pytest.approx(math.log(2), rel=1e-3)


def test_the_ideal_is_never_reached_and_counts_unknown_words() -> None:
    ours = index(contents("a b", "b c", "c d"))
    assert ours.rank("a b", 1).scores[0] < ours.ideal(["a", "b"]) < ours.ideal(["a", "b", "zebra"])


def test_nothing_is_found_where_nothing_is() -> None:
    empty = Lexical([], plain)
    assert len(empty.rank("a", 10)) == 0
    assert not empty.knows(["a"])
    assert len(empty.named("a")) == 0
    assert len(index(contents("", "")).rank("a", 10)) == 0
    assert index(contents("")).average == 0.0


def test_the_share_of_many_terms_is_that_of_all_of_them() -> None:
    words = [f"w{number}" for number in range(150)]
    parts = [Part(build(contents(" ".join(words[:100]), "w149 w3"), plain)), Part(build(contents("w130"), plain), 2)]
    ours = Lexical(parts, plain)
    assert ours.covered_at(dict.fromkeys(words, 1.0), np.arange(3)).tolist() == pytest.approx(
        [
            sum(ours._find([word]).idf[0] for word in held) / sum(ours._find([word]).idf[0] for word in words)
            for held in (words[:100], ["w149", "w3"], ["w130"])
        ]
    )


def test_names_are_found_in_a_query_in_any_spelling() -> None:
    ours = index([Fields(names=("get_user",)), Fields(names=("it",)), Fields(names=("x " * 20,))])
    assert ours.named("please call getUser now").tolist() == [0]
    assert ours.named("is it good").tolist() == []
    assert ours.named("It").tolist() == [1]
    assert ours.named("x " * 20).tolist() == []


def test_a_filter_of_names_rules_out_none_that_exists() -> None:
    tools = [Fields(names=(f"tool {at % 700}",)) for at in range(1000)]
    queries = [f"run tool {at} and tool {at + 1} please" for at in range(0, 800, 7)]
    ours = Lexical([Part(build(tools, plain)), Part(build(tools[:10], plain), 1000)], plain)
    all_named = [ours.named(query).tolist() for query in queries]
    assert all_named[0] == [0, 1, 700, 701, 1000, 1001]
    assert all_named[-1] == []
    slow = without_loops(ours)
    assert [slow.named(query).tolist() for query in queries] == all_named


@pytest.mark.parametrize("formula", sorted(FORMULAS))
def test_terms_that_were_looked_up_score_as_their_counts_and_weights(formula: str) -> None:
    ours = index(contents("a b b", "b c", "d", "a a c"), Scoring(formula))
    query = analyze(plain, "a b b please zebra")
    weighed, counted = ours.find(query)
    some = np.array([3, 0, 2])
    for found, terms in ((weighed, query.weights), (counted, query.counts)):
        assert found == terms
        assert ours.rank(found, 3).positions.tolist() == ours.rank(terms, 3).positions.tolist()
        assert ours.scores_at(found, some).tolist() == ours.scores_at(terms, some).tolist()
        assert ours.covered_at(found, some).tolist() == ours.covered_at(query.weights, some).tolist()
        assert (ours.ideal(found), ours.knows(found)) == (ours.ideal(terms), True)


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


tricky = [
    "The",
    "it",
    "getUser",
    "don't",
    "a’b",
    "caf\u00e9",
    "cafe\u0301",
    "日本語",
    "🔥",
    "हिन्दी",
    "_x_",
    "x" * 70,
    "__" + "y" * 70,
    "the",
    "The",
    "\0",
    "\n",
    "'s",
    "\ud800",
]
identifier = st.text("abXYZ019_'é", max_size=12)
any_text = st.one_of(st.text(max_size=40), st.lists(st.one_of(st.sampled_from(tricky), identifier)).map(" ".join))
some_texts = st.lists(any_text, max_size=3)
any_fields = st.builds(Fields, title=any_text, keywords=some_texts, content=any_text, names=some_texts)


@thorough
@given(st.lists(any_fields, max_size=8))
def test_the_compiled_way_from_text_to_postings_gives_the_same_arrays(passages: list[Fields]) -> None:
    english = get_analyzer("english-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "FIRST_WORDS", 2)
        patch.setattr(indexing, "SHORT_TEXT", 0)
        compiled = build(passages, english)
        patch.setattr(indexing, "SHORT_TEXT", sys.maxsize)
        by_python = build(passages, english)
    for name, array in by_python.arrays().items():
        assert array.tolist() == compiled.arrays()[name].tolist(), name
        assert array.dtype == compiled.arrays()[name].dtype


@thorough
@given(
    formula=st.sampled_from(["lucene", "robertson", "okapi", "atire", "bm25+", "bm25l"]),
    passages=st.lists(fields, min_size=1, max_size=24),
    cut=st.integers(0, 24),
    dead=st.sets(st.integers(0, 23)),
    query=texts,
    k=st.integers(1, 6),
    data=st.data(),
)
def test_coarse_sums_lead_to_the_exact_ranking_ties_included(
    formula: str, passages: list[Fields], cut: int, dead: set[int], query: str, k: int, data: Any
) -> None:
    ours = Lexical(cut_in_two(passages, cut, dead), plain, Scoring(formula, weights=(2.0, 1.5, 1.0)))
    allowed = data.draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=len(passages), max_size=len(passages))))
    mask = None if allowed is None else np.array(allowed)
    assert_ranks_as_if_exhaustive(ours, query, k, mask)


def cut_in_two(passages: list[Fields], cut: int, dead: set[int]) -> list[Part]:
    parts = []
    for start, end in itertools.pairwise(sorted({0, min(cut, len(passages)), len(passages)})):
        gone = np.array([at - start for at in range(start, end) if at in dead], dtype=np.int64)
        parts.append(Part(build(passages[start:end], plain), start).without(gone))
    return parts


def assert_ranks_as_if_exhaustive(ours: Lexical, query: str, k: int, allowed: Any) -> None:
    """The compiled ranking is the best of all scores, with all that tie with the last, to the bit."""
    scores = ours.scores(plain.terms(query), allowed)
    best = lexical_ranker.top(np.where(scores > 0, scores, -np.inf), k)
    coarse = ours.rank(query, k, allowed)
    assert coarse.positions.tolist() == best.tolist()
    assert coarse.scores.tolist() == scores[best].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_blocks_that_stay_shut_hold_none_of_the_best(seed: int) -> None:
    """Thousands of passages with words as frequent as words are, in parts, with some of them dead or not allowed."""
    random = np.random.default_rng(seed)
    vocabulary = np.array([f"w{rank}" for rank in range(3000)])
    chances = 1.0 / (np.arange(3000) + 2.0)
    chances /= chances.sum()
    ends = np.cumsum(random.integers(4, 61, 4000))
    words = np.split(random.choice(vocabulary, ends[-1], p=chances), ends[:-1])
    passages = [Fields(str(title), (), " ".join(content)) for title, *content in words]
    borders = [0, 4000] if seed % 2 else [0, 3100, 3900, 4000]
    parts = []
    for start, end in itertools.pairwise(borders):
        gone = random.choice(end - start, (end - start) // 20, replace=False) if seed % 3 == 0 else np.zeros(0, int)
        parts.append(Part(build(passages[start:end], plain), start).without(gone.astype(np.int64)))
    ours = Lexical(parts, plain, Scoring(weights=(2.0, 1.5, 1.0)))
    for number in range(60):
        query = " ".join(random.choice(vocabulary, int(random.integers(1, 14)), p=chances))
        allowed = random.random(4000) < (0.02, 0.5)[number % 2] if number % 3 == 0 else None
        assert_ranks_as_if_exhaustive(ours, query, (1, 10, 100, 900)[number % 4], allowed)


def test_impacts_made_at_another_average_length_still_lead_to_the_exact_ranking() -> None:
    random = np.random.default_rng(3)
    words = [f"w{rank}" for rank in range(50)]
    first = build(contents(*(" ".join(random.choice(words, 8)) for _ in range(600))), plain)
    later = build(contents(*(" ".join(random.choice(words, 11)) for _ in range(200))), plain)
    part = Part(first)
    Lexical([part], plain).rank("w1 w2", 5)
    made = part.impacts(Scoring(), Lexical([part], plain).average)
    both = Lexical([part, Part(later, 600)], plain)
    assert part.impacts(Scoring(), both.average) is made  # within what is allowed to drift
    for _ in range(40):
        assert_ranks_as_if_exhaustive(both, " ".join(random.choice(words, 5)), 10, None)
