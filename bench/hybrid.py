"""Hybrid search compared with LanceDB: build, query and nDCG@10 with the same texts and the same vectors.

Both store the text on disk and are asked for ten hits, text included. Ours embeds texts and queries on its way;
LanceDB is handed the vectors ready made, so its figures leave the embedding out. No rival that is not installed
(`pip install lancedb`).
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import beir, report
from shortlist.index.embedders.named import load_embedder

K, QUERIES = 10, 200

Ask = Callable[[str], list[str]]


def run(folders: list[Path]) -> None:
    if not folders:
        print("hybrid: give folders or archives in BEIR layout")
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
                ask = build(data, Path(place))
                built = time.perf_counter() - started
                rows[name] = row = {"build s": round(built, 2), **_measure(ask, data)}
            print(f"  {name:17}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    report.save("hybrid", figures, beside_others=True)


def _warm_up() -> None:
    shortlist.search(["a first text"], "text")


def _measure(ask: Ask, data: beir.Set) -> dict[str, float]:
    asked = list(data.relevance)[:: max(1, len(data.relevance) // QUERIES)][:QUERIES]
    ask(data.queries[asked[0]])
    times, gained = [], 0.0
    for id in asked:
        started = time.perf_counter()
        found = ask(data.queries[id])
        times.append(1e3 * (time.perf_counter() - started))
        gained += beir.ndcg(found, data.relevance[id], K)
    p50, p95, p99 = (round(float(np.percentile(times, share)), 3) for share in (50, 95, 99))
    return {"p50 ms": p50, "p95 ms": p95, "p99 ms": p99, "ndcg@10": round(gained / len(asked), 4)}


def _shortlist(mode: Any) -> Callable[[beir.Set, Path], Ask]:
    def build(data: beir.Set, folder: Path) -> Ask:
        corpus = shortlist.build(data.documents, path=folder / "corpus", name="bench")
        return lambda query: [hit.id for hit in shortlist.search(corpus, query, mode=mode, k=K)]

    return build


def _lancedb(data: beir.Set, folder: Path) -> Ask:
    os.environ["LANCEDB_LOG"] = "error"  # it warns at every query
    import lancedb
    from lancedb.index import FTS

    embedder = load_embedder("default")
    assert embedder is not None
    texts = [f"{document.title}\n{document.content}" for document in data.documents]
    vectors = embedder.encode_documents(texts)
    rows = [
        {"id": document.id, "text": text, "vector": vector}
        for document, text, vector in zip(data.documents, texts, vectors, strict=True)
    ]
    table = lancedb.connect(str(folder)).create_table("documents", rows)
    table.create_index("text", config=FTS(stem=True, remove_stop_words=True))

    def ask(query: str) -> list[str]:
        builder = table.search(query_type="hybrid").vector(embedder.encode_query(query)).text(query)
        return [row["id"] for row in builder.distance_type("dot").limit(K).select(["id", "text"]).to_list()]

    return ask


RIVALS: dict[str, tuple[str, Callable[[beir.Set, Path], Ask]]] = {
    "shortlist auto": ("shortlist", _shortlist("auto")),
    "shortlist hybrid": ("shortlist", _shortlist("hybrid")),
    "lancedb hybrid": ("lancedb", _lancedb),
}
