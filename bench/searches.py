"""CPU time of searches with this checkout and others, for each mode, alone and in a batch, side by side.

`python -m bench searches FOLDER[:DOCUMENTS]... [CHECKOUT...]`. This checkout builds a corpus of all folders with words
alone and, up to 20,000 documents, one with static vectors, and every version searches them in processes of its own. The
processes are interleaved and CPU time is reported, so that other work on the machine disturbs neither: the best of all
rounds, in milliseconds a query. `first thread` is the part of a batch that no other core can take. With bm25s
installed, its index of the same texts is searched, too (`pip install bm25s numba`), in a batch by two threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import beir, report
from bench.engines import Bm25sOnDisk
from bench.startup import commit_of

ROOT = Path(__file__).parents[1]
ROUNDS = 3
QUERIES = 300
EMBEDDERS = {"lexical": "none", "auto": "wordllama"}
MOST_WITH_VECTORS = 20_000


def run(folders: list[Path]) -> None:
    others = [folder for folder in folders if (folder / "pyproject.toml").exists()]
    sets = [beir.load(folder) for folder in folders if folder not in others]
    if not sets:
        print("searches: pass folders or archives in BEIR layout, and checkouts to compare with")
        return
    checkouts = {commit_of(folder): folder.resolve() for folder in (ROOT, *others)}
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        rows = [(f"{data.name}/{one.id}", one.title, one.content) for data in sets for one in data.documents]
        queries = [data.queries[id] for data in sets for id in data.asked(QUERIES // len(sets))]
        Path(place, "set.json").write_text(json.dumps({"rows": rows, "queries": queries}), encoding="utf-8")
        modes = [mode for mode in EMBEDDERS if mode == "lexical" or len(rows) <= MOST_WITH_VECTORS]
        for mode in modes:
            _run(ROOT, BUILD, place, mode, EMBEDDERS[mode])
        if Bm25sOnDisk.is_installed():
            _run(ROOT, BUILD_RIVAL, place)
        for _ in range(ROUNDS):
            for name, checkout in checkouts.items():
                for mode in modes:
                    _keep_least(figures.setdefault(f"{name}, {mode}", {}), _run(checkout, SEARCH, place, mode))
            if Bm25sOnDisk.is_installed():
                _keep_least(figures.setdefault("bm25s numba on disk", {}), _run(ROOT, SEARCH_RIVAL, place))
    print(json.dumps(figures, indent=2))
    report.save("searches", {"+".join(data.name for data in sets): figures}, beside_others=True)


def _keep_least(row: dict[str, float], measured: dict[str, float]) -> None:
    row.update({column: min(value, row.get(column, value)) for column, value in measured.items()})


def _run(checkout: Path, program: str, *arguments: str) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (checkout / "src", ROOT)))}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout or "{}")
    return figures


_LOAD = """
import gc, json, sys, time
from pathlib import Path
import shortlist
data = json.loads(Path(sys.argv[1], "set.json").read_text(encoding="utf-8"))
"""

BUILD = (
    _LOAD
    + """
corpus = shortlist.create_corpus(path=Path(sys.argv[1], sys.argv[2]), embedder=sys.argv[3])
corpus.sync(shortlist.Document(*row) for row in data["rows"])
"""
)

_MEASURE = """
def measure(search, search_many):
    for query in queries:
        search(query)
    search_many(queries)
    gc.collect()
    gc.freeze()
    columns = {}
    for _ in range(3):
        before = time.process_time()
        for query in queries:
            search(query)
        alone = time.process_time()
        first = time.thread_time()
        search_many(queries)
        spent = {"search": alone - before, "batch": time.process_time() - alone}
        spent["batch, first thread"] = time.thread_time() - first
        for name, seconds in spent.items():
            columns[name] = min(round(1e3 * seconds / len(queries), 4), columns.get(name, 1e9))
    print(json.dumps(columns))

queries = data["queries"]
"""

SEARCH = (
    _LOAD
    + _MEASURE
    + """
corpus, mode = shortlist.open_corpus(Path(sys.argv[1], sys.argv[2])), sys.argv[2]
measure(
    lambda query: [(hit.id, hit.text) for hit in shortlist.search(corpus, query, mode)],
    lambda queries: [[(hit.id, hit.text) for hit in hits] for hits in shortlist.search_many(corpus, queries, mode)],
)
"""
)

_RIVAL = (
    _LOAD
    + """
from bench.engines import Bm25sOnDisk
engine = Bm25sOnDisk(Path(sys.argv[1], "bm25s"))
"""
)
BUILD_RIVAL = _RIVAL + 'engine.folder.mkdir()\nengine.build(data["rows"])\n'
SEARCH_RIVAL = _RIVAL + _MEASURE + "engine.open()\nmeasure(engine.search, engine.search_many)\n"
