"""Access control, and the limits of a request."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from shortlist._limits import MAX_QUERY_CHARACTERS, Canceled, check_canceled
from shortlist.server.middleware import MAX_HEADER_BYTES, SMALL_BODY_BYTES, Deadlines
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
    monkeypatch.setattr("shortlist.compat.served_retriever.ServedRetriever.document_files", lambda _: release.wait(60))
    answer = client.get("/document-files")
    release.set()
    assert answer.status_code == 503
    assert "0.5 seconds" in answer.json()["detail"]
    until(lambda: client.get("/settings").status_code == 200)  # a busy machine may need longer than the limit


def test_each_request_ends_at_its_own_time_also_beside_one_that_has_more() -> None:
    seconds = 0.2
    deadlines = Deadlines(seconds)

    async def run() -> None:
        ended: list[str] = []

        async def work(name: str, more: float) -> None:
            limit = asyncio.timeout(None)
            try:
                async with limit:
                    extend = deadlines.add(limit)
                    extend(more)
                    try:
                        await asyncio.sleep(3600 if name != "short" else 0)
                    finally:
                        deadlines.remove(limit)
            except TimeoutError:
                ended.append(name)

        long = asyncio.create_task(work("long", 3600))
        await work("short", 0)
        for name in ("second", "third"):  # the timer of the first one has ended or not
            await work(name, 0)
            await asyncio.sleep(1.5 * seconds)
        await asyncio.gather(work("fourth", 0), work("fifth", seconds))
        assert ended == ["second", "third", "fourth", "fifth"]
        assert not long.done()
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)

    for _ in range(2):  # as in a test client, each in a loop of its own
        asyncio.run(asyncio.wait_for(run(), 60))


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


SEARCHES = [
    "/retrieve",
    *(f"/v1/corpora/catalog/{kind}" for kind in ("search", "discover", "explain", "feedback", "ask")),
]


@pytest.mark.parametrize("path", SEARCHES)
def test_a_query_has_a_maximum_length_on_every_route(make: Make, path: str) -> None:
    name = "question" if path.endswith("ask") else "query"
    more = {"id": "refund"} if path.endswith(("explain", "feedback")) else {}
    for given, most in (({}, MAX_QUERY_CHARACTERS), ({"limits__max_query_characters": 10}, 10)):
        client = make(**given)
        assert client.post(path, json={name: "x" * most, **more}).status_code == 200
        answer = client.post(path, json={name: "x" * (most + 1), **more})
        assert answer.status_code == 422
        assert f"The {name} has {most + 1:,} characters, and the limit is {most:,}" in answer.json()["detail"]


def test_a_higher_limit_reaches_the_library(make: Make) -> None:
    client = make(limits__max_query_characters=20_000)
    assert client.post("/v1/corpora/catalog/search", json={"query": "x" * 15_000}).status_code == 200


def test_only_routes_for_documents_take_large_bodies(make: Make) -> None:
    client, large = make(), " " * (SMALL_BODY_BYTES + 12 * MAX_QUERY_CHARACTERS + 1)
    for path in ("/retrieve", "/v1/corpora/catalog/search", "/v1/corpora/catalog/feedback", "/settings"):
        answer = client.post(path, content=large, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert "documents" in answer.json()["detail"]
    documents = [{"id": "a", "title": "A", "content": large}]
    assert client.post("/v1/corpora/catalog/documents", json={"documents": documents}).status_code == 200


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_finite_are_refused_in_every_body(make: Make, number: str) -> None:
    client = make()
    for path, body in (
        ("/v1/corpora/catalog/search", '{"query": "a", "filter": {"n": %s}}'),
        ("/v1/corpora/catalog/discover", '{"query": "a", "filter": {"n": {"$gt": %s}}}'),
        ("/v1/corpora/catalog/eval", '{"cases": [{"query": "a", "gold": [], "n": %s}]}'),
        ("/documents", '{"id": "x", "title": "", "content": "", "metadata": {"n": %s}}'),
        ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"n": %s}}'),
    ):
        answer = client.post(path, content=body % number, headers={"Content-Type": "application/json"})
        assert (path, answer.status_code) == (path, 400)
        assert "finite" in answer.json()["detail"]


def test_two_host_headers_are_refused(shared: TestClient) -> None:
    for hosts in (("localhost", "localhost"), ("localhost", "evil.example")):
        answer = shared.get("/settings", headers=[("Host", host) for host in hosts])
        assert answer.status_code == 400
        assert "Host" in answer.json()["detail"]


def test_headers_have_a_maximum_size(shared: TestClient) -> None:
    assert shared.get("/settings", headers={"X-Large": "x" * (MAX_HEADER_BYTES // 2)}).status_code == 200
    assert shared.get("/settings", headers={"X-Large": "x" * MAX_HEADER_BYTES}).status_code == 431


class EndlessSearch:
    """A search that goes on until it is canceled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_started, self.has_ended = threading.Event(), threading.Event()
        monkeypatch.setattr("shortlist.server.routes.corpora_routes.search", self)

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.has_started.set()
        try:
            while True:
                check_canceled()
                time.sleep(0.01)
        except Canceled:
            self.has_ended.set()
            raise


def test_a_request_that_takes_too_long_stops_its_work(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client, endless = make(limits__request_seconds=0.5), EndlessSearch(monkeypatch)
    assert client.post("/v1/corpora/catalog/search", json={"query": "a"}).status_code == 503
    assert endless.has_ended.wait(60)


def test_a_caller_that_disconnects_stops_its_work(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client, endless = make(limits__request_seconds=3600), EndlessSearch(monkeypatch)
    sent: list[Message] = []

    async def request() -> None:
        import anyio.to_thread

        body = json.dumps({"query": "a"}).encode()
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Message:
            if message := next(messages, None):
                return message
            await anyio.to_thread.run_sync(endless.has_started.wait, 60)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        path = "/v1/corpora/catalog/search"
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b"", "state": {}}
        await client.app(scope, receive, send)

    assert client.portal
    client.portal.call(request)
    assert endless.has_ended.wait(60)
    assert sent[0]["status"] == 499


def test_requests_that_are_over_keep_no_thread_from_others(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make(limits__request_seconds=0.5)
    EndlessSearch(monkeypatch)
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(client.post("/v1/corpora/catalog/search", json={"query": "a"}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(12)]  # more than there are threads to search
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [503] * 12
    monkeypatch.undo()
    until(lambda: client.post("/v1/corpora/catalog/search", json={"query": "a"}).status_code == 200)


def test_pages_of_other_origins_read_answers_only_if_they_are_listed(make: Make) -> None:
    client = make(server__cors_origins=["https://Desk.example/"], server__token=TOKEN)
    names = "authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"  # those of agents
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": names}
    for origin, allowed in (("https://desk.example", "https://desk.example"), ("https://evil.example", None)):
        preflight = client.options("/v1/corpora/catalog/search", headers={"Origin": origin, **asked})
        assert preflight.headers.get("access-control-allow-origin") == allowed
        assert preflight.status_code == (200 if allowed else 400)
        signed = {"Authorization": f"Bearer {TOKEN}", "Origin": origin}
        answer = client.post("/v1/corpora/catalog/search", json={"query": "refund"}, headers=signed)
        assert answer.status_code == (200 if allowed else 403)
        assert answer.headers.get("access-control-allow-origin") == allowed
        assert client.get("/status", headers={"Origin": origin}).headers.get("access-control-allow-origin") == allowed
    assert (
        "access-control-allow-origin" not in make().get("/status", headers={"Origin": "https://desk.example"}).headers
    )
