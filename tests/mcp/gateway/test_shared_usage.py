"""What servers of the user taught is known in every project, and what servers of a project taught only there."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from shortlist._paths import config_dir
from shortlist.index.embedders import tools_model
from shortlist.index.storage.usage_log import UsageLog
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig, shared_folder
from shortlist.mcp_client.project_trust import trust
from tests.mcp.conftest import INVOICE, WEATHER, Agent, Upstream, run_command, tool, with_agent

pytestmark = [pytest.mark.process, pytest.mark.extras]

T = TypeVar("T")
QUERY, SIMILAR = "do I need an umbrella", "will I need my umbrella"  # which no description contains
OWN, SHOP = "weather/get_forecast", "shop/restock"


class Projects:
    """Two project folders with the same server of a project, and the servers of the user."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch = folder, monkeypatch
        own = Upstream(folder, "weather").offers(WEATHER, tool("pack", "Packs what I will need."))
        office = Upstream(folder, "office").offers(INVOICE)
        self._write(config_dir() / "mcp.json", weather=own.entry, office=office.entry)
        shop = Upstream(folder, "shop").offers(tool("restock", "Orders goods for the shop when I need more."))
        for name in ("first", "second"):
            (folder / name / ".git").mkdir(parents=True)
            self._write(file := folder / name / ".mcp.json", shop=shop.entry)
            trust(file, file.read_bytes())

    def _write(self, path: Path, **entries: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": entries}), "utf-8")

    def enter(self, name: str) -> Path:
        self._monkeypatch.chdir(self._folder / name)
        return GatewayConfig().home

    def ask(self, name: str, use: Callable[[Agent], Awaitable[T]]) -> T:
        self.enter(name)
        return with_agent(Gateway(GatewayConfig()), use)


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    return Projects(tmp_path, monkeypatch)


async def measure(agent: Agent, *ids: str) -> list[float]:
    """The relevance of tools for a query that is similar to the one that is taught."""
    found = await agent("discover", query=SIMILAR, kind="tool", limit=10)
    relevance = {item["id"]: item["relevance"] for item in found["results"] + found["near"]}
    return [relevance.get(id, 0.0) for id in ids]


async def measure_both(agent: Agent) -> list[float]:
    return await measure(agent, OWN, SHOP)


def teach(id: str, **arguments: Any) -> Callable[[Agent], Awaitable[None]]:
    async def use(agent: Agent) -> None:
        found = await agent("discover", query=QUERY, kind="tool", limit=10)
        assert id in [item["id"] for item in found["results"] + found["near"]]
        await agent.call(id, **arguments)

    return use


def uses_in(folder: Path) -> list[str]:
    return [use.id for search in UsageLog(folder / "usage.db") for use in search.uses]


def test_what_a_server_of_the_user_taught_is_known_in_another_project(projects: Projects) -> None:
    before, _ = projects.ask("second", measure_both)
    projects.ask("first", teach(OWN, city="Ghent"))
    after, _ = projects.ask("second", measure_both)
    assert after > before
    assert uses_in(shared_folder()) == [OWN]
    assert uses_in(projects.enter("first")) == []


def test_what_a_server_of_a_project_taught_changes_nothing_in_another_project(projects: Projects) -> None:
    before, here = projects.ask("second", measure_both), projects.ask("first", measure_both)
    for _ in range(3):
        projects.ask("first", teach(SHOP))
    own, shop = projects.ask("first", measure_both)
    assert shop > here[1]
    assert own <= here[0]
    assert projects.ask("second", measure_both) == before  # although it has the same server with the same tools
    assert uses_in(projects.enter("first")) == [SHOP] * 3
    assert uses_in(shared_folder()) == []


def test_a_log_of_an_earlier_version_still_changes_the_ranking_of_its_project(projects: Projects) -> None:
    before, _ = projects.ask("first", measure_both)
    projects.ask("second", teach(OWN, city="Ghent"))
    file = projects.enter("first") / "usage.db"
    file.unlink(missing_ok=True)
    (shared_folder() / "usage.db").rename(file)  # where an earlier version had it
    assert projects.ask("first", measure_both)[0] > before
    assert uses_in(file.parent) == [OWN]


def test_another_project_encodes_only_the_tools_of_its_own_servers(
    projects: Projects, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    encode = tools_model.ToolsEmbedder.encode_documents

    def note(self: tools_model.ToolsEmbedder, texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        encoded.extend(text.partition("\n")[0] for text in texts)
        return encode(self, texts)

    monkeypatch.setattr(tools_model.ToolsEmbedder, "encode_documents", note)
    projects.ask("first", measure_both)
    assert {"get_forecast", "write_invoice", "restock"} <= set(encoded)
    encoded.clear()
    projects.ask("second", measure_both)
    assert "restock" in encoded
    assert not {"get_forecast", "write_invoice", "pack"} & set(encoded)


def test_commands_name_the_shared_log_and_the_projects_by_their_paths(projects: Projects, tmp_path: Path) -> None:
    projects.ask("first", teach(OWN, city="Ghent"))
    projects.ask("first", teach(SHOP))
    projects.enter("second")
    other = f"mcp:{tmp_path / 'first'}"

    def show(*words: str) -> Any:
        code, output = run_command(*words, "--json")
        assert code == 0, output
        return json.loads(output)

    assert {row["name"] for row in show("learned")["corpora"]} == {"your MCP servers", other}
    assert [row["id"] for row in show("learned", "your MCP servers")["documents"]] == [OWN]
    assert [row["id"] for row in show("learned", "mcp")["documents"]] == [OWN]
    assert [row["id"] for row in show("learned", other)["documents"]] == [SHOP]
    assert show("forget", other, "--id", SHOP)["deleted"] == 1
    assert show("forget", "your MCP servers", "--all", "--yes")["deleted"] == 1
    assert show("learned", "mcp")["documents"] == []
