"""Documents in two versions, and the programs that other processes run on a corpus of them.

`python -m tests.index.soak serve` forks a process for every order that it reads, and kills it when the order says so.
`python -m tests.index.soak do` does to a corpus what it reads.
`python -m tests.index.soak write|read|create PATH ...` says "ready", waits for a line, works and says what came of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import shortlist
from shortlist import Corpus, Document
from shortlist.index.storage import writer
from shortlist.results import Mode

ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds after which a process that should have ended is given up
WORDS = [f"word{number}" for number in range(120)]
QUERIES = ["word1 word2 word3", "word17", "title7 word99", "word5 word5 word80 nothing", "d33"]

# Settings of `writer` that make many segments and compress texts.
SMALL = {"FLUSH_PASSAGES": 16, "MERGE_BUDGET": 48, "MERGE_SHARE": 0, "LEARN_FROM": 1_000}


@cache
def version(name: str) -> list[Document]:
    """60 documents as "A"; as "B" 10 of them are gone, 20 the same, 30 changed, and 25 are new."""
    numbers = range(60) if name == "A" else range(10, 85)
    return [_document(number, "A" if number < 30 else name) for number in numbers]


def _document(number: int, name: str) -> Document:
    draw = random.Random(f"{name}{number}")
    is_file = number % 6 == 0
    words = draw.choices(WORDS, k=draw.randrange(200, 600) if is_file else draw.randrange(5, 30))
    keywords, metadata = [draw.choice(WORDS)], {"version": name, "even": number % 2}
    kind = "file" if is_file else "text"
    return Document(f"d{number}", f"title{number % 9}", " ".join(words), keywords, metadata, kind=kind)


def rebuilt(documents: Iterable[Document], embedder: Any = "none", analyzer: str | None = None) -> Corpus:
    corpus = shortlist.create_corpus(in_memory=True, embedder=embedder, analyzer=analyzer)
    corpus.add(documents)
    return corpus


def found(corpus: Corpus, queries: Iterable[str] = QUERIES) -> list[tuple[str, str, str, float]]:
    """The passages that a corpus finds for some queries, with their scores: what its index and its rows say."""
    answers = []
    with corpus.snapshot() as snapshot:
        for query in queries:
            ranking = snapshot.lexical.rank(query, 20)
            passages = zip(snapshot.passages(ranking.positions), ranking.scores.tolist(), strict=True)
            answers += sorted((hit.document_id, hit.locator, hit.text, score) for hit, score in passages)
    return answers


@cache
def expected(name: str) -> list[tuple[str, str, str, float]]:
    """What a version answers that was built at once."""
    return found(rebuilt(version(name)))


def scores(corpus: Corpus, mode: Mode, queries: Iterable[str] = QUERIES) -> dict[str, float]:
    """The score of every document for some queries."""
    hits = {query: shortlist.search(corpus, query, mode=mode, k=1000) for query in queries}
    return {f"{query}: {hit.id}": hit.score for query in hits for hit in hits[query]}


# Processes that are killed


class Outcome(NamedTuple):
    seconds: float
    killed: bool
    said: str


class Killer:
    """The process that forks and kills."""

    def __init__(self) -> None:
        self._process = start("serve")

    def begin(self, act: str, path: Path, name: str, *, after: float | None = None, step: int = 0) -> None:
        """Let a process act on the corpus, until it is done, some seconds have passed, or it comes to a step."""
        send(self._process, [act, str(path), name, after, step])

    def end(self) -> Outcome:
        """What came of the process that began first of those that did not end yet."""
        seconds, status, said = json.loads(line_of(self._process))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, f"a process ended with status {status}"
        return Outcome(seconds, killed, said)

    def run(self, act: str, path: Path, name: str, *, after: float | None = None, step: int = 0) -> Outcome:
        self.begin(act, path, name, after=after, step=step)
        return self.end()

    def kill_before_steps(self, act: str, paths: dict[int, Path], name: str) -> Iterator[Path]:
        """The corpora after processes died before these steps; the next one dies while the caller looks at one."""
        steps = list(paths.items())
        for at, (step, path) in enumerate(steps):
            if at == 0:
                self.begin(act, path, name, step=step)
            assert self.end().killed
            for next_step, next_path in steps[at + 1 : at + 2]:
                self.begin(act, next_path, name, step=next_step)
            yield path

    def close(self) -> None:
        self._process.communicate(timeout=PATIENCE)


def _serve() -> None:
    _make_small_segments()
    # what is imported and made here need not be in each process
    shortlist.build(version("A"), in_memory=True, embedder="none").sync(version("B"))
    for line in sys.stdin:
        act, path, name, after, step = json.loads(line)
        reader, writer = os.pipe()
        began = time.perf_counter()
        process = os.fork()
        if process == 0:
            _obey(act, Path(path), name, step, writer)
        os.close(writer)
        if after is not None:
            time.sleep(after)
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        seconds = time.perf_counter() - began
        with open(reader, encoding="utf-8") as said:
            print(json.dumps([seconds, status, said.read()]), flush=True)


def _make_small_segments() -> None:
    for name, value in SMALL.items():
        setattr(writer, name, value)


def _obey(act: str, path: Path, name: str, step: int, writer: int) -> None:
    with _last_act():
        counted = _count_effects(step) if step else None
        if act == "sync":
            with shortlist.open_corpus(path) as corpus:
                corpus.sync(version(name))
        elif act == "build":
            shortlist.build(version(name), path=path, embedder="none").close()
        elif act == "edit":
            with shortlist.open_corpus(path) as corpus:
                for number in range(1000):
                    edit(corpus, number)
                    os.write(writer, b".")
        sys.setprofile(None)
        if counted:
            os.write(writer, str(counted()).encode())


@contextlib.contextmanager
def _last_act() -> Iterator[None]:
    """What a forked process does before it ends."""
    signal.alarm(PATIENCE)
    try:
        yield
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


_EFFECTS = {
    "close", "connect", "execute", "executemany", "executescript", "fsync", "link", "mkdir", "open", "unlink", "write",
}  # fmt: skip


def _count_effects(last: int) -> Callable[[], int]:
    """Count the calls that may change something on the disk, and die right before one of them; -1 never comes."""
    count = 0

    def notice(frame: Any, event: str, function: Any) -> None:
        nonlocal count
        if event == "c_call" and function.__name__ in _EFFECTS:
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(notice)
    return lambda: count


def edit(corpus: Corpus, number: int) -> None:
    """One of a row of changes: add, replace or remove one document."""
    id, content = edit_of(number)
    if content:
        corpus.add([Document(id, "", content)])
    else:
        corpus.remove(id)


def edit_of(number: int) -> tuple[str, str]:
    return f"e{number % 7}", "" if number % 5 == 4 else f"edit{number} word{number % 10}"


# Processes that work beside each other

ANCHORS = ("apple", "quince", "cherry", "walnut")
WRITERS = len(ANCHORS)
CREATORS = 6
ITEMS = 12  # documents that a writer may have


def item(owner: int, number: int, edition: int) -> Document:
    """What a writer writes. Number 0, its anchor, is replaced but never removed."""
    words = " ".join(random.Random(edition).choices(WORDS, k=edition % 200))
    content = f"edition{edition} common owner{owner} {'loose' if number else ANCHORS[owner]} {words}"
    return Document(
        f"w{owner}-{number}", f"edition{edition}", content, [], {"owner": owner, "edition": edition},
        kind="file" if number % 3 == 0 else "text",
    )  # fmt: skip


def anchors() -> list[Document]:
    return [item(owner, 0, 0) for owner in range(WRITERS)]


def write(corpus: Corpus, owner: int, seconds: float) -> dict[str, int]:
    """Add, replace and remove an owner's documents for a while; the editions that are there at the end."""
    draw = random.Random(owner)
    editions = {f"w{owner}-0": 0}
    end = time.monotonic() + seconds
    edition = 0
    while time.monotonic() < end:
        edition += 1
        if draw.random() < 0.3:
            gone = {f"w{owner}-{number}" for number in draw.sample(range(1, ITEMS), 3)}
            assert corpus.remove(gone) == len(gone & editions.keys())
            editions = {id: known for id, known in editions.items() if id not in gone}
        else:
            items = [item(owner, number, edition) for number in draw.sample(range(ITEMS), draw.randrange(1, 4))]
            changes = corpus.add(items)
            assert changes.added + changes.changed == len(items)
            editions |= {document.id: edition for document in items}
    return editions


