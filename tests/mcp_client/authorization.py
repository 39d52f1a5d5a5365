"""An authorization server, and an MCP server that it protects: both run on this machine, on the SDK's library."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import MCPError
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from tests.mcp.conftest import Servers, run_command

SCOPES = ["notes:read", "notes:write"]


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """What the library leaves to a program: storage, and whether the user agrees. Refresh tokens are used once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.lifetime = 3600  # seconds, as announced
        self.pause = 0.0  # seconds before tokens are refreshed
        self.user_agrees = True
        self.asked = self.refreshes = 0  # requests to refresh tokens, and those that were fulfilled
        self.used: set[str] = set()
        self.stolen: list[str] = []  # refresh tokens that were used twice

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if not self.user_agrees:
            raise AuthorizeError("access_denied", "The user said no.")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            client_id=client.client_id,
            scopes=params.scopes or SCOPES[:1],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        self.asked += 1
        await asyncio.sleep(self.pause)
        if refresh_token in self.used:
            self.stolen.append(refresh_token)
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshes += 1
        self.used.add(refresh_token.token)
        del self.refresh[refresh_token.token]
        return self._issue(client, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    def _issue(self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None) -> OAuthToken:
        about: dict[str, Any] = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(token=f"access-{secrets.token_hex()}", **about)
        refresh = RefreshToken(token=f"refresh-{secrets.token_hex()}", **about)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(
            access_token=access.token,
            refresh_token=refresh.token,
            expires_in=self.lifetime,
            scope=" ".join(scopes),
        )


class Protected:
    """A running MCP server at `url`, its authority, and the Authorization header of every request to it."""

    def __init__(self, authority: Authority, issuer: str, url: str, scopes: list[str]) -> None:
        self.authority, self.url = authority, url
        self.authorizations: list[str] = []
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(issuer),
            resource_server_url=AnyHttpUrl(self.url),
            required_scopes=scopes,
            validate_token_resource=True,
        )
        server = MCPServer("notes", auth=settings, token_verifier=_Verifier(authority))

        @server.tool()
        async def add_note(text: str) -> str:
            """Add a note."""
            return f"added {text}"

        @server.tool()
        async def leak(context: Context[Any, Any]) -> str:
            """Fail with the credentials of the request."""
            request: Any = context.request_context.request
            raise MCPError(-31000, f"your header is {request.headers['authorization']}")

        path = httpx2.URL(url).path
        app = server.sse_app() if path == "/sse" else server.streamable_http_app()

        async def record(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["path"] == path:
                headers = dict(scope["headers"])
                self.authorizations.append(headers.get(b"authorization", b"").decode())
            await app(scope, receive, send)

        self.app = record


class _Verifier:
    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    async def verify_token(self, token: str) -> AccessToken | None:
        return self._authority.access.get(token)


@contextlib.contextmanager
def protected_server(
    path: str = "/mcp", *, registers: bool = True, scopes: list[str] | None = None
) -> Iterator[Protected]:
    """Both servers, each at an origin of its own."""
    authority = Authority()
    with _bind() as one, _bind() as two:
        issuer, origin = (f"http://127.0.0.1:{sock.getsockname()[1]}" for sock in (one, two))
        routes = create_auth_routes(
            authority,
            AnyHttpUrl(issuer),
            client_registration_options=ClientRegistrationOptions(enabled=registers, valid_scopes=SCOPES),
            revocation_options=RevocationOptions(enabled=True),
        )
        protected = Protected(authority, issuer, f"{origin}{path}", scopes or SCOPES[:1])
        with _serve(Starlette(routes=routes), one), _serve(protected.app, two):
            yield protected


def _bind() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@contextlib.contextmanager
def _serve(app: Any, sock: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def visit(url: str) -> httpx2.Response:
    """What a browser does with an authorization URL, for a user who is known there."""
    return httpx2.get(url, follow_redirects=True)


def configure(servers: Servers, **entry: Any) -> None:
    servers.entries["notes"] = entry
    servers.write()


def open_with(monkeypatch: pytest.MonkeyPatch, browse: Callable[[str], Any]) -> None:
    def open_browser(url: str) -> bool:
        threading.Thread(target=browse, args=(url,), daemon=True).start()
        return True

    monkeypatch.setattr(webbrowser, "open", open_browser)


def log_in(servers: Servers, *options: str) -> str:
    """The output of a sign-in that succeeds."""
    code, text = try_log_in(servers, *options)
    assert code == 0, text
    return text


def try_log_in(servers: Servers, *options: str) -> tuple[int, str]:
    return run_command("mcp", "login", "notes", "--config", str(servers.config), *options)


def status_of(servers: Servers) -> dict[str, Any]:
    code, text = run_command("mcp", "status", "--refresh", "--json", "--config", str(servers.config))
    assert code == 0
    return dict(json.loads(text)["servers"][0])
