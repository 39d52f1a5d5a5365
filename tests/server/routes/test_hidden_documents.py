"""A service with documents that a caller may not see answers as one in which they never existed, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist.server.access.named_tokens import create_token
from tests.mcp.conftest import HEADERS
from tests.server.conftest import Make, write_catalog

PLANS: list[dict[str, Any]] = [
    {
        "id": "plan",
        "title": "Merger plan",
        "content": "The secret merger with Acme.",
        "metadata": {"access": ["board"]},
    },
    {
        "id": "refund plan",
        "title": "Refund",
        "content": "Refund nobody, a payment less.",
        "metadata": {"access": "board"},
    },
]
TOOLS: list[dict[str, Any]] = [
    {"id": "refund", "title": "Refund a payment", "content": "Send money back to a card.", "keywords": ["chargeback"]},
    {"id": "track", "title": "Track a parcel", "content": "Where a shipment is.", "metadata": {"access": ["staff"]}},
    {"id": "invoice", "title": "Write an invoice", "content": "A bill for an order, as PDF."},
]
CORPUS = "/v1/corpora/catalog"
QUERIES = ("refund a payment", "merger", "Merger plan", "zzz", "acme invoice")
CASES = [
    {"query": "refund a payment", "gold": "refund"},
    {"query": "merger", "gold": []},
    {"query": "x", "gold": "plan"},
]
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/corpora", None),
    ("GET", CORPUS, None),
    ("GET", f"{CORPUS}/usage", None),
    ("GET", f"{CORPUS}/documents", None),
    ("GET", f"{CORPUS}/documents?q=plan&sort=title", None),
    ("GET", f"{CORPUS}/documents?sort=id&descending=true&limit=2", None),
    ("GET", f"{CORPUS}/documents/plan", None),
    ("GET", f"{CORPUS}/documents/nothing", None),
    ("GET", "/documents", None),
    ("GET", "/documents?q=merger", None),
    *(("POST", "/retrieve", {"query": query}) for query in QUERIES),
    *(
        ("POST", f"{CORPUS}/search", {"query": query, "mode": mode, "facts": True})
        for query in QUERIES
        for mode in ("auto", "lexical")
    ),
    *(("POST", f"{CORPUS}/discover", {"query": query, "level": "body"}) for query in QUERIES),
    *(("POST", f"{CORPUS}/ask", {"question": query}) for query in QUERIES),
    *(("POST", f"{CORPUS}/explain", {"query": "refund a payment", "id": id}) for id in ("refund", "plan", "nothing")),
    ("POST", f"{CORPUS}/disclose", {"ids": ["refund", "plan"], "level": "body"}),
    ("POST", f"{CORPUS}/search", {"query": "refund", "filter": {"access": {"$exists": True}}}),
    ("POST", f"{CORPUS}/search", {"query": "refund", "filter": {"access": "board"}}),
    ("POST", f"{CORPUS}/eval", {"cases": CASES, "unknown": "count"}),
    ("POST", f"{CORPUS}/eval", {"cases": CASES}),
    ("POST", f"{CORPUS}/lint", {}),
    ("POST", f"{CORPUS}/documents", {"documents": [{"id": "plan", "title": "x", "content": "y"}]}),
    ("DELETE", f"{CORPUS}/documents/plan", None),
    ("POST", f"{CORPUS}/documents/delete", {"ids": ["plan"]}),
    *(
        ("MCP", name, arguments)
        for name, arguments in (
            ("discover", {"query": "merger"}),
            ("discover", {"query": "refund a payment"}),
            ("read", {"id": "plan", "corpus": "catalog"}),
            ("read", {"id": "plan"}),
            ("ask", {"question": "What is the merger plan?"}),
            ("call", {"tool": "plan", "arguments": {}}),
            ("status", {}),
        )
    ),
    *(("POST", f"{CORPUS}/feedback", {"query": "merger", "id": id}) for id in ("plan", "nothing", "refund")),
]
# What differs with the time and with each request.
CHANGING = re.compile(r'"(?:request_id|seconds|since|bytes|at|date|time)":\s*(?:"[^"]*"|[\d.]+|null)|\d+\.\d+ ms')


def answer_all(client: TestClient, token: str) -> list[tuple[Any, ...]]:
    answers = []
    for method, path, body in REQUESTS:
        headers = {"Authorization": f"Bearer {token}"}
        if method == "MCP":
            params = {"name": path, "arguments": body}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = client.post("/mcp", json=call, headers=HEADERS | headers)
        else:
            answer = client.request(method, path, json=body, headers=headers)
        answers.append((method, path, body, answer.status_code, CHANGING.sub("", answer.text)))
    return answers


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.process)])
def test_no_answer_shows_that_hidden_documents_exist(
    make: Make, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    found = []
    token = create_token("ada", ["staff"], None)
    for name, tools in (("whole", [PLANS[0], *TOOLS, PLANS[1]]), ("visible", TOOLS)):
        monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path / name))
        write_catalog(catalog, tools)
        client = make(
            access__grants={"catalog": {"read": ["staff"]}},
            documents__embedder="light",
            mcp__upstream=False,
            server__workers=workers,
        )
        found.append(answer_all(client, token))
    whole, visible = found
    for one, other in zip(whole, visible, strict=True):
        assert one == other
        assert one[3] < 500
    assert "secret" not in str(whole)
    assert {answer[3] for answer in whole} >= {200, 403, 404, 422}


def test_who_may_see_a_document_finds_it(make: Make, catalog: Path) -> None:
    write_catalog(catalog, [*TOOLS, *PLANS])
    client = make(access__grants={"catalog": {"read": ["staff", "board"]}, "*": {"admin": ["ops"]}})
    counts = {}
    for group in ("staff", "board", "ops"):
        headers = {"Authorization": f"Bearer {create_token(group, [group], None)}"}
        listed = client.get("/documents", headers=headers).json()
        hits = client.post(f"{CORPUS}/search", json={"query": "merger"}, headers=headers).json()["hits"]
        counts[group] = listed["count"], [hit["id"] for hit in hits]
    assert counts == {"staff": (4 - 1, []), "board": (4, ["plan"]), "ops": (5, ["plan"])}


def test_patterns_of_ids_hide_documents(make: Make) -> None:
    client = make(
        access__grants={"catalog": {"read": ["everyone"]}},
        access__documents={
            "catalog": {"re*": ["finance"], "track": ["sales"]},
            "*": {"inv*": ["sales"], "track": ["hr"]},
        },
    )
    headers = {"Authorization": f"Bearer {create_token('ada', ['sales'], None)}"}
    listed = client.get("/documents", headers=headers).json()["documents"]
    assert [row["id"] for row in listed] == ["invoice"]