def read(opened: Callable[[], Corpus], seed: int, seconds: float, modes: Iterable[Mode]) -> int:
    """Look at a corpus from all sides for a while; how many rounds it took."""
    end = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < end:
        corpus = opened()
        owner = (seed + rounds) % WRITERS
        for mode in modes:
            hits = shortlist.search(corpus, ANCHORS[owner], mode=mode, k=100)
            assert f"w{owner}-0" in {hit.id for hit in hits}, mode
            assert len(hits) == 1 or mode != "lexical"
            mine = shortlist.search(corpus, "common", mode=mode, k=100, filter={"owner": owner})
            assert f"w{owner}-0" in {hit.id for hit in mine}, mode
            assert {hit.metadata["owner"] for hit in mine} == {owner}
            for hit in (*hits, *mine):
                assert hit.name == f"edition{hit.metadata['edition']}"
                assert hit.locator != "whole" or hit.text.startswith(f"{hit.name} ")
        with corpus.snapshot() as snapshot:
            positions = snapshot.lexical.rank("common", 1000).positions
            before = snapshot.passages(positions)
            corpus.info()
            assert snapshot.passages(positions) == before
            assert {f"w{owner}-0" for owner in range(WRITERS)} <= {passage.document_id for passage in before}
        for document in (corpus.get(f"w{owner}-0"), *corpus):
            assert document is not None
            expected = item(document.metadata["owner"], int(document.id.split("-")[1]), document.metadata["edition"])
            assert document == expected
        assert WRITERS <= len(corpus.ids()) <= WRITERS * ITEMS
        assert WRITERS <= len(corpus) <= WRITERS * ITEMS
        rounds += 1
    return rounds


