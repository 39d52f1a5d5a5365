"""Profiles: the user chooses which servers an agent reaches, and a project can only narrow that."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.profiles import ServerChoice
from tests.mcp.conftest import INVOICE, WEATHER, Agent, Servers, run_command, with_agent

PROFILES = {"office": ["billing", "mail-*"], "home": ["weather"]}


class Own:
    """The user's mcp.json with four servers that never run."""

    def __init__(self) -> None:
        self.path = Path(os.environ["SHORTLIST_CONFIG_DIR"]) / "mcp.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, profiles: Any = PROFILES, **more: Any) -> None:
        servers = {name: {"command": "none"} for name in ("billing", "mail-in", "mail-out", "weather")}
        self.path.write_text(json.dumps({"mcpServers": servers, "profiles": profiles, **more}))


@pytest.fixture
def own() -> Own:
    made = Own()
    made.write()
    return made


def names(*only: str, profile: str = "", narrowed_to: str = "") -> list[str]:
    return [row["name"] for row in Gateway(config(*only, profile=profile, narrowed_to=narrowed_to)).status()]


def config(*only: str, profile: str = "", narrowed_to: str = "") -> GatewayConfig:
    return GatewayConfig(choice=ServerChoice(only, profile, narrowed_to))


OFFICE, ALL = ["billing", "mail-in", "mail-out"], ["billing", "mail-in", "mail-out", "weather"]


def test_a_profile_or_names_choose_servers_and_both_together_those_in_both(own: Own) -> None:
    assert names() == ALL
    assert names(profile="office") == OFFICE
    assert names("weather", "mail-*") == ["mail-in", "mail-out", "weather"]
    assert names("weather", "mail-in", profile="office") == ["mail-in"]
    own.write(profile="home")
    assert names() == ["weather"]
    assert names(profile="office") == OFFICE
    assert names(profile="all") == ALL


@pytest.mark.parametrize(
    ("default", "profile", "narrowed_to", "expected"),
    [
        ("", "", "home", ["weather"]),
        ("office", "", "home", []),
        ("office", "", "all", OFFICE),
        ("office", "", "office", OFFICE),
        ("all", "", "home", ["weather"]),
        ("", "office", "home", OFFICE),
        ("home", "office", "all", OFFICE),
    ],
)
def test_a_project_narrows_the_default_of_the_user_and_never_widens_it(
    own: Own, default: str, profile: str, narrowed_to: str, expected: list[str]
) -> None:
    own.write(profile=default)
    assert names(profile=profile, narrowed_to=narrowed_to) == expected
    allowed = names(profile=profile)
    assert {*expected} <= {*allowed}


def test_a_profile_that_only_the_project_names_is_reported_and_changes_nothing(own: Own) -> None:
    *servers, problem = Gateway(config(narrowed_to="hoem")).status()
    assert [row["name"] for row in servers] == ALL
    assert "'hoem' is not a profile. Did you mean 'home'?" in problem["problem"]


def test_files_of_a_project_define_no_profiles(own: Own, tmp_path: Path) -> None:
    hostile = {"mcpServers": {"billing": {"command": "x"}}, "profiles": {"home": ["*"]}, "profile": "all"}
    (tmp_path / ".mcp.json").write_text(json.dumps(hostile))
    own.write(profile="home")
    assert names() == ["weather"]
    chosen = GatewayConfig([tmp_path / ".mcp.json"], needs_trust=True, choice=ServerChoice())
    assert Gateway(chosen).profile == {"profile": {"name": "home", "left_out": []}}


def test_unknown_names_of_the_user_are_errors_with_suggestions(own: Own) -> None:
    with pytest.raises(InputError, match=r"'offce' is not a profile\. Did you mean 'office'"):
        names(profile="offce")
    with pytest.raises(InputError, match=r"'wether' is not a configured MCP server\. Did you mean 'weather'"):
        names("wether")
    own.write({"office": ["biling"]})
    (row,) = Gateway(config(profile="office")).status()
    assert (row["name"], "'biling'" in row["problem"], "'billing'" in row["problem"]) == ("profile", True, True)


