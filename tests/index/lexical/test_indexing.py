"""From texts to postings: the compiled way gives the same arrays as Python."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.lexical import indexing
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.query_terms import analyze
from tests.index.lexical.samples import index, thorough


def test_counts_saturate_instead_of_spilling_into_another_field() -> None:
    ours = index([Fields(title="a " * 300, content="b " * 70_000), Fields(content="c")])
    assert ours.scores(["c"])[0] == 0.0
    assert ours.scores(["b"])[0] == pytest.approx(math.log(2), rel=1e-3)


def test_names_are_found_in_a_query_in_any_spelling() -> None:
    ours = index([Fields(names=("get_user",)), Fields(names=("it",)), Fields(names=("x " * 20,))])
    queries = ["please call getUser now", "is it good", "It", "x " * 20]
    named = ours.named([analyze(ours.analyzer, query) for query in queries])
    assert [[*found] for found in named] == [[0], [], [1], []]


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
