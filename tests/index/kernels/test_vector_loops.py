"""The loops of `vectors.c`: products and nearest vectors are those of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shortlist.index.kernels.vector_loops import multiply, nearest, round_vectors


@pytest.fixture
def vectors() -> Any:
    vectors = np.random.default_rng(4).standard_normal((500, 37)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_products_are_those_of_numpy_and_equal_for_equal_vectors(vectors: Any) -> None:
    twice = np.concatenate([vectors, vectors])
    products = multiply(twice, vectors[3])
    np.testing.assert_allclose(products, twice @ vectors[3], atol=1e-5)
    assert products[:500].tolist() == products[500:].tolist()
    assert multiply(twice[7:8], vectors[3])[0] == products[7]


def test_rounded_vectors_are_as_near_as_stated(vectors: Any) -> None:
    codes, facts = round_vectors(vectors)
    step, moved, length = facts.T
    rounded = codes * step[:, np.newaxis]
    assert (np.linalg.norm(rounded - vectors, axis=1) <= moved * (1 + 1e-5)).all()
    assert moved.max() < 0.05
    np.testing.assert_allclose(np.linalg.norm(rounded, axis=1), length, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 10, 600])
def test_the_nearest_are_all_found_with_exact_products(k: int, vectors: Any) -> None:
    alive = np.arange(len(vectors)) % 3 != 0
    for query in vectors[:20]:
        places, scores = nearest(*round_vectors(vectors), vectors, query, k, alive)
        products = np.where(alive, multiply(vectors, query), -np.inf)
        best = np.argsort(-products)[: min(k, int(alive.sum()))]
        assert set(best.tolist()) <= set(places.tolist())
        assert alive[places].all()
        assert scores.tolist() == products[places].tolist()


@pytest.mark.parametrize("k", [1, 10, 600])
@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0])
def test_the_highest_sums_and_the_nearest_are_all_found(k: int, factor: float, vectors: Any) -> None:
    twice = np.concatenate([vectors, vectors])
    random = np.random.default_rng(5)
    alive = np.arange(len(twice)) % 3 != 0
    for query in vectors[:20]:
        added = np.where(random.random(len(twice)) < 0.3, random.random(len(twice)), 0.0)
        places, scores = nearest(*round_vectors(twice), twice, query, k, alive, added, factor)
        products = np.where(alive, multiply(twice, query), -np.inf)
        sums = np.where(alive, added + factor * np.where(alive, products, 0.0), -np.inf)
        kth = np.sort(sums)[-min(k, int(alive.sum()))]
        expected = {*np.flatnonzero(sums >= kth).tolist(), *np.flatnonzero(products == products.max()).tolist()}
        assert expected <= set(places.tolist())
        assert alive[places].all()
        assert scores.tolist() == products[places].tolist()


def test_few_are_compared_for_sums(vectors: Any) -> None:
    many = np.concatenate([vectors, -vectors, vectors[:, ::-1], -vectors[:, ::-1]])
    compared = [len(nearest(*round_vectors(many), many, query, 5, None, np.zeros(2000), 0.5)[0]) for query in many[:20]]
    assert max(compared) < 200


def test_a_query_of_another_length_is_refused(vectors: Any) -> None:
    with pytest.raises(ValueError, match="a query of 3 dimensions cannot be compared with vectors of 37"):
        multiply(vectors, vectors[0][:3])
