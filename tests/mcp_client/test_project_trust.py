"""A project's own files start, contact and expand nothing before the user has approved them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.types import Receive, Scope, Send

from shortlist import CorpusSource, Problem
from shortlist.cli import run
from shortlist.cli.output import Output
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp_client import project_trust
from shortlist.mcp_client.config_files import PendingFile, project_of
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.index.engines.conftest import listening
from tests.mcp.conftest import WAIT_SECONDS, WEATHER, Agent, Upstream, ask, post, run_command, tool, until, with_agent
from tests.mcp.test_agent_server import environment

pytestmark = pytest.mark.process

TOKEN = "value-of-the-variable-of-the-user"


class Project:
    """A cloned repository whose file names a command and an address with a variable of the user in it."""

    def __init__(self, folder: Path, address: str, heard: list[str], name: str = ".mcp.json") -> None:
        self.folder = folder
        (folder / ".git").mkdir(parents=True)
        self.file = folder / name
        self.helper = Upstream(folder.parent, "helper").offers(WEATHER)
        self.heard = heard
        self.entries: dict[str, Any] = {
            "helper": self.helper.entry,
            "cloud": {"url": f"{address}/${{MY_CLOUD_TOKEN}}", "headers": {"X-Token": "${MY_CLOUD_TOKEN}"}},
        }
        self.write()

    def write(self, **more: Any) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps({"mcpServers": self.entries | more}), "utf-8")

    @property
    def has_done_something(self) -> bool:
        return bool(self.helper.starts or self.heard)

    def trust(self) -> None:
        assert run_command("mcp", "trust", "--yes")[0] == 0


@pytest.fixture
def heard() -> list[str]:
    return []


@pytest.fixture
def address(heard: list[str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(f"{self.path} {self.headers['X-Token']}")
            self.send_error(404)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with listening(server) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def project(tmp_path: Path, address: str, heard: list[str], monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "clone", address, heard)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("MY_CLOUD_TOKEN", TOKEN)
    return made


async def distrusted_then_trusted_then_changed(agent: Agent, project: Project) -> None:
    """The agent's view while the user first does nothing, then approves the file, and then the file changes."""
    await agent.client.list_tools()
    for _ in range(2):
        found = await agent("discover", query="weather forecast rain")
        assert found["results"] == []
        assert "2 MCP servers are pending approval" in found["note"]
        assert f"shortlist mcp trust {project.file}" in found["note"]
        assert (await agent("status"))["servers"] == []
        assert "pending approval" in (await agent("status"))["note"]
        await agent.error("call", tool="helper/get_forecast", arguments={"city": "Ghent"})
        await agent.error("read", id="helper/get_forecast")
    assert not project.has_done_something

    project.trust()
    await agent.wait_for("weather forecast rain", "helper/get_forecast")
    assert await agent.call("helper/get_forecast", city="Ghent") == 'get_forecast {"city": "Ghent"}'
    await until(lambda: project.heard)
    assert project.heard[0] == f"/{TOKEN} {TOKEN}"

    project.write(other={"command": "/bin/false"})
    await until(lambda: not project.helper.is_alive())  # by itself
    found = await agent("discover", query="weather forecast rain")
    assert found["results"] == found["near"] == []
    assert "3 MCP servers are pending approval" in found["note"]
    sentence = await agent.error("call", tool="helper/get_forecast", arguments={"city": "Ghent"})
    assert sentence.startswith("'helper/get_forecast' is not available. 3 MCP servers are pending approval in ")
    assert len(project.helper.starts) == 1


def test_over_stdio_an_untrusted_file_does_nothing_approval_starts_it_and_a_change_stops_it(project: Project) -> None:
    ours = StdioServerParameters(
        command=sys.executable,
        args=["-m", "shortlist", "mcp"],
        env=environment() | {"MY_CLOUD_TOKEN": TOKEN},
        cwd=project.folder,
    )

    async def main() -> None:
        async with Client(ours) as client:
            await distrusted_then_trusted_then_changed(Agent(client), project)

    asyncio.run(main())


