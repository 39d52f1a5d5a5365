"""Growth with the number of documents: build, open, search, filter, sync, change and compact; memory and bytes on disk.

    python -m bench scale 10000 100000 1000000 10000000     short documents of words drawn by Zipf's law
    python -m bench scale FOLDER... 10000 100000 1000000    the first documents of sets in BEIR layout, taken together
    python -m bench scale opensearch:3 FOLDER... 300000     the same in a cluster of three nodes
    python -m bench scale debian FOLDER                     makes a set of the sections of Debian's documentation

Every phase runs in a process of its own. Its memory is what it allocated at most; pages of mapped files, which the
system takes back when it needs them, are not counted. Of each hundred documents, one has changed when all are synced.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import debian_docs, report
from shortlist import Document
from shortlist.library.opening import size_of
from shortlist.results import Mode
from tests import servers

MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid", "auto")
QUERIES = 60
CHANGED = 100  # one of so many documents
UPSERTS = 20

# Short documents: a title of two words and twelve more.
VOCABULARY, WORDS = 400_000, 14
BLOCK = 10_000

Figures = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Documents that are read as a stream: of sets on disk or, if there are none, synthetic."""

    folders: tuple[Path, ...]
    size: int

    def documents(self, *, changed: bool = False) -> Iterator[Document]:
        """The documents, each in a group of one percent; if `changed`, the first of each hundred has a word more."""
        rows = self._read() if self.folders else self._draw()
        for number, (id, title, text) in enumerate(itertools.islice(rows, self.size)):
            text = f"{text} changed{number}" if changed and number % CHANGED == 0 else text
            yield Document(id, title, text, metadata={"group": number % 100})

    def queries(self) -> list[str]:
        if not self.folders:  # some words of a document
            rows = itertools.islice(self._draw(), 0, min(self.size, 100_000), min(self.size, 100_000) // QUERIES)
            return [" ".join(text.split()[2:7]) for _, _, text in rows][:QUERIES]
        found = [json.loads(line)["text"] for line in _lines(self.folders[0] / "queries.jsonl")]
        return found[:: max(1, len(found) // QUERIES)][:QUERIES]

    def _read(self) -> Iterator[tuple[str, str, str]]:
        """The documents of all sets, in turn, so that the first thousand are of all of them."""
        streams = [
            ((f"{folder.name}/{row['_id']}", row.get("title") or "", row["text"]) for row in map(json.loads, lines))
            for folder in self.folders
            for lines in [_lines(folder / "corpus.jsonl")]
        ]
        while streams:
            for stream in list(streams):
                if (row := next(stream, None)) is None:
                    streams.remove(stream)
                else:
                    yield row

    def _draw(self) -> Iterator[tuple[str, str, str]]:
        weights = 1.0 / (np.arange(VOCABULARY) + 2.7)
        bounds = np.cumsum(weights / weights.sum())
        words = [f"{number:x}" for number in range(1 << 24, (1 << 24) + VOCABULARY)]
        for block in itertools.count():
            drawn = np.searchsorted(bounds, np.random.default_rng(block).random((BLOCK, WORDS))).clip(0, VOCABULARY - 1)
            for at, row in enumerate(drawn.tolist()):
                first, second, *rest = (words[rank] for rank in row)
                yield f"d{block * BLOCK + at}", f"{first} {second}", " ".join(rest)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def run(arguments: list[Path]) -> None:
    if arguments and arguments[0] == Path("debian"):
        make_sections(arguments[1])
        return
    engine, nodes = "embedded", 1
    if arguments and str(arguments[0]).partition(":")[0] in servers.KINDS:
        engine, _, count = str(arguments.pop(0)).partition(":")
        nodes = int(count or 1)
    folders = tuple(argument for argument in arguments if not argument.name.isdigit())
    sizes = [int(argument.name) for argument in arguments if argument.name.isdigit()]
    if not sizes:
        print("scale: give sizes, such as 10000 100000, and folders in BEIR layout for real documents")
        return
    kind = ("real" if folders else "synthetic") + (f", {engine}, nodes: {nodes}" if engine != "embedded" else "")
    for size in sizes:
        for figures in measure(Source(folders, size), engine, nodes):  # what an interrupted run has measured is kept
            report.save("scale", {f"{kind}, {size}": figures}, beside_others=True)


def measure(source: Source, engine: str, nodes: int) -> Iterator[Figures]:
    """The figures of all phases so far, after each of them."""
    print(f"{source.size:,} documents, {engine}", flush=True)
    figures: Figures = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("SHORTLIST_BENCH_DIR")) as folder, ExitStack() as stack:
        place = Path(folder) / "corpus"
        address = engine
        if engine != "embedded":
            cluster = stack.enter_context(servers.start(engine, nodes, quick=False))
            urls = ",".join(url.removeprefix("http://") for url in cluster.urls)
            address = f"{engine}+http://{urls}/bench?shards={nodes}&replicas={min(1, nodes - 1)}"
        for name, phase in PHASES.items():
            figures[name] = found = _in_process(phase, source, place, address)
            print(f"  {name:20}{found}", flush=True)
            yield figures


def build(source: Source, place: Path, engine: str) -> Figures:
    with shortlist.create_corpus("bench", path=place, engine=engine) as corpus:
        started = time.perf_counter()
        corpus.sync(source.documents())
        taken = time.perf_counter() - started
        info = corpus.info()
        return {
            "s": round(taken, 1),
            "documents/s": round(source.size / taken),
            "passages": info["passages"],
            **_sizes(place, info),
        }


def _sizes(place: Path, info: Figures) -> Figures:
    if info.get("bytes"):
        return {"bytes a document": round(info["bytes"] / info["documents"])}
    return {"bytes a document": round(size_of(place) / info["documents"])}


def start(source: Source, place: Path, engine: str) -> Figures:
    """From the start of a new process to its first answer, and to the second."""
    code = (
        "import sys, time, shortlist, pathlib\n"
        "corpus = shortlist.open_corpus(pathlib.Path(sys.argv[1]))\n"
        "shortlist.search(corpus, sys.argv[2], mode=sys.argv[3])\n"
    )
    times: Figures = {}
    query = source.queries()[0]
    for mode in ("lexical", "auto"):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, str(place), query, mode], check=True)
        times[f"{mode} s"] = round(time.perf_counter() - started, 2)
    return times


