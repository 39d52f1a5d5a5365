"""CPU time to replace one of 10,000 tools and find it again, compared with a rebuild of bm25s."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import Stemmer

import shortlist
from bench import report
from shortlist import Document

TOOLS = 10_000
ROUNDS = 200


def run(folders: list[Path]) -> None:
    figures: dict[str, Any] = {}
    tools = make_tools(TOOLS)
    started = time.process_time()
    tokens = bm25s.tokenize(
        [f"{tool.title} {tool.content}" for tool in tools], stemmer=Stemmer.Stemmer("english"), show_progress=False
    )
    bm25s.BM25().index(tokens, show_progress=False)
    figures["bm25s rebuild ms"] = 1e3 * (time.process_time() - started)
    for embedder in ("none", "default"):
        with (
            tempfile.TemporaryDirectory() as folder,
            shortlist.build(tools, path=Path(folder) / "tools", embedder=embedder) as corpus,
        ):
            figures[f"replace and find ms, embedder {embedder}"] = _replace(corpus, tools)
    for name, value in figures.items():
        print(f"{name:42} {value if isinstance(value, dict) else round(value, 2)}")
    report.save("update", figures)


def _replace(corpus: shortlist.Corpus, tools: list[Document]) -> dict[str, float]:
    work = []
    for number in range(ROUNDS):
        old = tools[number * 7]
        changed = Document(old.id, old.title, f"{old.content} fresh{number}", kind="tool")
        started = time.process_time()
        corpus.add([changed])
        hits = shortlist.search(corpus, f"fresh{number}", mode="lexical")
        work.append(1e3 * (time.process_time() - started))
        assert hits[0].id == changed.id
    work.sort()
    return {"median": round(statistics.median(work), 2), "p95": round(work[int(0.95 * ROUNDS)], 2)}


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
