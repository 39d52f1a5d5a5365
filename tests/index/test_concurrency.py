"""Many processes and threads use one corpus at once."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Changes, Corpus, CorpusBusy, CorpusMismatch, Document
from shortlist.index.storage import database, sql_tables, writer
from tests.embedded import store_of
from tests.index import soak
from tests.index.soak import PATIENCE, WRITERS, anchors, found, item, rebuilt, run_together, scores, version

pytestmark = pytest.mark.process

SECONDS = 5 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 3
QUERIES = [*soak.QUERIES, "common", "quince common", "edition7", "loose word4"]


Elsewhere = Callable[[Path, str], None]


@pytest.fixture(scope="module")
def do_elsewhere() -> Iterator[Elsewhere]:
    """Does something to a corpus in another process."""
    process = soak.start("do")

    def do(path: Path, what: str) -> None:
        soak.send(process, [str(path), what])
        assert soak.line_of(process) == "done\n"

    yield do
    process.communicate(timeout=PATIENCE)


def contents(corpus: Corpus) -> dict[str, str]:
    return {document.id: document.content for document in corpus}


def test_four_writers_and_four_readers_share_a_corpus(tmp_path: Path) -> None:
    shortlist.build(anchors(), path=tmp_path, embedder="light").close()
    writers = [("write", tmp_path, owner, SECONDS) for owner in range(WRITERS)]
    readers = [("read", tmp_path, seed, SECONDS) for seed in range(4)]
    *written, _, _, _, _ = run_together(*writers, *readers)
    with shortlist.open_corpus(tmp_path) as corpus:
        kept = {document.id: document.metadata["edition"] for document in corpus}
        assert kept == {id: edition for editions in written for id, edition in editions.items()}
        assert {document.id: document for document in corpus} == {
            id: item(int(id[1]), int(id[3:]), edition) for id, edition in kept.items()
        }
        again = rebuilt(corpus, "light")
        assert found(corpus, QUERIES) == found(again, QUERIES)
        assert scores(corpus, "dense", QUERIES) == pytest.approx(scores(again, "dense", QUERIES))


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Threads that are interrupted much more often than usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("often_switching")
@pytest.mark.parametrize("in_memory", [False, True], ids=["on disk", "in memory"])
def test_a_writer_thread_and_four_reader_threads_share_a_corpus(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)
    monkeypatch.setattr(database, "RECENT_SEGMENTS", 2)
    place: dict[str, Any] = {"in_memory": True} if in_memory else {"path": tmp_path}
    corpus = shortlist.build(anchors(), embedder="none", **place)
    written: list[dict[str, int]] = []
    jobs: list[Callable[[], object]] = [lambda: written.append(soak.write(corpus, 0, 2))]
    jobs += [lambda seed=seed: soak.read(lambda: corpus, seed, 2, ["lexical"]) for seed in range(4)]  # type: ignore[misc]
    run_in_threads(jobs)
    kept = {document.id: document.metadata["edition"] for document in corpus}
    assert [kept] == [{**editions, "w1-0": 0, "w2-0": 0, "w3-0": 0} for editions in written]
    assert found(corpus, QUERIES) == found(rebuilt(corpus), QUERIES)


def run_in_threads(jobs: list[Callable[[], object]]) -> None:
    errors: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [thread.is_alive() for thread in threads] == [False] * len(jobs)
    if errors:
        raise errors[0]


def test_a_commit_of_another_process_is_seen_at_the_next_search(tmp_path: Path, do_elsewhere: Elsewhere) -> None:
    with shortlist.build([Document("a", "", "apple")], path=tmp_path, embedder="none") as corpus:
        assert [hit.id for hit in shortlist.search(corpus, "apple pear")] == ["a"]
        do_elsewhere(tmp_path, "corpus.add([shortlist.Document('b', '', 'pear')])")
        assert {hit.id for hit in shortlist.search(corpus, "apple pear")} == {"a", "b"}
        do_elsewhere(tmp_path, "corpus.add([shortlist.Document('a', '', 'quince')])")
        assert [hit.id for hit in shortlist.search(corpus, "apple pear")] == ["b"]
        do_elsewhere(tmp_path, "corpus.remove('b'); corpus.compact()")
        assert [hit.id for hit in shortlist.search(corpus, "apple pear quince")] == ["a"]
        assert contents(corpus) == {"a": "quince"}


def test_a_snapshot_keeps_what_another_process_replaces(tmp_path: Path, do_elsewhere: Elsewhere) -> None:
    with shortlist.build(version("A"), path=tmp_path, embedder="none") as corpus:
        with corpus.snapshot() as snapshot:
            positions = snapshot.lexical.rank("word1 word2", 50).positions
            do_elsewhere(tmp_path, "corpus.sync([shortlist.Document('d0', '', 'word1 again')]); corpus.compact()")
            old = {document.id: document for document in version("A")}
            passages = snapshot.passages(positions)
            assert [passage.document_id for passage in passages] == snapshot.ids(positions)
            assert all(passage.text in old[passage.document_id].content for passage in passages)
            assert len(snapshot.lexical.rank("word1 word2", 50)) == len(positions)
            assert len(corpus) == 1
        with corpus.snapshot() as snapshot:
            positions = snapshot.lexical.rank("word1 word2", 50).positions
            assert [passage.text for passage in snapshot.passages(positions)] == ["word1 again"]
        assert contents(corpus) == {"d0": "word1 again"}


@pytest.mark.parametrize("in_memory", [False, True], ids=["on disk", "in memory"])
def test_a_snapshot_keeps_what_its_own_thread_replaces(in_memory: bool, tmp_path: Path) -> None:
    place: dict[str, Any] = {"in_memory": True} if in_memory else {"path": tmp_path}
    corpus = shortlist.build([Document("a", "", "apple")], embedder="none", **place)
    with corpus, corpus.snapshot() as snapshot:
        positions = snapshot.lexical.rank("apple", 5).positions
        with contextlib.suppress(CorpusBusy):  # to be refused is fine
            corpus.add([Document("a", "", "quince")])
        assert [passage.text for passage in snapshot.passages(positions)] == ["apple"]


@pytest.mark.parametrize("in_memory", [False, True], ids=["on disk", "in memory"])
def test_a_search_amid_a_sync_that_fails_leaves_no_trace(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)
    place: dict[str, Any] = {"in_memory": True} if in_memory else {"path": tmp_path}
    with shortlist.build([Document("a", "", "apple")], embedder="none", **place) as corpus:

        def source() -> Iterator[Document]:
            yield from (Document(str(number), "", "pear") for number in range(600))
            with contextlib.suppress(CorpusBusy):  # to be refused is fine
                assert [hit.id for hit in shortlist.search(corpus, "apple pear")] == ["a"]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            corpus.sync(source())
        assert [hit.id for hit in shortlist.search(corpus, "apple pear")] == ["a"]


def test_processes_that_create_the_same_corpus_at_once_share_it(tmp_path: Path) -> None:
    attempts = 12
    (exit_codes,) = run_together(("create", tmp_path, attempts))
    assert exit_codes == [[0] * soak.CREATORS] * attempts
    for attempt in range(attempts):
        path = tmp_path / str(attempt)
        with shortlist.open_corpus(path) as corpus:
            assert sorted(corpus.ids()) == [f"made-by-{number}" for number in range(soak.CREATORS)]
            corpus.sync(list(corpus))
            assert len(list((path / "segments").iterdir())) == corpus.info()["segments"]
        assert sorted(file.name for file in path.iterdir()) == ["corpus.db", "segments"]


def test_a_creator_that_is_overtaken_shares_the_corpus_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    initialize = sql_tables.initialize

    def be_overtaken(*arguments: Any) -> None:
        monkeypatch.setattr(database, "initialize", initialize)
        shortlist.build([Document("a", "", "apple")], path=tmp_path, embedder="none").close()
        initialize(*arguments)

    monkeypatch.setattr(database, "initialize", be_overtaken)
    with shortlist.build([Document("b", "", "pear")], path=tmp_path, embedder="none", prune=False) as corpus:
        assert corpus.ids() == ["a", "b"]


def test_a_writer_that_waits_too_long_says_so_and_readers_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shortlist.build(version("A"), path=tmp_path, embedder="none") as corpus:
        other = shortlist.open_corpus(tmp_path)
        monkeypatch.setattr(store_of(corpus), "writing", partial(store_of(corpus).writing, wait=0.2))
        with other, store_of(other).writing(wait=5):
            assert found(corpus) == found(rebuilt(version("A")))
            with pytest.raises(CorpusBusy, match=r"corpus\.db"):
                corpus.add([Document("late", "", "late")])
        assert "late" not in corpus


def test_a_sync_holds_exactly_its_documents_though_another_one_came_between(tmp_path: Path) -> None:
    """The lock is taken at the first difference; what was compared before it must still be true then."""
    first = [Document(f"a{number}", "", "one") for number in range(500)]
    wanted = [*first, Document("b", "", "one")]
    with (
        shortlist.build(first, path=tmp_path, embedder="none") as corpus,
        shortlist.open_corpus(tmp_path) as other,
    ):
        interrupted: list[Changes] = []

        class Source:
            def __iter__(self) -> Iterator[Document]:
                yield from first
                if not interrupted:
                    interrupted.append(other.sync([Document("a0", "", "two"), *first[2:]]))
                yield Document("b", "", "one")

        assert corpus.sync(Source()) == Changes(added=2, changed=1, unchanged=498)
        assert interrupted == [Changes(changed=1, unchanged=498, removed=1)]
        assert contents(corpus) == {document.id: document.content for document in wanted}


def test_a_source_that_is_spent_after_one_reading_empties_nothing_when_overtaken(tmp_path: Path) -> None:
    """It looks as if it could be read again, but has nothing left to give."""
    first = [Document(f"a{number}", "", "one") for number in range(500)]
    with (
        shortlist.build(first, path=tmp_path, embedder="none") as corpus,
        shortlist.open_corpus(tmp_path) as other,
    ):

        def stream() -> Iterator[Document]:
            yield from first
            with contextlib.suppress(CorpusBusy):  # where the lock is held from the start
                other.add([Document("c", "", "one")])
            yield Document("b", "", "one")

        class Source:
            def __init__(self) -> None:
                self._stream = stream()

            def __iter__(self) -> Iterator[Document]:
                yield from self._stream

        with contextlib.suppress(CorpusBusy):  # to be refused is fine
            corpus.sync(Source())
        assert {document.id for document in first} <= set(corpus.ids())


def test_documents_that_come_only_once_are_compared_under_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        shortlist.build([Document("a", "", "one")], path=tmp_path, embedder="none") as corpus,
        shortlist.open_corpus(tmp_path) as other,
    ):

        def source() -> Iterator[Document]:
            yield Document("a", "", "one")
            with pytest.raises(CorpusBusy), store_of(other).writing(wait=0):
                raise AssertionError("two writers at once")

        assert corpus.sync(source()) == Changes(unchanged=1)


@pytest.mark.parametrize(("before", "after"), [("none", "light"), ("light", "none")])
def test_a_corpus_that_was_reindexed_elsewhere_is_not_used_in_the_old_way(
    before: str, after: str, tmp_path: Path, do_elsewhere: Elsewhere
) -> None:
    with shortlist.build(version("A"), path=tmp_path, embedder=before) as corpus:
        do_elsewhere(tmp_path, f"corpus.reindex({after!r})")
        with contextlib.suppress(CorpusMismatch):  # to be refused is fine
            assert scores(corpus, "auto") == pytest.approx(scores(rebuilt(version("A"), after), "auto"))
        with contextlib.suppress(CorpusMismatch):
            corpus.add(version("B"))
    with shortlist.open_corpus(tmp_path) as corpus:
        again = rebuilt(corpus, after)
        assert found(corpus) == found(again)
        if after == "light":
            assert scores(corpus, "dense") == pytest.approx(scores(again, "dense"))