def search(source: Source, place: Path, engine: str) -> Figures:
    figures: Figures = {}
    with shortlist.open_corpus(place) as corpus:
        for mode in MODES:
            figures[mode] = _ask(partial(shortlist.search, corpus, mode=mode), source)
        figures["discover"] = _ask(lambda query: shortlist.discover(corpus, query), source)
    return figures


def filter(source: Source, place: Path, engine: str) -> Figures:
    """A first query with a condition reads the field of all documents; later ones do not."""
    figures: Figures = {}
    with shortlist.open_corpus(place) as corpus:
        query = source.queries()[0]
        shortlist.search(corpus, query)
        started = time.perf_counter()
        shortlist.search(corpus, query, filter={"group": 7})
        figures["first s"] = round(time.perf_counter() - started, 2)
        conditions: dict[str, dict[str, Any]] = {"1 %": {"group": 7}, "50 %": {"group": {"$lt": 50}}}
        for share, condition in conditions.items():
            figures[share] = _ask(partial(shortlist.search, corpus, filter=condition), source)
    return figures


def sync(source: Source, place: Path, engine: str) -> Figures:
    with shortlist.open_corpus(place) as corpus:
        started = time.perf_counter()
        changes = corpus.sync(source.documents(changed=True))
        return {
            "s": round(time.perf_counter() - started, 1),
            "changed": changes.changed,
            "unchanged": changes.unchanged,
        }


