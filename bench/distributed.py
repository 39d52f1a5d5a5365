"""The embedded engine, OpenSearch and Elasticsearch on one machine: ingest, query, agreement, bytes, memory.

The servers are those of the tests (`tests/servers`), one node each, with the settings that they are shipped with but
for a heap of 512 MB; one that cannot be had is left out. Queries are asked one after the other, and each is answered
with ten hits, text included. `alike` is the share of queries whose first ten are those of the embedded engine, `right`
the share whose first ten are those of comparing every vector.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

import shortlist
from bench import beir, report
from shortlist import Corpus
from shortlist.index.dense import dense_ranker
from shortlist.library.opening import size_of
from shortlist.results import Mode
from tests import servers

MOST_DOCUMENTS = 100_000
K, QUERIES = 10, 200
MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid", "auto")

# Servers keep what they may have to tell a replica again, and let go of it within a minute, but only when they merge.
LEASE_SECONDS = 65

SHOWN = {"embedded": "embedded", "opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}

Answers = dict[str, list[list[str]]]


def run(folders: list[Path]) -> None:
    if not folders:
        print("engines: give folders or archives in BEIR layout")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        data = beir.load(folder)
        data.documents[MOST_DOCUMENTS:] = []
        print(data.name, len(data.documents))
        rows = figures[data.name] = {}
        expected: Answers = {}
        for kind in ("embedded", *servers.KINDS):
            reason = None if kind == "embedded" else servers.available(kind)
            if reason is not None:
                print(f"  {kind} is left out: {reason}")
                continue
            rows[kind] = row = measure(kind, data, expected)
            print(f"  {kind}")
            for name, value in row.items():
                print(f"    {name:22}{value}", flush=True)
        print(sizes(rows), speeds(rows), sep="\n", end="\n\n")
    report.save("engines", figures, beside_others=True)


def sizes(rows: dict[str, Any]) -> str:
    """Bytes per passage, as docs/guides/scale.md shows them."""
    shown = {
        "stored text": "  stored text",
        "columns: term counts, exact vectors, filter fields": "  columns",
        "vectors": "  vectors",
        "vector graph": "  graph of vectors",
        "inverted index": "  words",
        "documents": "  documents",
    }
    kinds = [kind for kind in rows if kind != "embedded"]
    lines = _head(kinds)
    lines += [_line(name, [f"{rows[kind][key]:,}" for kind in kinds]) for name, key in shown.items()]
    sums = [sum(rows[kind][key] for key in shown.values()) for kind in kinds]
    lines.append(_line("**total**", [f"**{total:,}**" for total in sums]))
    lines.append(_line("total before merging", [f"{rows[kind]['bytes as written']:,}" for kind in kinds]))
    return "\n".join(lines)


def speeds(rows: dict[str, Any]) -> str:
    """Passages per second and milliseconds per query, as docs/guides/scale.md shows them."""
    lines = _head(list(rows))
    lines.append(_line("passages indexed per second", [f"{row['passages/s']:,}" for row in rows.values()]))
    for mode in MODES:
        cells = [f"{row[f'{mode} p50 ms']:.0f} / {row[f'{mode} p95 ms']:.0f}" for row in rows.values()]
        lines.append(_line(f"`{mode}`, p50 / p95 ms", cells))
    return "\n".join(lines)


def _head(kinds: list[str]) -> list[str]:
    return [_line("", [SHOWN[kind] for kind in kinds]).replace("|  |", "| |"), "|---|" + "--:|" * len(kinds)]


def _line(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def measure(kind: str, data: beir.Set, expected: Answers) -> dict[str, Any]:
    """What one engine needs; the answers of the first one are those that the others are compared with."""
    with tempfile.TemporaryDirectory() as folder, running(kind) as cluster:
        engine = f"{kind}+{cluster.urls[0]}/bench" if cluster else kind
        with shortlist.create_corpus("bench", path=Path(folder) / "corpus", engine=engine) as corpus:
            started = time.perf_counter()
            corpus.sync(data.documents)
            taken = time.perf_counter() - started
            passages = corpus.info()["passages"]
            row: dict[str, Any] = {
                "passages": passages,
                "ingest s": round(taken, 1),
                "passages/s": round(passages / taken),
            }
            if cluster:
                row |= settle(cluster.urls[0], passages)
            else:
                row["bytes a passage"] = round(size_of(Path(folder)) / passages)
            for mode in MODES:
                times, answers = ask(corpus, data, mode)
                p50, p95 = (round(float(np.percentile(times, share)), 2) for share in (50, 95))
                row |= {f"{mode} p50 ms": p50, f"{mode} p95 ms": p95}
                if not cluster:
                    expected[f"{mode} alike"], expected[f"{mode} right"] = answers, exactly(corpus, data, mode)
                for name in ("alike", "right"):
                    pairs = zip(answers, expected[f"{mode} {name}"], strict=True)
                    row[f"{mode} {name}"] = round(sum(one == other for one, other in pairs) / len(answers), 3)
            return row


def exactly(corpus: Corpus, data: beir.Set, mode: Mode) -> list[list[str]]:
    """The answers of the embedded engine when it compares every vector."""
    for_each, dense_ranker.ROUNDED_FOR_EACH = dense_ranker.ROUNDED_FOR_EACH, 1 << 60
    try:
        return ask(corpus, data, mode)[1]
    finally:
        dense_ranker.ROUNDED_FOR_EACH = for_each


@contextmanager
def running(kind: str) -> Iterator[servers.Cluster | None]:
    if kind == "embedded":
        yield None
        return
    with servers.start(kind, quick=False) as cluster:
        yield cluster


def ask(corpus: Corpus, data: beir.Set, mode: Mode) -> tuple[list[float], list[list[str]]]:
    """Milliseconds and ids of the hits, for each query; a few are asked before."""
    asked = list(data.relevance)[:: max(1, len(data.relevance) // QUERIES)][:QUERIES]
    queries = [data.queries[id] for id in asked]
    gc.collect()
    gc.freeze()  # what was indexed is still here, and who only asks would not have it to look through
    for query in queries[:20]:
        shortlist.search(corpus, query, mode=mode, k=K)
    times, answers = [], []
    for query in queries:
        started = time.perf_counter()
        hits = shortlist.search(corpus, query, mode=mode, k=K)
        times.append(1e3 * (time.perf_counter() - started))
        answers.append([hit.id for hit in hits])
    return times, answers


def settle(url: str, passages: int) -> dict[str, Any]:
    """Bytes a passage as written and after a merge, by what they are for, and the heap that is in use."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=3600) as client:
        row: dict[str, Any] = {"bytes as written": round(_bytes(client)["all"] / passages)}
        time.sleep(LEASE_SECONDS)
        client.post("/_all/_flush", params={"force": "true"}).raise_for_status()
        client.put("/_all/_settings", json={"index.compound_format": False}).raise_for_status()  # files tell what for
        started = time.perf_counter()
        client.post("/_all/_forcemerge", params={"max_num_segments": 1}).raise_for_status()
        row["merge s"] = round(time.perf_counter() - started, 1)
        client.post("/_all/_refresh").raise_for_status()
        client.post("/_all/_flush", params={"force": "true"}).raise_for_status()
        by_use = _bytes(client)
        row["bytes a passage"] = round(by_use.pop("all") / passages)
        row |= {f"  {use}": round(size / passages) for use, size in by_use.items()}
        (node,) = client.get("/_nodes/stats/jvm").raise_for_status().json()["nodes"].values()
        return row | {"heap MB in use": round(node["jvm"]["mem"]["heap_used_in_bytes"] / 1e6)}


# What Lucene keeps in which files. Words are the rest: of several files with one ending, servers count only one.
USES = {"stored text": ("fdt",), "columns": ("dvd",), "vectors": ("vec",), "graph of vectors": ("vex",)}


def _bytes(client: httpx2.Client) -> dict[str, int]:
    """The bytes of all, of the documents, and of what is kept of passages by what it is for."""
    options = {"include_segment_file_sizes": "true"}
    indices = client.get("/_all/_stats/store,segments", params=options).raise_for_status().json()["indices"]
    parts = {
        part: found["primaries"]
        for part in ("documents", "passages")
        for name, found in indices.items()
        if part in name
    }
    files = parts["passages"]["segments"]["file_sizes"]
    uses = {use: sum(files.get(kind, {}).get("size_in_bytes", 0) for kind in kinds) for use, kinds in USES.items()}
    documents, passages = (parts[part]["store"]["size_in_bytes"] for part in ("documents", "passages"))
    return {"all": documents + passages, "documents": documents, **uses, "words": passages - sum(uses.values())}
