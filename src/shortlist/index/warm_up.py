"""Compiles the loops ahead of their first use, each on a few words.

numba keeps what it compiled on disk, for each combination of types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from shortlist.index import kernels
from shortlist.index.config import CORPUS_SCORING
from shortlist.index.dense.dense_ranker import RoundedVectors
from shortlist.index.lexical import indexing, lexical_ranker
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer

Step = Callable[[str, int, int], None]
STEPS = ("index texts", "rank one segment", "rank two segments", "compare vectors")


def warm(progress: Step | None = None) -> dict[str, int]:
    """Compile every loop, or load it where that was done before; how many versions of each there are.

    `progress` is told the step that begins, how many are done, and of how many.
    """
    tell = progress or (lambda step, done, total: None)
    with _small_work_counts():
        tell(STEPS[0], 0, len(STEPS))
        made = indexing.build([Fields(f"name {at}", (), f"some words {at}", ()) for at in range(8)], get_analyzer())
        tell(STEPS[1], 1, len(STEPS))
        _rank(Part(made))
        tell(STEPS[2], 2, len(STEPS))
        _rank(Part(made), Part(made, made.size))
    tell(STEPS[3], 3, len(STEPS))
    _compare()
    tell("done", len(STEPS), len(STEPS))
    return {name: len(loop.signatures) for name, loop in loops().items()}


def loops() -> dict[str, Any]:
    """The compiled functions of the kernel that others call, by name; what only they call is compiled with them."""
    modules = (kernels.ranking_loops, kernels.text_loops, kernels.vector_loops)
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if hasattr(value, "signatures") and not name.startswith("_") and value.py_func.__module__ == module.__name__
    }


def _rank(*parts: Part) -> None:
    ranker = Lexical(parts, get_analyzer(), CORPUS_SCORING)
    ranker.rank("some name", 3)
    ranker.rank("some name", 3, np.ones(ranker.size, dtype=bool))
    ranker.scores_at(["some", "name"], np.arange(2))


def _compare() -> None:
    vectors = np.eye(8, dtype=np.float32)
    query = vectors[0].copy()
    for kept in (True, False):  # in memory they can be written to, in a file not
        vectors.setflags(write=kept)
        RoundedVectors.of(vectors).nearest(vectors, query, 1, np.zeros(0, dtype=bool))


@contextmanager
def _small_work_counts() -> Iterator[None]:
    """For a moment nothing is too small for the compiled loops, and a table of words is soon full."""
    limits = (indexing, "COMPILED_TEXT"), (lexical_ranker, "COMPILED_FROM"), (indexing, "FIRST_WORDS")
    kept = [getattr(*limit) for limit in limits]
    for (module, name), value in zip(limits, (0, 0, 2), strict=True):
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in zip(limits, kept, strict=True):
            setattr(module, name, value)
