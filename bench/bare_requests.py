"""OpenSearch beside bare requests: our searches, syncs and builds, and the plain requests that an engineer would send.

One server of the tests (`tests/servers`) has the passages of the first set twice: in a corpus, and in an index with one
text field and one vector field. Each search is timed between the bare ones, in turns. A bare semantic search is as wide
as ours. CPU is that of both processes. Then the agreement with the embedded engine on every set: the share of the first
ten that both find, and the nDCG@10 of both.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import numpy as np

import shortlist
from bench import beir, report
from shortlist import Corpus, Document
from shortlist.documents import Passage
from shortlist.eval.metrics import ndcg
from shortlist.index.engines.cluster_rows import round_vector
from shortlist.index.engines.cluster_schema import GRAPH, find_width
from shortlist.results import Mode
from tests import servers

PASSAGES, K, QUERIES, WARM = 30_000, 10, 200, 40
BUILT, BATCH, SENDING = 10_000, 500, 3  # documents of a build; documents in a bulk request; requests at a time
MODES: tuple[Mode, ...] = ("lexical", "dense", "auto")


def run(folders: list[Path]) -> None:
    if not folders:
        print("bare: give folders or archives in BEIR layout; the first one must have enough passages")
        return
    sets = [beir.load(folder) for folder in folders]
    with TemporaryDirectory() as folder, servers.start("opensearch", quick=False) as cluster:
        bench = _Bench(cluster, Path(folder))
        figures: dict[str, Any] = {"builds": bench.compare_builds(sets[0].documents[:BUILT])}
        figures |= bench.compare_searches(sets[0])
        report_rows("beside bare requests", figures)
        agreement = {data.name: bench.agree(data) for data in sets[1:]}
        report_rows("agreement with the embedded engine", agreement)
    server = f"OpenSearch {servers.archive.RELEASES['opensearch'].version}"
    report.save("engines", {f"{server} beside bare requests": figures | {"agreement": agreement}}, beside_others=True)


def report_rows(title: str, rows: dict[str, Any]) -> None:
    print(title)
    for name, row in rows.items():
        print(f"  {name}: {row}", flush=True)


class _Bench:
    """A server with two copies of each set."""

    def __init__(self, cluster: servers.Cluster, folder: Path) -> None:
        process = cluster.nodes[0].process
        assert process is not None
        self._server_times = Path(f"/proc/{process.pid}/stat")
        self._folder, self._engine = folder, f"opensearch+{cluster.urls[0]}/bench"
        self._client = httpx2.Client(base_url=cluster.urls[0], trust_env=False, timeout=600)

    def _create(self, name: str, **options: Any) -> Corpus:
        return shortlist.create_corpus(name, path=self._folder / name, engine=self._engine, **options)

    def _cpu(self) -> float:
        """Seconds of CPU of both processes so far."""
        fields = self._server_times.read_text().rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _measure(self, action: Callable[[], Any]) -> tuple[float, float]:
        """Seconds, and seconds of CPU."""
        cpu, began = self._cpu(), time.perf_counter()
        action()
        return time.perf_counter() - began, self._cpu() - cpu

    def compare_builds(self, documents: Sequence[Document]) -> dict[str, Any]:
        """Passages a second without vectors: ours, and those of the same passages in bulk requests."""
        times: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
        for at in range(3):
            with self._create(f"build{at}", embedder="none") as corpus:
                times["ours"].append(self._measure(lambda: corpus.sync(documents)))
                passages = _list_passages(corpus)
            shortlist.delete_corpus(self._folder / f"build{at}")
            times["bare"].append(self._measure(lambda: self._build_bare(f"bare{at}", passages, None)))  # noqa: B023
            self._client.delete(f"/bare{at}").raise_for_status()
        rates = {name: round(len(passages) / median(wall for wall, _ in own)) for name, own in times.items()}
        cpu = {name: median(cpu for _, cpu in own) for name, own in times.items()}
        return {
            **{f"{name} passages/s": rate for name, rate in rates.items()},
            "rate ratio": round(rates["ours"] / rates["bare"], 2),
            "cpu ratio": round(cpu["ours"] / cpu["bare"], 2),
        }

    def _build_bare(self, name: str, passages: Sequence[Passage], vectors: Any) -> None:
        fields: dict[str, Any] = {"id": {"type": "keyword"}, "text": {"type": "text", "analyzer": "english"}}
        settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"}
        if vectors is not None:
            method = {"name": "hnsw", "space_type": "l2", "engine": "lucene", "parameters": GRAPH}
            fields["vector"] = {"type": "knn_vector", "dimension": vectors.shape[1], "method": method}
            settings["knn"] = True
        body = {"settings": {"index": settings}, "mappings": {"dynamic": False, "properties": fields}}
        self._client.put(f"/{name}", json=body).raise_for_status()

        def send(start: int) -> None:
            lines = []
            for at, passage in enumerate(passages[start : start + BATCH], start):
                row = {"id": passage.document_id, "text": f"{passage.name}\n{passage.text}"}
                vector = {} if vectors is None else {"vector": round_vector(vectors[at])}
                lines += [json.dumps({"index": {"_id": str(at)}}), json.dumps(row | vector)]
            content, headers = "\n".join([*lines, ""]), {"Content-Type": "application/x-ndjson"}
            answer = self._client.post(f"/{name}/_bulk?filter_path=errors", content=content, headers=headers)
            assert answer.json() == {"errors": False}, answer.text[:500]

        with ThreadPoolExecutor(SENDING) as pool:
            list(pool.map(send, range(0, len(passages), BATCH)))
        self._client.post(f"/{name}/_refresh").raise_for_status()

    def compare_searches(self, data: beir.Set) -> dict[str, Any]:
        """Milliseconds a search, as first built and merged, and seconds of a sync with 1 % changed."""
        documents, figures = data.documents[:PASSAGES], dict[str, Any]()
        with self._create("searched") as corpus:
            corpus.sync(documents)
            passages = _list_passages(corpus)[:PASSAGES]
            left_out = {passage.document_id for passage in _list_passages(corpus)[PASSAGES:]}
            documents = [one for one in documents if one.id not in left_out]
            corpus.sync(documents)
            passages = _list_passages(corpus)
            with corpus.snapshot() as state:
                embedder = state.embedder
            assert embedder is not None
            vectors = embedder.encode_documents([f"{passage.name}\n{passage.text}" for passage in passages])
            self._build_bare("bare", passages, vectors)
            queries = list(data.queries.values())[:: len(data.queries) // (QUERIES + WARM)][: QUERIES + WARM]
            encoded = {query: round_vector(embedder.encode_query(query)) for query in queries}
            changed = [
                replace(one, content=f"{one.content} changed") if at % 100 == 0 else one
                for at, one in enumerate(documents)
            ]
            seconds, cpu = self._measure(lambda: corpus.sync(changed))
            figures["sync with 1 % changed"] = {
                "documents": len(documents),
                "s": round(seconds, 1),
                "cpu s": round(cpu, 1),
            }
            for state_of in ("as built", "merged"):
                if state_of == "merged":
                    corpus.compact()
                    self._client.post("/bare/_forcemerge?max_num_segments=1").raise_for_status()
                segments = corpus.info()["segments"]
                figures[state_of] = {"passages": len(passages), "segments": segments}
                figures[state_of] |= self._compare_searches(corpus, queries, encoded)
        return figures

    def _compare_searches(
        self, corpus: Corpus, queries: Sequence[str], encoded: dict[str, list[int]]
    ) -> dict[str, dict[str, float]]:
        with corpus.snapshot() as state:
            alias = f"/{state.passages_alias}/_stats/segments"  # type: ignore[attr-defined]
        found = self._client.get(alias).json()["_all"]["primaries"]["segments"]["count"]
        width = find_width(K, found)

        def ask(body: dict[str, Any]) -> None:
            answer = self._client.post("/bare/_search", json=body | {"size": K, "_source": ["id", "text"]})
            assert answer.raise_for_status().json()["hits"]["hits"]

        def near(query: str, k: int) -> dict[str, Any]:
            return {"query": {"knn": {"vector": {"vector": encoded[query], "k": k}}}}

        actions: dict[str, Callable[[str], Any]] = {
            "bare lexical": lambda query: ask({"query": {"match": {"text": query}}}),
            "bare dense": lambda query: ask(near(query, width)),
            f"bare dense, k {K}": lambda query: ask(near(query, K)),
            **{mode: partial(self._search, corpus, mode) for mode in MODES},
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
        names = list(actions)
        for at, query in enumerate(queries):
            for name in names[at % len(names) :] + names[: at % len(names)]:
                measured = self._measure(lambda: actions[name](query))  # noqa: B023
                if at >= WARM:
                    times[name].append(measured)
        wall = {name: 1e3 * median(seconds for seconds, _ in own) for name, own in times.items()}
        cpu = {name: 1e3 * float(np.mean([used for _, used in own])) for name, own in times.items()}
        rows = {name: {"ms": round(wall[name], 1), "cpu ms": round(cpu[name], 1)} for name in names}
        slower = max(("bare lexical", "bare dense"), key=lambda name: wall[name])
        for mode, bare in zip(MODES, ("bare lexical", "bare dense", slower), strict=True):
            rows[mode] |= {"ratio": round(wall[mode] / wall[bare], 2), "cpu ratio": round(cpu[mode] / cpu[bare], 2)}
        return {"width": width, **rows}  # type: ignore[dict-item]

    @staticmethod
    def _search(corpus: Corpus, mode: Mode, query: str) -> None:
        assert shortlist.search(corpus, query, mode=mode, k=K)

    def agree(self, data: beir.Set) -> dict[str, Any]:
        queries, row = data.asked(QUERIES), dict[str, Any]()
        with self._create(data.name) as there, shortlist.create_corpus(in_memory=True) as here:
            for corpus in (here, there):
                corpus.sync(data.documents)
            for mode in (*MODES, "hybrid"):
                shared, worth = [], [0.0, 0.0]
                for id in queries:
                    ids = [
                        [hit.id for hit in shortlist.search(one, data.queries[id], mode, K)] for one in (here, there)
                    ]
                    shared.append(len({*ids[0]} & {*ids[1]}) / len(ids[0]) if ids[0] else float(not ids[1]))
                    worth = [sum_ + ndcg(own, data.relevance[id], K) for sum_, own in zip(worth, ids, strict=True)]
                row[mode] = {"overlap@10": round(float(np.mean(shared)), 4)}
                row[mode] |= {
                    f"nDCG@10 {name}": round(value / len(queries), 4)
                    for name, value in zip(("embedded", "cluster"), worth, strict=True)
                }
        return row


def _list_passages(corpus: Corpus) -> list[Passage]:
    with corpus.snapshot() as state:
        return list(state.walk())
