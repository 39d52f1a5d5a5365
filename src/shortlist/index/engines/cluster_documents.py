"""The rows of documents and stamps of a corpus in a cluster, read page by page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from shortlist.documents import Stamp
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster
from shortlist.index.engines.cluster_rows import key_of
from shortlist.index.engines.cluster_schema import Names
from shortlist.index.engines.facets import EVERYTHING, Query
from shortlist.index.storage.records import batched

PAGE = 1_000
READY: Query = {"term": {"ready": True}}
STAMPS: Query = {"term": {"what": "stamp"}}

_ROW = ("id", "source", "hash", "added", "passages", "ready", "writer", "since")


class Stored(NamedTuple):
    """The row of a document as it was read."""

    key: str
    version: tuple[int, int]
    id: str
    source: str = ""
    hash: str = ""
    added: int = 0
    passages: int = 0
    ready: bool = False
    writer: str = ""
    since: int = 0

    @classmethod
    def of(cls, found: dict[str, Any]) -> Stored:
        return cls(found["_id"], (found["_seq_no"], found["_primary_term"]), **found["_source"])


class Rows:
    """The stored documents that a sync compares with."""

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._names = names

    def generation(self) -> int:
        return 0  # each document is protected by the version of its own row

    def is_empty(self) -> bool:
        return count(self._cluster, self._names.documents, EVERYTHING) == 0

    def has_stamps(self) -> bool:
        return count(self._cluster, self._names.state, STAMPS) > 0

    def read(self, ids: Sequence[str]) -> dict[str, Stored]:
        """The rows of those documents that have one, complete or not."""
        path = f"/{self._names.documents}/_mget?_source_includes={','.join(_ROW)}"
        found = {}
        for batch in batched(ids, PAGE):
            keys = {"ids": [key_of(id) for id in batch]}
            for row in self._cluster.ask("POST", path, keys, patience=PATIENCE_WRITING).body["docs"]:
                if row.get("found"):
                    found[row["_source"]["id"]] = Stored.of(row)
        return found

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        return {id: (row, bytes.fromhex(row.hash)) for id, row in self.read(ids).items() if row.ready}

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        options = {"seq_no_primary_term": True}
        for hit in pages(self._cluster, self._names.documents, EVERYTHING, ("added", "id"), _ROW, **options):
            row = Stored.of(hit)
            yield row, row.id, row.source

    def stamps(self) -> dict[str, Stamp]:
        shown = ("id", "source", "value", "skipped")
        hits = pages(self._cluster, self._names.state, STAMPS, ("id", "source"), shown)
        return {hit["_source"]["id"]: Stamp(**hit["_source"]) for hit in hits}

    def stamped(self, stamp: Stamp) -> set[str]:
        return ids_of_file(self._cluster, self._names, stamp.id, stamp.source)


def ids_of_file(cluster: Cluster, names: Names, id: str, source: str) -> set[str]:
    """The ids of the documents of a file: the id of the file itself, or the same with `#` and more after it."""
    either = {"bool": {"should": [{"term": {"id": id}}, {"prefix": {"id": f"{id}#"}}], "minimum_should_match": 1}}
    query = {"bool": {"filter": [READY, {"term": {"source": source}}, either]}}
    return {hit["_source"]["id"] for hit in pages(cluster, names.documents, query, ("added", "id"), ("id",))}


def search_all(cluster: Cluster, index: str, body: Query) -> Query:
    """The answer to a search of all shards; an error if one is missing."""
    answer: Query = cluster.ask("POST", f"/{index}/_search?allow_partial_search_results=false", body).body
    return answer


def count(cluster: Cluster, index: str, query: Query) -> int:
    body = {"query": query, "size": 0, "track_total_hits": True}
    return int(search_all(cluster, index, body)["hits"]["total"]["value"])


def pages(
    cluster: Cluster, index: str, query: Query, sort: Sequence[str], shown: Sequence[str], **options: Any
) -> Iterator[Query]:
    """Every hit, in an order that does not change."""
    body: Query = {"query": {"bool": {"filter": [query]}}, "sort": list(sort), "_source": list(shown), "size": PAGE}
    body |= {"track_total_hits": False, **options}
    while True:
        hits = search_all(cluster, index, body)["hits"]["hits"]
        yield from hits
        if len(hits) < body["size"]:
            return
        body["search_after"] = hits[-1]["sort"]
