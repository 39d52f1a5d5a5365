"""Filters as the service gets them; what a remote corpus does is tested in tests/client/test_remote_corpora.py."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shortlist.client.service_clients import Client
from shortlist.errors import CorpusError, InputError
from shortlist.index.config import Config
from shortlist.index.engine import State
from shortlist.index.engines.service_engine import ServiceEngine, ServiceState
from shortlist.retrieval.filters import allowed


@pytest.fixture
def engine() -> ServiceEngine:
    return ServiceEngine(
        Client("http://127.0.0.1:9"), "handbook", {"embedder": "static", "dim": 64, "floors": {"auto": 1.0}}
    )


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {}),
        ({"a": 1}, {"a": {"$eq": 1}}),
        ({"a": 1, "b": {"$gt": 2}}, {"$and": [{"a": {"$eq": 1}}, {"b": {"$gt": 2}}]}),
        ({"$or": [{"a": 1}, {"b": 2}]}, {"$or": [{"a": {"$eq": 1}}, {"b": {"$eq": 2}}]}),
        ({"$not": {"a": 1}}, {"$not": {"a": {"$eq": 1}}}),
    ],
)
def test_a_filter_is_checked_here_and_sent_in_one_form(engine: ServiceEngine, given: Any, sent: Any) -> None:
    state = cast(State, ServiceState(engine))
    assert allowed(state, given).filter == sent
    assert allowed(state, None) is None
    with pytest.raises(InputError):
        allowed(state, {"$nor": []})


def test_the_configuration_is_that_of_the_service(engine: ServiceEngine) -> None:
    assert engine.config() == Config(embedder_name="static", dim=64, floors={"auto": 1.0})


def test_what_the_service_does_not_offer_is_named(engine: ServiceEngine) -> None:
    with pytest.raises(CorpusError, match=r"'handbook' is behind .*127\.0\.0\.1.* does not offer walk"):
        cast(Any, ServiceState(engine)).walk()
