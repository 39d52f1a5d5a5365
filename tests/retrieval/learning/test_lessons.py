from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from shortlist.retrieval.learning import learned, lessons

if TYPE_CHECKING:
    pass


@pytest.fixture(autouse=True)
def _learn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(learned, "RELEARN_AT_ONCE", 1e9)


def test_the_examples_of_a_document_are_compared_with_each_other() -> None:
    rows = np.eye(4, dtype=np.float32)[[0, 0, 1, 2]]
    sums = np.add.reduceat(rows, [0, 2], axis=0)
    alike, different = lessons._compare_within(rows, rows, sums, [0, 2, 4]).tolist()
    assert alike > 0 > different
