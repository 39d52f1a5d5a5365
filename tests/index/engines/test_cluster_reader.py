"""A query to a cluster takes few requests."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import shortlist
from shortlist.index.engines.cluster_client import Cluster
from shortlist.results import Mode
from tests.index.engines.conftest import Make, on_servers, teas


@on_servers
def test_a_query_takes_one_request_and_only_fused_ranks_another_for_the_texts(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("teas", embedder="light")
    corpus.sync(teas(50))
    shortlist.search(corpus, "sencha")  # after this the number of passages is known
    asked: list[str] = []
    request = Cluster.request

    def listened(self: Cluster, method: str, path: str, *more: Any, **options: Any) -> Any:
        asked.append(path.partition("?")[0].rpartition("/")[2])
        return request(self, method, path, *more, **options)

    monkeypatch.setattr(Cluster, "request", listened)
    for mode in get_args(Mode):
        asked.clear()
        shortlist.search(corpus, "sencha in the garden", mode, k=3)
        expected = ["_msearch", "_mget"] if mode == "hybrid" else ["_msearch"]
        assert [path for path in asked if path != "config"] == expected, mode
