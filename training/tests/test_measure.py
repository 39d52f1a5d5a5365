"""The figures of training are those of the benchmarks, and its data has the index's form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench import beir
from shortlist.index.embedders import tools_model
from training import data, measure


def test_ndcg_is_that_of_the_benchmarks() -> None:
    gained = 2 / math.log2(2) + 1 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert measure.ndcg([7, 9, 8], {7: 2.0, 8: 1.0}) == pytest.approx(gained / ideal)
    assert measure.ndcg([7, 9, 8], {7: 2.0, 8: 1.0}) == beir.ndcg(["7", "9", "8"], {"7": 2.0, "8": 1.0})


def test_auroc_counts_pairs_in_order_and_half_of_the_ties() -> None:
    assert measure.auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


def test_a_set_is_measured_by_rank_and_by_what_was_offered() -> None:
    documents = np.eye(12, dtype=np.float32)
    one = {
        "asked": [[0, {"3": 1.0}, [3]], [1, {"5": 1.0}, [5, 6]]],
        "unserved": [[2, [7]], [3, []]],
    }
    queries = documents[[3, 6]] * 0.5
    unserved = np.stack([documents[7] * 0.2, documents[8] * 0.4])
    found = measure.measure(one, documents, queries, unserved)
    second = sum(1 / math.log2(2 + place) for place in range(10) if place)  # 5 lies somewhere behind 6
    assert 0.5 <= found["ndcg"] <= (1 + second) / 2
    assert found["auroc"] == 1.0


@pytest.mark.parametrize(
    ("source", "positive", "titled"),
    [
        ("openapi", "fileAssets_create Parameters: name API: App", "fileAssets_create\nParameters: name API: App"),
        ("openapi", "GET /quotes API: Forge", "GET /quotes\nAPI: Forge"),
        ("debian", "node-stable: The default sort: stable", "node-stable\nThe default sort: stable"),
        ("medquad", "It is: a question", "It is: a question"),
    ],
)
def test_a_weak_positive_has_its_name_on_a_line_of_its_own(source: str, positive: str, titled: str) -> None:
    assert data._titled(source, positive) == titled


def test_training_reads_names_as_the_embedder_does() -> None:
    train = pytest.importorskip("training.train", exc_type=ImportError)
    for text in ("getUserToken\nGives a token", "Ask GitHub\nfor theIssue", "HTTPServerStart", ""):
        assert train.FORMS["name"](text) == tools_model.as_read(text)
