"""The compiled loops, and nothing else. Imported only when there is enough work to repay loading numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from shortlist.index import formulas

_saturated = njit(inline="always")(formulas.gain_saturated)
_scaled = njit(inline="always")(formulas.gain_scaled)
_bm25plus = njit(inline="always")(formulas.gain_bm25plus)
_bm25l = njit(inline="always")(formulas.gain_bm25l)
_linear = njit(inline="always")(formulas.gain_linear)

CODES: dict[Callable[..., Any], int] = {
    formulas.gain_saturated: 0,
    formulas.gain_scaled: 1,
    formulas.gain_bm25plus: 2,
    formulas.gain_bm25l: 3,
    formulas.gain_linear: 4,
}


@njit(cache=True, nogil=True)
def accumulate(scores, docs, tfs, lengths, starts, ends, idfs, weights, base, scale, code, k1, delta):  # type: ignore[no-untyped-def]
    """Add the gain of every posting of the given terms to its passage's score."""
    w_title, w_keywords, w_content = weights
    for term in range(len(starts)):
        idf = idfs[term]
        for at in range(starts[term], ends[term]):
            packed = tfs[at]
            tf = w_title * (packed >> 24) + w_keywords * ((packed >> 16) & 0xFF) + w_content * (packed & 0xFFFF)
            if tf == 0.0:
                continue
            norm = base + scale * lengths[docs[at]]
            if code == 0:
                gain = _saturated(tf, norm, k1, delta)
            elif code == 1:
                gain = _scaled(tf, norm, k1, delta)
            elif code == 2:
                gain = _bm25plus(tf, norm, k1, delta)
            elif code == 3:
                gain = _bm25l(tf, norm, k1, delta)
            else:
                gain = _linear(tf, norm, k1, delta)
            scores[docs[at]] += idf * gain
