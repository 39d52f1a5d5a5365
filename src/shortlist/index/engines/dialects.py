"""What do OpenSearch and Elasticsearch say differently? How vectors are kept, and how the nearest are asked for."""

from __future__ import annotations

from typing import Any, Protocol

Query = dict[str, Any]

VECTOR = "vector"
ZERO = "zero"  # says of a passage that nothing in it is known to the embedder: it has no direction

# OpenSearch's k is also how widely it looks, Elasticsearch's number of candidates is: fewer find too little.
LEAST_WIDTH = 100


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

    def nearest(self, vector: list[float], k: int, condition: Query | None) -> Query:
        """A search for the nearest by the index, which may miss some."""
        ...

    def compared(self, vector: list[float], condition: Query | None) -> Query:
        """A query that compares every passage: 1 more than the cosine."""
        ...


class OpenSearch:
    name = "opensearch"
    oldest = (2, 4)  # the first whose vector search takes a filter

    def field(self, dim: int) -> Query:
        method = {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"}
        return {"type": "knn_vector", "dimension": dim, "method": method}

    def settings(self) -> Query:
        return {"index.knn": True}

    def nearest(self, vector: list[float], k: int, condition: Query | None) -> Query:
        wide = max(k, LEAST_WIDTH)
        asked: Query = {"vector": vector, "k": wide}
        if condition is not None:
            asked["filter"] = condition
        return {"query": {"knn": {VECTOR: asked}}, "size": wide}

    def compared(self, vector: list[float], condition: Query | None) -> Query:
        script = {
            "source": "knn_score",
            "lang": "knn",
            "params": {"field": VECTOR, "query_value": vector, "space_type": "cosinesimil"},
        }
        return {"script_score": {"query": _with_direction(condition), "script": script}}


class Elasticsearch:
    name = "elasticsearch"
    oldest = (8, 4)  # the first whose search takes knn beside a filter

    def field(self, dim: int) -> Query:
        graph = {"type": "hnsw", "m": 16, "ef_construction": 100}
        return {"type": "dense_vector", "dims": dim, "index": True, "similarity": "cosine", "index_options": graph}

    def settings(self) -> Query:
        return {}

    def nearest(self, vector: list[float], k: int, condition: Query | None) -> Query:
        wide = max(k, LEAST_WIDTH)
        asked: Query = {"field": VECTOR, "query_vector": vector, "k": wide, "num_candidates": min(2 * wide, 10_000)}
        if condition is not None:
            asked["filter"] = condition
        return {"knn": asked, "size": wide}

    def compared(self, vector: list[float], condition: Query | None) -> Query:
        script = {"source": f"cosineSimilarity(params.asked, '{VECTOR}') + 1.0", "params": {"asked": vector}}
        return {"script_score": {"query": _with_direction(condition), "script": script}}


def _with_direction(condition: Query | None) -> Query:
    query: Query = {"bool": {"must_not": [{"term": {ZERO: True}}]}}
    if condition is not None:
        query["bool"]["filter"] = [condition]
    return query


DIALECTS: dict[str, Dialect] = {"opensearch": OpenSearch(), "elasticsearch": Elasticsearch()}
