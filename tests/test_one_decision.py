"""The same twenty questions get the same decision from every surface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mcp import Client

import shortlist
from shortlist.eval import evaluate_discovery, load_cases
from shortlist.integrations.anthropic import ToolSearch
from shortlist.mcp.agent_server import AgentActions, make_server
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.cli.conftest import ROOT, Shell, shell, shop

__all__ = ["shell", "shop"]  # fixtures

CASES = load_cases(ROOT / "examples" / "data" / "cases.jsonl")
QUESTIONS = [*[case for case in CASES if case.gold][:12], *[case for case in CASES if not case.gold][:8]]
QUERIES = [case.query for case in QUESTIONS]

Ids = list[list[str]]


def decide_in_python(shell: Shell) -> Ids:
    return [[item.id for item in shortlist.discover("shop", query).results] for query in QUERIES]


def decide_by_cli(shell: Shell) -> Ids:
    found = [shell("discover", "--json", "shop", query) for query in QUERIES]
    assert {(done.code, done.json["abstained"]) for done in found} <= {(0, False), (3, True)}
    return [[item["id"] for item in done.json["results"]] for done in found]


def decide_over_http(shell: Shell) -> Ids:
    values = {"server.corpora": ["shop"], "documents.embedder": "none", "documents.auto_reload": False}
    app = create_app(load_settings(given=values, environment={}))
    with TestClient(app, base_url="http://localhost:9200") as client:
        found = [client.post("/v1/corpora/shop/discover", json={"query": query}).json() for query in QUERIES]
    return [[item["id"] for item in answer["results"]] for answer in found]


def decide_over_mcp(shell: Shell) -> Ids:
    async def ask() -> Ids:
        actions = AgentActions(Collection(Gateway(GatewayConfig([])), StoredCorpora(["shop"])), lambda: None)
        async with asyncio.timeout(120), Client(make_server(actions)) as client:
            found = [await client.call_tool("discover", {"query": query}) for query in QUERIES]
        return [[item["id"] for item in json.loads(answer.content[0].text)["results"]] for answer in found]  # type: ignore[union-attr]

    return asyncio.run(ask())


def decide_with_a_tool(shell: Shell) -> Ids:
    tool = shortlist.as_tool("shop")
    return [[item["id"] for item in tool(query)["results"]] for query in QUERIES]


def decide_in_a_hook(shell: Shell) -> Ids:
    search = ToolSearch("shop")
    found = []
    for query in QUERIES:
        result = search.result({"type": "tool_use", "id": "1", "name": "search_tools", "input": {"query": query}})
        blocks: list[Any] = result["content"] if isinstance(result["content"], list) else []
        found.append([search.toolbox.document(block["tool_name"]).id for block in blocks])
    return found


def decide_in_an_evaluation(shell: Shell) -> Ids:
    return [list(outcome.selected) for outcome in evaluate_discovery("shop", QUESTIONS).outcomes]


@pytest.fixture
def own_home(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hide the skills and servers of the user."""
    home = shop.folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.chdir(home)
    return home


@pytest.mark.extras
@pytest.mark.usefixtures("own_home")
def test_every_surface_decides_alike(shop: Shell) -> None:
    expected = decide_in_python(shop)
    sizes = [len(ids) for ids in expected]
    assert 0 in sizes  # some are refused,
    assert 1 in sizes  # some have one result
    assert any(size > 1 for size in sizes)  # and some several
    surfaces: list[Callable[[Shell], Ids]] = [
        decide_by_cli, decide_over_http, decide_over_mcp, decide_with_a_tool, decide_in_a_hook, decide_in_an_evaluation
    ]  # fmt: skip
    for decide in surfaces:
        assert dict(zip(QUERIES, decide(shop), strict=True)) == dict(zip(QUERIES, expected, strict=True)), (
            decide.__name__
        )
