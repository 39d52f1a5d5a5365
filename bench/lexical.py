"""Keyword search compared with tantivy, bm25s, SQLite FTS5 and rank_bm25: build, search, disk, cold start, upsert.

`python -m bench lexical FOLDER[:DOCUMENTS]...`; a number instead of a folder makes a Zipf corpus of that size. A search
is the public call and reads id and text of ten hits; so does that of every rival. Each query is asked once before it is
measured, so shortlist remembers the passages that it finds, up to four million characters of them. Every engine runs in
its own process with one thread, except for batches, which use two. Rivals that are not installed are skipped
(`pip install tantivy bm25s numba rank_bm25`), slow ones run up to a size (`engines.py`). The results of shortlist are
compared with exhaustive scoring.

Columns: `build s` ends when the documents are committed and found, `merged s` when background work is done too;
`cold start s` is from the start of a process to its first answer, `upsert ms` from a document to the search that finds
it.
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
from pathlib import Path
from typing import Any, Literal

import numpy as np

import shortlist
from bench import beir, report, zipf
from bench.engines import ENGINES, Engine, K, Shortlist
from shortlist.index.snapshot import Snapshot

MOST_QUERIES = 500
CHECKED = 200
UPSERTS = 40


def run(folders: list[Path]) -> None:
    if not folders:
        print("lexical: pass folders or archives in BEIR layout, or numbers of documents")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        data = zipf.make(int(folder.name)) if folder.name.isdigit() else beir.load(folder)
        rows = figures[data.name] = {}
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "set.json"
            file.write_text(json.dumps(_to_plain(data)))
            for engine, kind in ENGINES.items():
                if kind.is_installed() and len(data.documents) <= kind.most_documents:
                    print(f"{data.name}: {engine} ...", flush=True)
                    if row := in_own_process(engine, file):
                        rows[engine] = row
        report.show(rows, "shortlist")
    report.save("lexical", figures, beside_others=True)


def _to_plain(data: beir.Set) -> dict[str, Any]:
    asked = data.asked(MOST_QUERIES)
    return {
        "rows": [(document.id, document.title, document.content) for document in data.documents],
        "queries": [data.queries[id] for id in asked],
        "relevance": [data.relevance[id] for id in asked],
    }


def in_own_process(engine: str, file: Path) -> dict[str, float]:
    """The figures of one engine, measured in a process that does nothing else; empty if it failed."""
    command = [sys.executable, "-c", f"from bench import lexical; lexical.measure({engine!r}, {str(file)!r})"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **threads})
    if done.returncode:
        print(f"  {engine} failed with exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(name: str, file: str) -> None:
    """Print the figures of one engine as JSON."""
    kind, data = ENGINES[name], json.loads(Path(file).read_text(encoding="utf-8"))
    rows, queries = [(id, title, text) for id, title, text in data["rows"]], data["queries"]
    del data["rows"]
    gc.collect()
    gc.freeze()  # objects of the benchmark cost no engine anything
    with (  # tantivy may still write when its folder is removed
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as first,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as second,
    ):
        warming = kind(Path(first))
        warming.build(rows[:1_000])  # loads and compiles what is loaded and compiled on first use
        warming.settle()
        warming.search("warm up")
        del warming
        engine = kind(Path(second))
        row = _measure(engine, rows, queries)
        if kind.has_texts:
            gained = [
                beir.ndcg([id for id, _ in engine.search(query)], relevant, K)
                for query, relevant in zip(queries, data["relevance"], strict=True)
            ]
            row["ndcg@10"] = round(statistics.mean(gained), 4)
        if name == "shortlist":
            assert isinstance(engine, Shortlist)
            row["unlike exhaustive"] = count_differences(engine.corpus, queries[:CHECKED], "lexical")
        if kind.is_stored:
            row["disk MB"] = round(sum(file.stat().st_size for file in Path(second).rglob("*") if file.is_file()) / 1e6)
            row["cold start s"] = _cold_start(name, second, queries[0])
            if kind.put is not Engine.put:
                row["upsert ms"] = _upsert(engine)
    print(json.dumps(row))


def _measure(engine: Engine, rows: list[tuple[str, str, str]], queries: list[str]) -> dict[str, float]:
    before, started = _memory(), time.perf_counter()
    engine.build(rows)
    engine.search(queries[0])
    built = time.perf_counter() - started
    figures = {"build s": round(built, 2)}
    if type(engine).settle is not Engine.settle:
        engine.settle()
        figures["merged s"] = round(time.perf_counter() - started, 2)
    figures["memory MB"] = round(_memory() - before)
    for query in queries:
        engine.search(query)
    times = []
    for query in queries:
        started = time.perf_counter()
        engine.search(query)
        times.append(1e3 * (time.perf_counter() - started))
    figures |= report.percentiles(times)
    if engine.search_many(queries[:2]) is not None:
        started = time.perf_counter()
        engine.search_many(queries)
        figures["batch q/s"] = round(len(queries) / (time.perf_counter() - started))
    return figures


def count_differences(corpus: shortlist.Corpus, queries: list[str], mode: Literal["lexical", "dense"]) -> int:
    """The number of queries whose hits differ from the best of the scores of all passages."""
    return sum(_differs(corpus, query, mode) for query in queries)


def _differs(corpus: shortlist.Corpus, query: str, mode: Literal["lexical", "dense"]) -> bool:
    hits = shortlist.search(corpus, query, mode=mode, k=K)
    with corpus.snapshot() as state:
        assert isinstance(state, Snapshot)
        lexical = state.lexical
        scores = state.dense.scores(query) if mode == "dense" else lexical.scores(lexical.analyzer.terms(query))
        documents = state.documents(np.arange(len(scores)))
        nothing = -np.inf if mode == "dense" else 0.0  # the score of what is no hit
        best = np.full(documents.max() + 1, nothing)
        np.maximum.at(best, documents, scores)
        expected = np.sort(best[best > nothing])[::-1][:K]
        places = state.find_documents([hit.id for hit in hits])
        found = [float(scores[places[hit.id].positions].max()) for hit in hits]
    # Sums of vectors depend on the order of addition, scores of words do not.
    tolerance = 1e-6 if mode == "dense" else 0.0
    given = np.array([hit.score for hit in hits])
    return len(found) != len(expected) or bool(
        (np.abs(found - given) > tolerance).any() or (np.abs(expected - given) > tolerance).any()
    )


def _memory() -> float:
    """Resident memory of the process in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


def _upsert(engine: Engine) -> float:
    times = []
    for number in range(UPSERTS):
        started = time.perf_counter()
        engine.put((f"new{number}", f"zebrafish{number}", "One more document about nothing in particular."))
        times.append(1e3 * (time.perf_counter() - started))
    return round(statistics.median(times), 2)


def _cold_start(name: str, folder: str, query: str) -> float:
    """Seconds from the start of a process to its first answer."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", OPEN, name, folder, query], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return round(min(times), 2)


OPEN = """
import sys
from pathlib import Path
from bench.engines import ENGINES
engine = ENGINES[sys.argv[1]](Path(sys.argv[2]))
engine.open()
assert engine.search(sys.argv[3])
"""
