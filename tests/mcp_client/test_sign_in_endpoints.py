"""A server leads a sign-in only to places that it may: nothing is sent to others, and no response is repeated."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from shortlist.errors import SourceError
from shortlist.mcp_client import browser_sign_in
from shortlist.mcp_client.sign_in_endpoints import check_endpoint
from tests.index.engines.conftest import listening
from tests.mcp.conftest import Servers
from tests.mcp_client.authorization import configure, log_in, open_with, protected_server, try_log_in, visit

pytestmark = pytest.mark.process

CANARY = "canary-of-an-internal-service"


class Hostile:
    """A server on this machine: `answers` by path, and the requests that came, in order."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answers: dict[str, tuple[int, dict[str, Any]]] = {}
        self.challenge = "Bearer"
        self.url = ""

    def answer(self, path: str, status: int = 200, **body: Any) -> None:
        self.answers[path] = status, body


@contextlib.contextmanager
def hostile_server() -> Iterator[Hostile]:
    made = Hostile()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            made.requests.append(f"{self.command} {self.path}")
            status, body = made.answers.get(self.path, (404, {"error": CANARY}))
            if self.path == "/mcp":
                status, body = 401, {}
            content = json.dumps(body).encode()
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", made.challenge)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with listening(server) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


@pytest.fixture
def hostile(servers: Servers) -> Iterator[Hostile]:
    """A server that needs a sign-in, is its own authorization server, and registers no one."""
    with hostile_server() as made:
        made.answer(
            "/.well-known/oauth-protected-resource/mcp",
            resource=f"{made.url}/mcp",
            authorization_servers=[made.url],
        )
        made.answer("/.well-known/oauth-authorization-server", **metadata(made.url))
        configure(servers, url=f"{made.url}/mcp")
        yield made


def metadata(origin: str, **more: str) -> dict[str, Any]:
    names = ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint")
    return (
        {"issuer": origin, "response_types_supported": ["code"]} | {name: f"{origin}/{name}" for name in names} | more
    )


def test_the_metadata_of_a_server_is_read_at_its_own_origin_only(hostile: Hostile, servers: Servers) -> None:
    with hostile_server() as internal:
        internal.answer("/latest/meta-data/iam", Code=CANARY)
        hostile.challenge = f'Bearer resource_metadata="{internal.url}/latest/meta-data/iam"'
        code, text = try_log_in(servers)
        assert code == 1
        assert "resource_metadata" in text
        assert internal.url in text
        assert internal.requests == []


