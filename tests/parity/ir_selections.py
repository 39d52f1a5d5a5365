"""What `ir.select` of the package ir 0.1.11 selects from 400 random lists of hits, and the lists.

Every selection is the beginning of its list, so its size describes it. To generate SIZES again, install that package
and run this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

STRATEGIES = ("conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "callable")
SIZES = (
    "1324130110022530361311331311132613331133113221132022131615643010131510116213361313151311123421132310"
    "1503204333031311121015133122111123011333303423130343231340103333111343102623101102111312123433113333"
    "2313041101330010220012151343331311161051021113231011034235021211332313040010163043140113121356132441"
    "2311103400111533332310203313133326313113243212251112232113121312131301202610301211123111133323232212"
)


def lists() -> Iterator[tuple[list[float], dict[str, Any]]]:
    """The scores of each list, best first and all different, and the arguments of `select`."""
    draw = Random(4).random  # the one method whose numbers are the same in every version of Python
    for at in range(400):
        scale, base = ((1.0, 0.0), (30.0, 0.0), (0.033, 0.0), (1.0, -0.3))[int(draw() * 4)]
        scores = sorted({scale * (base + draw() ** (1 + at % 3)) for _ in range(int(draw() * 13))}, reverse=True)
        strategy = STRATEGIES[at % len(STRATEGIES)]
        options: dict[str, Any] = {"strategy": all_of if strategy == "callable" else strategy}
        if draw() < 0.6:
            options["max_k"] = 1 + int(draw() * 6)
        if draw() < 0.6:
            options |= {"rel": draw(), "gap_ratio": draw()}
        if strategy == "abs_threshold" or draw() < 0.2:
            options["min_score"] = scale * draw()
        yield scores, options


def all_of(hits: list[Any]) -> list[Any]:
    return list(hits)


if __name__ == "__main__":
    import ir  # type: ignore[import-untyped]

    def size(scores: list[float], options: dict[str, Any]) -> str:
        hits = [ir.SearchHit(str(at), "name", score, "", {}) for at, score in enumerate(scores)]
        ids = [int(hit.artifact_id) for hit in ir.select(hits, **options).selected]
        assert ids == list(range(len(ids)))
        return str(len(ids))

    print("".join(size(*one) for one in lists()))
