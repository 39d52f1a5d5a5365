"""The storage interface: every engine and state has what the code above it calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Document, InputError
from shortlist.index.config import Config
from shortlist.index.embedders.named import load_embedder
from shortlist.index.engine import Engine, LexicalIndex, State, require_embedder
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_engine import ClusterEngine
from shortlist.index.engines.cluster_ranking import KnownFacts
from shortlist.index.engines.cluster_snapshot import ClusterSnapshot


@pytest.fixture(params=["memory", "cluster"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """An engine and a state of it; a cluster is not connected to before it is needed."""
    if request.param == "memory":
        with shortlist.build([Document("a", "", "tea")], in_memory=True) as corpus, corpus.snapshot() as state:
            yield corpus._engine, state
        return
    with closing(ClusterEngine(Address.parse("opensearch+http://127.0.0.1:9/p"), tmp_path, "tea")) as engine:
        yield engine, ClusterSnapshot(engine.cluster, engine.base, Config(), lambda: None, KnownFacts())


def find_missing(protocol: Any, found: object) -> set[str]:
    members = {*vars(protocol), *protocol.__annotations__}
    return {name for name in members if not name.startswith("_")} - set(dir(found))


def test_an_engine_and_its_state_have_all_members_of_their_protocols(opened: tuple[Any, Any]) -> None:
    engine, state = opened
    assert find_missing(Engine, engine) == set()
    assert find_missing(State, state) == set()
    assert find_missing(LexicalIndex, state.lexical) == set()
    assert find_missing(Engine, state) != set()


def test_without_an_embedder_the_error_says_how_to_search() -> None:
    embedder = load_embedder("light")
    assert require_embedder(embedder) is embedder
    with pytest.raises(InputError, match="mode='lexical'"):
        require_embedder(None)