def test_over_http_an_untrusted_file_does_nothing_approval_starts_it_and_a_change_stops_it(project: Project) -> None:
    app = create_app(load_settings(given={"documents.embedder": "none"}, environment={}))

    async def main() -> None:
        async with AsyncExitStack() as stack:
            state = await stack.enter_async_context(app.router.lifespan_context(app))

            async def with_state(scope: Scope, receive: Receive, send: Send) -> None:
                await app({**scope, "state": state}, receive, send)

            transport = httpx2.ASGITransport(app=with_state)
            connection = httpx2.AsyncClient(transport=transport, base_url="http://localhost:9200", timeout=WAIT_SECONDS)
            http = await stack.enter_async_context(connection)
            async with Client(streamable_http_client("http://localhost:9200/mcp", http_client=http)) as client:
                await distrusted_then_trusted_then_changed(Agent(client), project)
            assert (await http.get("/v1/mcp")).json()["pending_files"] == [
                {"file": str(project.file), "servers": 3, "command": f"shortlist mcp trust {project.file}"}
            ]

    asyncio.run(main())


@pytest.mark.parametrize(
    "command",
    [
        ("mcp", "status", "--refresh"),
        ("mcp", "approve"),
        ("build", "mcp"),
        ("search", "mcp", "rain"),
        ("discover", "mcp", "rain"),
        ("doctor",),
        ("ls",),
    ],
    ids=" ".join,
)
def test_no_command_starts_an_untrusted_file(project: Project, command: tuple[str, ...]) -> None:
    output = " ".join(run_command(*command)[1].split())
    assert not project.has_done_something
    assert TOKEN not in output
    if command[0] in ("build", "search", "discover", "doctor") or "status" in command:
        assert re.search(r"2 (MCP )?servers are pending approval in", output)
        assert "shortlist mcp trust" in output


def test_from_mcp_reports_pending_files_and_reads_the_others(project: Project, tmp_path: Path) -> None:
    mine = Upstream(tmp_path, "mine").offers(WEATHER)
    (tmp_path / "home" / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": mine.entry}}))
    for source in (CorpusSource.from_mcp(), CorpusSource.from_mcp(project.file), CorpusSource.from_mcp(".mcp.json")):
        found = list(source)
        (pending,) = (item for item in found if isinstance(item, Problem))
        assert isinstance(pending, PendingFile)
        assert (pending.id, pending.servers) == (str(project.file), 2)
        assert [item.id for item in found if not isinstance(item, Problem)] in ([], ["mine/get_forecast"])
    assert not project.has_done_something
    assert mine.starts


@pytest.mark.parametrize("name", [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"])
def test_every_file_of_a_project_is_pending_in_any_of_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made = Project(tmp_path / "clone", "http://127.0.0.1:9", [], name)
    inside = made.folder / "src" / "deep"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    found = GatewayConfig().read()
    assert found.servers == ()
    assert [pending.id for pending in found.pending] == [str(made.file)]
    assert GatewayConfig([made.file]).read().servers == ()  # however it is named


def test_a_link_to_a_project_file_is_pending_too(project: Project, tmp_path: Path) -> None:
    elsewhere = project.folder / "configs" / "servers.json"
    elsewhere.parent.mkdir()
    project.file.rename(elsewhere)
    project.file.symlink_to(elsewhere)
    assert [pending.servers for pending in GatewayConfig().read().pending] == [2]
    link = tmp_path / "innocent.json"
    link.symlink_to(project.file)
    assert project_of(link) is None  # links to configs/servers.json, which anyone may name
    elsewhere.rename(project.folder / ".vscode.json")
    vscode = project.folder / ".vscode" / "mcp.json"
    vscode.parent.mkdir()
    (project.folder / ".vscode.json").rename(vscode)
    link.unlink()
    link.symlink_to(vscode)
    assert GatewayConfig([link]).read().servers == ()


def test_files_of_the_user_need_no_approval_even_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".git").mkdir()
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "mine"}}}))
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": {"command": "theirs"}}}))
    monkeypatch.chdir(home)
    found = GatewayConfig().read()
    assert [server.name for server in found.servers] == ["mine"]
    assert [pending.id for pending in found.pending] == [str(home / ".mcp.json")]


