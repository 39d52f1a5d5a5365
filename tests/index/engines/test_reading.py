"""What is read of a corpus in a cluster comes in few requests, and is what the embedded engine gives."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest

import shortlist
from shortlist import Document
from shortlist.index.engines.cluster_client import Cluster
from shortlist.results import Mode
from tests.index.engines.conftest import Make, on_servers

WORDS = [
    "oolong",
    "sencha",
    "assam",
    "matcha",
    "darjeeling",
    "ceylon",
    "kettle",
    "cup",
    "saucer",
    "leaf",
    "garden",
    "harvest",
    "mountain",
    "river",
    "trade",
    "ship",
    "port",
    "merchant",
    "tax",
    "price",
    "weight",
    "chest",
    "paper",
    "stamp",
    "letter",
    "house",
    "table",
    "guest",
    "morning",
    "evening",
    "winter",
    "summer",
    "rain",
    "soil",
    "root",
]


def teas(count: int) -> list[Document]:
    """Documents of several passages, some of which share a name."""
    dice = random.Random(9)
    return [
        Document(f"d{at}", f"Tea {at % 150}", " ".join(dice.choices(WORDS, k=dice.randint(20, 120))), kind="file")
        for at in range(count)
    ]


@on_servers
@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_query_takes_one_request_and_the_texts_another(
    mode: Mode, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("teas", embedder="light")
    corpus.sync(teas(50))
    shortlist.search(corpus, "sencha", mode)  # after which about how many passages there are is known
    asked: list[str] = []
    ask = Cluster.ask

    def listened(self: Cluster, method: str, path: str, *more: Any, **options: Any) -> Any:
        asked.append(path.partition("?")[0].rpartition("/")[2])
        return ask(self, method, path, *more, **options)

    monkeypatch.setattr(Cluster, "ask", listened)
    shortlist.search(corpus, "sencha in the garden", mode, k=3)
    assert [path for path in asked if path != "config"] == ["_msearch", "_mget"]


@on_servers
def test_the_hits_are_those_of_the_embedded_engine(make: Make) -> None:
    there, here = (
        make("teas", embedder="light", chunk_size=200, chunk_overlap=0),
        shortlist.create_corpus("here", embedder="light", chunk_size=200, chunk_overlap=0),
    )
    documents = teas(600)
    there.sync(documents)
    here.sync(documents)
    assert there.info()["passages"] == here.info()["passages"] > 600
    for query in ("a cup of oolong in the garden", "sencha tea 7", "tax and trade"):
        for mode in get_args(Mode):
            expected = {hit.id: hit for hit in shortlist.search(here, query, mode, k=5)}
            found = {hit.id: hit for hit in shortlist.search(there, query, mode, k=5)}
            assert list(found) == list(expected), (query, mode)
            for id, hit in found.items():
                assert hit.score == pytest.approx(expected[id].score, abs=1e-6)
                assert hit.signals == pytest.approx(expected[id].signals, abs=1e-6)
