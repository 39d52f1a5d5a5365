"""Hybrid search compared with LanceDB: build, search and nDCG@10 with the same texts and the same vectors.

`python -m bench hybrid FOLDER[:DOCUMENTS]...`. Both store the texts on disk, encode texts and queries with the default
embedder, and read id and text of ten hits. Rivals that are not installed are skipped (`pip install lancedb`).
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shortlist
from bench import beir, report
from bench.engines import Found, K, join
from shortlist.index.embedders.named import load_embedder

QUERIES = 200

Search = Callable[[str], Found]


def run(folders: list[Path]) -> None:
    if not folders:
        print("hybrid: pass folders or archives in BEIR layout")
        return
    _warm_up()
    figures: dict[str, Any] = {}
    for folder in folders:
        data = beir.load(folder)
        print(data.name, len(data.documents))
        rows = figures[data.name] = {}
        for name, (package, build) in RIVALS.items():
            if importlib.util.find_spec(package) is None:
                continue
            with tempfile.TemporaryDirectory() as place:
                started = time.perf_counter()
                search = build(data, Path(place))
                built = time.perf_counter() - started
                rows[name] = {"build s": round(built, 2), **_measure(search, data)}
        report.show(rows, "shortlist auto")
    report.save("hybrid", figures, beside_others=True)


def _warm_up() -> None:
    shortlist.search(["a first text"], "text")


def _measure(search: Search, data: beir.Set) -> dict[str, float]:
    asked = data.asked(QUERIES)
    for id in asked:
        search(data.queries[id])
    times, gained = [], 0.0
    for id in asked:
        started = time.perf_counter()
        found = search(data.queries[id])
        times.append(1e3 * (time.perf_counter() - started))
        gained += beir.ndcg([id for id, _ in found], data.relevance[id], K)
    return {**report.percentiles(times), "ndcg@10": round(gained / len(asked), 4)}


def _shortlist(mode: Any) -> Callable[[beir.Set, Path], Search]:
    def build(data: beir.Set, folder: Path) -> Search:
        corpus = shortlist.create_corpus(path=folder / "corpus")
        corpus.sync(data.documents)
        return lambda query: [(hit.id, hit.text) for hit in shortlist.search(corpus, query, mode=mode, k=K)]

    return build


def _lancedb(data: beir.Set, folder: Path) -> Search:
    os.environ["LANCEDB_LOG"] = "error"  # it warns at every query
    import lancedb
    from lancedb.index import FTS

    embedder = load_embedder("default")
    assert embedder is not None
    texts = join([(document.id, document.title, document.content) for document in data.documents])
    vectors = embedder.encode_documents([text for _, text in texts])
    rows = [{"id": id, "text": text, "vector": vector} for (id, text), vector in zip(texts, vectors, strict=True)]
    table = lancedb.connect(str(folder)).create_table("documents", rows)
    table.create_index("text", config=FTS(stem=True, remove_stop_words=True))

    def search(query: str) -> Found:
        builder = table.search(query_type="hybrid").vector(embedder.encode_query(query)).text(query)
        found = builder.distance_type("dot").limit(K).select(["id", "text"]).to_list()
        return [(row["id"], row["text"]) for row in found]

    return search


RIVALS: dict[str, tuple[str, Callable[[beir.Set, Path], Search]]] = {
    "shortlist auto": ("shortlist", _shortlist("auto")),
    "shortlist hybrid": ("shortlist", _shortlist("hybrid")),
    "lancedb hybrid": ("lancedb", _lancedb),
}
