"""Connections: lists and answers are limited in size."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

import pytest

from shortlist import (
    Problem,
)
from tests.mcp.conftest import WEATHER, Agent, Servers, until, with_agent
from tests.mcp.gateway.test_tool_checks import DEEP, discover_and_status
from tests.mcp_client.small_servers import SECRET, by_hand, problem, read

pytestmark = pytest.mark.process

BROKEN_LISTS = {
    "tools that are no list": ({"tools": "none"}, "broke the protocol"),
    "a tool without a schema": ({"tools": [{"name": "bare"}]}, "broke the protocol"),
    "a name that is a number": ({"tools": [{"name": 5, "inputSchema": {"type": "object"}}]}, "broke the protocol"),
    "a schema without a bottom": (
        {"tools": [{"name": "deep", "inputSchema": {"type": "object", **DEEP}}]},
        "wrote an unreadable message: Invalid JSON: recursion limit exceeded",
    ),
}


@pytest.mark.usefixtures("quick_to_give_up")
@pytest.mark.parametrize(("offer", "reason"), BROKEN_LISTS.values(), ids=BROKEN_LISTS)
def test_an_invalid_list_is_reported_and_the_others_work(servers: Servers, offer: dict[str, Any], reason: str) -> None:
    servers.add("bad", behavior=offer)
    servers.add("good", WEATHER)
    answer, status = discover_and_status(servers)
    assert [item["id"] for item in answer["results"]] == ["good/get_forecast"]
    (bad,) = [row for row in status["servers"] if row["name"] == "bad"]
    assert reason in bad["problem"]


@pytest.fixture
def endless() -> Iterator[str]:
    """A server over HTTP whose answers have no end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * (1 << 20))
            except OSError:
                pass

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("quick_to_give_up")
def test_an_endless_response_over_http_is_cut_off(servers: Servers, endless: str) -> None:
    servers.entries["endless"] = {"url": endless}
    servers.add("good", WEATHER)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        assert await agent.find("weather forecast rain") == ["good/get_forecast"]
        await until(lambda: gateway.status()[0].get("problem"))

    with_agent(gateway, talk)


class Refusal(BaseHTTPRequestHandler):
    seen: list[str | None]

    def do_POST(self) -> None:
        self.seen.append(self.headers["Authorization"])
        self.send_error(401)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def test_headers_are_sent_and_a_refusal_is_a_problem() -> None:
    Refusal.seen = []
    with HTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        found = problem({"closed": {"url": url, "headers": {"Authorization": f"Bearer {SECRET}"}}})
        server.shutdown()
    assert set(Refusal.seen) == {f"Bearer {SECRET}"}
    assert found == Problem(
        "closed",
        "The server closed failed: Server returned an error response. It said: HTTP 401 Unauthorized",
        "closed",
    )


def test_a_list_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.mcp_client.connection.MOST_ENTRIES", 10)
    pages = """
        number = int(cursor or 0)
        tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}}]
        answer(message["id"], {"result": {"tools": tools, "nextCursor": str(number + 1)}})"""
    *tools, last = read({"endless": by_hand(listing=pages.strip())})
    assert len(tools) == 10
    assert isinstance(last, Problem)
    assert "more than 10 entries" in last.reason
