"""Who may come in, and how much a request may cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.conftest import Make

TOKEN = "s3cret-token"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9200", "127.0.0.1:1", "[::1]:9200", "192.168.1.7", "LOCALHOST"]
)
def test_addresses_and_this_machine_are_answered(shared: TestClient, host: str) -> None:
    assert shared.get("/settings", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9200", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_other_names_are_not_since_they_may_be_made_to_point_here(shared: TestClient, host: str) -> None:
    answer = shared.get("/settings", headers={"Host": host})
    assert answer.status_code == 421
    assert "allowed_hosts" in answer.json()["detail"]


def test_a_name_may_be_allowed(make: Make) -> None:
    client = make(server__allowed_hosts=["Tools.Example"])
    assert client.get("/settings", headers={"Host": "tools.example:80"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9201", "http://localhost", "", "http://["]
)
def test_pages_of_other_origins_change_nothing(shared: TestClient, origin: str) -> None:
    assert shared.post("/settings", json={"temperature": 1}, headers={"Origin": origin}).status_code == 403
    assert shared.delete("/documents/refund", headers={"Origin": origin}).status_code == 403
    assert shared.get("/documents", headers={"Origin": origin}).json()["count"] == 3
    assert shared.get("/settings").json()["temperature"] == 0.5


def test_its_own_page_and_allowed_ones_do(make: Make) -> None:
    client = make(server__allowed_origins=["https://desk.example/"])
    for origin in ("http://localhost:9200", "https://desk.example"):
        assert client.post("/settings", json={}, headers={"Origin": origin}).status_code == 200


def test_without_the_token_nothing_is_told(make: Make) -> None:
    client = make(server__token=TOKEN)
    wrong = (None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, "Bearer \xe9")
    for header, path in product(wrong, ("/documents", "/metrics", "/status", "/v1/corpora", "/nothing")):
        answer = client.get(path, headers={} if header is None else {b"Authorization": header.encode("latin-1")})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert TOKEN not in answer.text


def test_with_the_token_everything_is(make: Make) -> None:
    client = make(server__token=TOKEN)
    for header in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
        assert client.get("/documents", headers={"Authorization": header}).status_code == 200
    for path in ("/health", "/ready", "/docs", "/openapi.json", "/docs/docs.js"):
        assert client.get(path).status_code == 200
    assert TOKEN not in client.get("/status", headers={"Authorization": f"Bearer {TOKEN}"}).text


def test_a_body_that_is_too_large_is_refused_before_it_is_read(make: Make) -> None:
    client = make(limits__max_body_bytes=1024)
    answer = client.post("/retrieve", json={"query": "x" * 2000})
    assert answer.status_code == 413
    assert "1024" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/retrieve", "/documents"])
def test_a_body_in_pieces_is_refused_when_it_becomes_too_large(make: Make, path: str) -> None:
    client = make(limits__max_body_bytes=1024)

    def pieces() -> Iterator[bytes]:
        for _ in range(10):
            yield b" " * 200

    answer = client.post(path, content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_what_takes_too_long_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make(limits__request_seconds=0.5)  # enough for any other request, on a busy machine too
    monkeypatch.setattr("shortlist.server.catalog_store.Served.document_files", lambda _: time.sleep(1.5))
    answer = client.get("/document-files")
    assert answer.status_code == 503
    assert "0.5 seconds" in answer.json()["detail"]
    assert client.get("/settings").status_code == 200


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [("abc-123", True), ("a" * 101, False), ("a b", False), ('x"y', False), ("é", False), ("", False)],
)
def test_a_request_id_is_echoed_if_it_can_do_no_harm(shared: TestClient, given: str, is_taken: bool) -> None:
    answer = shared.get("/health", headers={b"X-Request-ID": given.encode()})
    assert (answer.headers["x-request-id"] == given) == is_taken
    assert answer.headers["x-request-id"]


def test_the_corpora_of_this_user_are_not_made_from_any_path(make: Make, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("secret")
    client = make()
    for name in (f"docs:{tmp_path}", str(tmp_path), f"tools:{tmp_path}/catalogs/tools.json", "../corpus"):
        answer = client.post(f"/v1/corpora/{name.replace('/', '%2F')}/search", json={"query": "secret"})
        assert answer.status_code == 404
