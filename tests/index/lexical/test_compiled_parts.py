"""The compiled ranking finds exactly what numpy finds."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.lexical.bm25 import FORMULAS, Scoring
from shortlist.index.lexical.compiled_parts import CompiledParts
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.query_terms import analyze
from tests.index.lexical.plain_parts import PlainParts
from tests.index.lexical.samples import assert_ranks_as_if_exhaustive, fields, plain, texts, thorough


def without_loops(ranker: Lexical) -> Lexical:
    """The same ranker, in numpy."""
    slow = Lexical(ranker.parts, ranker.analyzer, ranker.scoring)
    vars(slow)["_loops"] = PlainParts(slow.parts, slow.scoring, slow.average)
    return slow


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
    found = ours.scores_at(terms, some), ours.covered_at(terms, some)
    slow = without_loops(ours)
    assert found == (slow.scores_at(terms, some), slow.covered_at(terms, some))


def test_a_filter_of_names_rules_out_none_that_exists() -> None:
    tools = [Fields(names=(f"tool {at % 700}",)) for at in range(1000)]
    queries = [analyze(plain, f"run tool {at} and tool {at + 1} please") for at in range(0, 800, 7)]
    ours = Lexical([Part(build(tools, plain)), Part(build(tools[:10], plain), 1000)], plain)
    all_named = ours.named(queries)
    assert all_named[0] == dict.fromkeys([0, 1, 700, 701, 1000, 1001], 2)
    assert all_named[-1] == {}
    slow = without_loops(ours)
    assert slow.named(queries) == all_named
    assert [ours.named([query])[0] for query in queries] == all_named


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


@given(
    passages=st.lists(fields, min_size=1, max_size=24),
    cut=st.integers(0, 24),
    dead=st.sets(st.integers(0, 23)),
    some=st.lists(texts, max_size=5),
    k=st.integers(1, 6),
    allowed=st.none() | st.lists(st.booleans(), min_size=24, max_size=24),
)
def test_many_queries_are_ranked_in_threads_as_each_is_alone(
    passages: list[Fields], cut: int, dead: set[int], some: list[str], k: int, allowed: list[bool] | None
) -> None:
    ours = Lexical(cut_in_two(passages, cut, dead), plain)
    mask = None if allowed is None else np.array(allowed[: len(passages)])
    queries = [analyze(plain, query) for query in some * 5]  # enough for two threads
    many = ours.find(queries)
    ours.rank_all([counted for _, counted in many], k, mask)()
    for query, (weighted, counted) in zip(queries, many, strict=True):
        assert counted.ranked
        alone = ours.rank(query.counts, k, mask)
        found = ours.rank(counted, k, mask)
        assert found is counted.ranked[2]
        assert (found.positions.tolist(), found.scores.tolist()) == (alone.positions.tolist(), alone.scores.tolist())
        assert ours.scores_at(weighted, found.positions) == [*ours.scores_at(query.weights, found.positions)]
        assert ours.covered_at(weighted, found.positions) == ours.covered_at(query.weights, found.positions)


def rank_sixty_queries() -> list[list[int]]:
    ours = Lexical([Part(build([Fields("lamp"), Fields("light")], plain))], plain)
    many = [counted for _, counted in ours.find([analyze(plain, "lamp")] * 60)]
    ours.rank_all(many, 1, None)()
    return [counted.ranked[2].positions.tolist() for counted in many if counted.ranked]


def test_queries_are_ranked_with_the_threads_that_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    start, attempts = threading.Thread.start, itertools.count()

    def start_one(thread: threading.Thread) -> None:
        if next(attempts):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", start_one)
    assert rank_sixty_queries() == [[0]] * 60
    assert next(attempts) == 2


def test_an_error_in_one_thread_waits_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    take_room = CompiledParts._take_room
    caller, ended = threading.current_thread(), []

    def fail_in_caller(parts: CompiledParts) -> tuple[Any, int]:
        if threading.current_thread() is caller:
            raise MemoryError
        time.sleep(0.05)
        ended.append(take_room(parts))
        return ended[-1]

    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(CompiledParts, "_take_room", fail_in_caller)
    with pytest.raises(MemoryError):
        rank_sixty_queries()
    assert len(ended) == 2


def cut_in_two(passages: list[Fields], cut: int, dead: set[int]) -> list[Part]:
    parts = []
    for start, end in itertools.pairwise(sorted({0, min(cut, len(passages)), len(passages)})):
        gone = np.array([at - start for at in range(start, end) if at in dead], dtype=np.int64)
        parts.append(Part(build(passages[start:end], plain), start).without(gone))
    return parts


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
