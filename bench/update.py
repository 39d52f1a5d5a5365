"""Time to replace one of 10,000 stored tools and find it, compared with a commit of tantivy and a rebuild of bm25s.

Tantivy deletes the old document by its id, adds the new one and commits, with one writer thread and its default heap.
Rivals that are not installed are skipped (`pip install tantivy bm25s`).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from bench import report
from bench.engines import Bm25sNumpy, Engine, Row, Shortlist, TantivyOnDisk
from shortlist import Document

TOOLS = 10_000
ROUNDS = 200


def run(folders: list[Path]) -> None:
    rows = [(tool.id, tool.title, tool.content) for tool in make_tools(TOOLS)]
    figures: dict[str, dict[str, float]] = {}
    for name, kind in COMPARED.items():
        if kind.is_installed():
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                engine = kind(Path(folder))
                engine.build(rows)
                figures[name] = _replace(engine, rows)
    if Bm25sNumpy.is_installed():
        started, cpu = time.perf_counter(), time.process_time()
        Bm25sNumpy(Path()).build(rows)
        figures["bm25s, rebuild"] = {
            "median ms": round(1e3 * (time.perf_counter() - started), 2),
            "cpu ms": round(1e3 * (time.process_time() - cpu), 2),
        }
    report.show(figures, "shortlist")
    report.save("update", figures)


class WithVectors(Shortlist):
    embedder = "default"


COMPARED: dict[str, type[Engine]] = {
    "shortlist": Shortlist,
    "shortlist with vectors": WithVectors,
    "tantivy": TantivyOnDisk,
}


def _replace(engine: Engine, rows: list[Row]) -> dict[str, float]:
    """Every seventh document gets a new word, and is found by it."""
    times, work = [], []
    for number in range(ROUNDS):
        id, title, text = rows[number * 7]
        started, cpu = time.perf_counter(), time.process_time()
        engine.put((id, f"{title} fresh{number}", text))
        times.append(1e3 * (time.perf_counter() - started))
        work.append(1e3 * (time.process_time() - cpu))
    return {
        "median ms": round(statistics.median(times), 2),
        "p95 ms": round(sorted(times)[int(0.95 * ROUNDS)], 2),
        "cpu ms": round(statistics.median(work), 2),
    }


def make_tools(count: int) -> list[Document]:
    """Tools of words drawn by Zipf's law."""
    rng = np.random.default_rng(1)
    words = np.array([f"{a}{b}" for a in _SYLLABLES for b in _SYLLABLES])
    share = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, size=(count, 30), p=share / share.sum())
    return [
        Document(f"tool{number}", "_".join(row[:3]), " ".join(row[3:]), kind="tool") for number, row in enumerate(drawn)
    ]


_SYLLABLES = [f"{first}{second}{last}" for first in "bdfgklmnprst" for second in "aeiou" for last in ("", "n", "r")]
