"""How is all of an index gone through? Page by page, in an order that does not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shortlist.index.engines.cluster_client import Cluster
from shortlist.index.engines.cluster_schema import Names

Query = dict[str, Any]

PAGE = 1_000

READY: Query = {"term": {"ready": True}}


def ids_of_file(cluster: Cluster, names: Names, id: str, source: str) -> set[str]:
    """The ids of the documents of a file, whose id is that of the file or begins with it and #."""
    either = {"bool": {"should": [{"term": {"id": id}}, {"prefix": {"id": f"{id}#"}}], "minimum_should_match": 1}}
    query = {"bool": {"filter": [READY, {"term": {"source": source}}, either]}}
    return {hit["_source"]["id"] for hit in pages(cluster, names.documents, query, ["added", "id"], ("id",))}


def pages(
    cluster: Cluster, index: str, query: Query, sort: Sequence[str], shown: Sequence[str], **options: Any
) -> Iterator[dict[str, Any]]:
    """Every hit in an order that does not change, page by page."""
    body: Query = {"query": {"bool": {"filter": [query]}}, "sort": list(sort), "_source": list(shown), "size": PAGE}
    body |= {"track_total_hits": False, **options}
    while True:
        path = f"/{index}/_search?allow_partial_search_results=false"
        hits = cluster.ask("POST", path, body).body["hits"]["hits"]
        yield from hits
        if len(hits) < body["size"]:
            return
        body["search_after"] = hits[-1]["sort"]
