"""Evaluations over HTTP equal those of the library, report progress, have limits, and are not stored."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

import shortlist
from shortlist import Document
from shortlist._paths import data_dir
from shortlist.eval import compare, evaluate_discovery, lint_corpus, parse_cases, study
from shortlist.server.routes import job_routes
from tests.server.conftest import TOOLS, Make, Start, until
from tests.server.routes.test_job_routes import read_events

EVAL, LINT = "/v1/corpora/shop/eval", "/v1/corpora/shop/lint"
ROWS: list[dict[str, Any]] = [
    {"query": "where is the shipment", "gold": "track"},
    {"query": "a bill, and money back to the card", "gold": ["invoice", "refund"]},
    {"query": "zebra", "gold": ["refund"]},
    {"query": "play some jazz", "gold": []},
    {"query": "a card for her birthday", "gold": []},
]
TEXT = "\n".join(map(json.dumps, ROWS))
MANY = "\n".join(json.dumps(row) for row in ROWS for _ in range(1000))


@pytest.fixture(autouse=True)
def shop() -> None:
    tools = [Document(**tool) for tool in TOOLS]
    shortlist.build(tools, "shop", embedder="none").close()


def by_the_library(against: Any = None, **options: Any) -> Any:
    cases = parse_cases(TEXT)
    with shortlist.open_corpus("shop") as corpus:
        report = evaluate_discovery(corpus, cases, "auto", **options)
        first = evaluate_discovery(corpus, cases, against, **options) if against else None
        return study(corpus, report, compare(first, report) if first else None, curve=False)


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "seconds"}
    return [without_times(item) for item in data] if isinstance(data, list) else data


@pytest.mark.parametrize("cases", [TEXT, "\ufeff" + TEXT.replace("\n", "\r\n\r\n"), ROWS])
def test_an_evaluation_equals_that_of_the_library_for_lines_and_objects(client: TestClient, cases: Any) -> None:
    answer = client.post(EVAL, json={"cases": cases, "k": 2, "html": True})
    found = by_the_library(k=2)
    expected = json.loads(json.dumps({**found.to_dict(), "flaws": [], "html": found.html()}))
    assert without_times(answer.json()) == without_times(expected)


def test_two_modes_are_compared_case_by_case(client: TestClient) -> None:
    answer = client.post(EVAL, json={"cases": TEXT, "against": "lexical"}).json()
    expected = json.loads(json.dumps(by_the_library(against="lexical").comparison.to_dict()))
    assert without_times(answer["comparison"]) == without_times(expected)
    assert answer["plots"][0]["names"] == ["lexical", "auto"]
    assert answer["html"] is None
    nothing = client.post(EVAL, json={"cases": ROWS[3:], "against": "lexical"}).json()
    assert (nothing["comparison"], nothing["metrics"], nothing["plots"]) == (None, {}, [])


def test_the_threshold_the_filter_and_the_curve_are_options(client: TestClient) -> None:
    answer = client.post(EVAL, json={"cases": TEXT, "min_relevance": 1}).json()
    assert answer["taxonomy"] | {"false_abstention": 2, "abstention_ok": 2, "retrieval_miss": 1} == answer["taxonomy"]
    answer = client.post(EVAL, json={"cases": TEXT, "filter": {"access": "read"}}).json()
    assert answer["taxonomy"]["hit_rank_1"] == 1
    curve = client.post(EVAL, json={"cases": TEXT, "curve": True}).json()["curve"]
    assert [point["size"] for point in curve["points"]] == [3]


@pytest.mark.parametrize("path", [EVAL, LINT])
def test_events_report_progress_and_end_with_the_answer(client: TestClient, path: str) -> None:
    body = {"cases": TEXT} if path == EVAL else {}
    events = read_events(client.post(path, json=body | {"stream": True}).text)
    whole = client.post(path, json=body).json()
    assert [name for name, _ in events] == ["progress"] * (len(events) - 1) + ["answer"]
    assert without_times(events[-1][1]) == without_times(whole)
    steps = list(dict.fromkeys(data["step"] for _, data in events[:-1]))
    asked = ["Asking, mode auto", "Evaluating selection", "Sweeping settings", "Calibrating the threshold"]
    assert steps == (asked if path == EVAL else ["Reading"])
    shares = [data["share"] for _, data in events[:-1]]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


UNUSABLE: list[tuple[Any, str]] = [
    ("", "There are no cases to evaluate."),
    ("\n \n", "There are no cases to evaluate."),
    ([], "There are no cases to evaluate."),
    (f'{TEXT}\n{{"query": ', "Line 6 is not valid JSON: Expecting value (character 11)."),
    (f"{TEXT}\n\n[]", "Line 7 is not a JSON object: '[]'."),
    ('{"query": "q"}', "Line 1 is not a case."),
    ([{"query": "q", "gold": []}, {"gold": []}], "Case 2 is not a case."),
    ('{"query": "q", "gold": [], "meta": {"x": 1e999}}', "Line 1 contains a number that is not finite"),
    ('{"query": "q", "gold": []}\n' * 5001, "A request may have up to 5,000 cases, not 5,001."),
]


@pytest.mark.parametrize("stream", [False, True])
def test_cases_that_cannot_be_evaluated_are_an_error(client: TestClient, stream: bool) -> None:
    for cases, says in UNUSABLE:
        answer = client.post(EVAL, json={"cases": cases, "stream": stream})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert answer.json()["detail"].startswith(says)


def test_unknown_expected_documents_are_an_error_or_counted_as_not_found(client: TestClient) -> None:
    cases = f'{TEXT}\n{{"query": "a bill", "gold": "invoices"}}\n{{"query": "x", "gold": "zz"}}'
    problem = client.post(EVAL, json={"cases": cases}).json()
    assert (problem["status"], problem["type"]) == (422, "urn:shortlist:unknown-ids")
    first = "Line 6: the corpus has no document 'invoices'. Did you mean 'invoice'?"
    assert problem["detail"].startswith(f"{first} (and 1 more like this) ")
    assert problem["errors"] == [
        {"where": "cases.6", "message": first},
        {"where": "cases.7", "message": "Line 7: the corpus has no document 'zz'."},
    ]
    counted = client.post(EVAL, json={"cases": cases, "unknown": "count"}).json()
    assert counted["taxonomy"]["gold_missing"] == 2
    assert [flaw["problem"] for flaw in counted["flaws"]] == ["unknown_gold"] * 2
    assert counted["misses"][-1]["why"]["exists"] is False


def test_an_unknown_corpus_is_404(client: TestClient) -> None:
    for path in ("/v1/corpora/shopp/eval", "/v1/corpora/shopp/lint"):
        answer = client.post(path, json={"cases": TEXT} if "eval" in path else {})
        assert (answer.status_code, "Did you mean 'shop'?" in answer.json()["detail"]) == (404, True)


@pytest.mark.parametrize("stream", [False, True])
def test_an_evaluation_has_a_time_limit(make: Make, stream: bool) -> None:
    client = make(limits__eval_seconds=0.1)
    answer = client.post(EVAL, json={"cases": MANY, "stream": stream})
    problem = read_events(answer.text)[-1][1] if answer.status_code == 200 else answer.json()
    assert problem["status"] == 503
    assert "0.1 seconds (limits.eval_seconds)" in problem["detail"]


def test_lint_equals_that_of_the_library_and_needs_no_body(client: TestClient) -> None:
    shortlist.build({"a": "", "b": "Send money back to a card."}, name="shop", embedder="none").close()
    with shortlist.open_corpus("shop") as corpus:
        expected = json.loads(json.dumps(lint_corpus(corpus).to_dict()))
    assert client.post(LINT).json() == client.post(LINT, json={"k": 10}).json() == expected
    assert [finding["rule"] for finding in expected["findings"]] == ["empty"]


def test_an_evaluation_stores_nothing(client: TestClient) -> None:
    client.get("/v1/corpora")

    def stored() -> dict[Path, bytes]:
        files = (path for path in data_dir().rglob("*") if path.is_file() and path.suffix not in (".db-shm", ".db-wal"))
        return {path: path.read_bytes() for path in files}

    before = stored()
    assert before
    client.post(EVAL, json={"cases": TEXT, "curve": True, "html": True})
    client.post(LINT)
    assert stored() == before


def test_a_corpus_has_one_evaluation_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = job_routes.Turns()
    shortlist.build({"a": "one"}, name="other", embedder="none").close()
    with shortlist.open_corpus("shop") as corpus, shortlist.open_corpus("other") as other:
        with turns.take(corpus), turns.take(other):
            monkeypatch.setattr(job_routes, "TURN_SECONDS", 0.01)
            with pytest.raises(HTTPException, match="'shop'") as refused:
                turns.take(corpus).__enter__()
            assert refused.value.status_code == 409
            monkeypatch.setattr(job_routes, "TURN_SECONDS", 60)
            waited = threading.Thread(target=lambda: turns.take(corpus).__enter__())
            waited.start()
        waited.join(60)
        assert not waited.is_alive()


def test_a_disconnect_ends_the_evaluation_and_other_requests_are_answered(start: Start) -> None:
    service = start()
    headers = {"Accept": "text/event-stream"}

    def begun() -> Any:
        answer = service.http.stream("POST", EVAL, json={"cases": MANY, "curve": True}, headers=headers)
        response = answer.__enter__()
        assert next(response.iter_text()).startswith("event: progress")
        return answer

    answer = begun()
    assert service.http.post("/v1/corpora/shop/search", json={"query": "refund"}).json()["hits"][0]["id"] == "refund"
    answer.__exit__(None, None, None)
    until(lambda: next((line for line in service.lines if line.get("path") == EVAL), None))
    assert service.http.post(EVAL, json={"cases": TEXT}).json()["cases"] == 5  # the lock is free again
    begun()
    assert service.end()[0] == 0
