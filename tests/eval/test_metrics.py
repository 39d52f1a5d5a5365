"""Every measure against arithmetic that is written out, and against trec_eval where that is installed."""

from __future__ import annotations

import random
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import InputError
from shortlist.eval.metrics import depth_of, first_rank, metric

RANKED = ["a", "b", "c", "d", "e"]
CUTOFFS = (1, 5, 10)
GRADES = {"b": 3.0, "d": 1.0, "gone": 2.0}  # b is second, d fourth, one was not found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recall@1", 0.0),
        ("recall@2", 1 / 3),
        ("recall@5", 2 / 3),
        ("recall@50", 2 / 3),
        ("precision@1", 0.0),
        ("precision@2", 1 / 2),
        ("precision@4", 2 / 4),
        ("precision@10", 2 / 10),  # empty places hold nothing
        ("hit@1", 0.0),
        ("hit@2", 1.0),
        ("mrr", 1 / 2),
        ("mrr@1", 0.0),
        ("map", (1 / 2 + 2 / 4) / 3),
        ("map@2", (1 / 2) / 3),
        ("ndcg@1", 0.0),
        ("ndcg@2", (3 / log2(3)) / (3 / log2(2) + 2 / log2(3))),
        ("ndcg@5", (3 / log2(3) + 1 / log2(5)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4))),
    ],
)
def test_a_measure_is_what_its_definition_says(name: str, expected: float) -> None:
    assert metric(name)(RANKED, GRADES) == pytest.approx(expected, abs=1e-12)


def made_up() -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """Grades and rankings of 200 queries; some of what is relevant is never found."""
    drawn = random.Random(7)
    ids = [f"d{number}" for number in range(40)]
    relevance, rankings = {}, {}
    for number in range(200):
        relevance[f"q{number}"] = {
            id: drawn.randint(1, 3) for id in drawn.sample([*ids, "gone1", "gone2"], drawn.randint(1, 8))
        }
        rankings[f"q{number}"] = drawn.sample(ids, drawn.randint(1, 40))
    return relevance, rankings


# What ranx 0.3.21 gave for these queries; it is too heavy to be installed for every run of the tests.
MEANS_OF_RANX = {
    "ndcg@1": 0.053333333333,
    "ndcg@10": 0.143877449093,
    "recall@5": 0.132666666667,
    "recall@10": 0.222291666667,
    "precision@5": 0.102,
    "precision@10": 0.0935,
    "hit@5": 0.415,
    "mrr": 0.218248805255,
    "map": 0.112503159426,
}


@pytest.mark.parametrize("name", MEANS_OF_RANX)
def test_means_over_many_queries_are_those_of_ranx(name: str) -> None:
    relevance, rankings = made_up()
    values = [metric(name)(rankings[query], relevance[query]) for query in relevance]
    assert sum(values) / len(values) == pytest.approx(MEANS_OF_RANX[name], abs=1e-9)


def test_the_gain_is_linear() -> None:
    """With 2^grade - 1 it would be (1 + 7 / log2(3)) / (7 + 1 / log2(3))."""
    assert metric("ndcg@2")(["low", "high"], {"low": 1.0, "high": 3.0}) == pytest.approx(
        (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    )


@given(st.permutations(list("abcdefgh")), st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 10))
def test_every_measure_lies_between_0_and_1_and_a_perfect_ranking_has_1(
    ranked: list[str], relevant: set[str], k: int
) -> None:
    of = dict.fromkeys(sorted(relevant), 1.0)
    perfect = sorted(ranked, key=lambda id: id not in relevant)
    for name in (f"recall@{k}", f"ndcg@{k}", f"hit@{k}", "mrr", "map", f"precision@{k}"):
        assert 0.0 <= metric(name)(ranked, of) <= metric(name)(perfect, of) + 1e-12 <= 1.0 + 2e-12
    for name in (f"ndcg@{k}", f"hit@{k}", "mrr", "map"):
        assert metric(name)(perfect, of) == pytest.approx(1.0)


def test_nothing_relevant_is_worth_nothing() -> None:
    for name in ("recall@3", "precision@3", "ndcg@3", "hit@3", "mrr", "map"):
        assert metric(name)(RANKED, {}) == 0.0
        assert metric(name)([], GRADES) == 0.0


@pytest.mark.parametrize("name", ["ndcg", "recall@", "recall@0", "bleu@3", "NDCG@10", "ndcg@-1", ""])
def test_an_unknown_measure_is_an_error_that_names_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"not a metric. Use one of recall@k, precision@k, ndcg@k, hit@k, mrr, map"):
        metric(name)


def test_a_measure_knows_how_deep_it_looks() -> None:
    assert [depth_of(name) for name in ("ndcg@7", "mrr", "map@3")] == [7, None, 3]
    assert first_rank(RANKED, GRADES) == 2
    assert first_rank(RANKED, {"x": 1.0}) is None


def test_all_measures_equal_those_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip(
        "pytrec_eval", reason="pytrec-eval-terrier has no wheel for this machine; figures of ranx are compared above"
    )
    theirs_by_ours = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "hit": "success"}
    names = {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in theirs_by_ours.items() for k in CUTOFFS}
    names |= {"mrr": "recip_rank", "map": "map"}
    relevance, rankings = made_up()
    runs = {query: {id: float(100 - place) for place, id in enumerate(ranked)} for query, ranked in rankings.items()}
    cutoffs = ",".join(map(str, CUTOFFS))  # pytrec_eval reports a cutoff only if it is named
    measures = {f"{theirs}.{cutoffs}" for theirs in theirs_by_ours.values()} | {"recip_rank", "map"}
    theirs = pytrec_eval.RelevanceEvaluator(relevance, measures)
    for query, values in theirs.evaluate(runs).items():
        grades = {id: float(grade) for id, grade in relevance[query].items()}
        for name, their_name in names.items():
            assert metric(name)(rankings[query], grades) == pytest.approx(values[their_name], abs=1e-9)
