"""Sign-in to a remote MCP server in the user's browser, and sign-out. Imports the SDK: import it on first use."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from shortlist._files import locked
from shortlist._redact import redact
from shortlist._text import printable
from shortlist.errors import SourceError
from shortlist.mcp_client.connection import connect
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import StderrTail, first_error
from shortlist.mcp_client.sign_in_endpoints import check_endpoint, check_metadata_url
from shortlist.mcp_client.stored_sign_in import TOKEN_SECONDS, SignInProvider, wait_for_lock
from shortlist.mcp_client.token_store import delete_sign_in, key_of_sign_in, lock_file, read_sign_in

LOGIN_SECONDS = 300.0  # for the user to sign in
CALLBACK = "/callback"
LONGEST_REASON = 300  # characters of what an authorization server says


async def sign_in(server: ServerConfig, show: Callable[[str], None], scopes: str = "") -> None:
    """Sign in to a server, and store the sign-in; `show` is called with the URL that the user must open."""
    name = server.name
    await check_endpoint(name, server.url, server.url)
    port = server.oauth.get("callback_port")
    with _listen(int(port or 0)) as listener, contextlib.closing(StderrTail()) as stderr_tail:
        # A registered client has a fixed port, and most are registered for the name of this machine. Browsers may use
        # either of its addresses, so we listen at both.
        host = "localhost" if port else "127.0.0.1"
        redirect_uri = f"http://{host}:{listener.server_port}{CALLBACK}"
        provider = _Login(server, listener, show, redirect_uri, scopes or server.oauth.get("scopes", ""))
        try:
            async with asyncio.timeout(LOGIN_SECONDS), connect(server, stderr_tail, auth=provider):
                pass
        except Exception as failure:
            if provider.context.current_tokens is None:  # else the sign-in succeeded
                raise _explain(server, provider, first_error(failure)) from None


async def sign_out(key: str) -> bool:
    """Delete a stored sign-in, and return whether its authorization server revoked it."""
    with locked(lock_file(key)):
        found = read_sign_in(key)
        delete_sign_in(key)
    if found is None:
        return False
    provider = SignInProvider(ServerConfig(found["name"], url=found["url"]))
    provider.restore(found)
    context = provider.context
    tokens, client, metadata = context.current_tokens, context.client_info, context.oauth_metadata
    if not (tokens and client and metadata and metadata.revocation_endpoint):
        return False
    kind = "refresh_token" if tokens.refresh_token else "access_token"
    data = {"token": getattr(tokens, kind), "token_type_hint": kind, "client_id": client.client_id}
    data, headers = context.prepare_token_auth(data)
    try:
        await check_endpoint(found["name"], found["url"], str(metadata.revocation_endpoint))
        async with httpx2.AsyncClient(timeout=TOKEN_SECONDS) as http:
            response = await http.post(str(metadata.revocation_endpoint), data=data, headers=headers)
    except (httpx2.HTTPError, SourceError):
        return False
    return bool(response.is_success)


class _Listener(ThreadingHTTPServer):
    """Waits on this machine for the browser to come back with the answer to an authorization request."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.owner = self  # the one that has the state and gets the answer
        self.state = ""  # that the answer must repeat; without one, every answer is rejected
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[dict[str, str]] = self._loop.create_future()

    def receive(self, answer: dict[str, str]) -> None:
        def set_answer() -> None:
            if not self.answer.done():
                self.answer.set_result(answer)

        with contextlib.suppress(RuntimeError):  # the sign-in has ended
            self._loop.call_soon_threadsafe(set_answer)


