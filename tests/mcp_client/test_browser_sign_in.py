"""Sign-in to remote servers with OAuth, against an authorization server that runs on this machine."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import webbrowser
from typing import Any

import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull

from shortlist.cli import run
from shortlist.mcp_client import browser_sign_in
from shortlist.mcp_client.token_store import read_sign_ins, token_file
from tests.mcp.conftest import Servers, run_command
from tests.mcp_client.authorization import (
    SCOPES,
    Protected,
    configure,
    log_in,
    open_with,
    protected_server,
    status_of,
    try_log_in,
    visit,
)

pytestmark = pytest.mark.process


def test_an_answer_with_another_state_is_rejected_and_does_not_end_the_sign_in(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def browse(url: str) -> None:
        callback = httpx2.URL(httpx2.URL(url).params["redirect_uri"])
        for params in ({"code": "theirs", "state": "theirs"}, {"code": "theirs"}, {}):
            seen.append(httpx2.get(callback, params=params).status_code)
        seen.append(httpx2.get(callback.join("/")).status_code)
        seen.append(read_sign_ins())
        visit(url)

    open_with(monkeypatch, browse)
    log_in(servers)
    assert seen == [400, 400, 400, 404, {}]


def test_a_sign_in_that_no_one_completes_ends(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_sign_in, "LOGIN_SECONDS", 0.5)
    open_with(monkeypatch, lambda url: None)
    code, text = try_log_in(servers)
    assert (code, "within 0.5 seconds" in text, read_sign_ins()) == (1, True, {}), text


def test_without_a_browser_the_page_to_open_is_printed(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def write(self, text: str) -> int:
            for line in text.splitlines():
                if line.startswith("http"):
                    threading.Thread(target=visit, args=(line,), daemon=True).start()
            return super().write(text)

    monkeypatch.delattr(webbrowser, "open")
    with contextlib.redirect_stderr(Terminal()) as terminal:
        assert run(["mcp", "login", "notes", "--no-browser", "--config", str(servers.config)]) == 0
    assert "Open this page:\nhttp" in terminal.getvalue()


def test_the_listener_is_closed_after_a_sign_in(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[httpx2.Response] = []
    open_with(monkeypatch, lambda url: pages.append(visit(url)))
    log_in(servers)
    params = pages[0].history[0].request.url.params
    assert params["code_challenge_method"] == "S256"
    assert params["resource"] == notes.url
    assert httpx2.URL(params["redirect_uri"]).host == "127.0.0.1"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(params["redirect_uri"])


def test_a_user_who_says_no_is_not_signed_in(notes: Protected, servers: Servers) -> None:
    notes.authority.user_agrees = False
    code, text = try_log_in(servers)
    assert code == 1
    assert "access_denied" in text
    assert "The user said no" in text
    assert not token_file().exists()


def test_without_registration_a_configured_client_signs_in(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    open_with(monkeypatch, visit)
    with protected_server(registers=False) as notes:
        configure(servers, url=notes.url)
        code, text = try_log_in(servers)
        assert code == 1
        assert "'client_id'" in text
        assert str(servers.config) in text

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for method in ("client_secret_basic", "none"):
            client: dict[str, Any] = {"client_id": "ours", "token_endpoint_auth_method": method, "scope": SCOPES[0]}
            client |= {"redirect_uris": [f"http://localhost:{port}/callback"]}
            oauth = {"clientId": "ours", "callbackPort": port}
            if method != "none":
                client["client_secret"] = "a secret: 100%"
                oauth["clientSecret"] = "${NOTES_SECRET}"
                monkeypatch.setenv("NOTES_SECRET", "a secret: 100%")
            notes.authority.clients["ours"] = OAuthClientInformationFull.model_validate(client)
            configure(servers, url=notes.url, oauth=oauth)
            log_in(servers)
            notes.authority.access.clear()
            assert status_of(servers)["tools"] == 2  # the client refreshes, too


def test_a_server_of_the_older_transport_is_signed_in_to_as_well(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_with(monkeypatch, visit)
    with protected_server("/sse") as notes:
        configure(servers, url=notes.url, type="sse")
        assert status_of(servers)["state"] == "needs sign-in"
        log_in(servers)
        notes.authority.access.clear()
        assert status_of(servers)["tools"] == 2


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"url": "http://notes.example.org/mcp"}, "https"),
        ({"command": "notes"}, "'url'"),
        ({"url": "http://127.0.0.1:9/mcp"}, "ConnectError"),
    ],
)
def test_a_server_that_cannot_be_signed_in_to_is_rejected_with_the_reason(
    servers: Servers, entry: dict[str, Any], reason: str
) -> None:
    configure(servers, **entry)
    code, text = try_log_in(servers)
    assert (code, reason in text) == (1, True), text


def test_a_callback_port_that_is_in_use_is_reported(notes: Protected, servers: Servers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        configure(servers, url=notes.url, oauth={"callback_port": port})
        code, text = try_log_in(servers)
    assert (code, f"callback port {port}" in text) == (1, True), text


def test_an_unknown_server_is_rejected_with_a_suggestion(notes: Protected, servers: Servers) -> None:
    code, text = run_command("mcp", "login", "note", "--config", str(servers.config))
    assert (code, "'notes'" in text) == (1, True), text
