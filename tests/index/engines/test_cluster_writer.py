"""Changes to a corpus in a cluster: each document completely or not at all, whatever other writers do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Changes, CorpusBusy, CorpusMismatch, Document, search
from shortlist.index.engines import cluster_writer
from shortlist.index.engines.cluster_engine import ClusterEngine
from shortlist.index.engines.cluster_rows import passage_rows
from tests.index.engines.conftest import Make, long_document, on_servers


def passages_in(corpus: shortlist.Corpus) -> list[tuple[str, str]]:
    """Every passage: its document, and the word that its text begins with, less its number."""
    with corpus.snapshot() as snapshot:
        return [(passage.document_id, first_word(passage.text)) for passage in snapshot.walk()]


def first_word(text: str) -> str:
    return text.split()[0].rstrip(".0123456789")


@on_servers
def test_document_that_the_server_rejects_is_reported_and_leaves_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make(chunk_size=200, chunk_overlap=20)
    bad = long_document("b", "poison", 3)

    def make_bad_rows(*arguments: Any) -> list[list[bytes]]:
        """The first passage of one document has a wrong field; its other passages are right."""
        made = passage_rows(*arguments)
        return [
            [row.replace(b'"ordinal": 0', b'"ordinal": "bad"') if b"poison" in row else row for row in one]
            for one in made
        ]

    with monkeypatch.context() as patched:
        patched.setattr(cluster_writer, "passage_rows", make_bad_rows)
        changes = corpus.sync([Document("a", "", "tea"), bad, Document("c", "", "milk")])
    assert (changes.added, [problem.id for problem in changes.failed]) == (2, ["b"])
    assert corpus.ids() == ["a", "c"]
    assert len(passages_in(corpus)) == 2
    assert corpus.sync([Document("a", "", "tea"), bad]).added == 1


KILLED = """
import sys
import shortlist
from shortlist import Document
from shortlist.index import sync
from shortlist.index.engines import cluster_writer
sync.BATCH, cluster_writer.BATCH_DOCUMENTS, cluster_writer.SENDING, cluster_writer.WAITING = 50, 20, 1, 0

class Source:
    def __iter__(self):
        for at in range(2000):
            yield Document(f"d{at}", "", f"{sys.argv[2]} word{at}. " * 50, kind="file")
            if at == 200:
                print("under way", flush=True)

