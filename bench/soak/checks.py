"""The checks at the end of a soak run, when no other process is left: `python -m bench.soak.checks FOLDER HOME`.

Prints violations and figures as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench.soak.ledger import GROUPS, WORDS, Ledger, Violation, find_manifest, find_versions, make_anchor, read_state
from shortlist import Corpus, ShortlistError
from shortlist.index.foreign import record_created
from shortlist.index.storage.sql_tables import read_id

DATABASE_DAMAGES = 150
LEFTOVERS = ("*.draft", "*.tmp", "*-journal", "*.deleted-*", "filler")
QUERIES = [make_anchor("a", 3), make_anchor("b", 7), make_anchor("s", 4), " ".join(WORDS[:3]), WORDS[9], "note 7 age"]


def main(folder: str, home: str) -> None:
    violations: list[str] = []
    figures: dict[str, Any] = {}

    @contextlib.contextmanager
    def noting(what: str) -> Iterator[None]:
        try:
            yield
        except (Violation, ShortlistError, OSError, sqlite3.Error, ValueError) as error:
            violations.append(f"{home}: {what}: {type(error).__name__}: {error}")

    data = Path(os.environ["SHORTLIST_DATA_DIR"])
    folders = {_name(path): path.parent for path in sorted(data.rglob("corpus.db"))}
    for name, place in folders.items():
        with noting(f"the corpus {name}"), shortlist.open_corpus(place, learning="off") as corpus:
            figures[name] = {"documents": len(corpus)}
            for path in sorted((Path(folder) / "ledgers").glob(f"{home}-{name}-*.jsonl")):
                with noting(f"the ledger {path.stem}"):
                    _compare_with_ledger(corpus, path)
            with noting(f"the scores of {name}"):
                figures[name]["scores compared"] = _compare_with_rebuild(corpus)
            corpus.compact()
            with noting(f"the scores of {name}, compacted"):
                _compare_with_rebuild(corpus)
            with noting(f"the segments of {name}"):
                _find_orphans(place)
    for path in sorted(data.parent.rglob("*.db")):
        with noting(f"{path.name}"), contextlib.closing(sqlite3.connect(path)) as database:
            if (result := database.execute("PRAGMA integrity_check").fetchone()) != ("ok",):
                raise Violation(f"{path}: {result}")
    leftovers = [str(path.relative_to(data.parent)) for end in LEFTOVERS for path in sorted(data.parent.rglob(end))]
    if leftovers:
        violations.append(f"{home}: temporary files are left: {', '.join(leftovers[:5])} ({len(leftovers)})")
    if home == "steady":
        with noting("damage to a database"):
            figures["damage to a database"] = _damage_database(folders["shared"])
    print(json.dumps({"violations": violations, "figures": figures}))


def _name(database: Path) -> str:
    return "catalog" if "served" in database.parts else database.parent.name


def _compare_with_ledger(corpus: Corpus, path: Path) -> None:
    owner, documents = path.stem.split("-")[2], read_state(corpus)
    stored = {0: find_manifest(documents)} if owner == "files" else find_versions(documents.items(), owner)
    Ledger(path).settle(stored)


def _compare_with_rebuild(corpus: Corpus) -> int:
    """The number of scores that equal those of the same documents indexed at once in memory."""
    config = corpus.config
    compared = 0
    options: dict[str, Any] = {"analyzer": config.analyzer, "scoring": config.scoring}
    with shortlist.create_corpus(in_memory=True, embedder=config.embedder, **options) as again:
        again.add(list(corpus))
        for query in QUERIES:
            for mode in ("lexical", "dense", "hybrid", "auto") if config.dim else ("lexical",):
                ours, theirs = (
                    {(hit.id, hit.locator): hit.score for hit in shortlist.search(one, query, mode=mode, k=1000)}
                    for one in (corpus, again)
                )
                is_equal = ours == theirs if mode == "lexical" else _is_close(ours, theirs)
                if not is_equal:
                    raise Violation(f"{mode} scores of {query!r} differ from those of a rebuild.")
                compared += len(ours)
    return compared


def _is_close(ours: dict[Any, float], theirs: dict[Any, float]) -> bool:
    """Vectors are multiplied in batches of other sizes, so their last digits vary."""
    return ours.keys() == theirs.keys() and np.allclose([*ours.values()], [theirs[key] for key in ours], atol=1e-5)


def _find_orphans(place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place / "corpus.db")) as database:
        named = {file for (file,) in database.execute("SELECT file FROM segments")}
    files = {path.name for path in (place / "segments").iterdir()}
    if files != named:
        raise Violation(f"segment files without a row: {sorted(files - named)}; missing: {sorted(named - files)}")


def _damage_database(place: Path) -> dict[str, int]:
    """Damage copies of a database: it is reported, or everything that is read is right."""
    outcomes: Counter[str] = Counter()
    draw = random.Random(1)
    with shortlist.open_corpus(place, learning="off") as corpus:
        right = read_state(corpus)
    whole = (place / "corpus.db").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "corpus")
        shutil.copytree(place, copy)
        for name in ("corpus.db-wal", "corpus.db-shm"):
            (copy / name).unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(copy / "corpus.db")) as database:
            record_created(copy, read_id(database))  # a plain copy is foreign
        for _ in range(DATABASE_DAMAGES):
            kind = draw.choice([*DAMAGES])
            (copy / "corpus.db").write_bytes(DAMAGES[kind](bytearray(whole), draw))
            try:
                with shortlist.open_corpus(copy, learning="off") as corpus:
                    found = read_state(corpus)
                    for group in range(GROUPS):
                        shortlist.search(corpus, make_anchor("a", group))
            except ShortlistError:
                outcomes["reported"] += 1
                continue
            except Violation:
                outcomes["some documents missing without an error"] += 1
                continue
            wrong = [id for id, content in found.items() if right.get(id) != content]
            if wrong:
                raise Violation(f"{kind}: {wrong[0]} has another text, and no error was raised.")
            outcomes["harmless" if found == right else "some documents missing without an error"] += 1
    return dict(outcomes)


def _flip(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.randint(1, 8)):
        data[draw.randrange(len(data))] ^= draw.randint(1, 255)
    return bytes(data)


def _zero(data: bytearray, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) // 4096) * 4096
    data[at : at + 4096] = bytes(4096)
    return bytes(data)


def _cut(data: bytearray, draw: random.Random) -> bytes:
    return bytes(data[: draw.randrange(len(data))])


DAMAGES: dict[str, Callable[[bytearray, random.Random], bytes]] = {"flipped": _flip, "zeroed": _zero, "cut": _cut}

if __name__ == "__main__":
    main(*sys.argv[1:])
