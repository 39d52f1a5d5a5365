"""The loops of `ranking.c`: bounds are never too low, and merged postings are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.index.kernels import ranking_loops
from shortlist.index.kernels.formulas import gain_saturated, weighted_tf
from shortlist.index.kernels.ranking_loops import BLOCK, STRETCH
from shortlist.index.lexical.bm25 import Scoring, weighted_length
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.live_postings import kernel_numbers
from shortlist.index.lexical.postings import Fields, Postings
from tests.index.lexical import plain_parts
from tests.index.lexical.samples import WORDS, plain

SCORING = Scoring(k1=1.2, weights=(2.0, 1.5, 1.0))
AVERAGE = 12.0


def make_postings(count: int, seed: int = 1) -> Postings:
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, int(random.integers(1, 30)))) for _ in range(count)]
    return build([Fields(title=text.split()[0], content=text) for text in texts], plain)


@pytest.fixture
def postings() -> Postings:
    return make_postings(300)


def gains_of(postings: Postings) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = kernel_numbers(SCORING, AVERAGE)
    norms = numbers.base + numbers.scale * weighted_length(postings.lengths, SCORING.weights)
    tfs = weighted_tf(postings.tfs(), SCORING.weights)
    gains: np.ndarray[tuple[int], np.dtype[np.float64]] = gain_saturated(tfs, norms[postings.docs], SCORING.k1, 0.0)
    return gains


def test_gains_are_rounded_up_by_less_than_a_step(postings: Postings) -> None:
    impacts = ranking_loops.quantize(ranking_loops.describe(postings), kernel_numbers(SCORING, AVERAGE), 1.0)
    over = impacts / 255 - gains_of(postings)
    assert impacts.min() >= 1
    assert over.min() > -1e-9
    assert over.max() < 1 / 255 + 1e-9


def test_the_bound_of_a_block_is_its_largest_impact(postings: Postings) -> None:
    impacts = ranking_loops.quantize(ranking_loops.describe(postings), kernel_numbers(SCORING, AVERAGE), 1.0)
    frequent = np.arange(0, len(postings.keys), 2)
    size = int(np.diff(postings.starts)[frequent].sum())
    maxima, skips, packed = ranking_loops.tabulate(ranking_loops.describe(postings), impacts, frequent, size)
    assert maxima.shape == (len(frequent), -(-postings.size // BLOCK))
    for row, term in enumerate(frequent.tolist()):
        span = slice(int(postings.starts[term]), int(postings.starts[term + 1]))
        docs, expected = postings.docs[span], np.zeros(maxima.shape[1], np.uint8)
        np.maximum.at(expected, docs // BLOCK, impacts[span])
        assert maxima[row].tolist() == expected.tolist()
        own = packed[skips[row, 0] : skips[row, -1]]
        assert (own >> 8).tolist() == (docs % STRETCH).tolist()
        assert (own & 0xFF).tolist() == impacts[span].tolist()


def test_merged_postings_are_those_of_numpy() -> None:
    parts = [make_postings(90, seed=2), make_postings(40, seed=3)]
    alive = [np.arange(part.size) % 5 != 0 for part in parts]
    new_docs = [np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32) for mask in alive]
    new_docs[1] = np.where(alive[1], new_docs[1] + int(alive[0].sum()), -1).astype(np.int32)
    found, expected = ranking_loops.merge(parts, new_docs), plain_parts.join(parts, new_docs)
    assert [array.tolist() for array in found] == [array.tolist() for array in expected]
    assert len(found[2]) > 0
