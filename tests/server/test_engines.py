"""The service over a corpus in a cluster."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist import Document
from shortlist.index.engines.address import PROCESS, Address
from tests.index.engines.conftest import address, on_servers  # noqa: F401
from tests.server.conftest import Make

NOTES = [
    Document("mars", "Mars", "Mars has two moons, Phobos and Deimos. They were discovered in 1877 by Asaph Hall."),
    Document("venus", "Venus", "Venus has no moons. A day on Venus is longer than its year.", metadata={"n": 2}),
]


@pytest.fixture
def planets(address: str, make: Make) -> TestClient:  # noqa: F811
    shortlist.build(NOTES, "planets", embedder="light", engine=address).close()
    return make()


@on_servers
def test_a_corpus_in_a_cluster_is_listed_searched_discovered_asked_and_changed(
    planets: TestClient,
    address: str,  # noqa: F811
) -> None:
    (row,) = [row for row in planets.get("/v1/corpora").json()["corpora"] if row["name"] == "planets"]
    assert (row["engine"], row["documents"], row["problem"]) == (address, 2, None)
    body = {"query": "moons of Mars", "k": 1}
    assert planets.post("/v1/corpora/planets/search", json=body).json()["hits"][0]["id"] == "mars"
    filtered = planets.post("/v1/corpora/planets/search", json={"query": "moons", "filter": {"n": 2}}).json()
    assert [hit["id"] for hit in filtered["hits"]] == ["venus"]
    found = planets.post("/v1/corpora/planets/discover", json={"query": "moons of Mars", "level": "body"}).json()
    assert found["results"][0]["body"] == NOTES[0].content
    asked = planets.post("/v1/corpora/planets/ask", json={"question": "Who discovered the moons of Mars?"}).json()
    assert "Asaph Hall" in asked["text"]
    fresh = {"id": "saturn", "title": "Saturn", "content": "Saturn has rings."}
    assert planets.post("/v1/corpora/planets/documents", json={"documents": [fresh]}).json()["added"] == 1
    assert planets.post("/v1/corpora/planets/search", json={"query": "rings"}).json()["hits"][0]["id"] == "saturn"
    assert planets.delete("/v1/corpora/planets/documents/saturn").json()["removed"] == 1
    assert planets.get("/v1/corpora/planets/documents").json()["count"] == 2


def test_an_unreachable_cluster_is_503(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from shortlist.index.corpus_paths import corpus_folder
    from shortlist.index.engines import cluster_client, pointers

    monkeypatch.setattr(cluster_client, "PATIENCE_READING", 0.1)
    pointers.write(corpus_folder("away"), Address.parse("opensearch+http://127.0.0.1:1/p"), "away")
    client = make()
    answer = client.post("/v1/corpora/away/search", json={"query": "x"})
    assert answer.status_code == 503
    assert "cannot be reached" in answer.json()["detail"]
    (row,) = [row for row in client.get("/v1/corpora").json()["corpora"] if row["name"] == "away"]
    assert "cannot be reached" in row["problem"]
    assert row["engine"] == "opensearch+http://127.0.0.1:1/p"


def test_the_user_of_the_settings_is_used_and_the_password_never_shown(make: Make) -> None:
    client = make(engine__user="ann", engine__password="hush-hush")
    assert (PROCESS.credentials.user, PROCESS.credentials.password) == ("ann", "hush-hush")
    rows = {row["key"]: row["value"] for row in client.get("/status").json()["configuration"]}
    assert (rows["engine.user"], rows["engine.password"]) == ("ann", "***")
    make()
    assert not PROCESS.credentials.user
