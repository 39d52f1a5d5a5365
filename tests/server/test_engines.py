"""The service over a corpus in a cluster."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist import Document
from shortlist.index.engines.address import PROCESS, Address
from shortlist.server.access.named_tokens import create_token
from tests.index.engines.conftest import address, on_servers  # noqa: F401
from tests.mcp.conftest import HEADERS
from tests.server.conftest import Make
from tests.server.routes.test_hidden_documents import CHANGING, CORPUS, PLANS, REQUESTS, TOOLS

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


@on_servers
def test_no_answer_shows_that_a_cluster_has_hidden_documents(address: str, make: Make) -> None:  # noqa: F811
    """Answers over a corpus with hidden documents are those over one in which they never existed."""
    token = {"Authorization": f"Bearer {create_token('ada', ['staff'], None)}"}
    shown = [Document(**tool) for tool in TOOLS]
    engine, found = f"{address}?shards=3", []
    for name, documents in (("one", [*shown, *(Document(**plan) for plan in PLANS)]), ("two", shown)):
        shortlist.build(documents, name, embedder="light", engine=engine).close()
    client = make(access__grants={"one": {"read": ["staff"]}, "two": {"read": ["staff"]}}, mcp__upstream=False)
    for name in ("one", "two"):
        answers = []
        for method, path, body in REQUESTS:
            arguments = body if method != "MCP" else {**body, "corpus": name} if path in ("read", "ask") else None
            if method == "MCP" and arguments:
                params = {"name": path, "arguments": arguments}
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                answer = client.post("/mcp", json=call, headers=HEADERS | token)
            elif method != "MCP" and path.startswith(CORPUS):
                path = path.replace(CORPUS, f"/v1/corpora/{name}")
                answer = client.request(method, path, json=body, headers=token)
            else:
                continue
            text = CHANGING.sub("", answer.text).replace(f"/{name}", "/NAME").replace(f"'{name}'", "'NAME'")
            answers.append((answer.status_code, re.sub(rf'\\?"{name}\\?"', '"NAME"', text)))
        found.append(answers)
    whole, visible = found
    assert whole == visible
    assert {status for status, _ in whole} == {200, 403, 404, 422}
    assert "secret" not in str(whole)


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
