"""What do OpenSearch and Elasticsearch say differently? How vectors are kept, and how the nearest are asked for."""

from __future__ import annotations

from typing import Any, Protocol

Query = dict[str, Any]

VECTOR = "vector"
ZERO = "zero"  # says of a passage that nothing in it is known to the embedder: it has no direction

GRAPH = {"m": 16, "ef_construction": 100}

# How widely the graph is searched: OpenSearch's k, Elasticsearch's number of candidates. Of 100,000 passages in one
# segment a width of 100 finds all of the first ten for 74 % of queries, 600 for 94 %, 1,500 for 98 %, in 2, 4 and 8 ms.
WIDTH = 1_500

# The most that one search returns, and the most among which OpenSearch finds the nearest by comparing all.
WINDOW = 10_000


class Dialect(Protocol):
    """One kind of server."""

    name: str
    oldest: tuple[int, int]

    def field(self, dim: int) -> Query:
        """The mapping of a vector."""
        ...

    def settings(self) -> Query:
        """What an index of vectors needs beside."""
        ...

    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query:
        """A search for the nearest by the index, which may miss some."""
        ...

    def compared(self, vector: list[int], condition: Query | None) -> Query:
        """A query that compares every passage, where there are at most WINDOW of them."""
        ...


class OpenSearch:
    name = "opensearch"
    oldest = (2, 4)  # the first whose vector search takes a filter

    def field(self, dim: int) -> Query:
        # All are equally long, so the nearest are those with the largest cosine, and a distance is quicker to compute.
        method = {"name": "hnsw", "space_type": "l2", "engine": "lucene", "parameters": GRAPH}
        return {"type": "knn_vector", "dimension": dim, "method": method, "doc_values": False}

    def settings(self) -> Query:
        return {"index.knn": True}

    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query:
        asked: Query = {"vector": vector, "k": _width(k)}
        if condition is not None:
            asked["filter"] = condition
        return {"query": {"knn": {VECTOR: asked}}, "size": k}

    def compared(self, vector: list[int], condition: Query | None) -> Query:
        """Where a filter allows no more than k, the server compares all of them."""
        return {"knn": {VECTOR: {"vector": vector, "k": WINDOW, "filter": _with_direction(condition)}}}


class Elasticsearch:
    name = "elasticsearch"
    oldest = (8, 4)  # the first whose search takes knn beside a filter

    def field(self, dim: int) -> Query:
        graph = {"type": "hnsw", **GRAPH}
        return {"type": "dense_vector", "dims": dim, "index": True, "similarity": "cosine", "index_options": graph}

    def settings(self) -> Query:
        return {}

    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query:
        asked: Query = {"field": VECTOR, "query_vector": vector, "k": k, "num_candidates": _width(k)}
        if condition is not None:
            asked["filter"] = condition
        return {"knn": asked, "size": k}

    def compared(self, vector: list[int], condition: Query | None) -> Query:
        script = {"source": f"cosineSimilarity(params.asked, '{VECTOR}') + 1.0", "params": {"asked": vector}}
        return {"script_score": {"query": _with_direction(condition), "script": script}}


def _width(k: int) -> int:
    return min(max(3 * k, WIDTH), WINDOW)


def _with_direction(condition: Query | None) -> Query:
    query: Query = {"bool": {"must_not": [{"term": {ZERO: True}}]}}
    if condition is not None:
        query["bool"]["filter"] = [condition]
    return query


DIALECTS: dict[str, Dialect] = {"opensearch": OpenSearch(), "elasticsearch": Elasticsearch()}
