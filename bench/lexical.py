"""Keyword search compared with bm25s, tantivy, rank_bm25 and SQLite FTS5: time, memory, disk, cold start.

Every engine runs in a process of its own, with one thread but for the batch. No rival that is not installed
(`pip install tantivy rank_bm25`); the slow ones only up to a size (`engines.py`). A number instead of a folder makes a
Zipf corpus of so many documents.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bench import beir, report, zipf
from bench.engines import ENGINES, Engine, K

MOST_QUERIES = 500
UPSERTS = 40


def run(folders: list[Path]) -> None:
    if not folders:
        print("lexical: give folders or archives in BEIR layout, or numbers of documents")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        name = f"zipf {folder.name}" if folder.name.isdigit() else folder.name.split(".")[0]
        print(name)
        rows = figures[name] = {}
        for engine, kind in ENGINES.items():
            if kind.is_installed():
                row = in_own_process(engine, folder)
                if row:
                    rows[engine] = row
                    print(f"  {engine:17}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    report.save("lexical", figures, beside_others=True)


def in_own_process(engine: str, folder: Path) -> dict[str, float]:
    """What one engine needs, measured where nothing else has been done; nothing if it is left out."""
    command = [sys.executable, "-c", f"from bench import lexical; lexical.measure({engine!r}, {str(folder)!r})"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **threads})
    if done.returncode:
        print(f"  {engine} failed: {done.stderr.strip().splitlines()[-1]}")
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(name: str, folder: str) -> None:
    kind = ENGINES[name]
    if folder.isdigit() and int(folder) > kind.most_documents:
        print("{}")
        return
    data = zipf.make(int(folder)) if folder.isdigit() else beir.load(Path(folder))
    gc.collect()
    gc.freeze()  # what the benchmark holds costs no engine anything
    titles = [document.title for document in data.documents]
    texts = [document.content for document in data.documents]
    ids = [document.id for document in data.documents]
    asked = list(data.relevance)[:: max(1, -(-len(data.relevance) // MOST_QUERIES))]
    queries = [data.queries[id] for id in asked]
    if len(texts) > kind.most_documents:
        print("{}")
        return
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        warming = kind(Path(first))
        warming.build(titles[:20_000], texts[:20_000])  # loads and compiles what is loaded and compiled on first use
        warming.ask("warm up")
        del warming
        engine = kind(Path(second))
        row = _measure(engine, titles, texts, queries)
        gained = sum(
            beir.ndcg([ids[place] for place in engine.ask(query)], data.relevance[id], K)
            for id, query in zip(asked, queries, strict=True)
        )
        row["ndcg@10"] = round(gained / len(asked), 4)
        if name.endswith("-disk"):
            row["disk MB"] = round(sum(file.stat().st_size for file in Path(second).rglob("*") if file.is_file()) / 1e6)
            row["cold start s"] = _cold_start(name, second, queries[0])
            row["upsert ms"] = _upsert(engine)
    print(json.dumps(row))


def _measure(engine: Engine, titles: list[str], texts: list[str], queries: list[str]) -> dict[str, float]:
    before = _memory()
    started = time.perf_counter()
    engine.build(titles, texts)
    indexed = time.perf_counter() - started
    held = _memory() - before
    for query in queries:
        engine.ask(query)
    times = []
    for query in queries:
        started = time.perf_counter()
        engine.ask(query)
        times.append(1e3 * (time.perf_counter() - started))
    p50, p95, p99 = (round(float(np.percentile(times, share)), 3) for share in (50, 95, 99))
    return {
        "index s": round(indexed, 2),
        "p50 ms": p50,
        "p95 ms": p95,
        "p99 ms": p99,
        "batch q/s": _batch(engine, queries),
        "memory MB": round(held),
    }


def _batch(engine: Engine, queries: list[str]) -> int:
    """All queries on both cores; a connection of SQLite stays in its thread."""
    if hasattr(engine, "database"):
        return 0
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(engine.ask, queries))
    return round(len(queries) / (time.perf_counter() - started))


def _memory() -> float:
    """What the process holds, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _upsert(engine: Engine) -> float:
    times = []
    for number in range(UPSERTS):
        started = time.perf_counter()
        engine.add(f"zebrafish{number}", "One more document about nothing in particular.")
        times.append(1e3 * (time.perf_counter() - started))
    return round(statistics.median(times), 2)


def _cold_start(name: str, folder: str, query: str) -> float:
    """From the start of a process to its first answer."""
    code = (
        f"from pathlib import Path; from bench.engines import ENGINES; engine = ENGINES[{name!r}](Path({folder!r})); "
        f"engine.open(); print(len(engine.ask({query!r})))"
    )
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return round(min(times), 2)
