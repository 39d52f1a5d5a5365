"""Indices and their mappings: what is created, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

import shortlist
from shortlist import CorpusMismatch, InputError, Scoring
from shortlist.index.config import Config
from shortlist.index.engines import cluster_schema
from shortlist.index.engines.address import Address
from tests.index.engines.conftest import Make, on_servers


@on_servers
def test_index_that_is_not_ours_is_not_used(address: str) -> None:
    base, prefix = address.split("+")[1].rsplit("/", 1)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        mappings = {"properties": {"what": {"type": "text"}}}
        assert client.put(f"{base}/{prefix}-tea-state", json={"mappings": mappings}).is_success
        body = {"what": "config", "config": "{}"}
        assert client.put(f"{base}/{prefix}-tea-state/_doc/config?refresh=true", json=body).is_success
    with pytest.raises(CorpusMismatch, match="cannot be used"):
        shortlist.open_corpus("tea", engine=address)
    with pytest.raises(CorpusMismatch, match="cannot be used"):
        shortlist.create_corpus("tea", engine=address, embedder="none")


@on_servers
def test_field_with_another_mapping_is_reported_by_name(address: str, make: Make) -> None:
    make("tea").close()
    base, prefix = address.split("+")[1].rsplit("/", 1)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        (index,) = client.get(f"{base}/_alias/{prefix}-tea-passages").json()
        mapping = client.get(f"{base}/{index}/_mapping").json()[index]["mappings"]
        mapping["properties"]["body"] = {"type": "keyword"}
        client.delete(f"{base}/{index}")
        body = {"mappings": mapping, "aliases": {f"{prefix}-tea-passages": {}}}
        assert client.put(f"{base}/{index}", json=body).is_success
    with pytest.raises(CorpusMismatch, match="body is keyword, not text"):
        shortlist.open_corpus("tea", engine=address)


@on_servers
def test_formula_that_a_cluster_cannot_rank_by_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="'bm25l'"):
        make("tea", scoring=shortlist.Scoring("bm25l"))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [((1.0, 1.0, 1.0), ((1, 1, 1), 1)), ((2.0, 1.5, 1.0), ((4, 3, 2), 2)), ((0.01, 0.0, 1.0), ((1, 0, 4), 4))],
)
def test_weights_become_whole_numbers_of_repetitions(weights: Any, expected: Any) -> None:
    assert cluster_schema.repetitions(Config(scoring=Scoring(weights=weights))) == expected


@pytest.mark.parametrize("dialect", cluster_schema.DIALECTS.values(), ids=cluster_schema.DIALECTS)
def test_only_passages_with_vectors_have_a_vector_field(dialect: cluster_schema.Dialect) -> None:
    address = Address.parse("opensearch+http://host/p?shards=3&replicas=2")
    plain, dense = (cluster_schema.settings("passages", Config(dim=dim), address, dialect) for dim in (0, 64))
    assert cluster_schema.VECTOR not in plain["mappings"]["properties"]
    assert 64 in dense["mappings"]["properties"][cluster_schema.VECTOR].values()
    assert (dense["settings"]["index.number_of_shards"], dense["settings"]["index.number_of_replicas"]) == (3, 2)
    assert cluster_schema.settings("state", Config(), address, dialect)["settings"]["index.number_of_shards"] == 1


def test_a_mapping_of_another_origin_or_type_is_a_mismatch() -> None:
    expected = cluster_schema.mapping("documents", Config(), cluster_schema.DIALECTS["opensearch"])
    assert cluster_schema.find_mismatch(expected, expected) == ""
    assert "not made by shortlist" in cluster_schema.find_mismatch({}, expected)
    assert "has format 9" in cluster_schema.find_mismatch({**expected, "_meta": {"shortlist": 9}}, expected)
    other = {**expected, "properties": {**expected["properties"], "id": {"type": "text"}}}
    assert "id is text, not keyword" in cluster_schema.find_mismatch(other, expected)


def test_graph_is_searched_less_widely_if_it_has_several_segments() -> None:
    widths = [cluster_schema.find_width(10, segments) for segments in (1, 4, 9, 100)]
    assert widths == [600, 300, 200, cluster_schema.LEAST_WIDTH]
    assert cluster_schema.find_width(1_000, 1) == 3_000
    assert cluster_schema.find_width(9_000, 1) == cluster_schema.WINDOW