shortlist.create_corpus("killed", embedder="none", engine=sys.argv[1], chunk_size=300, chunk_overlap=20).sync(Source())
"""


@on_servers
def test_a_writer_that_is_killed_loses_nothing_and_the_next_one_goes_on(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_writer, "LEASE_SECONDS", 0.0)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, address, "old"], stdout=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"under way\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    corpus = make("killed", chunk_size=300, chunk_overlap=20)
    corpus.compare([])  # which shows what was written
    before = set(corpus.ids())
    assert before
    documents = [Document(f"d{at}", "", f"old word{at}. " * 50, kind="file") for at in range(300)]
    changes = corpus.sync(documents)
    assert changes.unchanged == len(before & {document.id for document in documents})
    assert (changes.added + changes.unchanged, changes.failed) == (300, ())
    assert len(corpus) == 300
    passages = passages_in(corpus)
    assert len(passages) == len(set(passage_keys(corpus))) == corpus.info()["passages"]
    with make("whole", chunk_size=300, chunk_overlap=20) as whole:
        whole.sync(documents)
        assert sorted(passages) == sorted(passages_in(whole))


def passage_keys(corpus: shortlist.Corpus) -> list[tuple[str, str]]:
    with corpus.snapshot() as snapshot:
        return [(passage.document_id, passage.locator) for passage in snapshot.walk()]


@on_servers
def test_many_writers_of_the_same_documents_leave_each_one_whole(address: str, make: Make) -> None:
    make("many", chunk_size=200, chunk_overlap=20)
    errors: list[BaseException] = []

    def write(word: str, parts: int) -> None:
        try:
            with shortlist.open_corpus("many", engine=address) as corpus:
                corpus.add([long_document(f"d{at}", word, parts) for at in range(8)])
                corpus.add([long_document(f"{word}{at}", word, 1) for at in range(8)])
        except BaseException as error:
            errors.append(error)

    words = {"tea": 5, "milk": 3, "water": 1, "beer": 4}
    threads = [threading.Thread(target=write, args=pair) for pair in words.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    corpus = make("many", chunk_size=200, chunk_overlap=20)
    assert len(corpus) == 8 + 4 * 8
    versions: dict[str, set[str]] = {}
    for id, word in passages_in(corpus):
        versions.setdefault(id, set()).add(word)
    assert all(len(found) == 1 for found in versions.values())
    for at in range(8):
        stored = corpus.get(f"d{at}")
        assert stored is not None
        assert versions[f"d{at}"] == {first_word(stored.content)}


@on_servers
def test_corpus_can_be_read_and_not_written_during_a_rebuild(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("tea")
    corpus.add([Document(str(at), "", f"tea {at}") for at in range(10)])
    seen: list[str] = []
    switch = ClusterEngine._switch

    def meanwhile(self: ClusterEngine, *arguments: Any) -> None:
        with shortlist.open_corpus("tea", engine=address) as other:
            seen.append(str(len(search(other, "tea"))))
            with pytest.raises(CorpusBusy) as error:
                other.add([Document("late", "", "tea")])
            seen.append(str(error.value))
        switch(self, *arguments)

    monkeypatch.setattr(ClusterEngine, "_switch", meanwhile)
    corpus.reindex("light")
    assert seen[0] == "10"
    assert "'tea' is being rebuilt" in seen[1]
    assert len(corpus) == 10


@on_servers
def test_rebuild_with_a_slow_embedder_is_not_considered_dead(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("tea")
    corpus.add([Document("a", "", "tea")])
    monkeypatch.setattr("shortlist.index.engines.cluster_engine.REBUILD_SECONDS", 4.0)
    seen: list[str] = []
    begin, heartbeats = ClusterEngine._announce_rebuild, threading.Semaphore(0)

    def begin_rebuild(self: ClusterEngine, generation: str) -> None:
        begin(self, generation)
        heartbeats.release()

    monkeypatch.setattr(ClusterEngine, "_announce_rebuild", begin_rebuild)

    def slowly(texts: list[str]) -> list[list[float]]:
        if "tea" in texts:
            for _ in range(2):  # when the rebuild began, and once more while it waits for this embedder
                assert heartbeats.acquire(timeout=60)
            with (
                shortlist.open_corpus("tea", engine=address) as other,
                pytest.raises(CorpusBusy, match="being rebuilt"),
            ):
                other.add([Document("b", "", "tea")])
            seen.append("busy")
        return [[1.0, 0.0] for _ in texts]

    corpus.reindex(slowly)
    assert seen == ["busy"]
    assert corpus.add([Document("b", "", "tea")]) == Changes(added=1)


@on_servers
def test_rebuild_that_died_is_undone_by_the_next_writer(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("tea")
    corpus.add([Document("a", "", "tea")])

    def die(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ClusterEngine, "_switch", die)
        patched.setattr(ClusterEngine, "_end_rebuild", lambda *arguments: None)
        with pytest.raises(KeyboardInterrupt):
            corpus.reindex("light")
    with pytest.raises(CorpusBusy):
        corpus.add([Document("b", "", "tea")])
    monkeypatch.setattr("shortlist.index.engines.cluster_engine.REBUILD_SECONDS", 0.0)
    assert corpus.add([Document("b", "", "tea")]) == Changes(added=1)
    assert (corpus.ids(), corpus.config.embedder_name) == (["a", "b"], "none")


@on_servers
def test_a_corpus_is_found_by_its_name_alone_and_deleted_with_all_that_is_there(address: str, make: Make) -> None:
    corpus = make("Tea & Milk")
    corpus.add([Document("a", "", "tea")])
    assert [hit.id for hit in search("Tea & Milk", "tea")] == ["a"]
    assert corpus.path is not None
    assert json.loads((corpus.path / "engine.json").read_text("utf-8"))["engine"] == address
    shortlist.delete_corpus("Tea & Milk")
    assert not corpus.path.exists()
    with pytest.raises(shortlist.CorpusNotFound):
        shortlist.open_corpus("Tea & Milk", engine=address)


@on_servers
def test_local_corpus_is_not_silently_created_again_elsewhere(address: str) -> None:
    shortlist.create_corpus("tea", embedder="none").close()
    with pytest.raises(CorpusMismatch, match=r"shortlist migrate tea --to"):
        shortlist.create_corpus("tea", engine=address)


@on_servers
def test_builds_registered_for_an_engine_go_there(address: str, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("# Tea\nGreen tea.")
    shortlist.register("notes", "files", tmp_path, embedder="none", engine=address)
    corpus = shortlist.build("notes")
    assert corpus.changes == Changes(added=1)
    assert shortlist.build("notes").changes == Changes(unchanged=1)
    assert corpus.info()["engine"] == address
    assert [hit.id for hit in search("notes", "tea")] == ["tea.md"]
