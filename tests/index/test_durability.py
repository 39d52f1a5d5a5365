"""A corpus survives the death of a process that writes to it, at any moment."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist
from shortlist import Corpus, CorpusNotFound
from shortlist.index.storage import writer
from tests.index import soak
from tests.index.copies import copy_own
from tests.index.soak import Killer, expected, found, rebuilt, version

pytestmark = pytest.mark.process

KILLS = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 15  # in each of four groups
OTHER = {"A": "B", "B": "A"}


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    killer = Killer()
    yield killer
    killer.close()


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)


def state_of(corpus: Corpus) -> str:
    """Which version a corpus holds: exactly one of them, and its index with it."""
    documents = {document.id: document for document in corpus}
    (name,) = [name for name in OTHER if documents == {document.id: document for document in version(name)}]
    assert sorted(corpus.ids()) == sorted(documents)
    assert len(corpus) == len(documents)
    assert found(corpus) == expected(name)
    return name


def assert_tidy(path: Path) -> None:
    """The folder contains nothing that the corpus does not need."""
    database = sqlite3.connect(path / "corpus.db")
    with contextlib.closing(database):
        named = {file for (file,) in database.execute("SELECT file FROM segments")}
    assert {file.name for file in (path / "segments").iterdir()} == named
    assert {file.name for file in path.iterdir()} - {"corpus.db-wal", "corpus.db-shm"} == {"corpus.db", "segments"}


def check_and_finish(path: Path, old: str) -> str:
    """Which version a killed sync left; then the next sync is done."""
    with shortlist.open_corpus(path) as corpus:
        left = state_of(corpus)
        corpus.sync(version(OTHER[old]))
        assert state_of(corpus) == OTHER[old]
        assert_tidy(path)
    return left


@pytest.mark.parametrize("group", range(4))
def test_a_sync_killed_at_any_time_happened_wholly_or_not_at_all(
    group: int, tmp_path: Path, killer: Killer, caplog: pytest.LogCaptureFixture
) -> None:
    draw = random.Random(group)
    old = "A"
    shortlist.build(version(old), path=tmp_path, embedder="none").close()
    latest = killer.run("sync", tmp_path, OTHER[old]).seconds
    old = OTHER[old]
    # in two groups a reader has the corpus open all the while
    watching = shortlist.open_corpus(tmp_path) if group % 2 else None
    left: Counter[str] = Counter()
    for _ in range(KILLS):
        killer.run("sync", tmp_path, OTHER[old], after=draw.uniform(0, latest))
        if watching:
            assert state_of(watching) in OTHER
        was_old = check_and_finish(tmp_path, old) == old
        left["old" if was_old else "new"] += 1
        latest *= 1.1 if was_old else 0.9  # so that half of them come before the commit, however fast the machine is
        old = OTHER[old]
        if watching:
            assert state_of(watching) == old
    assert left["old"] > 0
    assert left["new"] > 0
    assert left.total() == KILLS
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_sync_killed_before_any_of_its_steps_happened_wholly_or_not_at_all(
    tmp_path: Path, killer: Killer, caplog: pytest.LogCaptureFixture
) -> None:
    shortlist.build(version("A"), path=tmp_path / "A", embedder="none").close()
    copy_own(tmp_path / "A", tmp_path / "whole")
    steps = int(killer.run("sync", tmp_path / "whole", "B", step=-1).said)
    wanted = (*range(1, steps - 16, steps // 15), *range(steps - 16, steps + 1))
    paths = {step: copy_own(tmp_path / "A", tmp_path / str(step)) for step in wanted}
    left = [check_and_finish(path, "A") for path in killer.kill_before_steps("sync", paths, "B")]
    commits = left.index("B")
    assert left == ["A"] * commits + ["B"] * (len(left) - commits)
    assert caplog.records == []


def test_a_build_killed_before_any_of_its_steps_left_no_corpus_or_a_whole_one(tmp_path: Path, killer: Killer) -> None:
    steps = int(killer.run("build", tmp_path / "whole", "A", step=-1).said)
    left = Counter[str]()
    wanted = (*range(1, 20), *range(20, steps - 10, steps // 8), *range(steps - 10, steps + 1))
    for path in killer.kill_before_steps("build", {step: tmp_path / str(step) for step in wanted}, "A"):
        left[_left_by_a_build(path)] += 1
        with shortlist.build(version("B"), path=path, embedder="none") as corpus:
            assert state_of(corpus) == "B"
        assert_tidy(path)
    assert left.keys() == {"no corpus", "empty", "A"}


def test_a_build_killed_at_any_time_left_no_corpus_or_a_whole_one(tmp_path: Path, killer: Killer) -> None:
    longest = max(killer.run("build", tmp_path / f"whole{at}", "A").seconds for at in range(3))
    draw = random.Random(5)
    for number in range(KILLS):
        path = tmp_path / str(number)
        killer.run("build", path, "A", after=draw.uniform(0, longest))
        assert _left_by_a_build(path) in {"no corpus", "empty", "A"}
        with shortlist.build(version("B"), path=path, embedder="none") as corpus:
            assert state_of(corpus) == "B"
        assert_tidy(path)


def _left_by_a_build(path: Path) -> str:
    try:
        corpus = shortlist.open_corpus(path)
    except CorpusNotFound:
        return "no corpus"
    with corpus:
        return state_of(corpus) if len(corpus) else "empty"


def test_every_acknowledged_write_survives_a_kill(tmp_path: Path, killer: Killer) -> None:
    draw = random.Random(6)
    for number in range(10):
        path = tmp_path / str(number)
        shortlist.create_corpus(path=path, embedder="none").close()
        acknowledged = len(killer.run("edit", path, "", after=draw.uniform(0.02, 0.2)).said)
        with shortlist.open_corpus(path) as corpus:
            kept = {document.id: document.content for document in corpus}
            assert kept in (_after_edits(acknowledged), _after_edits(acknowledged + 1))
            assert found(corpus) == found(rebuilt(corpus))
            corpus.sync(list(corpus))
            assert_tidy(path)


def _after_edits(count: int) -> dict[str, str]:
    kept = dict(soak.edit_of(number) for number in range(count))
    return {id: content for id, content in kept.items() if content}
