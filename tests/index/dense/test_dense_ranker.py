"""Where there are many vectors, rounded ones and signs choose which are compared, and scores are exact products."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import shortlist
from shortlist import Document
from shortlist.index.dense import dense_ranker
from shortlist.index.dense.dense_ranker import Dense, RoundedVectors, VectorPart, Wanted
from shortlist.index.kernels import vector_loops
from shortlist.index.storage import segment
from tests.embedded import inside

DIM = 96


class Given:
    """Queries are the places of given vectors."""

    name, dim, cached = "given", DIM, False

    def __init__(self, queries: NDArray[np.float32]) -> None:
        self.queries = queries

    def encode_query(self, text: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.queries[int(text)]
        return found

    def encode_documents(self, texts: Any) -> Any:
        raise NotImplementedError


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    """Clustered, and off centre, as those of real texts are."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((200, DIM)) + 0.5
    return unit(centres[random.integers(0, 200, 20_000)] + 0.8 * random.standard_normal((20_000, DIM)))


@pytest.fixture(scope="module")
def queries(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    random = np.random.default_rng(8)
    return unit(vectors[random.integers(0, len(vectors), 100)] + 0.1 * random.standard_normal((100, DIM)))


def assert_same(found: Dense, exact: Dense, count: int, k: int, allowed: NDArray[np.bool_] | None = None) -> None:
    """Both find the very same places; where two are nearly as near, exact products may tell them apart otherwise."""
    for number in range(count):
        ours, theirs = (one.rank(str(number), k, allowed, exact=True) for one in (found, exact))
        assert ours.scores[:k] == pytest.approx(theirs.scores[:k], abs=1e-6)
        clear = theirs.scores > theirs.scores[min(k, len(theirs.scores)) - 1] + 1e-6
        assert set(theirs.positions[clear].tolist()) <= set(ours.positions[:k].tolist())


@pytest.mark.parametrize("k", [1, 10, 300])
def test_the_nearest_are_found_all_of_them(k: int, vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    embedder = Given(queries)
    exact = Dense([VectorPart(vectors)], embedder)
    assert_same(Dense([VectorPart(vectors, rounded=RoundedVectors.of(vectors))], embedder), exact, 40, k)


def test_few_are_compared(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    rounded = RoundedVectors.of(vectors)
    compared = [len(rounded.nearest(vectors, Wanted(query, 10, exact=True))[0]) for query in queries]
    assert max(compared) < len(vectors) // 100


@example(numbers=np.full((2, 2), 1e-45, dtype=np.float32), k=1)
@given(
    numbers=arrays(
        np.float32,
        st.tuples(st.integers(1, 60), st.integers(1, 40)),
        elements=st.floats(-4, 4, width=32) | st.just(0.0),
    ),
    k=st.integers(1, 8),
)
def test_bounds_hold_for_any_numbers(numbers: NDArray[np.float32], k: int) -> None:
    """Of whatever length vectors are, zero included."""
    query = numbers[0].copy()
    products = numbers.astype(np.float64) @ query.astype(np.float64)
    places, scores = RoundedVectors.of(numbers).nearest(numbers, Wanted(query, k, exact=True))
    least = np.sort(products)[::-1][: min(k, len(products))][-1]
    near = 1e-4 * max(1.0, float(np.abs(products).max()))
    assert set(np.flatnonzero(products > least + near).tolist()) <= set(places.tolist())
    assert len(places) >= min(k, len(products))
    assert scores == pytest.approx(products[places], abs=near)


def test_filters_and_deletions_apply_before_anything_is_chosen(
    vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    embedder = Given(queries)
    random = np.random.default_rng(9)
    dead, allowed = random.random(len(vectors)) < 0.3, random.random(len(vectors)) < 0.01
    found = Dense([VectorPart(vectors, dead, 0, RoundedVectors.of(vectors))], embedder)
    exact = Dense([VectorPart(vectors, dead)], embedder)
    assert_same(found, exact, 30, 10, allowed)
    assert_same(found, exact, 30, 10)
    places = found.rank("0", 10, allowed, exact=True).positions
    assert len(places) >= 10
    assert (allowed & ~dead)[places].all()
    few = np.arange(len(vectors)) < 3
    assert set(found.rank("0", 10, few, exact=True).positions.tolist()) == set(np.flatnonzero(few & ~dead).tolist())


def test_scores_are_exact_and_equal_vectors_tie() -> None:
    random = np.random.default_rng(10)
    some = unit(random.standard_normal((300, DIM)))
    vectors = np.concatenate([some, some])
    ranking = Dense([VectorPart(vectors, rounded=RoundedVectors.of(vectors))], Given(some)).rank("5", 1)
    assert ranking.positions.tolist() == [5, 305]
    assert ranking.scores[0] == ranking.scores[1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("mode", ["dense", "hybrid", "auto"])
def test_a_corpus_keeps_many_vectors_rounded_and_finds_the_same(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        f"d{at}": f"note {at} about {('cats', 'ships', 'bread', 'stars')[at % 4]} and {at % 7} more"
        for at in range(400)
    }
    plain = shortlist.build(texts, name="plain")
    monkeypatch.setattr(segment, "ROUNDED_FROM", 0)
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    kept = shortlist.build(texts, name="kept")
    for corpus in (kept, shortlist.open_corpus("kept")):
        with corpus.snapshot() as snapshot:
            assert [part.rounded is not None for part in inside(snapshot).dense.parts] == [True]
        for query in ("feline pets", "loaf of bread 17", "a ship at sea"):
            expected, found = shortlist.search(plain, query, mode, k=5), shortlist.search(corpus, query, mode, k=5)
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-5)


@pytest.fixture(scope="module")
def signed(vectors: NDArray[np.float32]) -> RoundedVectors:
    """Rounded vectors with signs, also of a few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_ranker, "SIGNS_FROM", 0)
        return RoundedVectors.of(vectors)


def best_of(found: tuple[NDArray[Any], NDArray[Any]], k: int) -> set[int]:
    places, scores = found
    return set(places[np.argsort(-scores, kind="stable")[:k]].tolist())


@pytest.mark.parametrize("k", [1, 10, 100])
def test_signs_miss_at_most_one_of_a_hundred(
    k: int, signed: RoundedVectors, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    found = 0
    for query in queries:
        products = vectors.astype(np.float64) @ query
        places, scores = signed.nearest(vectors, Wanted(query, k))
        assert scores == pytest.approx(products[places], abs=1e-6)
        found += len(best_of((places, scores), k) & set(np.argsort(-products)[:k].tolist()))
    assert found >= 0.99 * k * len(queries)


def test_a_search_for_exact_results_compares_as_without_signs(
    signed: RoundedVectors, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    without = RoundedVectors(signed.codes, signed.facts)
    for query in queries[:20]:
        expected, found = (
            without.nearest(vectors, Wanted(query, 10, exact=True)),
            signed.nearest(vectors, Wanted(query, 10, exact=True)),
        )
        assert found[0].tolist() == expected[0].tolist()
    exact = Dense([VectorPart(vectors)], Given(queries))
    assert_same(Dense([VectorPart(vectors, rounded=signed)], Given(queries)), exact, 20, 10)


@pytest.mark.parametrize("share", [0.5, 0.001])
def test_signs_find_only_what_is_alive_and_allowed(
    share: float, signed: RoundedVectors, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    random = np.random.default_rng(11)
    dead, allowed = random.random(len(vectors)) < 0.3, random.random(len(vectors)) < share
    dense = Dense([VectorPart(vectors, dead, 0, signed)], Given(queries))
    found = 0
    for number, query in enumerate(queries):
        positions = dense.rank(str(number), 10, allowed).positions
        assert (allowed & ~dead)[positions].all()
        products = np.where(allowed & ~dead, vectors @ query, -np.inf)
        found += len(set(positions[:10].tolist()) & set(np.argsort(-products)[:10].tolist()))
    assert found >= 0.99 * 10 * len(queries)
    nothing = np.zeros(len(vectors), np.bool_)
    assert not len(dense.rank("0", 10, nothing))


def test_equal_vectors_have_equal_estimates_and_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_ranker, "SIGNS_FROM", 0)
    some = unit(np.random.default_rng(12).standard_normal((300, DIM)))
    vectors = np.concatenate([some, some])
    dense = Dense([VectorPart(vectors, rounded=RoundedVectors.of(vectors))], Given(some))
    assert dense.rank("5", 1).positions.tolist() == [5, 305]


@pytest.mark.parametrize("size", [64, 65, 100, 384, 1000, 9000])
def test_signs_serve_vectors_of_any_size_and_length(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_ranker, "SIGNS_FROM", 0)
    random = np.random.default_rng(size)
    vectors = (random.standard_normal((333, size)) * random.uniform(0.01, 100, (333, 1))).astype(np.float32)
    vectors[7] = 0
    rounded = RoundedVectors.of(vectors)
    found = 0
    for place in range(0, 100, 2):
        query = (vectors[place] + random.standard_normal(size)).astype(np.float32)
        nearest = set(np.argsort(-(vectors @ query))[:5].tolist())
        found += len(best_of(rounded.nearest(vectors, Wanted(query, 5)), 5) & nearest)
    assert found >= 0.99 * 5 * 50


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_numbers_that_are_not_finite_break_nothing(
    number: float, vectors: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_ranker, "SIGNS_FROM", 0)
    damaged, query = vectors[:1000].copy(), vectors[0].copy()
    damaged[3, 5] = number
    rounded = RoundedVectors.of(damaged)
    places, scores = rounded.nearest(damaged, Wanted(query, 5))
    assert scores[places == 0] == pytest.approx([1.0], abs=1e-6)
    query[:] = number
    places, _ = rounded.nearest(damaged, Wanted(query, 5))
    assert ((places >= 0) & (places < len(damaged))).all()


def test_processor_cores_share_many_vectors(
    signed: RoundedVectors, vectors: NDArray[np.float32], queries: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [signed.nearest(vectors, Wanted(query, 10)) for query in queries]
    monkeypatch.setattr(vector_loops, "SLICE", 10 * vector_loops.SIGN_BLOCK)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    for query, (places, scores) in zip(queries, alone, strict=True):
        found = signed.nearest(vectors, Wanted(query, 10))
        assert found[0].tolist() == places.tolist()
        assert found[1].tolist() == scores.tolist()


def test_a_corpus_stores_signs_and_compares_all_vectors_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"d{at}": f"note {at} about {('cats', 'ships', 'bread', 'stars')[at % 4]}" for at in range(400)}
    monkeypatch.setattr(segment, "ROUNDED_FROM", 0)
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    monkeypatch.setattr("shortlist.index.snapshot.ONE_PASS_BELOW", 0)
    shortlist.build(texts, name="notes").close()
    corpus = shortlist.open_corpus("notes")  # written when segments had no signs
    assert rounded_of(corpus).signs is None
    before = search_both(corpus)
    monkeypatch.setattr(dense_ranker, "SIGNS_FROM", 0)
    corpus.add([Document("d400", "", "note 400 about cats")])
    corpus.remove("d0")
    corpus.compact()
    corpus.close()
    with shortlist.open_corpus("notes") as corpus:
        assert rounded_of(corpus).signs is not None
        after = search_both(corpus)
        assert corpus.verify()["status"] == "ok"
    assert before == (False, False)
    assert after == (True, False)


def rounded_of(corpus: shortlist.Corpus) -> RoundedVectors:
    with corpus.snapshot() as snapshot:
        (part,) = inside(snapshot).dense.parts
        assert part.rounded is not None
        return part.rounded


def search_both(corpus: shortlist.Corpus) -> tuple[bool, bool]:
    """Whether a search by default and one with `exact` read signs; their scores are equal."""
    (reads, scores), (exact_reads, exact_scores) = (search_everywhere(corpus, exact) for exact in (False, True))
    assert scores == exact_scores
    return reads, exact_reads


def search_everywhere(corpus: shortlist.Corpus, exact: bool) -> tuple[bool, list[float]]:
    with patch.object(vector_loops, "_find_peaks", wraps=vector_loops._find_peaks) as find_peaks:
        results = [
            shortlist.search(corpus, "feline pets", exact=exact),
            shortlist.discover(corpus, "feline pets", mode="dense", exact=exact).candidates,
            *shortlist.search_many(corpus, ["feline pets"] * 2, "hybrid", exact=exact),
        ]
    return find_peaks.called, [hit.score for hits in results for hit in hits]