@pytest.mark.parametrize("endpoint", ["registration_endpoint", "token_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize(
    "target", ["http://192.0.2.1/x", "http://intranet.example/x", "https://169.254.169.254/x", "https://[fe80::1]/x"]
)
def test_no_endpoint_is_used_that_the_server_may_not_lead_to(
    hostile: Hostile, servers: Servers, endpoint: str, target: str
) -> None:
    hostile.answer("/registration_endpoint", 201, client_id="x", redirect_uris=["http://127.0.0.1:1/callback"])
    hostile.answer("/.well-known/oauth-authorization-server", **metadata(hostile.url, **{endpoint: target}))
    code, text = try_log_in(servers)
    assert code == 1
    assert "https" in text if target.startswith("http:") else "link-local" in text, text
    assert not any("token_endpoint" in request for request in hostile.requests)


def test_an_authorization_server_at_an_internal_address_is_not_asked(hostile: Hostile, servers: Servers) -> None:
    path = "/.well-known/oauth-protected-resource/mcp"
    hostile.answer(path, resource=f"{hostile.url}/mcp", authorization_servers=["https://169.254.169.254/"])
    code, text = try_log_in(servers)
    assert (code, "link-local address" in text) == (1, True), text


@pytest.mark.parametrize("status", [400, 403, 500])
def test_an_error_has_the_status_and_not_the_body_of_a_response(
    hostile: Hostile, servers: Servers, status: int
) -> None:
    hostile.answer("/registration_endpoint", status, error=CANARY, text=f"{CANARY} " * 20)
    code, text = try_log_in(servers)
    assert code == 1
    assert str(status) in text
    assert CANARY not in text
    hostile.answer("/registration_endpoint", 200, client_id=[CANARY])
    assert CANARY not in try_log_in(servers)[1]


def check(server: str, url: str) -> str:
    """Why a URL is rejected; empty if it is not."""
    try:
        asyncio.run(check_endpoint("notes", server, url))
    except SourceError as error:
        return str(error)
    return ""


PUBLIC, PRIVATE, LOOPBACK = "https://203.0.114.5/mcp", "https://10.1.2.3/mcp", "http://127.0.0.1:5/mcp"


@pytest.mark.parametrize(
    ("server", "url", "is_allowed"),
    [
        (PUBLIC, "https://198.41.0.4/token", True),  # an authorization server on another host
        (PUBLIC, "http://198.41.0.4/token", False),
        (PUBLIC, "https://10.0.0.1/token", False),
        (PUBLIC, "https://192.168.1.1/token", False),
        (PUBLIC, "https://100.64.0.1/token", False),
        (PUBLIC, "https://127.0.0.1/token", False),
        (PUBLIC, "http://127.0.0.1/token", False),
        (PUBLIC, "https://0.0.0.0/token", False),
        (PUBLIC, "https://169.254.169.254/token", False),
        (PUBLIC, "https://[::1]/token", False),
        (PUBLIC, "https://[::ffff:10.0.0.1]/token", False),
        (PUBLIC, "https://[64:ff9b::a00:1]/token", False),
        (PUBLIC, "https://[2002:a00:1::]/token", False),
        (PUBLIC, "https://[fd00::1]/token", False),
        (PUBLIC, "https://localhost/token", False),
        (PRIVATE, "https://10.9.9.9/token", True),
        (PRIVATE, "https://127.0.0.1/token", False),
        (PRIVATE, "https://169.254.169.254/token", False),
        (LOOPBACK, "http://127.0.0.1:6/token", True),
        (LOOPBACK, "http://localhost:6/token", True),
        (LOOPBACK, "https://10.0.0.1/token", True),
        (LOOPBACK, "http://10.0.0.1/token", False),
        (LOOPBACK, "https://169.254.169.254/token", False),
    ],
)
def test_internal_addresses_are_for_servers_at_one(server: str, url: str, is_allowed: bool) -> None:
    assert (check(server, url) == "") == is_allowed


@pytest.mark.parametrize(
    ("addresses", "is_allowed"),
    [(["198.41.0.4"], True), (["198.41.0.4", "10.0.0.1"], False), (["::1"], False), ([], True)],
)
def test_every_address_of_a_name_counts(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], is_allowed: bool
) -> None:
    def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
        if not addresses:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert (check(PUBLIC, "https://login.example/token") == "") == is_allowed


def test_a_fixed_callback_port_is_listened_to_at_both_addresses_of_this_machine(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not browser_sign_in._has_ipv6():
        pytest.skip("this machine has no address ::1")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def over(address: str) -> Callable[[str], Any]:
        """A browser for which localhost is this address."""
        redirect = f"http://localhost:{port}"

        def browse(url: str) -> Any:
            import httpx2

            answer = httpx2.get(url)
            return visit(answer.headers["location"].replace(redirect, f"http://{address}:{port}"))

        return browse

    with protected_server() as notes:
        configure(servers, url=notes.url, oauth={"callback_port": port})
        for address in ("127.0.0.1", "[::1]"):
            open_with(monkeypatch, over(address))
            log_in(servers)
        with socket.create_server(("::1", port), family=socket.AF_INET6):  # of another user
            code, text = try_log_in(servers)
        assert (code, f"callback port {port}" in text) == (1, True), text
