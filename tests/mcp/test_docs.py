"""The code blocks of the guides to the gateway run and print what is shown, and their numbers match the code."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from shortlist._paths import config_dir
from shortlist._settings import Limits
from shortlist.cli import run
from shortlist.mcp import agent_tools, skill_resources
from shortlist.mcp.gateway import (
    dispatch,
    relay,
    server_offers,
    tool_approvals,
    tool_changes,
    tool_checks,
    upstream,
    upstream_listing,
    upstream_session,
)
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.large_results import stored_results
from shortlist.mcp.tool_definitions import DEFINITIONS
from shortlist.mcp_client import browser_sign_in, stdio_transport
from shortlist.mcp_client import connection as source
from shortlist.server.routes import mcp_routes
from tests.mcp.conftest import WEATHER, Servers
from tests.mcp.many_servers import compare_tokens, make_servers
from tests.mcp.test_agent_server import environment
from tests.pages import read_blocks, read_page
from tests.server.conftest import Service

GUIDE = read_page("guides/gateway.md")
DOCUMENT = GUIDE + read_page("guides/gateway-details.md")
BLOCKS = read_blocks(DOCUMENT)
PROSE = " ".join(DOCUMENT.split())


def test_every_block_runs_and_prints_what_is_shown(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (json.loads(block) for language, block in BLOCKS if language == "json")
    ours, theirs, chosen, remote, example, holding, client, sizing, redacting = given
    (tmp_path / "agent.json").write_text(json.dumps(ours))
    assert GatewayConfig([tmp_path / "agent.json"]).read().servers == ()  # our own entry does not count
    assert theirs["mcpServers"]["team"]["url"].startswith("https://")
    assert example["mcpServers"].keys() == {"weather"}  # which ours replaces
    for number, config in enumerate((remote, client)):
        (tmp_path / f"{number}.json").write_text(json.dumps(config))
    linear, team = GatewayConfig([tmp_path / "0.json", tmp_path / "1.json"]).read().servers
    assert (dict(linear.oauth), team.oauth["callback_port"]) == ({}, "8765")
    assert browser_sign_in.LOGIN_SECONDS == 5 * 60
    (tmp_path / "sizes.json").write_text(json.dumps(sizing))
    (notes,) = GatewayConfig([tmp_path / "sizes.json"]).read().servers
    assert (notes.result_budget("export_all"), notes.result_budget("find")) == (100_000, 10_000)
    for number, config in enumerate((redacting, holding)):
        added = {"command": "other-server"}
        (tmp_path / f"{number}.json").write_text(
            json.dumps(config | {"mcpServers": config["mcpServers"] | {"b": added}})
        )
    notes, other = GatewayConfig([tmp_path / "0.json"]).read().servers
    assert (notes.redacts_results, other.redacts_results) == (False, True)
    notes, other = GatewayConfig([tmp_path / "1.json"]).read().servers
    assert (notes.new_tools, other.new_tools) == ("allow", "hold")
    servers.add("weather", WEATHER, behavior={"strict": True})
    servers.entries["weather"] = theirs["mcpServers"]["weather"] | servers.entries["weather"]
    servers.write()
    (server,) = GatewayConfig([servers.config]).read().servers
    assert (server.seconds, server.allow, server.deny) == (120, ("get_*",), ("get_raw_*",))

    own = config_dir() / "mcp.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps(json.loads(servers.config.read_text()) | chosen))

    service = Service(tmp_path)
    try:
        printed = ""
        for language, block in BLOCKS:
            if language == "python":
                code = block.replace(
                    'command="shortlist", args=[', f"command={sys.executable!r}, env=ENVIRONMENT, args=["
                )
                code = code.replace('["mcp"', '["-m", "shortlist", "mcp"').replace("http://localhost:9200", service.url)
                output = io.StringIO()
                names: dict[str, Any] = {"ENVIRONMENT": environment()}
                with contextlib.redirect_stdout(output):
                    exec(compile(code, "docs/guides/gateway.md", "exec"), names)
                printed = output.getvalue()
            elif language == "text":
                assert printed == block
            elif language == "sh":
                for line in block.splitlines():
                    program, *arguments = shlex.split(line)
                    assert program == "shortlist"
                    capsys.readouterr()
                    assert run(arguments) == 0, capsys.readouterr()
                    printed = capsys.readouterr().out
            elif language == "console" and "mcp login" not in block:  # test_browser_sign_in.py signs in
                command, *lines, question = block.splitlines()
                helper = {"command": "npx", "args": ["-y", "helper-server", "--access-token", "abc"]}
                helper["env"] = {"API_KEY": "${HELPER_KEY}"}  # type: ignore[assignment]
                (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"helper": helper}}))
                assert run(shlex.split(command)[2:]) == 1  # since no one can be asked here
                assert capsys.readouterr().out.splitlines() == lines
                assert question.startswith("Trust what is shown above, exactly as it is now?")
    finally:
        service.end()


def test_the_numbers_in_the_text_are_those_of_the_code(tmp_path: Path) -> None:
    counted = compare_tokens(make_servers(tmp_path)[1])
    ours, theirs = counted["tokens of our tool definitions"], counted["tokens of all schemas upstream"]
    assert f"They cost {ours:,} tokens" in PROSE
    assert f"cost {theirs:,}: {counted['ratio']} times as many" in PROSE
    assert f"older than a day, {['four'][dispatch.MOST_STARTS - 4]} servers at a time" in PROSE
    assert dispatch.LIST_MAX_AGE_SECONDS == 24 * 3600
    assert f"waits up to {dispatch.FIRST_LIST_SECONDS:g} seconds" in PROSE
    assert f"after {upstream.MOST_FAILURES} failures in a row" in PROSE
    assert f"stops after {upstream.IDLE_SECONDS / 60:g} minutes without a request" in PROSE
    assert (upstream.FIRST_PAUSE_SECONDS, upstream_listing.RELIST_SECONDS) == (1, 60)
    seconds = (
        upstream.START_SECONDS,
        upstream_session.CALL_SECONDS,
        agent_tools.FIND_SECONDS,
        agent_tools.ASK_SECONDS,
    )
    assert "{:g} seconds to start, {:g} for a call, {:g} for a search, {:g} for an answer".format(*seconds) in PROSE
    of_user = Limits().sessions_per_user
    assert f"{mcp_routes.MOST_SESSIONS:,} sessions for each profile, {of_user} of them of one user" in PROSE
    assert f"Servers of {dispatch.MOST_PRIVATE_CLIENTS} clients" in PROSE
    assert f"{stdio_transport.LONGEST_LINE_BYTES >> 20} MiB for a message" in PROSE
    assert f"{tool_checks.LONGEST_DEFINITION:,} characters for a tool's definition" in PROSE
    assert f"Beyond {stored_results.LONGEST_RESULT:,} characters" in PROSE
    assert f"in parts of {stored_results.LONGEST_PART:,} characters" in PROSE
    assert f"The last {stored_results.MOST_TEXTS} such texts" in PROSE
    assert f"{source.MOST_ENTRIES:,} tools for a server" in PROSE
    assert f"the first {server_offers.MOST_LISTED} of each server" in PROSE
    assert f"{skill_resources.PAGE} a page" in PROSE
    assert f"{dispatch.UNUSED_CLIENT_SECONDS / 60:g} minutes after its last request" in PROSE
    assert f"A client has {relay.ANSWER_SECONDS / 60:g} minutes to answer" in PROSE
    assert f"a schema deeper than {tool_checks.MOST_SCHEMA_LEVELS} levels" in PROSE
    assert f"The last {tool_approvals.MOST_FORMS} forms" in PROSE
    assert f"in any case after {tool_approvals.NEW_DAYS} days" in PROSE
    assert f"has more than {tool_changes.LONGEST_VALUE} characters" in PROSE
    assert f"with more than {tool_changes.MOST_TITLE_WORDS} words" in PROSE
    assert f"with a description of up to {tool_changes.LONGEST_DESCRIPTION} characters" in PROSE
    assert [f"`{definition['name']}`" for definition in DEFINITIONS] == re.findall(r"^\| (`\w+`) \|", GUIDE, re.M)
