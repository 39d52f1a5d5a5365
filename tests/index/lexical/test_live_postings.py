"""Postings with deleted passages, and the bounds of what each posting adds."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.kernels import ranking_loops
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Impacts, Part
from shortlist.index.lexical.postings import Fields, Postings, merge
from tests.index.lexical import plain_parts
from tests.index.lexical.samples import assert_ranks_as_if_exhaustive, contents, fields, index, plain, texts


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
    assert ours.scores_at(terms, some) == ours.scores(terms)[some].tolist()
    merged = merge(pairs)
    assert Lexical([Part(merged)], plain, scoring).scores(terms).tolist() == whole.scores(terms).tolist()
    assert same_arrays(merged, build([passages[at] for at in alive], plain))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking_loops, "merge", plain_parts.join)
        assert same_arrays(merge(pairs), merged)


def same_arrays(one: Postings, other: Postings) -> bool:
    return all(np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())


def test_impacts_that_are_copied_point_to_their_own_arrays() -> None:
    impacts = Impacts.of(build([Fields("one", (), "two three")], plain), Scoring(), 3.0)
    for other in (pickle.loads(pickle.dumps(impacts)), copy.deepcopy(impacts)):
        assert other.describe() == impacts.describe()
        for name, array, address in zip(impacts.arrays(), other.arrays().values(), other.addresses, strict=True):
            assert array.ctypes.data == address
            assert array.tolist() == impacts.arrays()[name].tolist()


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
