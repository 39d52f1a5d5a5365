"""Postings: counts are packed, and unpacked as they were."""

from __future__ import annotations

import numpy as np

from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.postings import Counts, Fields
from shortlist.index.text.analyzers import get_analyzer


def test_counts_of_any_size_are_packed_without_loss() -> None:
    tfs = np.array([1, 15, 16, 1 << 16, 3 << 16 | 2, 4 << 16, 3 << 24, 4 << 24, 0xFFFF, 0xFFFFFFFF], dtype=np.uint32)
    codes, places, large = Counts.of(tfs)
    assert places.tolist() == [2, 5, 7, 8, 9]
    assert large.tolist() == tfs[places].tolist()
    postings = build([Fields("", (), "word " * count, ()) for count in (1, 15, 16, 70_000)], get_analyzer())
    assert postings.tfs().tolist() == [1, 15, 16, 0xFFFF]
    assert postings.tfs(1, 3).tolist() == [15, 16]
    assert postings.large_places.tolist() == [2, 3]
    assert (codes == 0).tolist() == [at in places for at in range(len(tfs))]
