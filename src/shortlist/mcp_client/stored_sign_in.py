"""Requests to remote MCP servers, authorized with stored sign-ins, whose tokens are refreshed when they expire.

Nothing here asks the user; `browser_sign_in.py` does. Imports the SDK: import it on first use.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth, union_scopes
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import INTERNAL_ERROR

from shortlist._files import WAIT_SECONDS, locked, stamp_of
from shortlist.errors import CorpusBusy, SourceError
from shortlist.mcp_client.config_files import sign_in_command
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.sign_in_endpoints import check_endpoint
from shortlist.mcp_client.token_store import (
    NEEDS_SIGN_IN,
    SignIn,
    key_of_sign_in,
    lock_file,
    read_sign_in,
    token_file,
    write_sign_in,
)

TOKEN_SECONDS = 30.0  # for an authorization server to answer
LOCK_RETRY_SECONDS = 0.05  # between attempts to get a lock


class SignInNeeded(SourceError):
    """The server refuses requests without a sign-in by the user."""

    code = NEEDS_SIGN_IN


class SignInProvider(OAuthClientProvider):
    """The SDK's provider for a server, and its storage.

    To refresh tokens later, the time when they expire and the metadata of the authorization server are stored, too.
    """

    def __init__(self, server: ServerConfig, metadata: OAuthClientMetadata | None = None, **handlers: Any) -> None:
        document = server.oauth.get("client_metadata_url")
        metadata = metadata or OAuthClientMetadata(redirect_uris=None)
        super().__init__(server.url, metadata, self, client_metadata_url=document, **handlers)
        self.server, self.sign_in_id = server, ""

    def restore(self, found: SignIn | None) -> None:
        """Use a stored sign-in from now on, or none."""
        context = self.context
        context.clear_tokens()
        with contextlib.suppress(KeyError, TypeError, ValueError):  # it is damaged: the user has to sign in again
            if found is not None:
                self.sign_in_id = str(found["id"])
                issuer, resource = found["issuer"], found["resource"]
                context.client_info = OAuthClientInformationFull.model_validate(found["client"])
                context.oauth_metadata = issuer and OAuthMetadata.model_validate(issuer)
                context.protected_resource_metadata = resource and ProtectedResourceMetadata.model_validate(resource)
                context.token_expiry_time = found["expires_at"]
                context.current_tokens = OAuthToken.model_validate(found["tokens"])

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store the sign-in; called when all of it is known."""
        context = self.context
        models = {
            "tokens": tokens,
            "client": context.client_info,
            "issuer": context.oauth_metadata,
            "resource": context.protected_resource_metadata,
        }
        sign_in: SignIn = {
            key: model and model.model_dump(mode="json", exclude_none=True) for key, model in models.items()
        }
        sign_in |= {"id": self.sign_in_id, "expires_at": context.token_expiry_time}
        await asyncio.to_thread(write_sign_in, self.server, sign_in)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """It is stored with the tokens."""


class StoredSignIn(SignInProvider):
    """Sends the token of the stored sign-in, if there is one, with every request.

    Unlike the SDK's own flow, it opens no browser and registers no client; it sends several requests at a time; it sees
    what other processes store; and a request that is canceled does not lose the tokens that it refreshed.
    """

    def __init__(self, server: ServerConfig) -> None:
        super().__init__(server)
        self._key = key_of_sign_in(server)
        self._stamp: tuple[int, ...] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        self.context.protocol_version = request.headers.get("mcp-protocol-version")
        token = await self._find_token()
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and token and (other := await self._find_token(refused=token)):
            request.headers["Authorization"] = f"Bearer {other}"
            response = yield request
        challenge = response.headers.get("www-authenticate", "").lower()
        name = self.server.name
        if response.status_code == 401 and ("bearer" in challenge or not self.server.headers):
            message = f"The server {name} needs sign-in: run {sign_in_command(self.server)}"
            if self.server.is_sse:  # whose transport passes on no errors of requests
                raise SignInNeeded(message)
            _replace_body(response, NEEDS_SIGN_IN, message)
        elif response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            granted = self.context.current_tokens.scope if self.context.current_tokens else None
            scopes = union_scopes(granted, extract_scope_from_www_auth(response)) or ""
            command = sign_in_command(self.server, scopes)
            _replace_body(response, INTERNAL_ERROR, f"this needs a sign-in with more scopes: run {command}")

    async def _find_token(self, refused: str = "") -> str:
        """A token that was not refused, refreshed if need be; empty if there is none."""
        await self._load()
        if not self._is_usable(refused) and self.context.can_refresh_token():
            if self._refreshing is None or self._refreshing.done():
                self._refreshing = asyncio.create_task(self._refresh(refused))
            await asyncio.shield(self._refreshing)
        tokens = self.context.current_tokens
        return tokens.access_token if tokens and tokens.access_token != refused else ""

    def _is_usable(self, refused: str) -> bool:
        tokens = self.context.current_tokens
        return self.context.is_token_valid() and tokens is not None and tokens.access_token != refused

    async def _load(self) -> None:
        """Read the stored sign-in again if it has changed."""
        stamp = stamp_of(token_file())
        if stamp != self._stamp:
            self.restore(await asyncio.to_thread(read_sign_in, self._key))
            self._stamp = stamp

    async def _refresh(self, refused: str) -> None:
        """Refresh the tokens, unless another process just did."""
        async with wait_for_lock(lock_file(self._key)):
            await self._load()
            if self._is_usable(refused) or not self.context.can_refresh_token():
                return
            request = await self._refresh_token()
            await check_endpoint(self.server.name, self.server.url, str(request.url))
            async with httpx2.AsyncClient(timeout=TOKEN_SECONDS) as http:
                response = await http.send(request)
            if response.status_code == 429 or response.is_server_error:
                status = f"HTTP {response.status_code}"
                raise SourceError(f"its authorization server did not refresh the sign-in ({status}); try again later")
            await self._handle_refresh_response(response)


@contextlib.asynccontextmanager
async def wait_for_lock(path: Path) -> AsyncIterator[None]:
    """Lock a file without blocking the event loop."""
    with contextlib.ExitStack() as stack:
        deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
        while True:
            try:
                stack.enter_context(locked(path, 0))
                break
            except CorpusBusy:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(LOCK_RETRY_SECONDS)
        yield


def _replace_body(response: httpx2.Response, code: int, message: str) -> None:
    """Make a response an error of the protocol, which the SDK passes on to the request that it answers."""

    class ErrorBody(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield json.dumps(error).encode()

        async def aclose(self) -> None:
            await stream.aclose()

    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    stream: Any = response.stream
    response.stream = ErrorBody()
    for header in ("content-encoding", "content-length"):
        response.headers.pop(header, None)
    response.headers["content-type"] = "application/json"
