"""Where tokens are stored, and to whom they are sent."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from pathlib import Path

import pytest

from shortlist.mcp_client.token_store import read_sign_ins, token_file
from tests.mcp.conftest import Agent, Servers, run_command, with_agent
from tests.mcp_client.authorization import Protected, configure, log_in, status_of

pytestmark = pytest.mark.process


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