def change(source: Source, place: Path, engine: str) -> Figures:
    """Put one document, and find it."""
    times = []
    with shortlist.open_corpus(place) as corpus:
        shortlist.search(corpus, "warm")
        for number in range(UPSERTS):
            started = time.perf_counter()
            corpus.add([Document("fresh", "fresh", f"fresh word fresh{number}")])
            (hit, *_) = shortlist.search(corpus, f"fresh{number}", mode="lexical")
            times.append(1e3 * (time.perf_counter() - started))
            if hit.id != "fresh":
                raise RuntimeError(f"The document that was put is not found: {hit.id}")
        corpus.remove("fresh")
        return {"ms until found": round(statistics.median(times), 1), "segments": corpus.info().get("segments")}


def compact(source: Source, place: Path, engine: str) -> Figures:
    with shortlist.open_corpus(place) as corpus:
        started = time.perf_counter()
        corpus.compact()
        return {"s": round(time.perf_counter() - started, 1), **_sizes(place, corpus.info())}


Phase = Callable[[Source, Path, str], Figures]
PHASES: dict[str, Phase] = {
    "build": build,
    "start": start,
    "search": search,
    "filter": filter,
    "sync": sync,
    "change": change,
    "search after changes": search,
    "compact": compact,
    "search after compact": search,
}


def _ask(search: Callable[[str], Any], source: Source) -> Figures:
    """Milliseconds of a query, after some that are not counted."""
    queries = source.queries()
    for query in queries[:5]:
        search(query)
    times = []
    for query in queries:
        started = time.perf_counter()
        search(query)
        times.append(1e3 * (time.perf_counter() - started))
    return {f"p{share} ms": round(float(np.percentile(times, share)), 2) for share in (50, 95)}


def _in_process(phase: Phase, source: Source, place: Path, engine: str) -> Figures:
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run_phase, args=(phase, source, place, engine, sending))
    process.start()
    sending.close()
    try:
        found: Figures = receiving.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"{phase.__name__} ended with exit code {process.exitcode}.") from None
    process.join()
    return found


def _run_phase(phase: Phase, source: Source, place: Path, engine: str, sending: Any) -> None:
    peak = [0]
    end = threading.Event()

    def watch() -> None:
        while not end.wait(0.05):
            peak[0] = max(peak[0], allocated())

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    figures = phase(source, place, engine)
    end.set()
    sending.send(figures | {"memory MB": round(peak[0] / 1e6)})


def allocated() -> int:
    """The bytes of memory that this process has allocated, without the pages of mapped files."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


# Reference manuals with many pages in HTML.
PACKAGES = (
    "rust-doc", "openjdk-17-doc", "linux-doc-6.1", "python3.11-doc", "postgresql-doc-15", "ghc-doc", "scala-doc",
    "racket-doc", "erlang-doc", "libstdc++-12-doc", "libboost1.74-doc", "cmake-doc", "python-pandas-doc",
    "python-scipy-doc", "libreoffice-dev-doc", "wx3.2-doc", "qtbase5-doc-html", "python-sympy-doc", "libgtk-4-doc",
)  # fmt: skip


def make_sections(folder: Path) -> None:
    """A set in BEIR layout: a document for each section of a page; headings of some are the queries."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with (
        (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (folder / "queries.jsonl").open("w", encoding="utf-8") as queries,
        tempfile.TemporaryDirectory() as place,
    ):
        os.chmod(place, 0o755)  # apt-get gives up its privileges before it downloads
        for package in PACKAGES:
            for page in shortlist.CorpusSource.from_files(debian_docs.unpack(package, place), r"\.html$"):
                if not isinstance(page, Document):
                    continue
                for at, section in enumerate(page.content.split("\n\n#")):
                    heading, _, text = section.strip("# ").partition("\n")
                    if len(text) < 40:
                        continue
                    row = {"_id": f"{package}/{page.id}#{at}", "title": f"{page.title}: {heading}"[:200], "text": text}
                    corpus.write(json.dumps(row) + "\n")
                    if count % 5_000 == 0:
                        queries.write(json.dumps({"_id": f"q{count}", "text": heading}) + "\n")
                    count += 1
            print(f"{package}: {count:,} sections so far", flush=True)
