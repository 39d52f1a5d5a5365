"""Where there are many vectors, rounded ones choose which are compared; what is found is what exact products find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import shortlist
from shortlist.index.dense.dense_ranker import Dense, RoundedVectors, VectorPart
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
        ours, theirs = found.rank(str(number), k, allowed), exact.rank(str(number), k, allowed)
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
    compared = [len(rounded.nearest(vectors, query, 10, None)[0]) for query in queries]
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
    places, scores = RoundedVectors.of(numbers).nearest(numbers, query, k, None)
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
    places = found.rank("0", 10, allowed).positions
    assert len(places) >= 10
    assert (allowed & ~dead)[places].all()
    few = np.arange(len(vectors)) < 3
    assert set(found.rank("0", 10, few).positions.tolist()) == set(np.flatnonzero(few & ~dead).tolist())


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
