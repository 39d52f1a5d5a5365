"""Vector search compared with faiss (flat, HNSW), usearch and qdrant-edge: build, search, recall@10.

`python -m bench dense FOLDER[:DOCUMENTS]...` embeds the texts of a set with the default embedder; a number instead of
a folder makes that many clustered vectors of 384 numbers. A search is the public call on a stored corpus: it encodes
the query and reads id and text of ten hits. Rivals encode it with the same embedder and take texts from a list. One
thread each. Every build includes the encoding of the texts, which is done once for all rivals. Rivals that are not
installed are skipped (`pip install faiss-cpu usearch qdrant-edge-py`).

From 100,000 vectors, shortlist is measured by default and with `exact=True`. The search of usearch is widened until its
recall is that of shortlist. In both, documents are changed and deleted one by one, with a search after each. The size
is that of all files of shortlist, texts and keywords included, and that of the memory of usearch.

Recall is measured against a product with all vectors. A document that the query names is always a hit of shortlist and
can take the place of a closer one; `unlike exhaustive` counts the queries whose hits differ for another reason.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import beir, report
from bench.engines import Found, K
from bench.lexical import count_differences
from shortlist import Document
from shortlist.index.dense.dense_ranker import SIGNS_FROM
from shortlist.index.embedders.named import load_embedder
from shortlist.index.snapshot import Snapshot
from shortlist.protocols import Embedder

QUERIES, DIM, CLUSTERS = 200, 384, 2_000
GRAPHS, MOST_FOR_GRAPHS = ("faiss-hnsw", "qdrant_edge"), 100_000  # they are slow to build with one thread
CHANGES = 20
WIDEST = 4096  # nodes that usearch visits at most

Search = Callable[[str], Found]
Nearest = Callable[[Any], Sequence[int]]


def run(folders: list[Path]) -> None:
    figures: dict[str, Any] = {}
    for folder in folders or [Path("100000")]:
        data, embedder = make_up(int(folder.name)) if folder.name.isdigit() else embed(folder)
        queries = [data.queries[id] for id in data.asked(QUERIES)]
        texts = [f"{document.title}\n{document.content}".strip() for document in data.documents]
        ids = [document.id for document in data.documents]
        started = time.perf_counter()
        vectors = np.ascontiguousarray(embedder.encode_documents(texts), dtype=np.float32)
        encoded = time.perf_counter() - started
        encoded_queries = [embedder.encode_query(query) for query in queries]
        exact = [{ids[at] for at in np.argpartition(vectors @ query, -K)[-K:]} for query in encoded_queries]
        print(data.name, vectors.shape, flush=True)
        rows = figures[f"{data.name} x {vectors.shape[1]}"] = _measure_ours(data.documents, embedder, queries, exact)
        for rival, build in RIVALS.items():
            if importlib.util.find_spec(rival.split("-")[0]) is None:
                continue
            if rival in GRAPHS and len(vectors) > MOST_FOR_GRAPHS:
                continue
            started = time.perf_counter()
            nearest = build(vectors)
            built = encoded + time.perf_counter() - started
            search = partial(_search, nearest, embedder, list(zip(ids, texts, strict=True)))
            rows[rival] = {"build s": round(built, 2), **_measure(search, queries, exact)}
            while isinstance(nearest, _Usearch) and rows[rival]["recall@10"] < rows["shortlist"]["recall@10"] - 0.005:
                if nearest.index.expansion_search >= WIDEST:
                    break
                nearest.index.expansion_search *= 2
                rows[rival] |= _measure(search, queries, exact)
            if isinstance(nearest, _Usearch):
                rows[rival] |= nearest.measure_changes(vectors)
        report.show(rows, "shortlist")
    report.save("dense", figures, beside_others=True)


def _search(nearest: Nearest, embedder: Embedder, documents: list[tuple[str, str]], query: str) -> Found:
    return [documents[at] for at in nearest(embedder.encode_query(query))]


def _measure_ours(
    documents: list[Document], embedder: Embedder, queries: list[str], exact: list[set[str]]
) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        with shortlist.create_corpus(path=Path(folder) / "corpus", embedder=embedder) as corpus:
            corpus.sync(documents)
            built = round(time.perf_counter() - started, 2)

            def search(query: str, *, exact: bool = False) -> Found:
                return [(hit.id, hit.text) for hit in shortlist.search(corpus, query, mode="dense", k=K, exact=exact)]

            def rank(query: str) -> Found:
                with corpus.snapshot() as state:
                    assert isinstance(state, Snapshot)
                    return [(str(position), "") for position in state.dense.rank(query, K).positions[:K].tolist()]

            ours = {"build s": built, **_measure(search, queries, exact)}
            ours["unlike exhaustive"] = count_differences(corpus, queries, "dense")
            rows = {"shortlist": ours}
            if len(documents) >= SIGNS_FROM:
                rows["shortlist, exact"] = _measure(partial(search, exact=True), queries, exact)
            alone = _measure(rank, queries, exact)
            del alone["recall@10"]  # it finds positions, not ids

            def update(number: int) -> None:
                corpus.add([replace(documents[number], content=documents[number + 1].content)])
                search(queries[0])

            def delete(number: int) -> None:
                corpus.remove(documents[number].id)
                search(queries[0])

            ours |= {"update ms": _time_changes(update), "delete ms": _time_changes(delete)}
            ours["MB"] = round(sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6)
    return rows | {"shortlist, ranker alone": alone}


def _time_changes(change: Callable[[int], None]) -> float:
    """The median time of a change and a search after it, in milliseconds."""
    times = []
    for number in range(CHANGES):
        started = time.perf_counter()
        change(number)
        times.append(1e3 * (time.perf_counter() - started))
    return round(statistics.median(times), 1)


def _measure(search: Search, queries: list[str], exact: list[set[str]]) -> dict[str, float]:
    for query in queries:
        search(query)
    times, found = [], 0
    for query, best in zip(queries, exact, strict=True):
        started = time.perf_counter()
        hits = search(query)
        times.append(1e3 * (time.perf_counter() - started))
        found += len(best & {id for id, _ in hits[:K]})
    return {**report.percentiles(times), "recall@10": round(found / K / len(exact), 4)}


def embed(folder: Path) -> tuple[beir.Set, Embedder]:
    embedder = load_embedder("default")
    assert embedder is not None
    return beir.load(folder), embedder


def make_up(size: int) -> tuple[beir.Set, Embedder]:
    """Documents whose texts are numbers of clustered vectors, and queries close to some of them."""
    random = np.random.default_rng(3)
    centers = random.standard_normal((CLUSTERS, DIM), dtype=np.float32)
    vectors = centers[random.integers(0, CLUSTERS, size)]
    vectors += 0.9 * random.standard_normal((size, DIM), dtype=np.float32)
    wanted = random.integers(0, size, QUERIES)
    queries = vectors[wanted] + 0.5 * random.standard_normal((QUERIES, DIM), dtype=np.float32)
    documents = [Document(f"d{number}", "", f"vector {number}") for number in range(size)]
    asked = {f"q{number}": f"query {number}" for number in range(QUERIES)}
    relevance = {f"q{number}": {f"d{at}": 1.0} for number, at in enumerate(wanted.tolist())}
    return beir.Set(f"clustered {size}", documents, asked, relevance), _Numbered(_unit(vectors), _unit(queries))


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class _Numbered:
    """An embedder of texts that end with the number of a vector."""

    name, dim, cached = "numbered", DIM, False

    def __init__(self, vectors: Any, queries: Any) -> None:
        self.vectors, self.queries = vectors, queries

    def encode_query(self, text: str) -> Any:
        return self.queries[int(text.rpartition(" ")[2])]

    def encode_documents(self, texts: Sequence[str]) -> Any:
        return self.vectors[[int(text.rpartition(" ")[2]) for text in texts]]


def _faiss(kind: str) -> Callable[[Any], Nearest]:
    def build(vectors: Any) -> Nearest:
        import faiss

        faiss.omp_set_num_threads(1)
        size = vectors.shape[1]
        if kind == "hnsw":
            index = faiss.IndexHNSWFlat(size, 32, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction, index.hnsw.efSearch = 100, 128
        else:
            index = faiss.IndexFlatIP(size)
        index.add(vectors)
        return lambda query: index.search(query[None, :], K)[1][0].tolist()

    return build


class _Usearch:
    def __init__(self, vectors: Any) -> None:
        from usearch.index import Index

        self.index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32", expansion_search=128)
        self.index.add(np.arange(len(vectors)), vectors, threads=1)

    def __call__(self, query: Any) -> list[int]:
        found: list[int] = self.index.search(query, K, threads=1).keys.tolist()
        return found

    def measure_changes(self, vectors: Any) -> dict[str, float]:
        def update(number: int) -> None:
            self.index.remove(number)
            self.index.add(number, vectors[number + 1])
            self(vectors[0])

        def delete(number: int) -> None:
            self.index.remove(number)
            self(vectors[0])

        changes = {"update ms": _time_changes(update), "delete ms": _time_changes(delete)}
        return changes | {"MB": round(self.index.memory_usage / 1e6)}


def _qdrant(vectors: Any) -> Nearest:
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

    def nearest(query: Any, kept: Any = folder) -> list[int]:
        wanted = qdrant_edge.Query.Nearest(query.tolist())
        return [point.id for point in shard.query(qdrant_edge.QueryRequest(limit=K, query=wanted))]

    return nearest


RIVALS: dict[str, Callable[[Any], Nearest]] = {
    "faiss-flat": _faiss("flat"),
    "faiss-hnsw": _faiss("hnsw"),
    "usearch": _Usearch,
    "qdrant_edge": _qdrant,
}
