"""The routes of agents: which corpora they see, and that they can be turned off."""

from __future__ import annotations

from pathlib import Path

import shortlist
from shortlist.server.catalog_store import CatalogStore
from shortlist.server.routes.corpora_routes import ServedCorpora
from shortlist.server.routes.mcp_routes import AgentCorpora
from shortlist.server.service_settings import load_settings
from tests.server.conftest import Make


def test_servers_are_listed_unless_agents_are_turned_off(make: Make) -> None:
    listed = make(mcp__upstream=False).get("/v1/mcp").json()
    assert (listed["servers"], listed["pending_files"], listed["pending"]) == ([], [], [])
    off = make(mcp__enabled=False)
    assert off.get("/v1/mcp").status_code == off.post("/mcp", json={}).status_code == 404


def test_agents_see_the_catalog_and_the_named_or_stored_corpora(catalog: Path) -> None:
    shortlist.build({"lamp": "A lamp for the desk."}, name="shop", embedder="none").close()
    given = {"documents.source": str(catalog), "documents.embedder": "none"}
    store = CatalogStore(load_settings(given=given, environment={}))
    everything = AgentCorpora(ServedCorpora(store, None), all_stored=True)
    assert everything.names() == ["catalog", "shop"]
    assert (everything.kinds("catalog"), everything.kinds("unknown")) == ({"tool": 3}, {})
    assert AgentCorpora(ServedCorpora(store, ["other"]), all_stored=False).names() == ["catalog", "other"]
    store.close()
