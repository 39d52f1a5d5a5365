"""Where there are many vectors, signs choose which are compared; what is found is what exact products find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shortlist
from shortlist.index import segment
from shortlist.index.dense import Dense, VectorPart
from shortlist.index.signs import Signs
from shortlist.search import retrieve
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


def recall(found: Dense, exact: Dense, count: int, allowed: NDArray[np.bool_] | None = None) -> float:
    hits = 0
    for number in range(count):
        best = set(exact.rank(str(number), 10, allowed).positions[:10].tolist())
        hits += len(best & set(found.rank(str(number), 10, allowed).positions[:10].tolist()))
    return hits / (10 * count)


def test_ninety_nine_of_a_hundred_nearest_are_found(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    embedder = Given(queries)
    exact = Dense([VectorPart(vectors)], embedder)
    assert recall(Dense([VectorPart(vectors, signs=Signs.of(vectors))], embedder), exact, 100) >= 0.99


def test_filters_and_the_dead_are_heeded_before_anything_is_chosen(
    vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    embedder = Given(queries)
    random = np.random.default_rng(9)
    dead, allowed = random.random(len(vectors)) < 0.3, random.random(len(vectors)) < 0.01
    found = Dense([VectorPart(vectors, dead, 0, Signs.of(vectors))], embedder)
    exact = Dense([VectorPart(vectors, dead)], embedder)
    assert recall(found, exact, 30, allowed) == 1.0
    assert recall(found, exact, 30) >= 0.99
    places = found.rank("0", 10, allowed).positions
    assert len(places) >= 10
    assert (allowed & ~dead)[places].all()


def test_scores_are_exact_and_equal_vectors_tie() -> None:
    random = np.random.default_rng(10)
    some = unit(random.standard_normal((300, DIM)))
    vectors = np.concatenate([some, some])
    ranking = Dense([VectorPart(vectors, signs=Signs.of(vectors))], Given(some)).rank("5", 1)
    assert ranking.positions.tolist() == [5, 305]
    assert ranking.scores[0] == ranking.scores[1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_corpus_keeps_the_signs_of_many_vectors_and_finds_the_same(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        f"d{at}": f"note {at} about {('cats', 'ships', 'bread', 'stars')[at % 4]} and {at % 7} more"
        for at in range(400)
    }
    plain = shortlist.build(texts, name="plain")
    monkeypatch.setattr(segment, "SIGNS_FROM", 0)
    monkeypatch.setattr(retrieve, "ALL_SCORES_BELOW", 0)
    kept = shortlist.build(texts, name="kept")
    for corpus in (kept, shortlist.open_corpus("kept")):
        with corpus.snapshot() as snapshot:
            assert [part.signs is not None for part in inside(snapshot).dense.parts] == [True]
        for query in ("feline pets", "loaf of bread 17", "a ship at sea"):
            expected, found = shortlist.search(plain, query, mode, k=5), shortlist.search(corpus, query, mode, k=5)
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-5)
