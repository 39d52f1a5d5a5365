"""Paths of the machine are for administrators of the service; other callers see the names of files."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import shortlist
from shortlist.index.corpus_paths import corpus_folder
from shortlist.library import registry
from shortlist.server.access.named_tokens import create_token
from tests.mcp.conftest import HEADERS
from tests.server.conftest import Make

CORPUS = "/v1/corpora/guides"
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/corpora", None),
    ("GET", CORPUS, None),
    ("GET", f"{CORPUS}/documents", None),
    ("GET", f"{CORPUS}/documents/returns.md", None),
    ("POST", f"{CORPUS}/search", {"query": "return shoes"}),
    ("POST", f"{CORPUS}/search-many", {"queries": ["return shoes"]}),
    ("POST", f"{CORPUS}/discover", {"query": "return shoes", "level": "body"}),
    ("POST", f"{CORPUS}/disclose", {"ids": ["returns.md", "gone.md"], "level": "bundled"}),
    ("POST", f"{CORPUS}/explain", {"query": "return shoes", "id": "returns.md"}),
    ("POST", f"{CORPUS}/ask", {"question": "How are shoes returned?"}),
    ("POST", f"{CORPUS}/ask", {"question": "How are shoes returned?", "stream": True}),
    ("POST", f"{CORPUS}/eval", {"cases": [{"query": "return shoes", "gold": "returns.md"}]}),
    ("POST", f"{CORPUS}/lint", {}),
    ("MCP", "discover", {"query": "return shoes"}),
    ("MCP", "read", {"id": "returns.md", "corpus": "guides"}),
    ("MCP", "ask", {"question": "How are shoes returned?"}),
    ("MCP", "status", {}),
]
SHOWN = ("documents", "search", "search-many", "discover", "disclose", "ask")  # what has a source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "secret-folder"
    folder.mkdir()
    for name in ("returns", "gone"):
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\nShoes are returned within 30 days.", "utf-8")
    registry.register("guides", "files", folder)
    shortlist.build("guides", embedder="none").close()
    (folder / "returns.md").write_text("# Returns\n\nShoes are returned within 40 days.", "utf-8")
    (folder / "gone.md").unlink()
    return folder


@pytest.fixture
def client(make: Make, folder: Path) -> TestClient:
    grants = {"guides": {"read": ["staff"], "write": ["editors"]}, "*": {"admin": ["ops"]}}
    return make(access__grants=grants, mcp__upstream=False)


def sign(group: str) -> dict[str, str]:
    token = create_token(uuid.uuid4().hex, [group], None)
    return {"Authorization": f"Bearer {token}"}


def answer(client: TestClient, group: str, method: str, path: str, body: Any) -> str:
    headers = sign(group)
    if method == "MCP":
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": path, "arguments": body}}
        method, path, body, headers = "POST", "/mcp", call, HEADERS | headers
    answered = client.request(method, path, json=body, headers=headers)
    assert answered.status_code == 200, answered.text
    return answered.text


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one[1])
def test_only_administrators_see_folders(client: TestClient, request_: tuple[str, str, Any]) -> None:
    seen = {group: "secret-folder" in answer(client, group, *request_) for group in ("staff", "editors", "ops")}
    method, path, _ = request_
    has_source = path.rpartition("/")[2] in SHOWN and (method, path) != ("MCP", "discover")
    assert (seen["staff"], seen["editors"]) == (False, False)
    assert seen["ops"] or not has_source
    assert "returns.md" in answer(client, "staff", *request_) or not has_source


def test_a_filter_does_not_show_folders(client: TestClient, folder: Path) -> None:
    conditions: list[Any] = [
        {"source": {"$gte": str(folder)}},
        {"$and": [{"$not": {"source": "x"}}]},
        {"path": {"$not": {"$lt": str(folder)}}},
    ]
    for condition in conditions:
        body = {"query": "shoes", "filter": condition}
        found = {one: client.post(f"{CORPUS}/search", json=body, headers=sign(one)) for one in ("editors", "ops")}
        assert (found["editors"].status_code, found["ops"].status_code) == (422, 200)
        assert "filter by source" in found["editors"].text
        assert len(found["ops"].json()["hits"]) == 2


@pytest.mark.parametrize("group", ["staff", "ops"])
@pytest.mark.parametrize("depth", [300, 900, 980, 20_000])
def test_a_filter_of_any_depth_is_refused_or_answered(client: TestClient, depth: int, group: str) -> None:
    condition = '{"$not":' * depth + "{}" + "}" * depth
    body = f'{{"query": "shoes", "filter": {condition}}}'
    headers = sign(group) | {"Content-Type": "application/json"}
    assert client.post(f"{CORPUS}/search", content=body, headers=headers).status_code in (200, 400, 422)


def test_a_corpus_that_cannot_be_read_does_not_show_its_folder(client: TestClient) -> None:
    (corpus_folder("guides") / "corpus.db").write_bytes(b"x" * 4096)
    problems = [answer(client, group, "GET", "/v1/corpora", None) for group in ("staff", "ops")]
    assert "Administrators of the service see why" in problems[0]
    assert str(corpus_folder("guides").parent) not in problems[0]
    assert "Administrators" not in problems[1]
