"""Permissions of the user for servers and tools: read, write or never."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Tool

from shortlist._environment import GATEWAY
from shortlist.cli import run
from shortlist.errors import SourceError
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig, Permissions
from shortlist.mcp.tool_definitions import DEFINITIONS
from shortlist.mcp_client.project_trust import trust
from tests.mcp.conftest import WEATHER, Agent, Servers, text_of, tool, until, with_agent

ARGUMENTS = {
    "after its flag": ["--access-token", "s3cr3t-of-the-shop"],
    "with its flag": ["--api-key=s3cr3t-of-the-shop"],
    "in an address": ["postgresql://ada:s3cr3t-of-the-shop@db.example/shop"],
    "by its shape": ["ghp_s3cr3tOfTheShop1234567890abcdefgh"],
}


READ = {"annotations": {"readOnlyHint": True}}
GET, LIST, DROP = tool("get_issue") | READ, tool("list_issues") | READ, tool("drop_database")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return Path(os.environ["SHORTLIST_CONFIG_DIR"]) / "mcp.json"


def test_the_most_specific_rule_wins_and_without_one_the_hint_of_the_server_counts() -> None:
    rules = {"hub": "never", "hub/get_*": "read", "hub/get_secret*": "never", "hub/get_secret_list": "write"}
    permissions = Permissions.of(rules)
    for name, expected in {
        "get_issue": "read",
        "get_secret": "never",
        "get_secret_list": "write",
        "drop": "never",
    }.items():
        assert permissions.access("hub", name, READ["annotations"]) == expected
    assert permissions.access("other", "get", READ["annotations"]) == "read"
    assert permissions.access("other", "get", {"readOnlyHint": "yes"}) == "write"
    assert permissions.access("other", "get", None) == "write"
    with pytest.raises(SourceError, match=r"'hub' must be read, write or never, not 'all'"):
        Permissions.of({"hub": "all"})


def test_what_is_denied_is_denied_in_any_case_and_nothing_else_is_permitted_by_it() -> None:
    permissions = Permissions.of({"hub/delete_*": "never", "hub/drop": "never", "Old": "never", "hub/get_*": "read"})
    for server, name in (("hub", "Delete_Repo"), ("HUB", "delete_repo"), ("hub", "DROP"), ("old", "x")):
        assert permissions.access(server, name, READ["annotations"]) == "never"
    assert permissions.access("hub", "Get_issue", None) == "write"
    assert permissions.access("hub", "remove_repo", None) == "write"  # a new name escapes a rule


def test_call_read_runs_what_is_marked_read_only_and_call_runs_both(servers: Servers) -> None:
    servers.add("hub", GET, DROP)

    async def talk(agent: Agent) -> None:
        (found,) = (await agent("discover", query="get issue"))["results"]
        assert (found["id"], found["access"]) == ("hub/get_issue", "read")
        (found,) = (await agent("discover", query="drop database"))["results"]
        assert found["access"] == "write"
        assert text_of(await agent.client.call_tool("call_read", {"tool": "hub/get_issue"})) == "get_issue {}"
        sentence = await agent.error("call_read", tool="hub/drop_database")
        assert "hub/drop_database is not approved as read-only" in sentence
        assert await agent.call("hub/get_issue") == "get_issue {}"
        assert await agent.call("hub/drop_database") == "drop_database {}"
        (row,) = (await agent("status"))["servers"]
        assert (row["tools"], row["read_only"], row["denied"]) == (2, 1, 0)

    with_agent(servers.gateway(), talk)


def test_call_read_is_marked_read_only_and_call_destructive() -> None:
    tools = {definition["name"]: Tool.model_validate(definition).annotations for definition in DEFINITIONS}
    read, write = tools["call_read"], tools["call"]
    assert read
    assert write
    assert (read.read_only_hint, read.open_world_hint) == (True, True)
    hints = (write.read_only_hint, write.destructive_hint, write.idempotent_hint, write.open_world_hint)
    assert hints == (False, True, False, True)


def test_rules_of_the_user_override_the_hints_of_the_server(servers: Servers, own: Path) -> None:
    servers.add("hub", GET, LIST, DROP)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        json.dumps({"permissions": {"hub/drop_database": "never", "hub/list_issues": "write"}}), encoding="utf-8"
    )
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        assert await agent.find("drop the database") == []
        for act, arguments in (("call", {"tool": "drop_database"}), ("read", {"id": "hub/drop_database"})):
            sentence = await agent.error(act, **arguments)
            assert "hub/drop_database is denied by the user" in sentence
            assert "shortlist mcp allow hub/drop_database" in sentence
        assert "not approved as read-only" in await agent.error("call_read", tool="hub/list_issues")
        (row,) = (await agent("status"))["servers"]
        assert (row["tools"], row["read_only"], row["denied"]) == (2, 1, 1)
        # A running gateway follows what the user decides.
        assert run(["mcp", "allow", "hub/drop_database", "--read", "--quiet"]) == 0
        await until(lambda: gateway.catalog.tools["hub/drop_database"].access == "read")
        assert text_of(await agent.client.call_tool("call_read", {"tool": "drop_database"})) == "drop_database {}"
        assert run(["mcp", "deny", "hub", "--quiet"]) == 0
        assert "is denied" in await agent.error("call", tool="hub/get_issue")

    with_agent(gateway, talk)


def test_a_project_cannot_grant_itself_permissions(servers: Servers, tmp_path: Path) -> None:
    rules = {"permissions": {"hub": "read"}}
    servers.add("hub", DROP)
    project = tmp_path / ".mcp.json"
    project.write_text(json.dumps({"mcpServers": servers.entries} | rules))
    assert run(["mcp", "trust", "--yes", "--quiet"]) == 0
    assert GatewayConfig().read().permissions == Permissions()
    assert GatewayConfig([project]).read().permissions == Permissions()
    servers.config.write_text(json.dumps({"mcpServers": servers.entries} | rules))
    assert GatewayConfig([servers.config]).read().permissions == Permissions.of(rules["permissions"])
    assert GatewayConfig([servers.config], needs_trust=True).read().permissions == Permissions()


@pytest.mark.parametrize("text", ['{"permissions": {"hub": "all"}}', '{"permissions": 5}'])
def test_unreadable_rules_permit_nothing(servers: Servers, own: Path, text: str) -> None:
    servers.add("hub", GET)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(text, encoding="utf-8")
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="get issue")
        await until(lambda: gateway.catalog.tools)
        assert await agent.find("get issue") == []
        assert "is denied" in await agent.error("call", tool="hub/get_issue")
        problems = [row["problem"] for row in (await agent("status"))["servers"] if row["state"] == "broken"]
        assert any("No tool can be called" in problem for problem in problems)

    with_agent(gateway, talk)


def test_the_commands_change_only_the_rules(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{\n  // mine\n  "mcpServers": {"hub": {"command": "hub"}}\n}\n', encoding="utf-8")

    def shell(*arguments: str, code: int = 0) -> str:
        assert run(["mcp", *arguments]) == code
        output = capsys.readouterr()
        return output.out + output.err

    assert "No rules" in shell("allow")
    shell("deny", "hub/drop_*", "hub/delete_*")
    shell("allow", "hub/get_*", "--read")
    assert shell("allow") == "never hub/drop_*\nnever hub/delete_*\nread  hub/get_*\n"
    shell("allow", "hub/drop_*")
    shell("allow", "hub/delete_*", "--forget")
    assert "No configured server" not in shell("allow", "hub/drop_*")
    assert "No configured server matches 'hubb/get'." in shell("allow", "hubb/get")
    assert "No configured server" not in shell("allow", "hubb/get", "--forget")
    rules: dict[str, Any] = json.loads(shell("allow", "--json"))["permissions"]
    assert rules == {"hub/drop_*": "write", "hub/get_*": "read"}
    assert "// mine" in own.read_text(encoding="utf-8")
    assert [server.name for server in GatewayConfig().read().servers] == ["hub"]
    assert "names no server" in shell("deny", "*", code=1)
    assert Gateway(GatewayConfig()).catalog.servers.keys() == {"hub"}


def test_a_rule_reports_the_tools_that_it_matches_today(
    servers: Servers, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own.parent.mkdir(parents=True, exist_ok=True)
    servers.config = own
    servers.add("hub", GET, DROP, tool("Drop_table"))
    assert run(["mcp", "status", "--refresh", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["mcp", "deny", "hub/drop_*", "hub/delete_*"]) == 0
    output = capsys.readouterr()
    assert output.out == "never hub/drop_*\nnever hub/delete_*\n"
    assert output.err.splitlines() == [
        "hub/drop_* matches 2 known tools: hub/drop_database, hub/Drop_table.",
        "hub/delete_* matches 0 known tools.",
    ]
    assert [one.name for one in Gateway(GatewayConfig()).catalog.list_offered()] == ["get_issue"]
    assert run(["mcp", "allow", "hub/drop_*", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == {"hub/drop_*": ["hub/drop_database"]}


def test_allow_and_deny_lists_decide_which_tools_are_offered(servers: Servers) -> None:
    tools = [tool(name) for name in ("read_file", "write_file", "delete_file", "format_disk")]
    servers.add("disk", *tools, allow=["*_file"], deny=["delete_*"])
    servers.add("other", *tools, disabledTools=["*_file"])

    async def talk(agent: Agent) -> list[int]:
        await agent.find("file")
        for name in ("disk/delete_file", "disk/format_disk", "other/read_file"):
            assert "There is no tool" in await agent.error("call", tool=name)
        return [row["tools"] for row in (await agent("status"))["servers"]]

    gateway = servers.gateway()
    assert with_agent(gateway, talk) == [2, 1]
    assert sorted(gateway.catalog.tools) == ["disk/read_file", "disk/write_file", "other/format_disk"]
    servers.entries["disk"]["deny"] = ["write_*"]  # known on disk, and no longer wanted
    servers.entries["disk"].pop("allow")
    servers.write()
    assert sorted(servers.gateway().catalog.tools)[0] == "disk/read_file"


def test_secrets_of_the_environment_appear_in_no_message_and_no_file(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHOP_KEY", "s3cr3t-of-the-shop")
    complaint = {"complain": "cannot log in with s3cr3t-of-the-shop\n"}
    servers.add("shop", tool("refuse"), tool("die"), behavior=complaint, env={"API_KEY": "${SHOP_KEY}"})
    gateway = servers.gateway()

    async def talk(agent: Agent) -> list[str]:
        await agent.find("refuse")
        output = [await agent.error("call", tool="refuse"), await agent.error("call", tool="die")]
        return [*output, json.dumps(await agent("status"))]

    output = with_agent(gateway, talk)
    assert output[0].endswith("no, for the key is ***")
    stored = "".join(
        path.read_text("utf-8", "replace") for path in Path(os.environ["SHORTLIST_DATA_DIR"]).rglob("*.json")
    )
    assert "s3cr3t" not in "".join(output) + caplog.text + stored + repr(gateway.catalog.servers)


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_secrets_among_the_arguments_are_hidden_when_the_server_prints_them(
    servers: Servers, caplog: pytest.LogCaptureFixture, arguments: list[str]
) -> None:
    shop = servers.add("shop", behavior={"complain": f"cannot log in with {arguments[-1]}\n", "tools": "none"})
    servers.entries["shop"]["args"] = [*shop.entry["args"], *arguments]
    servers.write()
    gateway = servers.gateway()

    async def talk(agent: Agent) -> str:
        await agent("discover", query="anything")
        await until(lambda: gateway.status()[0].get("problem"))
        return json.dumps(await agent("status"))

    output = with_agent(gateway, talk)
    assert "cannot log in with" in output
    assert "s3cr3t" not in output + caplog.text + repr(gateway.catalog.servers)


def test_short_values_of_the_environment_do_not_garble_messages(servers: Servers) -> None:
    complaint = {"complain": "information: no server is online\n", "tools": "none"}
    servers.add("shop", behavior=complaint, env={"MODE": "no", "LEVEL": "info", "LINE": "on", "API_KEY": "server"})
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="anything")
        await until(lambda: "It said: information: no server is online" in gateway.status()[0].get("problem", ""))

    with_agent(gateway, talk)


def test_a_server_whose_secret_is_not_set_is_reported_and_the_others_work(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    servers.entries["shop"] = {"command": "shop", "env": {"KEY": "${NO_SUCH_VARIABLE}"}}
    servers.write()

    async def talk(agent: Agent) -> None:
        assert await agent.find("rain in the city") == ["weather/get_forecast"]
        rows = {row["name"]: row for row in (await agent("status"))["servers"]}
        assert rows["shop"]["state"] == "broken"
        assert "NO_SUCH_VARIABLE" in rows["shop"]["problem"]

    with_agent(servers.gateway(), talk)


def test_our_own_entry_is_skipped_however_it_is_written(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    servers.entries = {
        "shortlist": {"command": "/usr/bin/shortlist", "args": ["mcp"]},
        "ours": {"command": "python", "args": ["-m", "shortlist", "mcp", "--config", "x"]},
        "by-uv": {"command": "uvx", "args": ["--from", "shortlist[mcp]", "shortlist", "mcp"]},
    }
    weather = servers.add("weather", WEATHER, behavior={"name": "shortlist"})
    found = GatewayConfig([servers.config]).read()
    assert [server.name for server in found.servers] == ["weather"]
    assert found.servers[0].env[GATEWAY] == "1"
    gateway = servers.gateway()

    async def talk(agent: Agent) -> None:
        await agent("discover", query="rain")
        await until(lambda: "it is shortlist itself" in gateway.status()[0].get("problem", ""))

    with_agent(gateway, talk)
    assert weather.starts
    monkeypatch.setenv(GATEWAY, "1")
    assert GatewayConfig([servers.config]).read().servers == ()


def test_the_usual_files_are_read_ours_first_and_a_broken_one_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(os.environ["SHORTLIST_CONFIG_DIR"]) / "mcp.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"mcpServers": {"a": {"command": "own"}}}))
    project = json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})
    (tmp_path / ".mcp.json").write_text(project)
    trust(tmp_path / ".mcp.json", project.encode())
    (tmp_path / "home" / ".claude.json").write_text("{broken")
    found = GatewayConfig().read()
    assert [(server.name, server.command) for server in found.servers] == [("a", "own"), ("b", "y")]
    (problem,) = found.problems
    assert ".claude.json cannot be read" in problem.reason
    with pytest.raises(SourceError, match="cannot be read"):
        GatewayConfig([tmp_path / "home" / ".claude.json"]).read()
