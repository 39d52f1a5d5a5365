"""Access control, and the limits of a request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.conftest import Make, until

TOKEN = "s3cret-token"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9200", "127.0.0.1:1", "[::1]:9200", "192.168.1.7", "LOCALHOST"]
)
def test_ip_addresses_and_localhost_are_allowed(shared: TestClient, host: str) -> None:
    assert shared.get("/settings", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9200", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_other_host_names_are_rejected(shared: TestClient, host: str) -> None:
    answer = shared.get("/settings", headers={"Host": host})
    assert answer.status_code == 421
    assert "allowed_hosts" in answer.json()["detail"]


def test_a_host_name_can_be_allowed(make: Make) -> None:
    client = make(server__allowed_hosts=["Tools.Example"])
    assert client.get("/settings", headers={"Host": "tools.example:80"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9201", "http://localhost", "", "http://["]
)
def test_pages_of_other_origins_cannot_make_changes(shared: TestClient, origin: str) -> None:
    assert shared.post("/settings", json={"temperature": 1}, headers={"Origin": origin}).status_code == 403
    assert shared.delete("/documents/refund", headers={"Origin": origin}).status_code == 403
    assert shared.get("/documents", headers={"Origin": origin}).json()["count"] == 3
    assert shared.get("/settings").json()["temperature"] == 0.5


def test_its_own_page_and_allowed_origins_can_make_changes(make: Make) -> None:
    client = make(server__allowed_origins=["https://desk.example/"])
    for origin in ("http://localhost:9200", "https://desk.example"):
        assert client.post("/settings", json={}, headers={"Origin": origin}).status_code == 200


def test_without_the_token_every_request_is_rejected(make: Make) -> None:
    client = make(server__token=TOKEN)
    wrong = (None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, "Bearer \xe9")
    for header, path in product(wrong, ("/documents", "/metrics", "/status", "/v1/corpora", "/nothing")):
        answer = client.get(path, headers={} if header is None else {b"Authorization": header.encode("latin-1")})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert TOKEN not in answer.text


def test_with_the_token_requests_are_answered(make: Make) -> None:
    client = make(server__token=TOKEN)
    for header in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
        assert client.get("/documents", headers={"Authorization": header}).status_code == 200
    for path in ("/health", "/ready", "/docs", "/openapi.json", "/docs/docs.js"):
        assert client.get(path).status_code == 200
    assert TOKEN not in client.get("/status", headers={"Authorization": f"Bearer {TOKEN}"}).text


def test_a_body_that_is_too_large_is_rejected_before_it_is_read(make: Make) -> None:
    client = make(limits__max_body_bytes=1024)
    answer = client.post("/retrieve", json={"query": "x" * 2000})
    assert answer.status_code == 413
    assert "1024" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/retrieve", "/documents"])
def test_a_body_in_pieces_is_rejected_when_it_becomes_too_large(make: Make, path: str) -> None:
    client = make(limits__max_body_bytes=1024)

    def pieces() -> Iterator[bytes]:
        for _ in range(10):
            yield b" " * 200

    answer = client.post(path, content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_a_request_that_takes_too_long_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client, release = make(limits__request_seconds=0.5), threading.Event()
    monkeypatch.setattr("shortlist.server.catalog_store.CatalogStore.document_files", lambda _: release.wait(60))
    answer = client.get("/document-files")
    release.set()
    assert answer.status_code == 503
    assert "0.5 seconds" in answer.json()["detail"]
    until(lambda: client.get("/settings").status_code == 200)  # a busy machine may need longer than the limit


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [("abc-123", True), ("a" * 101, False), ("a b", False), ('x"y', False), ("é", False), ("", False)],
)
def test_a_request_id_is_echoed_if_it_is_harmless(shared: TestClient, given: str, is_taken: bool) -> None:
    answer = shared.get("/health", headers={b"X-Request-ID": given.encode()})
    assert (answer.headers["x-request-id"] == given) == is_taken
    assert answer.headers["x-request-id"]


def test_no_corpus_is_built_from_a_path_in_a_request(make: Make, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("secret")
    client = make()
    for name in (f"docs:{tmp_path}", str(tmp_path), f"tools:{tmp_path}/catalogs/tools.json", "../corpus"):
        answer = client.post(f"/v1/corpora/{name.replace('/', '%2F')}/search", json={"query": "secret"})
        assert answer.status_code == 404
