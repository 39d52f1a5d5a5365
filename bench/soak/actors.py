"""The processes of a soak run that use the library and the command line: `python -m bench.soak.actors KIND ...`.

An actor does one operation after another until it gets SIGTERM, checks every result, and writes counts, errors and
violations to its file of events, one JSON object per line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import shortlist
from bench.soak.ledger import (
    GROUPS,
    Ledger,
    Violation,
    check_text,
    find_manifest,
    find_versions,
    make_anchor,
    make_group,
    make_manifest,
    read_state,
)
from shortlist import Corpus, ShortlistError
from shortlist.results import Mode

MODES: tuple[Mode, ...] = get_args(Mode)
OWNERS = "abc"  # of the documents in the shared corpus: two library writers, and a client of the service
COMMAND_SECONDS = 150
T = TypeVar("T")


class Interrupted(Exception):
    """Another process was killed in the middle of the operation, which may or may not have completed."""


class Actor:
    """Runs operations and records what came of them."""

    def __init__(self, name: str, folder: Path, home: str, seed: str) -> None:
        self.name, self.folder, self.home = name, folder, home
        self.draw = random.Random(seed)
        self._faults = folder / "fault"
        self._events = (folder / "events" / f"{name}.jsonl").open("a")
        self._counts: Counter[str] = Counter()
        self._next_report = 0.0
        self._is_over = False
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self._is_over = True

    def ledger(self, corpus: str, owner: str) -> Ledger:
        return Ledger(self.folder / "ledgers" / f"{self.home}-{corpus}-{owner}.jsonl", self.fault)

    def rest(self, longest: float) -> None:
        time.sleep(self.draw.uniform(0, longest))

    def is_running(self) -> bool:
        if time.monotonic() > self._next_report or self._is_over:
            self._record(counts=dict(self._counts))
            self._counts.clear()
            self._next_report = time.monotonic() + 1
        return not self._is_over

    def fault(self) -> tuple[int, str]:
        """The number of changes so far, and the fault of the disk of this actor."""
        number, name = json.loads(self._faults.read_text()) if self.home == "volume" else (0, "")
        return number, name

    def attempt(self, what: str, work: Callable[[], T]) -> T | None:
        """Do one operation; an error is recorded."""
        before = self.fault()
        try:
            result = work()
        except Exception as error:
            self.record_error(what, error, before)
            return None
        self._counts[what] += 1
        return result

    def count(self, what: str) -> None:
        self._counts[what] += 1

    def record_error(self, what: str, error: Exception, before: tuple[int, str]) -> None:
        """Under a fault of the disk our own errors are right; everything else is a violation."""
        after = self.fault()
        fault = before[1] or after[1] or ("a fault in between" if before != after else "")
        if isinstance(error, Interrupted):
            self._counts["interrupted"] += 1
        elif fault and isinstance(error, ShortlistError):
            self._record(error=type(error).__name__, message=str(error), during=fault, what=what)
        else:
            details = "" if isinstance(error, Violation | ShortlistError) else traceback.format_exc()
            self._record(
                violation=f"{self.name}: {what}: {type(error).__name__}: {error}", details=details, fault=fault
            )

    def _record(self, **event: Any) -> None:
        self._events.write(json.dumps(event) + "\n")
        self._events.flush()

    # The command line

    def run_command(self, *arguments: str) -> Any:
        """The JSON output of a command; its errors must be one sentence, not a traceback."""
        command = [sys.executable, "-m", "shortlist", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        if done.returncode < 0:
            raise Interrupted
        if "Traceback" in done.stderr or done.returncode not in (0, 1, 3):
            raise Violation(f"{arguments} ended with status {done.returncode}: {done.stderr[-3000:]}")
        if done.returncode == 1:
            if not (message := (done.stderr or done.stdout).strip()):
                raise Violation(f"{arguments} failed without a message.")
            raise ShortlistError(f"{arguments}: {message}")
        return json.loads(done.stdout)


def write(actor: Actor, owner: str) -> None:
    """Replace and remove groups of documents, compact and reindex."""
    corpus = _open(actor, "shared")
    if corpus is None:
        return
    ledger, draw = actor.ledger("shared", owner), actor.draw
    actor.attempt("compare with ledger", lambda: ledger.settle(find_versions(read_state(corpus).items(), owner)))

    def put(count: int) -> None:
        versions = dict.fromkeys(draw.sample(range(GROUPS), count), ledger.next_version())
        ledger.begin(versions)
        corpus.add([document for group in versions for document in make_group(owner, group, versions[group])])
        ledger.acknowledge(versions)

    def drop() -> None:
        group = draw.randrange(GROUPS)
        ledger.begin({group: 0})
        corpus.remove([document.id for document in make_group(owner, group, 1)])
        ledger.acknowledge({group: 0})

    def compare() -> None:
        ledger.settle(find_versions(read_state(corpus).items(), owner))

    operations: dict[str, tuple[int, Callable[[], None]]] = {
        "write a group": (60, lambda: put(1)),
        "write several groups": (10, lambda: put(5)),
        "remove a group": (15, drop),
        "compare with ledger": (10, compare),
        "compact": (4, corpus.compact),
        "reindex": (1, corpus.reindex),
    }
    names, weights = [*operations], [weight for weight, _ in operations.values()]
    while actor.is_running():
        (name,) = draw.choices(names, weights)
        actor.attempt(name, operations[name][1])
        actor.rest(0.2)


def read(actor: Actor) -> None:
    """Search in every mode, discover, ask, disclose, and read whole states."""
    corpus, files = _open(actor, "shared"), _open(actor, "files")
    if corpus is None or files is None:
        return
    draw = actor.draw
    opened: Corpus = corpus

    def search() -> None:
        owner, group, mode = draw.choice(OWNERS), draw.randrange(GROUPS), draw.choice(MODES)
        hits = shortlist.search(opened, make_anchor(owner, group), mode=mode, k=20)
        for hit in hits:
            check_text(hit.id, hit.text, hit.metadata["version"])
        own = {hit.id: hit.metadata["version"] for hit in hits if hit.id.startswith(f"{owner}-{group}-")}
        if len(set(own.values())) > 1:
            raise Violation(f"A search ({mode}) found a mixed group: {own}")
        if mode == "lexical" and (len(own) not in (0, group % 5 + 1) or len(own) < len(hits)):
            raise Violation(f"A search for the word of {owner}-{group} found {[hit.id for hit in hits]}")

    def discover() -> None:
        found = shortlist.discover(opened, draw_anchor(draw), mode=draw.choice(MODES), level="body")
        for hit in found.candidates:
            check_text(hit.id, hit.text, hit.metadata["version"])
        for item in found.results:
            check_text(item.id, item.body or "")

    def ask() -> None:
        answer = shortlist.ask(opened, f"What does the note about {draw_anchor(draw)} say?")
        for item in answer.evidence:
            check_text(item.id, item.text)

    def disclose() -> None:
        hits = shortlist.search(opened, draw_anchor(draw), k=3)
        for item in shortlist.disclose(hits, "body"):
            check_text(item.id, item.body or "")

    def read_all() -> None:
        documents = read_state(opened)
        for owner in OWNERS:
            find_versions(documents.items(), owner)

    def read_one() -> None:
        one = opened.get(f"{draw.choice(OWNERS)}-{draw.randrange(GROUPS)}-0")
        for document in [*opened.browse(limit=10, offset=draw.randrange(50))[0], *([one] if one else ())]:
            check_text(document.id, document.content, document.metadata["version"], whole=True)
        opened.info()

    def learn() -> None:
        for hit in shortlist.search(opened, draw_anchor(draw), k=1):
            if opened.get(hit.id) is not None:
                opened.learn(draw_anchor(draw), hit.id)

    def read_files() -> None:
        find_manifest(read_state(files))

    def open_again() -> None:
        with shortlist.open_corpus("shared") as other:
            shortlist.search(other, draw_anchor(draw))

    operations: list[Callable[[], None]] = [search] * 12 + [discover, discover, ask, disclose, disclose, read_one]
    operations += [read_all, read_all, open_again, read_files]
    while actor.is_running():
        if draw.random() < 0.01:
            actor.attempt("learn", lambda: _unless_gone(learn))
        operation = draw.choice(operations)
        actor.attempt(operation.__name__.replace("_", " "), operation)
        actor.rest(0.15)


def _unless_gone(work: Callable[[], None]) -> None:
    """What was found may be removed before it is learned."""
    try:
        work()
    except shortlist.CorpusNotFound as error:
        if "has no document" not in str(error):
            raise


def sync(actor: Actor) -> None:
    """Change the files of a folder and build their corpus, with the library or the command line."""
    source = actor.folder / f"source-{actor.home}"
    ledger = actor.ledger("files", "files")

    def build() -> None:
        number = ledger.next_version()
        write_files(source, number)
        ledger.begin({0: number})
        if actor.draw.random() < 0.5:
            actor.run_command("build", "files")
            actor.count("build with the command line")
        else:
            shortlist.build("files").close()
            actor.count("build with the library")
        ledger.acknowledge({0: number})

    def compare() -> None:
        with shortlist.open_corpus("files") as corpus:
            ledger.settle({0: find_manifest(read_state(corpus))})

    while actor.is_running():
        actor.attempt("compare files with ledger", compare)
        actor.attempt("sync a folder", build)
        actor.rest(1.5)


def write_files(folder: Path, number: int) -> None:
    """Make a folder contain the files of a manifest."""
    folder.mkdir(exist_ok=True)
    wanted = make_manifest(number)
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def command(actor: Actor) -> None:
    """Run commands that read."""
    draw = actor.draw
    while actor.is_running():
        anchor = draw_anchor(draw)
        arguments = draw.choice(
            [
                ("search", "shared", anchor, "--mode", draw.choice(MODES)),
                ("discover", "shared", anchor),
                ("query", f"What does the note about {anchor} say?", "--index-dir", str(_folder("shared"))),
                ("info", "shared"),
                ("register", "more", "files", "--root", str(actor.folder / f"source-{actor.home}"), "--replace"),
                ("ls",),
            ]
        )
        result = actor.attempt(f"shortlist {arguments[0]}", lambda: actor.run_command(*arguments))  # noqa: B023
        for hit in result.get("hits", ()) if isinstance(result, dict) else ():
            actor.attempt("check a hit", lambda: check_text(hit["id"], hit["text"]))  # noqa: B023
        actor.rest(2)


def _folder(name: str) -> Path:
    return Path(os.environ["SHORTLIST_DATA_DIR"], "corpora", name)


def draw_anchor(draw: random.Random) -> str:
    return make_anchor(draw.choice(OWNERS), draw.randrange(GROUPS))


def _open(actor: Actor, name: str) -> Corpus | None:
    """The corpus, as soon as the disk allows."""
    while actor.is_running():
        corpus = actor.attempt("open", lambda: shortlist.open_corpus(name))
        if corpus is not None:
            return corpus
        actor.rest(1)
    return None


def prepare(actor: Actor) -> None:
    """Create the corpora."""
    shortlist.create_corpus("shared", embedder="light").close()
    source = actor.folder / f"source-{actor.home}"
    write_files(source, 1)
    shortlist.register("files", "files", source, embedder="light")
    shortlist.build("files").close()
    ledger = actor.ledger("files", "files")
    ledger.begin({0: 1})
    ledger.acknowledge({0: 1})


KINDS: dict[str, Callable[..., None]] = {
    "prepare": prepare, "writer": write, "reader": read, "syncer": sync, "command": command,
}  # fmt: skip


def main(kind: str, name: str, folder: str, home: str, seed: str, *options: str) -> None:
    actor = Actor(name, Path(folder), home, seed)
    KINDS[kind](actor, *options)
    actor.is_running()


if __name__ == "__main__":
    main(*sys.argv[1:])