def test_an_untrusted_server_does_not_take_the_name_of_one_of_the_user(project: Project, tmp_path: Path) -> None:
    (tmp_path / "home" / ".claude.json").write_text(json.dumps({"mcpServers": {"helper": {"command": "mine"}}}))
    assert [(server.name, server.command) for server in GatewayConfig().read().servers] == [("helper", "mine")]


def test_files_that_a_settings_file_names_are_pending(tmp_path: Path, start: Callable[..., TestClient]) -> None:
    helper = Upstream(tmp_path, "helper").offers(WEATHER)
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"helper": helper.entry}}))
    (tmp_path / "settings.yaml").write_text("mcp:\n  config: [servers.json]\n")
    client = start(mcp__config=None)
    assert "1 MCP server is pending approval" in ask(client, "discover", query="weather forecast")["note"]
    assert not helper.starts
    assert run(["mcp", "trust", str(servers), "--yes", "--quiet"]) == 0
    result = post(client, "call", tool="helper/get_forecast", arguments={"city": "Ghent"})
    assert [block["text"] for block in result["content"]] == ['get_forecast {"city": "Ghent"}']


# The command


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["mcp", "trust", *arguments]) == code
    output = capsys.readouterr()
    return output.out if "--json" in arguments else output.out + output.err


def test_trust_shows_what_would_run_and_approves_only_with_yes(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write(
        shop={
            "command": "npx",
            "args": ["shop", "--access-token", "abc", "postgres://ada:pw@db/x", "\x1b[2J"],
            "env": {"MODE": "on", "KEY": "${SHOP_KEY}"},
        }
    )
    output = shown(capsys, code=1)
    for line in (
        f"runs: {sys.executable}",
        "/${MY_CLOUD_TOKEN}",
        "with headers: X-Token=${MY_CLOUD_TOKEN}",
        "runs: npx shop --access-token '***' 'postgres://***@db/x'",
        "with variables: MODE, KEY=${SHOP_KEY}",
        "Nothing was approved.",
    ):
        assert line in output
    assert "\x1b" not in output
    assert TOKEN not in output
    assert project_trust.approvals() == {}
    data = json.loads(shown(capsys, "--json", "--yes"))
    assert data["trusted"] == [str(project.file)]
    assert [server["name"] for server in data["files"][0]["servers"]] == ["helper", "cloud", "shop"]
    assert GatewayConfig().read().pending == ()
    assert "(trusted)" in shown(capsys)
    assert project_trust.trust_file().stat().st_mode & 0o077 == 0


def test_a_changed_file_is_shown_as_a_diff_without_secrets(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file.write_text('{"mcpServers": {\n "a": {"command": "a"},\n "b": {"command": "b"}\n}}')
    shown(capsys, "--yes")
    secret = "ghp_" + "x1Y2" * 9
    project.file.write_text(
        f'{{"mcpServers": {{\n "a": {{"command": "evil"}},\n "b": {{"command": "b {secret}"}}\n}}}}'
    )
    output = shown(capsys, code=1)
    assert "changed since it was trusted" in output
    assert '- "a": {"command": "a"},' in output
    assert '+ "a": {"command": "evil"},' in output
    assert secret not in output
    assert [pending.servers for pending in GatewayConfig().read().pending] == [2]


def test_approvals_are_listed_and_revoked(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "--list") == "No project file is trusted.\n"
    shown(capsys, "--yes")
    assert shown(capsys, "--list") == f"trusted  {project.file}\n"
    project.write(more={"command": "x"})
    assert shown(capsys, "--list") == f"changed  {project.file}\n"
    project.file.unlink()
    assert shown(capsys, "--list") == f"missing  {project.file}\n"
    assert json.loads(shown(capsys, "--revoke", str(project.folder), "--json")) == {"revoked": [str(project.file)]}
    assert shown(capsys, "--revoke") == "No approval was found there.\n"
    assert "configures MCP servers" in shown(capsys, code=1)
    assert "nowhere.json does not exist" in shown(capsys, "nowhere.json", code=1)


def test_a_question_on_a_terminal_is_asked_and_answered(project: Project) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "shortlist", "mcp", "trust"]
    with subprocess.Popen(command, cwd=project.folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"y\n")
        output = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                output += chunk
        except OSError:
            pass  # the other end is closed
        assert process.wait(WAIT_SECONDS) == 0, output
    os.close(ours)
    assert project_trust.approvals()
    assert b"runs:" in output


@pytest.mark.parametrize("answer", ["\n", "no\n", "yes please\n", ""])
def test_only_yes_approves(project: Project, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(Output, "can_ask", lambda out: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    code, output = run_command("mcp", "trust")
    assert code == 1
    assert "runs:" in output
    assert project_trust.approvals() == {}


def test_a_damaged_list_of_approvals_trusts_nothing_and_is_not_overwritten(project: Project) -> None:
    project.trust()
    assert GatewayConfig().read().servers
    project_trust.trust_file().write_text("{")
    assert GatewayConfig().read().servers == ()
    code, output = run_command("mcp", "trust", "--yes")
    assert code == 1
    assert "trusted.json cannot be read" in output
    assert project_trust.trust_file().read_text() == "{"


def test_a_file_with_only_our_entry_has_nothing_to_approve(project: Project) -> None:
    project.entries = {
        "shortlist": {"command": "shortlist", "args": ["mcp"]},
        "off": {"command": "x", "disabled": True},
    }
    project.write()
    assert GatewayConfig().read().pending == ()


def test_an_untrusted_server_that_imitates_ours_is_not_used_either(project: Project) -> None:
    cloud, helper = project.entries["cloud"], project.entries["helper"]
    project.entries = {
        "shortlist": cloud | {"command": "shortlist", "args": ["mcp"]},
        "helper": helper | {"args": [*helper["args"], "shortlist", "mcp"]},
    }
    project.write()
    assert list(CorpusSource.from_mcp()) == list(CorpusSource.from_mcp(project.file)) == []
    assert GatewayConfig().read().servers == ()
    assert not project.has_done_something


def test_install_into_a_project_approves_nothing_and_keeps_an_approval(project: Project) -> None:
    install = ("install", "--agent", "claude-code", "--project", "--command", "shortlist")
    assert run_command(*install)[0] == 0
    assert [pending.servers for pending in GatewayConfig().read().pending] == [2]
    assert run_command("uninstall", "--agent", "claude-code", "--project")[0] == 0
    project.trust()
    assert run_command(*install)[0] == 0
    assert {server.name for server in GatewayConfig().read().servers} == {"helper", "cloud"}
    assert not project.has_done_something


def test_none_of_our_tools_lets_an_agent_approve(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        for name in ("mcp trust", "trust", "approve", "shortlist/trust", "shortlist mcp trust"):
            for act in ("call", "call_read"):
                await agent.error(act, tool=name, arguments={"path": ".mcp.json", "yes": True})
            await agent.error(name, path=".mcp.json", yes=True)
            await agent.error("read", id=name)

    with_agent(Gateway(GatewayConfig()), talk)
    assert not project_trust.trust_file().exists()
    assert not project.has_done_something


# Where servers run, and which roots they have


def test_a_server_runs_where_the_gateway_was_started_unless_it_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, work = tmp_path / "config-of-ours", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("SHORTLIST_CONFIG_DIR", str(config))
    monkeypatch.chdir(work)
    entry = Upstream(tmp_path, "here").offers(tool("where")).entry
    config.mkdir()
    servers = {"here": entry, "home": entry | {"cwd": "${userHome}"}, "below": entry | {"cwd": "sub"}}
    (work / "sub").mkdir()
    (config / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    async def talk(agent: Agent) -> list[str]:
        return [await agent.call(f"{name}/where") for name in servers]

    assert with_agent(Gateway(GatewayConfig()), talk) == [str(work), str(tmp_path / "home"), str(work / "sub")]
