"""On evaluation sets every engine ranks as the embedded one does. $SHORTLIST_BENCH_DATA is their folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest

from shortlist import create_corpus, search
from shortlist.eval.cases import load_beir
from shortlist.eval.metrics import ndcg
from shortlist.results import Mode
from tests.index.engines.conftest import Make, on_servers

DATA = os.environ.get("SHORTLIST_BENCH_DATA", "")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA, reason="SHORTLIST_BENCH_DATA names no folder")]


@on_servers
@pytest.mark.parametrize("name", ["scifact", "sealtools"])
def test_first_ten_and_their_ndcg_agree(name: str, make: Make) -> None:
    documents, cases = load_beir(Path(DATA) / name)
    cases = [case for case in cases if case.in_scope][: int(os.environ.get("SHORTLIST_BENCH_CASES", "0")) or None]
    here, there = create_corpus("here"), make(name, embedder=None)
    here.sync(documents)
    there.sync(documents)
    for mode in get_args(Mode):
        same, worth = 0, {"here": 0.0, "there": 0.0}
        for case in cases:
            found = {
                "here": [hit.id for hit in search(here, case.query, mode)],
                "there": [hit.id for hit in search(there, case.query, mode)],
            }
            same += found["here"] == found["there"]
            for side, ids in found.items():
                worth[side] += ndcg(ids, case.grades, 10) / len(cases)
        agree = same / len(cases)
        print(f"{name} {mode}: same first ten {agree:.4f}, nDCG@10 {worth['here']:.4f} and {worth['there']:.4f}")
        assert agree >= 0.95
        assert worth["there"] == pytest.approx(worth["here"], abs=0.005)
