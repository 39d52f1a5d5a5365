"""Speed of embedders: descriptions per second, time per query, and building and changing a catalog of 2,000 tools.

Folders or archives in BEIR layout with tools. `short` is a name and the first sentence; the catalog is of whole texts.
Every embedder encodes the same texts in one run, with as many threads as it takes by itself.
"""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import beir, report
from shortlist import Document
from shortlist.index.embedders.named import load_embedder

EMBEDDERS = ("tools", "minilm", "default")
SHORT, TOOLS, QUERIES = 500, 2_000, 100
_SENTENCE = re.compile(r"(?<=[.!?])\s|\sParameters: ")


def run(folders: list[Path]) -> None:
    if not folders:
        print("encoding: give folders or archives in BEIR layout")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        data = beir.load(folder)
        figures[data.name] = {name: _measure(name, data) for name in EMBEDDERS}
        print(data.name)
        for name, row in figures[data.name].items():
            print(f"  {name:10}" + "".join(f"  {what} {value}" for what, value in row.items()), flush=True)
    report.save("encoding", figures, beside_others=True)


def _measure(name: str, data: beir.Set) -> dict[str, float]:
    embedder = load_embedder(name)
    assert embedder
    short = [f"{one.title}\n{_SENTENCE.split(one.content)[0]}" for one in data.documents[:SHORT]]
    embedder.encode_documents(short[:16])
    short_s, _ = _timed(partial(embedder.encode_documents, short))
    queries = list(data.queries.values())[:QUERIES]
    waits = [_timed(partial(embedder.encode_query, query))[0] for query in queries]
    tools = [replace(one, kind="tool") for one in data.documents[:TOOLS]]
    with tempfile.TemporaryDirectory() as folder:
        built_s, corpus = _timed(partial(shortlist.build, tools, path=Path(folder) / "tools", embedder=name))
        with corpus:
            tools[0] = Document(tools[0].id, tools[0].title, f"{tools[0].content} And more.", kind="tool")
            changed_s, _ = _timed(partial(corpus.sync, tools))
    return {
        "characters of a short one": round(float(np.median([len(text) for text in short]))),
        "short/s": round(len(short) / short_s),
        "query ms": round(1e3 * float(np.median(waits)), 2),
        "tools": len(tools),
        "built s": round(built_s, 1),
        "one changed s": round(changed_s, 2),
    }


def _timed(work: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found