class _SecondListener(ThreadingHTTPServer):
    """Listens at the IPv6 address of this machine for another listener, so that no one else can answer there."""

    daemon_threads = True
    address_family = socket.AF_INET6

    def __init__(self, owner: _Listener) -> None:
        super().__init__(("::1", owner.server_port), _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    server: _Listener | _SecondListener
    timeout = 10  # seconds for a request to arrive: browsers open connections that they never use

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        answer = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path != CALLBACK:
            self._reply(404, "Not found.")
        elif not self.server.owner.state or answer.get("state") != self.server.owner.state:
            self._reply(400, "This answer does not belong to the sign-in that is running. Start again in the terminal.")
        else:
            self._reply(200, "Done. Close this page and return to the terminal.")
            self.server.owner.receive(answer)

    def _reply(self, status: int, text: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "Connection": "close"}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing: the path has the authorization code."""


@contextlib.contextmanager
def _listen(port: int) -> Iterator[_Listener]:
    """A listener on a port of this machine, by default any free one, that is closed at the end."""
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(_Listener(port))
            listeners: list[ThreadingHTTPServer] = [listener]
            if port and _has_ipv6():
                listeners.append(stack.enter_context(_SecondListener(listener)))
        except OSError as error:
            raise SourceError(f"The callback port {port} cannot be used: {error.strerror}.") from None
        for each in listeners:
            thread = threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(each.shutdown)  # before the thread is joined
        yield listener


def _has_ipv6() -> bool:
    """Whether this machine has the address ::1."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class _FixedScopes(OAuthClientMetadata):
    """What a client registers, with scopes that the user chose instead of those that the server asks for."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


class _Login(SignInProvider):
    """The SDK's flow, with the user's browser and our listener."""

    def __init__(
        self, server: ServerConfig, listener: _Listener, show: Callable[[str], None], redirect_uri: str, scopes: str
    ) -> None:
        metadata = OAuthClientMetadata.model_validate({"redirect_uris": [redirect_uri], "client_name": "shortlist"})
        if scopes:
            metadata = _FixedScopes(**metadata.model_dump(exclude={"scope"}), scope=scopes)
        super().__init__(server, metadata, redirect_handler=self._redirect, callback_handler=self._wait)
        self.sign_in_id = uuid.uuid4().hex
        self._listener, self._show, self._has_asked = listener, show, False

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The configured client, if there is one."""
        given = {key: value for key, value in self.server.oauth.items() if key in ("client_id", "client_secret")}
        return OAuthClientInformationFull.model_validate(given) if "client_id" in given else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        async with wait_for_lock(lock_file(key_of_sign_in(self.server))):
            await super().set_tokens(tokens)

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK's flow for the first request, even if the server would answer it without a sign-in."""
        if self._has_asked:
            self._add_auth_header(request)
            yield request
            return
        self._has_asked = True
        flow = super()._auth_flow(request)
        name, url = self.server.name, self.server.url
        try:
            response = yield await anext(flow)
            if metadata_url := extract_resource_metadata_from_www_auth(response):
                check_metadata_url(name, url, metadata_url)
            outgoing = await flow.asend(response if response.status_code == 401 else httpx2.Response(401))
            while True:
                await check_endpoint(name, url, str(outgoing.url))
                response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _perform_authorization(self) -> httpx2.Request:
        metadata, client = self.context.oauth_metadata, self.context.client_info
        if metadata:
            for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.revocation_endpoint):
                await check_endpoint(self.server.name, self.server.url, str(url or self.server.url))
            if "S256" not in (metadata.code_challenge_methods_supported or ["S256"]):
                raise OAuthFlowError("its authorization server does not support PKCE with S256.")
        if client and client.client_secret and not client.token_endpoint_auth_method:
            # RFC 8414: without a list, the authorization server supports client_secret_basic.
            methods = (metadata and metadata.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
            is_basic = "client_secret_basic" in methods
            client.token_endpoint_auth_method = "client_secret_basic" if is_basic else "client_secret_post"
        return await super()._perform_authorization()

    async def _redirect(self, url: str) -> None:
        self._listener.state = parse_qs(urlsplit(url).query)["state"][0]
        self._show(url)

    async def _wait(self) -> AuthorizationCodeResult:
        answer = await self._listener.answer
        if "error" in answer:
            reason = ": ".join(answer[key] for key in ("error", "error_description") if key in answer)
            raise SourceError(f"The sign-in to {self.server.name} was refused ({_shorten(reason)}).")
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer["state"], iss=answer.get("iss"))


def _explain(server: ServerConfig, provider: SignInProvider, error: BaseException) -> SourceError:
    """Why a sign-in failed, and how to fix that."""
    name = server.name
    if isinstance(error, SourceError):
        return error
    if isinstance(error, TimeoutError):
        return SourceError(f"No one signed in to {name} within {LOGIN_SECONDS:g} seconds. Run the command again.")
    if isinstance(error, OAuthRegistrationError):
        if provider.context.oauth_metadata is None:
            return SourceError(f"{name} has no authorization server to sign in to.")
        return SourceError(
            f"The authorization server of {name} did not register shortlist ({_summarize(error)}). Register an "
            f"application there with the redirect URI http://localhost:PORT{CALLBACK}, and add its 'client_id' and "
            f"'callback_port' under 'oauth' to {name} in {server.file or 'its configuration'}."
        )
    is_about_response = isinstance(error, OAuthFlowError | ValueError)
    reason = _summarize(error) if is_about_response else f"{type(error).__name__}: {error}"
    return SourceError(f"The sign-in to {name} failed: {_shorten(reason)}")


def _summarize(error: BaseException) -> str:
    """What went wrong, with the status but without the body of a response, which may be that of any other service."""
    if not isinstance(error, OAuthFlowError):
        return type(error).__name__
    text, _, rest = str(error).partition(": ")
    status = re.match(r"(?:HTTP )?([1-5]\d\d)\b", rest)
    return f"{text}: HTTP {status[1]}" if status else text


def _shorten(text: str) -> str:
    """What another program says, without secrets and safe to print."""
    return printable(redact(text))[:LONGEST_REASON]
