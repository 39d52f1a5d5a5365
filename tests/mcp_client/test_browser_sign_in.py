"""Sign-in to remote servers with OAuth, against an authorization server that runs on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import socket
import stat
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull

from shortlist.cli import run
from shortlist.mcp_client import browser_sign_in
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.stored_sign_in import StoredSignIn
from shortlist.mcp_client.token_store import read_sign_ins, token_file
from tests.mcp.conftest import Agent, Servers, run_command, until, with_agent
from tests.mcp_client.authorization import SCOPES, Protected, protected_server, visit


@pytest.fixture
def notes(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protected]:
    """A server that needs a sign-in, configured, and a browser in which the user is known to its authority."""
    with protected_server() as protected:
        configure(servers, url=protected.url)
        open_with(monkeypatch, visit)
        yield protected


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


def test_a_running_gateway_asks_for_a_sign_in_and_uses_it_without_a_restart(notes: Protected, servers: Servers) -> None:
    command = f"shortlist mcp login notes --config {servers.config}"
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        found = await agent("discover", query="add a note")
        assert found["results"] == []
        assert f"The server notes needs sign-in: run {command}" in found["note"]
        assert "Unavailable" not in found["note"]
        status = await agent("status")
        assert status["servers"][0]["state"] == "needs sign-in"
        assert command in status["servers"][0]["problem"]
        assert command in await agent.error("call", tool="notes/add_note", arguments={"text": "x"})
        assert set(notes.authorizations) == {""}

        assert "Signed in to notes: 2 tools." in await asyncio.to_thread(log_in, servers)
        assert (await agent("status"))["servers"][0]["state"] != "needs sign-in"
        assert await agent.call("notes/add_note", text="milk") == "added milk"
        assert (await agent("status"))["servers"][0]["state"] == "ready"
        assert "note" not in await agent("discover", query="add a note")

    with_agent(gateway, talk)
    assert len(notes.authority.clients) == 1


def test_expired_tokens_are_refreshed_before_and_refused_ones_after_a_request(
    notes: Protected, servers: Servers
) -> None:
    notes.authority.lifetime = 0
    log_in(servers)

    async def talk(agent: Agent) -> None:
        before = notes.authority.refreshes
        assert await agent.call("notes/add_note", text="one") == "added one"
        assert notes.authority.refreshes > before  # the client knows that the token has expired
        notes.authority.lifetime = 3600
        assert await agent.call("notes/add_note", text="two") == "added two"
        before = notes.authority.refreshes
        assert await agent.call("notes/add_note", text="three") == "added three"
        assert notes.authority.refreshes == before
        notes.authority.access.clear()
        assert await agent.call("notes/add_note", text="four") == "added four"
        assert notes.authority.refreshes == before + 1  # the server refused the token

    with_agent(servers.gateway(), talk)
    assert notes.authority.stolen == []


def test_a_revoked_sign_in_is_reported_with_the_command_that_renews_it(notes: Protected, servers: Servers) -> None:
    log_in(servers)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        assert await agent.call("notes/add_note", text="one") == "added one"
        notes.authority.access.clear()
        notes.authority.refresh.clear()
        message = await agent.error("call", tool="notes/add_note", arguments={"text": "two"})
        assert "The server notes needs sign-in: run shortlist mcp login notes" in message
        assert "may or may not" not in message
        await until(lambda: gateway.status()[0]["state"] == "needs sign-in")
        assert "needs sign-in" in (await agent("discover", query="add a note"))["note"]

    with_agent(gateway, talk)
    log_in(servers)
    assert status_of(servers)["tools"] == 2


def test_an_authorization_server_that_fails_is_not_reported_as_a_missing_sign_in(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(servers)

    async def fail(*_: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(notes.authority, "load_refresh_token", fail)
    notes.authority.access.clear()
    row = status_of(servers)
    assert "HTTP 500" in row["problem"]
    assert "login" not in row["problem"]


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


def test_a_token_is_sent_only_to_the_url_and_the_project_that_it_is_for(
    notes: Protected, servers: Servers, tmp_path: Path
) -> None:
    log_in(servers)
    notes.authorizations.clear()
    moved = notes.url.replace("127.0.0.1", "localhost")
    configure(servers, url=moved)
    assert status_of(servers)["state"] == "needs sign-in"
    project = tmp_path / "project" / ".mcp.json"
    project.parent.mkdir()
    project.write_text(json.dumps({"mcpServers": {"notes": {"url": notes.url}}}), "utf-8")
    assert run_command("mcp", "trust", str(project), "--yes")[0] == 0
    text = run_command("mcp", "status", "--refresh", "--json", "--config", str(project))[1]
    assert json.loads(text)["servers"][0]["state"] == "needs sign-in"
    assert set(notes.authorizations) == {""}
    configure(servers, url=notes.url)
    assert status_of(servers)["tools"] == 2


def test_a_configured_authorization_header_is_used_instead_of_a_sign_in(notes: Protected, servers: Servers) -> None:
    configure(servers, url=notes.url, headers={"authorization": "Bearer mine"})
    row = status_of(servers)
    assert "HTTP 401" in row["problem"]
    assert "login" not in row["problem"]
    assert set(notes.authorizations) == {"Bearer mine"}
    assert "Authorization header" in try_log_in(servers)[1]


def test_connections_that_refresh_at_once_use_each_refresh_token_once(notes: Protected, servers: Servers) -> None:
    notes.authority.lifetime = 0
    log_in(servers)
    before = notes.authority.refreshes

    async def use(_: int) -> None:
        async with httpx2.AsyncClient(auth=StoredSignIn(ServerConfig("notes", url=notes.url))) as http:
            answers = await asyncio.gather(*(http.get(notes.url, headers={"Accept": "a/b"}) for _ in range(3)))
            assert {answer.status_code for answer in answers} == {406}

    async def main() -> None:
        await asyncio.gather(*map(use, range(3)))

    asyncio.run(main())
    assert notes.authority.refreshes >= before + 3
    assert notes.authority.stolen == []


@pytest.mark.process
def test_processes_that_refresh_at_once_share_the_new_token(notes: Protected, servers: Servers) -> None:
    log_in(servers)
    notes.authority.access.clear()
    notes.authority.pause = 0.5
    before = notes.authority.refreshes
    command = [sys.executable, "-m", "shortlist", "mcp", "status", "--refresh", "--json"]
    checks = [subprocess.Popen([*command, "--config", str(servers.config)], stdout=subprocess.PIPE) for _ in range(2)]
    rows = [json.loads(check.communicate()[0])["servers"][0] for check in checks]
    assert [row["tools"] for row in rows] == [2, 2]
    assert (notes.authority.refreshes, notes.authority.stolen) == (before + 1, [])


class Keyring:
    """Stands in for the package of this name, which needs a desktop session."""

    priority = 5

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}

    def get_keyring(self) -> Keyring:
        return self

    def set_password(self, service: str, key: str, text: str) -> None:
        self.passwords[service, key] = text

    def get_password(self, service: str, key: str) -> str | None:
        return self.passwords.get((service, key))

    def delete_password(self, service: str, key: str) -> None:
        del self.passwords[service, key]


def test_a_keyring_stores_the_tokens_if_it_can(
    notes: Protected, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    log_in(servers)
    [token] = notes.authority.access
    assert token not in token_file().read_text()
    assert token in next(iter(keyring.passwords.values()))
    notes.authority.access.clear()
    assert status_of(servers)["tools"] == 2
    [token] = notes.authority.access
    assert token in next(iter(keyring.passwords.values()))
    assert run_command("mcp", "logout", "notes")[0] == 0
    assert (keyring.passwords, read_sign_ins()) == ({}, {})

    monkeypatch.setattr(Keyring, "set_password", lambda *_: 1 / 0)
    log_in(servers)
    [token] = notes.authority.access
    assert token in token_file().read_text()


def test_a_canceled_request_does_not_lose_the_refreshed_token(notes: Protected, servers: Servers) -> None:
    notes.authority.pause = 0.2
    log_in(servers)
    notes.authority.access.clear()

    async def main() -> None:
        async with httpx2.AsyncClient(auth=StoredSignIn(ServerConfig("notes", url=notes.url))) as http:
            request = asyncio.create_task(http.get(notes.url))
            await until(lambda: notes.authority.asked)
            request.cancel()
            assert (await http.get(notes.url, headers={"Accept": "a/b"})).status_code == 406

    asyncio.run(main())
    assert (notes.authority.refreshes, notes.authority.stolen) == (1, [])


def test_no_output_contains_a_token_and_only_the_owner_can_read_the_file(notes: Protected, servers: Servers) -> None:
    texts = [log_in(servers, "--json")]
    assert stat.S_IMODE(token_file().stat().st_mode) == 0o600

    async def talk(agent: Agent) -> None:
        texts.append(await agent.error("call", tool="notes/leak", arguments={}))
        assert "your header is Bearer ***" in texts[-1]
        texts.append(json.dumps(await agent("status")))

    with_agent(servers.gateway(), talk)
    texts.append(json.dumps(status_of(servers)))
    texts.append(run_command("mcp", "logout", "notes", "--json")[1])
    client = next(iter(notes.authority.clients.values()))
    stored = [found["tokens"] for found in read_sign_ins().values()]
    assert stored == []
    tokens = [*notes.authority.used, str(client.client_secret), *{header[7:] for header in notes.authorizations}]
    assert [token for token in tokens if token and any(token in text for text in texts)] == []


def test_logout_deletes_the_sign_in_and_revokes_it(notes: Protected, servers: Servers) -> None:
    log_in(servers)
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        assert await agent.call("notes/add_note", text="one") == "added one"
        code, text = await asyncio.to_thread(run_command, "mcp", "logout", "notes")
        assert (code, text) == (0, "Signed out of notes.\n")
        assert (notes.authority.access, notes.authority.refresh, read_sign_ins()) == ({}, {}, {})
        notes.authorizations.clear()
        for _ in range(2):
            message = await agent.error("call", tool="notes/add_note", arguments={"text": "two"})
            assert "The server notes needs sign-in: run shortlist mcp login notes" in message
            assert "again" not in message  # an agent would call it in a loop
        assert set(notes.authorizations) == {""}

    with_agent(gateway, talk)
    assert run_command("mcp", "logout", "notes")[0] == 1


def test_more_scopes_are_asked_for_with_the_command_that_the_error_names(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_with(monkeypatch, visit)
    with protected_server(scopes=SCOPES) as notes:
        configure(servers, url=notes.url)
        code, text = try_log_in(servers, "--scopes", SCOPES[0])
        assert code == 1
        assert "needs a sign-in with more scopes" in text
        log_in(servers, "--scopes", " ".join(SCOPES))
        assert status_of(servers)["tools"] == 2


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
