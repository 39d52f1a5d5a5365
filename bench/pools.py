"""Search processes of the service: our pool beside ProcessPoolExecutor with an initializer, on 10,000 tools.

`python -m bench pools`. Both search the same catalog with the same queries; their rounds alternate, so that a busy
machine slows both alike. Then the time until the next answer if callers of long searches have disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench import report
from bench.update import make_tools
from shortlist._limits import check_canceled, max_query_characters
from shortlist._settings import Settings
from shortlist.compat.retriever import ANALYZER, SCORING, retrieve_from_corpus
from shortlist.compat.retriever_settings import BM25SSettings
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.server.catalog_store import NAME, CatalogStore
from shortlist.server.jobs import to_json
from shortlist.server.routes.corpora_routes import ServedCorpora, discover_in_corpus
from shortlist.server.search_workers import SearchWorkers
from shortlist.server.service_settings import load_settings

TOOLS = 10_000
WORKERS = 2
CALLERS = 8
ROUNDS = 5
ROUND_SECONDS = 3.0
ENDLESS_SECONDS = 5.0  # of the search whose caller disconnects
SEARCHES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "retrieve": (retrieve_from_corpus, {"settings": BM25SSettings()}),
    "discover": (discover_in_corpus, {}),
}


class ExecutorWorkers:
    """What `SearchWorkers` does as far as ProcessPoolExecutor can: it neither cancels work nor replaces a process."""

    def __init__(self, settings: Settings, catalog: CatalogStore) -> None:
        self._settings, self._catalog = settings, catalog

    async def start(self) -> None:
        context = get_context("spawn")
        self._pool = ProcessPoolExecutor(WORKERS, context, initializer=_prepare, initargs=(self._settings,))
        await asyncio.gather(*(self.answer(_wait_briefly, NAME, {}) for _ in range(WORKERS)))

    async def answer(self, function: Callable[..., Any], name: str, options: dict[str, Any]) -> bytes:
        path = str(self._catalog.corpus.path)
        return await asyncio.wrap_future(self._pool.submit(_answer, path, function, name, options))

    async def close(self) -> None:
        self._pool.shutdown()


_state: dict[str, Any] = {}


def _prepare(settings: Settings) -> None:
    max_query_characters.set(settings.limits.max_query_characters)
    catalog = SimpleNamespace(path="", corpus=None)
    corpora = ServedCorpora(cast(CatalogStore, catalog), settings.server.corpora, settings.usage.learn)
    _state.update(catalog=catalog, corpora=corpora)


def _answer(path: str, function: Callable[..., Any], name: str, options: dict[str, Any]) -> bytes:
    catalog = _state["catalog"]
    if catalog.path != path:
        catalog.path, catalog.corpus = path, create_corpus(NAME, path=Path(path))
    return to_json(_state["corpora"].answer(function, name, options))


def _wait_briefly(corpus: Corpus) -> dict[str, Any]:
    time.sleep(0.2)  # so that each process gets one
    return {}


def search_long(corpus: Corpus) -> dict[str, Any]:
    """A search that takes long, and ends early if it is canceled."""
    end = time.monotonic() + ENDLESS_SECONDS
    while time.monotonic() < end:
        check_canceled()
        time.sleep(0.01)
    return {}


def run(folders: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # search processes import nothing from it
        os.environ["SHORTLIST_DATA_DIR"] = folder
        figures = asyncio.run(_measure(Path(folder)))
    print(json.dumps(figures, indent=2))
    report.save("pools", figures)


async def _measure(folder: Path) -> dict[str, Any]:
    entries = [{"id": tool.id, "title": tool.title, "content": tool.content} for tool in make_tools(TOOLS)]
    (folder / "tools.json").write_text(json.dumps({"documents": entries}))
    given = {"documents.source": str(folder / "tools.json"), "documents.embedder": "none", "server.workers": WORKERS}
    settings = load_settings(given=given, environment={})
    catalog = CatalogStore(settings, analyzer=ANALYZER, scoring=SCORING)
    queries = _make_queries(entries)
    pools: dict[str, SearchWorkers | ExecutorWorkers] = {
        "own": SearchWorkers(settings, catalog),
        "executor": ExecutorWorkers(settings, catalog),
    }
    starts = {}
    for name, pool in pools.items():
        began = time.perf_counter()
        await pool.start()
        starts[name] = round(time.perf_counter() - began, 2)
    figures: dict[str, Any] = {
        "tools": TOOLS, "processes": WORKERS, "callers": CALLERS, "rounds": ROUNDS, "seconds a round": ROUND_SECONDS,
    }  # fmt: skip
    for search in SEARCHES:
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in pools}
        for _ in range(ROUNDS + 1):  # the first one warms up
            for name, pool in pools.items():
                rounds[name].append(await _ask(pool.answer, search, queries))
        for name, measured in rounds.items():
            medians = {key: round(statistics.median(one[key] for one in measured[1:]), 3) for key in measured[0]}
            figures.setdefault(search, {})[name] = medians
    figures["start seconds"] = starts
    figures["seconds until an answer after callers disconnected"] = {
        name: round(await _disconnect(pool.answer, queries), 2) for name, pool in pools.items()
    }
    figures["load average"] = round(os.getloadavg()[0], 1)
    for pool in pools.values():
        await pool.close()
    catalog.close()
    return figures


async def _ask(answer: Callable[..., Any], search: str, queries: list[str]) -> dict[str, float]:
    function, options = SEARCHES[search]
    remaining, times = itertools.cycle(queries), list[float]()
    began = time.perf_counter()

    async def ask() -> None:
        while (sent := time.perf_counter()) < began + ROUND_SECONDS:
            data = await answer(function, NAME, {"query": next(remaining), **options})
            assert data.startswith(b"{")
            times.append(time.perf_counter() - sent)

    processor = time.process_time()
    await asyncio.gather(*(ask() for _ in range(CALLERS)))
    elapsed = time.perf_counter() - began
    spent = 1e3 * (time.process_time() - processor) / len(times)
    rates = {"requests a second": len(times) / elapsed, "cpu ms a request in the service": spent}
    return rates | report.percentiles([1e3 * seconds for seconds in times])


async def _disconnect(answer: Callable[..., Any], queries: list[str]) -> float:
    """Let the callers of long searches in all processes disconnect, then ask once."""
    tasks = [asyncio.create_task(answer(search_long, NAME, {})) for _ in range(WORKERS)]
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    began = time.perf_counter()
    await answer(discover_in_corpus, NAME, {"query": queries[0]})
    return time.perf_counter() - began


def _make_queries(entries: list[dict[str, str]]) -> list[str]:
    """Some words of some tool each."""
    rng = random.Random(1)
    words = [rng.choice(entries)["content"].split() for _ in range(5_000)]
    return [" ".join(rng.sample(some, rng.randint(2, 6))) for some in words]
