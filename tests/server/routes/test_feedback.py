"""Learning from use over HTTP: feedback, counts, and how it is forgotten."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.index.storage.usage_log import Learning
from shortlist.retrieval.learning.examples import MOST_IN_SESSION
from tests.server.conftest import Make, write_catalog

FEEDBACK, USAGE = "/v1/corpora/catalog/feedback", "/v1/corpora/catalog/usage"
RIGHT = {"query": "the customer is unhappy", "id": "refund", "shown": ["track", "refund"]}


def counts(client: TestClient) -> tuple[int, int, int]:
    usage = client.get(USAGE).json()
    return usage["searches"], usage["uses"], usage["documents"]


def found(client: TestClient, query: str) -> list[str]:
    answer = client.post("/v1/corpora/catalog/search", json={"query": query})
    return [hit["id"] for hit in answer.json()["hits"]]


def test_feedback_is_learned_and_similar_queries_find_the_document(client: TestClient) -> None:
    assert found(client, "an unhappy customer") == []
    assert client.post(FEEDBACK, json=RIGHT).json() == {"stored": True, "learning": "on"}
    assert found(client, "an unhappy customer") == ["refund"]
    answer = client.post("/v1/corpora/catalog/discover", json={"query": "an unhappy customer"}).json()
    assert answer["results"] == []  # one report is not enough
    assert client.get("/status").json()["learning"] == "on"


@pytest.mark.parametrize(("learning", "stored"), [("log", True), ("off", False)])
def test_without_learning_the_ranking_stays_the_same(make: Make, learning: Learning, stored: bool) -> None:
    client = make(**{"usage.learn": learning})
    assert client.post(FEEDBACK, json=RIGHT).json() == {"stored": stored, "learning": learning}
    assert found(client, "an unhappy customer") == []
    assert counts(client) == (stored, stored, stored)
    assert client.get(USAGE).json()["learning"] == client.get("/status").json()["learning"] == learning


def test_what_is_sent_is_stored_with_the_corpus(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Brew green tea.")
    shortlist.register("notes", "files", root=tmp_path / "tea.md", embedder="none")
    shortlist.build("notes").close()
    one = {"query": "a hot  drink", "id": "tea.md"}
    for sent in (one, one | {"outcome": "failed", "shown": ["tea.md", "milk.md"], "session": "s1"}):
        assert client.post("/v1/corpora/notes/feedback", json=sent).status_code == 200
    with shortlist.open_corpus("notes") as corpus:
        stored = [(one.query, list(one.shown), one.session, one.uses[0].outcome) for one in corpus.usage]
    assert stored == [
        ("a hot drink", [], "", "called"),
        ("a hot drink", ["tea.md", "milk.md"], "s1", "failed"),
    ]


def test_usage_has_counts_and_no_queries(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    empty = {"searches": 0, "uses": 0, "since": None, "bytes": 0, "documents": 0, "learning": "on"}
    empty["threshold"] = None
    assert client.get(USAGE).json() == empty
    with caplog.at_level(logging.DEBUG):
        client.post(FEEDBACK, json=RIGHT)
        client.post(FEEDBACK, json=RIGHT | {"outcome": "read"})
        client.post(FEEDBACK, json=RIGHT | {"id": "track", "outcome": "failed"})
    usage = client.get(USAGE).json()
    assert counts(client) == (3, 3, 1)
    assert usage.keys() == empty.keys()
    assert usage["bytes"] > 0
    for path in (USAGE, "/status", "/v1/corpora", "/metrics"):
        assert "unhappy" not in client.get(path).text
    assert "unhappy" not in caplog.text


def test_use_is_forgotten_of_one_document_or_of_all(client: TestClient) -> None:
    client.post(FEEDBACK, json=RIGHT)
    client.post(FEEDBACK, json={"query": "where is it", "id": "track"})
    client.post(FEEDBACK, json={"query": "find it", "id": "track", "outcome": "failed"})
    assert client.delete(f"{USAGE}?id=refund").json() == {"forgotten": 1}
    assert client.delete(f"{USAGE}?id=nothing").json() == {"forgotten": 0}
    assert counts(client) == (2, 2, 1)
    assert found(client, "an unhappy customer") == []
    assert client.delete(USAGE).json() == {"forgotten": 2}
    assert counts(client) == (0, 0, 0)


def test_what_was_learned_survives_a_restart_and_a_reload(make: Make, catalog: Path) -> None:
    make().post(FEEDBACK, json=RIGHT)
    write_catalog(catalog, [{"id": "tea", "title": "Tea", "content": "Brew tea."}])
    client = make()
    assert found(client, "tea") == ["tea"]
    assert counts(client) == (1, 1, 1)


@pytest.mark.parametrize(
    ("change", "where", "message"),
    [
        ({"query": ""}, "body.query", "at least 1 character"),
        ({"query": " \n "}, "body.query", "pattern"),
        ({"query": "x" * 8_001}, "body.query", "the limit is 8,000"),
        ({"id": " "}, "body.id", "pattern"),
        ({"outcome": "good"}, "body.outcome", "'called', 'read', 'failed', 'wrong' or 'reworded'"),
        ({"shown": ["track"] * 51}, "body.shown", "at most 50 items"),
        ({"shown": "track"}, "body.shown", "list"),
        ({"session": "s" * 201}, "body.session", "at most 200 characters"),
        ({"sessions": "s"}, "body.sessions", "did you mean 'session'?"),
    ],
)
def test_invalid_feedback_is_rejected_with_its_place(
    client: TestClient, change: dict[str, Any], where: str, message: str
) -> None:
    answer = client.post(FEEDBACK, json=RIGHT | change)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["where"], message in error["message"]) == (where, True), error
    assert counts(client) == (0, 0, 0)


def test_an_unknown_document_or_corpus_is_404_with_a_suggestion(client: TestClient) -> None:
    answer = client.post(FEEDBACK, json=RIGHT | {"id": "refunds"})
    assert (answer.status_code, "Did you mean 'refund'?" in answer.json()["detail"]) == (404, True)
    for answer in (
        client.post("/v1/corpora/catalogue/feedback", json=RIGHT),
        client.get("/v1/corpora/catalogue/usage"),
        client.delete("/v1/corpora/catalogue/usage"),
    ):
        assert (answer.status_code, "Did you mean 'catalog'?" in answer.json()["detail"]) == (404, True)
    assert client.get("/v1/corpora/packages/usage").status_code == 409  # never built


def test_pages_of_other_origins_can_neither_teach_nor_forget(client: TestClient) -> None:
    client.post(FEEDBACK, json=RIGHT)
    foreign = {"Origin": "http://evil.example"}
    assert client.post(FEEDBACK, json=RIGHT, headers=foreign).status_code == 403
    assert client.delete(USAGE, headers=foreign).status_code == 403
    assert "access-control-allow-origin" not in client.get(USAGE, headers=foreign).headers
    assert counts(client) == (1, 1, 1)


def test_feedback_needs_the_token_of_the_service_and_json(make: Make) -> None:
    client = make(server__token="s3cret")
    assert client.post(FEEDBACK, json=RIGHT).status_code == 401
    assert client.delete(USAGE).status_code == 401
    assert client.get(USAGE).status_code == 401
    client.headers["Authorization"] = "Bearer s3cret"
    form = {"Content-Type": "text/plain"}
    assert client.post(FEEDBACK, content='{"query": "q", "id": "refund"}', headers=form).status_code == 422
    assert counts(client) == (0, 0, 0)


def test_the_usage_of_a_corpus_is_not_mistaken_for_a_document(client: TestClient, tmp_path: Path) -> None:
    folder = tmp_path / "documents" / "notes"
    folder.mkdir(parents=True)
    (folder / "tea.md").write_text("Brew green tea.")
    name = f"docs:{folder}"
    shortlist.build(name, embedder="none").close()
    base = f"/v1/corpora/{name.replace('/', '%2F')}"
    assert client.post(f"{base}/feedback", json={"query": "a hot drink", "id": "tea.md"}).json()["stored"] is True
    assert client.get(f"{base}/usage").json()["uses"] == 1
    assert client.delete(f"{base}/usage").json() == {"forgotten": 1}
    client.post("/documents", json=[{"id": id, "title": id, "content": "x"} for id in ("usage", "deep/usage")])
    for id in ("usage", "deep/usage"):
        path = f"/v1/corpora/catalog/documents/{id}"
        assert client.get(path).json()["title"] == id
        assert client.delete(path).json()["removed"] == 1


def test_a_new_session_for_each_report_does_not_avoid_the_limit(client: TestClient) -> None:
    answers = [
        client.post(FEEDBACK, json={"query": f"query {number}", "id": "refund", "session": f"s{number}"}).json()
        for number in range(MOST_IN_SESSION + 3)
    ]
    assert [answer["stored"] for answer in answers] == [True] * MOST_IN_SESSION + [False] * 3
    assert counts(client)[1] == MOST_IN_SESSION
    assert client.post(FEEDBACK, json={"query": "parcel", "id": "track"}).json()["stored"]  # the limit is per document


def test_a_report_is_taken_back_by_the_session_that_sent_it(client: TestClient) -> None:
    reports = [RIGHT | {"session": "s1"}, RIGHT | {"session": "s2", "outcome": "wrong"}]
    for report in reports:
        client.post(FEEDBACK, json=report)
    assert counts(client) == (2, 2, 1)
    assert client.post(FEEDBACK, json=RIGHT | {"undo": True}).json()["stored"] is False  # it has no session
    for report, left in zip(reports, (1, 0), strict=True):
        assert client.post(FEEDBACK, json=report | {"undo": True}).json() == {"stored": True, "learning": "on"}
        assert counts(client)[0] == left
    assert found(client, "an unhappy customer") == []
    for undo, left in ((False, 1), (False, 2), (True, 1), (True, 0)):  # without a session, one by one
        assert client.post(FEEDBACK, json=RIGHT | {"undo": undo}).json()["stored"]
        assert counts(client)[0] == left
    for _ in range(2 * MOST_IN_SESSION):  # what was taken back does not count for the limit
        assert client.post(FEEDBACK, json=RIGHT).json()["stored"]
        assert client.post(FEEDBACK, json=RIGHT | {"undo": True}).json()["stored"]
