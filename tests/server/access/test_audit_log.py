"""The audit log: a line for each request, over HTTP and for agents, and what happens if it cannot be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist._settings import AuditSettings
from shortlist.errors import InputError
from shortlist.server.access.audit_log import AuditLog
from shortlist.server.access.named_tokens import create_token
from tests.mcp.conftest import HEADERS
from tests.pages import read_blocks, read_page
from tests.server.conftest import Make

GRANTS: Any = {"catalog": {"read": ["staff"]}}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def sign(name: str, *groups: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(name, list(groups), None)}"}


def call(client: TestClient, headers: dict[str, str], method: str, **params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=body, headers=HEADERS | headers)


def test_each_request_is_a_line_with_who_did_what(make: Make, path: Path) -> None:
    client = make(access__grants=GRANTS, audit__file=str(path), mcp__upstream=False)
    ada, eve = sign("ada", "staff"), sign("eve")
    search = "/v1/corpora/catalog/search"
    answer = client.post(search, json={"query": "refund to 4111 1111 1111 1111"}, headers=ada | {"X-Request-ID": "r1"})
    client.get("/v1/corpora/catalog/documents/refund", headers=ada)
    client.get("/v1/corpora/board/documents", headers=ada)
    client.post(search, json={"query": "refund"}, headers=eve)
    client.post(search, json={"query": "refund"})
    client.get("/health")
    start, searched, got, other, denied, unknown = read(path)
    assert start["action"] == "start"
    assert searched.pop("time") > start["time"]
    assert searched.pop("ms") > 0
    assert searched == {
        "request_id": "r1",
        "user": "token:ada",
        "client": "testclient",
        "action": "POST /v1/corpora/{name:path}/search",
        "corpus": "catalog",
        "decision": "allowed",
        "status": 200,
        "bytes": len(answer.content),
    }
    assert (got["corpus"], got["document"], got["status"]) == ("catalog", "refund", 200)
    assert (other["user"], other["corpus"], other["decision"], other["status"]) == ("token:ada", "board", "denied", 404)
    assert (denied["user"], denied["decision"], denied["status"]) == ("token:eve", "denied", 403)
    assert (unknown["user"], unknown["decision"], unknown["status"]) == ("", "denied", 401)
    assert path.stat().st_mode & 0o777 == 0o600
    (shown,) = (json.loads(block.text) for block in read_blocks(read_page("guides/access.md")) if '"ms"' in block.text)
    assert shown.keys() == searched.keys() | {"time", "ms"}


def test_actions_of_agents_are_lines_too_also_in_a_session(make: Make, path: Path) -> None:
    client = make(access__grants=GRANTS, audit__file=str(path), mcp__upstream=False)
    ada = sign("ada", "staff")
    begun = call(
        client,
        ada,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    session = ada | {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
    call(client, session, "tools/call", name="read", arguments={"id": "refund", "corpus": "catalog"})
    call(client, session, "tools/call", name="read", arguments={"id": "plan", "corpus": "board"})
    call(client, ada, "tools/call", name="call", arguments={"tool": "mail__send", "arguments": "{}"})
    _, first, read_one, denied, called = read(path)
    assert first["action"] == "mcp initialize"
    names = ("user", "action", "corpus", "document", "decision")
    assert [read_one[name] for name in names] == ["token:ada", "mcp read", "catalog", "refund", "allowed"]
    assert (denied["decision"], denied["error"]) == ("denied", "CorpusNotFound")
    assert (called["action"], called["tool"], called["error"]) == ("mcp call", "mail__send", "InputError")


def test_content_is_logged_only_on_request_and_without_secrets(make: Make, path: Path) -> None:
    body = {"query": "my password is hunter2 for ada@example.org", "filter": {"token": 12345}}
    client = make(audit__file=str(path))
    client.post("/v1/corpora/catalog/search", json=body)
    assert "password" not in path.read_text("utf-8")
    client = make(audit__file=str(path), audit__content=True)
    client.post("/v1/corpora/catalog/search", json=body)
    client.get("/v1/corpora/catalog/documents?q=of+ada@example.org")
    client.post("/documents", json=[{"id": "x", "title": "X", "content": "x" * 20_000}])
    client.post("/v1/corpora/catalog/search", content=b"[" * 5_000, headers={"Content-Type": "application/json"})
    searched, listed, added, nested = (line["content"] for line in read(path) if "content" in line)
    assert searched == {"body": {"query": "my password is *** for ***", "filter": {"token": "***"}}}
    assert listed == {"q": "of ***"}
    assert added == {"body": "more than 16384 bytes"}
    assert nested == {"body": "5000 bytes"}


def test_nothing_is_answered_that_cannot_be_recorded(make: Make, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    client = make(audit__file=str(path), audit__required=True)
    path.unlink()
    path.mkdir()
    assert client.get("/v1/corpora").status_code == 200  # its line waits
    for _ in range(2):
        refused = client.get("/v1/corpora")
        assert refused.status_code == 503
        assert "audit log" in refused.json()["detail"]
    assert client.get("/ready").status_code == 503
    assert client.get("/health").status_code == 200
    assert len([record for record in caplog.records if "audit log" in record.getMessage()]) == 1
    path.rmdir()
    assert client.get("/v1/corpora").status_code == 200
    assert [line["action"] for line in read(path)] == ["GET /v1/corpora"] * 2
    with pytest.raises(InputError, match=r"audit\.required"):
        make(audit__file=str(path / "nowhere"), audit__required=True)
    with pytest.raises(InputError, match=r"audit\.file"):
        make(audit__required=True)


def test_without_required_the_service_goes_on(make: Make, path: Path) -> None:
    client = make(audit__file=str(path / "nowhere"))
    assert client.get("/v1/corpora").status_code == 200


def test_the_file_is_rotated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = AuditLog(AuditSettings(file=str(path), files=3))
    monkeypatch.setattr(audit, "_most_bytes", 1)
    for _ in range(4):
        audit.close()
    assert sorted(file.name for file in path.parent.glob("audit.jsonl*")) == [
        path.name,
        f"{path.name}.1",
        f"{path.name}.2",
    ]
    assert all(len(read(file)) == 1 for file in path.parent.glob("audit.jsonl*"))