def test_a_name_that_may_be_pending_approval_is_not_an_error(own: Own, tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"helper": {"command": "x"}}}')
    gateway = Gateway(config("helper"))
    assert [row["name"] for row in gateway.status()] == ["profile"]
    assert "mcp trust" in " ".join(gateway.pending_notes())


@pytest.mark.parametrize("wrong", [["billing"], {"office": "billing"}, {"office": [1]}])
def test_without_readable_profiles_no_server_is_used(own: Own, wrong: Any) -> None:
    own.write(wrong)
    (row,) = Gateway(config()).status()
    assert "must map names of profiles to lists of servers" in row["problem"]
    with pytest.raises(SourceError):
        names(profile="office")
    own.write(profile="offce")
    (row,) = Gateway(config()).status()
    assert "No server is used until this is fixed." in row["problem"]


def test_with_an_unreadable_file_of_the_user_no_server_of_other_files_is_used(servers: Servers, own: Own) -> None:
    """Its profile may leave them out, and its rules may deny them."""
    hub = servers.add("hub", WEATHER)
    own.path.write_text("{broken")

    async def talk(agent: Agent) -> None:
        assert await agent.find("will it rain") == []
        assert "There is no tool" in await agent.error("call", tool="hub/get_forecast")
        problems = " ".join(row["problem"] for row in (await agent("status"))["servers"])
        assert "No tool can be called until this is fixed." in problems
        assert "No server is used until this is fixed." in problems

    with_agent(servers.gateway(), talk)
    assert hub.starts == []


def test_an_agent_finds_and_calls_only_what_is_chosen_and_follows_changes(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    servers.add("billing", INVOICE)
    own = Own().path
    own.write_text(json.dumps({"profiles": {"home": ["weather"]}}))

    async def talk(agent: Agent) -> None:
        assert await agent.find("write an invoice or a weather forecast") == ["weather/get_forecast"]
        assert "There is no tool" in await agent.error("call", tool="billing/write_invoice")
        assert (await agent("status"))["profile"] == {"name": "home", "left_out": ["billing"]}
        own.write_text(json.dumps({"profiles": {"home": ["billing"]}}))
        assert await agent.find("write an invoice or a weather forecast") == ["billing/write_invoice"]
        own.write_text("{")  # half written
        assert [row["name"] for row in (await agent("status"))["servers"]][:1] == ["billing"]

    with_agent(Gateway(GatewayConfig([servers.config], choice=ServerChoice(profile="home"))), talk)


def test_gateways_with_different_profiles_share_what_was_learned_but_no_index(own: Own) -> None:
    everything, home = GatewayConfig(), config(profile="home")
    assert everything.home == home.home
    assert everything.tools != home.tools


def test_status_shows_the_profile_and_what_is_left_out(own: Own) -> None:
    code, text = run_command("mcp", "status", "--profile", "office", "--only", "billing,mail-in")
    assert (code, "Profile: office. Left out: mail-out, weather." in text) == (0, True)
    assert json.loads(run_command("mcp", "status", "--json", "--only", "weather")[1])["profile"] == {
        "left_out": ["billing", "mail-in", "mail-out"]
    }
    code, text = run_command("mcp", "status", "--profile", "offce")
    assert (code, "Did you mean 'office'" in text) == (1, True)
    Path("settings.yaml").write_text("mcp: {profile: home}\n", encoding="utf-8")
    assert "Narrowed by the project to: home." in run_command("mcp", "status")[1]


def test_the_service_shows_its_profile(start: Any, own: Own) -> None:
    shown = start(mcp__config=None, mcp__profile="home").get("/v1/mcp").json()
    assert ([row["name"] for row in shown["servers"]], shown["profile"]["name"]) == (["weather"], "home")
