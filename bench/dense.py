"""Vector search compared with faiss (flat, HNSW), usearch and qdrant-edge: build, query, recall@10.

One thread each. Vectors of a folder's texts by the default embedder; a number instead of a folder makes so many
clustered ones of 384 numbers. No rival that is not installed (`pip install faiss-cpu usearch qdrant-edge-py`).
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import beir, report
from shortlist.index.dense.dense_ranker import Dense, RoundedVectors, VectorPart
from shortlist.index.embedders.named import load_embedder

K, QUERIES, DIM, CLUSTERS = 10, 200, 384, 2_000
GRAPHS, MOST_FOR_GRAPHS = (
    ("faiss-hnsw", "usearch", "qdrant_edge"),
    100_000,
)  # with one thread they are long in the making

Ask = Callable[[int], list[int]]


def run(folders: list[Path]) -> None:
    figures: dict[str, Any] = {}
    for folder in folders or [Path("100000")]:
        if folder.name.isdigit():
            name, (vectors, queries) = f"clustered {folder.name} x {DIM}", made_up(int(folder.name))
        else:
            name, (vectors, queries) = f"{folder.name} x 256", embedded(folder)
        exact = [set(np.argpartition(vectors @ query, -K)[-K:].tolist()) for query in queries]
        print(name, vectors.shape)
        rows = figures[name] = {}
        for rival, build in RIVALS.items():
            if rival != "shortlist" and importlib.util.find_spec(rival.split("-")[0]) is None:
                continue
            if rival in GRAPHS and len(vectors) > MOST_FOR_GRAPHS:
                continue
            started = time.perf_counter()
            ask = build(vectors, queries)
            built = time.perf_counter() - started
            rows[rival] = row = {"build s": round(built, 2), **_measure(ask, exact)}
            print(f"  {rival:12}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    report.save("dense", figures, beside_others=True)


def _measure(ask: Ask, exact: list[set[int]]) -> dict[str, float]:
    ask(0)
    times, found = [], 0
    for number, best in enumerate(exact):
        started = time.perf_counter()
        places = ask(number)
        times.append(1e3 * (time.perf_counter() - started))
        found += len(best & set(places[:K]))
    p50, p99 = (round(float(np.percentile(times, share)), 3) for share in (50, 99))
    return {"p50 ms": p50, "p99 ms": p99, "recall@10": round(found / K / len(exact), 4)}


def made_up(size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    centres = random.standard_normal((CLUSTERS, DIM), dtype=np.float32)
    vectors = centres[random.integers(0, CLUSTERS, size)]
    vectors += 0.9 * random.standard_normal((size, DIM), dtype=np.float32)
    queries = vectors[random.integers(0, size, QUERIES)] + 0.5 * random.standard_normal(
        (QUERIES, DIM), dtype=np.float32
    )
    return _unit(vectors), _unit(queries)


def embedded(folder: Path) -> tuple[Any, Any]:
    data, embedder = beir.load(folder), load_embedder("default")
    assert embedder is not None
    texts = [f"{document.title}\n{document.content}" for document in data.documents]
    asked = list(data.relevance)[:: max(1, len(data.relevance) // QUERIES)][:QUERIES]
    return embedder.encode_documents(texts), np.stack([embedder.encode_query(data.queries[id]) for id in asked])


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class _Numbered:
    """An embedder whose queries are numbers of given vectors."""

    name, dim = "given", DIM

    def __init__(self, queries: Any) -> None:
        self.queries = queries

    def encode_query(self, text: str) -> Any:
        return self.queries[int(text)]

    def encode_documents(self, texts: Any) -> Any:
        raise NotImplementedError


def _shortlist(vectors: Any, queries: Any) -> Ask:
    index = Dense([VectorPart(vectors, rounded=RoundedVectors.of(vectors))], _Numbered(queries))
    return lambda number: index.rank(str(number), K).positions[:K].tolist()


def _faiss(kind: str) -> Callable[[Any, Any], Ask]:
    def build(vectors: Any, queries: Any) -> Ask:
        import faiss

        faiss.omp_set_num_threads(1)
        size = vectors.shape[1]
        if kind == "hnsw":
            index = faiss.IndexHNSWFlat(size, 32, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction, index.hnsw.efSearch = 100, 128
        else:
            index = faiss.IndexFlatIP(size)
        index.add(vectors)
        return lambda number: index.search(queries[number][None, :], K)[1][0].tolist()

    return build


def _usearch(vectors: Any, queries: Any) -> Ask:
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32", expansion_search=128)
    index.add(np.arange(len(vectors)), vectors, threads=1)
    return lambda number: index.search(queries[number], K, threads=1).keys.tolist()


def _qdrant(vectors: Any, queries: Any) -> Ask:
    import qdrant_edge

    folder = tempfile.TemporaryDirectory()
    size = qdrant_edge.EdgeVectorParams(vectors.shape[1], qdrant_edge.Distance.Dot)
    shard = qdrant_edge.EdgeShard.create(folder.name, qdrant_edge.EdgeConfig(vectors={"": size}, max_search_threads=1))
    for start in range(0, len(vectors), 1_000):
        points = [
            qdrant_edge.Point(start + at, vector) for at, vector in enumerate(vectors[start : start + 1_000].tolist())
        ]
        shard.update(qdrant_edge.UpdateOperation.upsert_points(points))
    shard.optimize()

    def ask(number: int, kept: Any = folder) -> list[int]:
        query = qdrant_edge.Query.Nearest(queries[number].tolist())
        return [point.id for point in shard.query(qdrant_edge.QueryRequest(limit=K, query=query))]

    return ask


RIVALS: dict[str, Callable[[Any, Any], Ask]] = {
    "shortlist": _shortlist,
    "faiss-flat": _faiss("flat"),
    "faiss-hnsw": _faiss("hnsw"),
    "usearch": _usearch,
    "qdrant_edge": _qdrant,
}