def create_together(path: Path, attempt: int) -> list[int]:
    """Let processes create one corpus at the same time and add a document each; their exit codes."""
    begin = time.monotonic() + 0.02
    processes = []
    for number in range(CREATORS):
        process = os.fork()
        if process == 0:
            time.sleep(max(0.0, begin + number * 0.004 * (attempt % 4) - time.monotonic()))
            with _last_act(), shortlist.create_corpus(path=path, embedder="none") as corpus:
                corpus.add([Document(f"made-by-{number}", "", "common")])
        processes.append(process)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "tests.index.soak", *map(str, arguments)]
    single = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process with threads is not safe to fork
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=single, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


def run_together(*programs: tuple[object, ...]) -> list[Any]:
    """Run programs at the same time; what each of them said. None may complain."""
    processes = [start(*program) for program in programs]
    try:
        for process in processes:
            assert line_of(process) == "ready\n"
        for process in processes:
            send(process, "go")
        outputs = [process.communicate(timeout=PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait(PATIENCE)
    complaints = "".join(error for _, error in outputs)
    assert not complaints, complaints
    return [json.loads(said) for said, _ in outputs]


def send(process: subprocess.Popen[str], order: Any) -> None:
    assert process.stdin
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    assert process.stderr
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline() if ready else ""
    if not line:
        process.kill()
        raise AssertionError(f"a process said nothing but {process.stderr.read()!r}")
    return line


def _do() -> None:
    for line in sys.stdin:
        path, what = json.loads(line)
        with shortlist.open_corpus(Path(path)) as corpus:
            exec(what, {"shortlist": shortlist, "corpus": corpus})
        print("done", flush=True)


def main(program: str, *arguments: str) -> None:
    if program == "serve":
        return _serve()
    if program == "do":
        return _do()
    path, *rest = arguments
    said: Any = None
    if program == "write":
        _make_small_segments()
    elif program == "read":
        shortlist.load_embedder("light")
    print("ready", flush=True)
    sys.stdin.readline()
    if program == "create":
        said = [create_together(Path(path) / str(attempt), attempt) for attempt in range(int(rest[0]))]
    elif program == "write":
        with shortlist.open_corpus(Path(path)) as corpus:
            said = write(corpus, int(rest[0]), float(rest[1]))
    elif program == "read":
        seed, seconds = int(rest[0]), float(rest[1])
        kept = shortlist.open_corpus(Path(path))
        opened = (lambda: kept) if seed % 2 else (lambda: shortlist.open_corpus(Path(path)))
        said = read(opened, seed, seconds, ("lexical", "dense", "hybrid", "auto"))
    print(json.dumps(said))
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
