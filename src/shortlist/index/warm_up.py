"""Compiles the loops ahead of their first use, each on a few words.

numba caches what it compiled on disk, for each combination of types.
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
    """Compile every loop, or load it if that was done before; return the number of versions of each.

    `progress` is called with the step that begins, the number of steps that are done, and of all steps.
    """
    report = progress or (lambda step, done, total: None)
    with _small_limits():
        report(STEPS[0], 0, len(STEPS))
        made = indexing.build([Fields(f"name {at}", (), f"some words {at}", ()) for at in range(8)], get_analyzer())
        report(STEPS[1], 1, len(STEPS))
        _rank(Part(made))
        report(STEPS[2], 2, len(STEPS))
        _rank(Part(made), Part(made, made.size))
    report(STEPS[3], 3, len(STEPS))
    vectors = np.eye(8, dtype=np.float32)
    query = vectors[0].copy()
    for is_writable in (True, False):  # vectors in memory are, those in a file are not
        vectors.setflags(write=is_writable)
        RoundedVectors.of(vectors).nearest(vectors, query, 1, np.zeros(0, dtype=bool))
    report("done", len(STEPS), len(STEPS))
    return {name: len(loop.signatures) for name, loop in find_loops().items()}


def find_loops() -> dict[str, Any]:
    """The compiled functions of the kernels that others call, by name; these compile the private ones with them."""
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


@contextmanager
def _small_limits() -> Iterator[None]:
    """Use the compiled loops for any amount of work, and fill a table of words soon."""
    limits = {(indexing, "COMPILED_TEXT"): 0, (lexical_ranker, "COMPILED_FROM"): 0, (indexing, "FIRST_WORDS"): 2}
    before = {limit: getattr(*limit) for limit in limits}
    try:
        for limit, value in limits.items():
            setattr(*limit, value)
        yield
    finally:
        for limit, value in before.items():
            setattr(*limit, value)
