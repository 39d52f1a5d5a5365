from __future__ import annotations

import contextlib
import datetime
import gc
import json
import os
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist
from shortlist import Changes, Corpus, CorpusMismatch, CorpusNotFound, Document, InputError, Problem, Scoring
from shortlist.errors import EmbedderError, SourceError
from shortlist.index.storage import writer
from tests.embedded import inside

WORDS = [f"word{number}" for number in range(10)]
some_words = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ids = st.sampled_from([f"d{number}" for number in range(8)])


def memory(**options: Any) -> Corpus:
    return shortlist.create_corpus(in_memory=True, **{"embedder": "none", **options})


def doc(id: str, content: str = "", title: str = "", **rest: Any) -> Document:
    return Document(id, title, content, **rest)


def results(corpus: Corpus, query: str, mode: Any = "lexical") -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in shortlist.search(corpus, query, mode=mode, k=100)]


def segment_files(corpus: Corpus) -> list[Path]:
    assert corpus.path is not None
    return sorted((corpus.path / "segments").iterdir())


def segment_sizes(corpus: Corpus) -> list[int]:
    assert corpus.path is not None
    with contextlib.closing(sqlite3.connect(corpus.path / "corpus.db")) as database:
        return [size for (size,) in database.execute("SELECT size FROM segments ORDER BY first")]


# Syncing


def test_a_sync_counts_what_it_did() -> None:
    corpus = memory()
    assert corpus.sync([doc("a", "one"), doc("b", "two"), doc("c", "three")]) == Changes(added=3)
    assert corpus.sync([doc("a", "one"), doc("b", "two!"), doc("d", "four")]) == Changes(
        added=1, changed=1, unchanged=1, removed=1
    )
    assert corpus.ids() == ["a", "b", "d"]
    assert corpus.get("b") == doc("b", "two!")
    assert corpus.get("c") is None


def test_a_sync_without_prune_keeps_what_did_not_come() -> None:
    corpus = memory()
    corpus.sync([doc("a"), doc("b")])
    assert corpus.sync([doc("c")], prune=False) == Changes(added=1)
    assert corpus.add([doc("a", "changed")]) == Changes(changed=1)
    assert corpus.remove("a") == 1
    assert corpus.remove(["a", "b", "zebra"]) == 1
    assert corpus.ids() == ["c"]


@pytest.mark.parametrize(
    "changed",
    [
        doc("a", "x", metadata={"level": 2}),
        doc("a", "x", keywords=["new"]),
        doc("a", "x", kind="tool"),
        doc("a", "x", source="elsewhere"),
        doc("a", "x", payload="{}"),
        doc("a", "x", title="new"),
    ],
)
def test_a_change_of_any_field_is_seen(changed: Document) -> None:
    corpus = memory()
    corpus.sync([doc("a", "x", metadata={"level": 1})])
    assert corpus.sync([changed]) == Changes(changed=1)
    assert corpus.get("a") == changed
    assert [hit.metadata for hit in shortlist.search(corpus, "x", mode="lexical")] == [changed.metadata]


def test_a_bad_document_is_reported_and_the_others_go_in() -> None:
    corpus = memory()
    corpus.sync([doc("kept", "old"), doc("other", "old")])
    stream: list[Any] = [
        doc("good", "new"),
        "a string",
        doc(""),
        doc("nan", metadata={"score": float("nan")}),
        doc("object", metadata={"thing": object()}),
        doc("keywords", keywords=[1]),
        Document("number", "", 7),  # type: ignore[arg-type]
        Problem("kept", "Its file cannot be read.", source="somewhere"),
        doc("good", "again"),
    ]
    changes = corpus.sync(stream)
    assert (changes.added, changes.removed) == (1, 1)
    assert corpus.ids() == ["kept", "good"]
    assert [problem.id for problem in changes.failed] == [
        "", "", "nan", "object", "keywords", "number", "kept", "good",
    ]  # fmt: skip
    assert changes.failed[0].reason == "str is not a Document."
    assert "came twice" in changes.failed[-1].reason
    assert json.loads(json.dumps(changes.to_dict()))["failed"][3]["id"] == "object"


def test_what_a_problem_speaks_of_is_not_pruned() -> None:
    corpus = memory()
    pages = [doc(f"book#{page}", source="/book.pdf", locator=f"page={page}", kind="page") for page in (1, 2)]
    corpus.sync([*pages, doc("other")])
    assert corpus.sync([Problem("book", "It is encrypted.", source="/book.pdf")]).removed == 1
    assert corpus.ids() == ["book#1", "book#2"]


def test_a_source_that_breaks_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        for number in range(2000):
            yield doc(f"new{number}", "text")
        raise SourceError("the disk was pulled out")

    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc("a", "one")])
        before = segment_files(corpus)
        with pytest.raises(SourceError):
            corpus.sync(broken())
        assert corpus.ids() == ["a"]
        assert segment_files(corpus) == before


@pytest.mark.parametrize("kept", [True, False])
def test_a_slow_embedder_encodes_while_progress_is_reported_and_not_after(tmp_path: Path, kept: bool) -> None:
    encoded = 0

    def encode(texts: list[str]) -> list[list[float]]:
        nonlocal encoded
        encoded += len(texts)
        return [[len(text), 1.0] for text in texts]

    reported: list[tuple[int, int]] = []
    where: dict[str, Any] = {"path": tmp_path / "c"} if kept else {"in_memory": True}
    with shortlist.create_corpus(embedder=encode, **where) as corpus:
        encoded = 0  # without the text that was encoded to count the dimensions
        documents = [doc(str(at), f"text {at}") for at in range(1000)]
        corpus.sync(documents, progress=lambda done, _: reported.append((done, encoded)))
        assert [done for done, _ in reported] == list(range(100, 1001, 100))
        assert all(done - writer.ENCODED_AT_ONCE < ready <= done for done, ready in reported)
        assert encoded == 1000
        assert [id for id, _ in results(corpus, "999")] == ["999"]


def test_embedding_is_a_phase_of_its_own_for_a_callback_that_has_phases(tmp_path: Path) -> None:
    phases: list[tuple[str, int, int | None]] = []

    class Phases:
        def __call__(self, done: int, total: int | None) -> None:
            self.phase("documents", done, total)

        def phase(self, name: str, done: int, total: int | None) -> None:
            phases.append((name, done, total))

    documents = [doc(str(number), f"text {number}") for number in range(5000)]
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync(documents, progress=Phases())
        embedding = [("embedding", done, 5000) for done in (2048, 4096, 5000)]
        assert phases == [
            *(("documents", done, 5000) for done in range(100, 5001, 100)), *embedding, ("writing the index", 0, None)
        ]  # fmt: skip
        phases.clear()
        corpus.reindex("light", analyzer="words-1", progress=Phases())
        assert [name for name, *_ in phases[-4:]] == ["embedding"] * 3 + ["writing the index"]


def test_progress_tells_how_far_it_is() -> None:
    calls: list[tuple[int, int | None]] = []
    corpus = memory()
    corpus.sync([doc(str(number)) for number in range(1200)], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 1200) for done in range(100, 1201, 100)]
    calls.clear()
    corpus.sync((doc(str(number)) for number in range(3)), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(3, None)]


def test_dates_paths_and_sets_in_metadata_become_plain() -> None:
    corpus = memory()
    corpus.sync([doc("a", metadata={"on": datetime.date(2025, 3, 1), "at": Path("x/y"), "tags": {"b", "a"}})])
    found = corpus.get("a")
    assert found is not None
    assert found.metadata == {"on": "2025-03-01", "at": str(Path("x/y")), "tags": ["a", "b"]}


# Equality


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(ids, some_words, some_words), min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.lists(ids, min_size=1, max_size=3)),
        st.tuples(st.just("compact"), st.just([])),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(operations, some_words, st.integers(1, 6), st.integers(1, 12))
def test_any_history_ends_in_what_one_build_gives(history: Any, query: str, budget: int, most: int) -> None:
    before = writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED
    writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = budget, 2, most
    try:
        corpus, truth = memory(embedder="light"), dict[str, Document]()
        for verb, items in history:
            if verb == "add":
                fresh = {id: doc(id, content, title) for id, title, content in items}
                truth |= fresh
                corpus.add(fresh.values())
            elif verb == "remove":
                corpus.remove(items)
                truth = {id: document for id, document in truth.items() if id not in items}
            else:
                corpus.compact()
        writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = before
        rebuilt = memory(embedder="light")
        rebuilt.sync(sorted(truth.values(), key=lambda document: document.id))
        assert sorted(corpus.ids()) == sorted(truth)
        assert results(corpus, query) == results(rebuilt, query)
        for mode in ("dense", "hybrid", "auto"):
            assert dict(results(corpus, query, mode)) == pytest.approx(dict(results(rebuilt, query, mode)), abs=1e-6)
    finally:
        writer.MERGE_BUDGET, writer.FLUSH_PASSAGES, writer.MOST_MERGED = before


def test_nothing_changes_by_saving_and_loading(tmp_path: Path) -> None:
    documents = [doc(f"d{n}", " ".join(WORDS[: n % 7 + 1]), metadata={"n": n}) for n in range(50)]
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync(documents)
        corpus.remove("d3")
        before = {mode: results(corpus, "word1 word5", mode) for mode in ("lexical", "dense", "hybrid", "auto")}
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert {mode: results(corpus, "word1 word5", mode) for mode in before} == before
        assert list(corpus) == [document for document in documents if document.id != "d3"]
        assert len(corpus) == 49
        assert "d4" in corpus
        assert "d3" not in corpus


def test_strictly_one_document_that_cannot_be_taken_stops_them_all() -> None:
    with shortlist.create_corpus(in_memory=True, embedder="none") as corpus:
        corpus.add([doc("a", "text")])
        broken = Document("b", "", "", metadata={"what": object()})
        with pytest.raises(InputError, match="The document 'b' cannot be stored"):
            corpus.sync([doc("c", "text"), broken], strict=True)
        assert corpus.ids() == ["a"]
        assert corpus.add([doc("c", "text"), broken]).failed[0].id == "b"
        assert corpus.ids() == ["a", "c"]


def test_segments_stay_few_and_the_dead_are_dropped(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc(str(number), "text") for number in range(100)])
        for number in range(300):
            corpus.add([doc(str(number % 100), f"text {number}")])
        assert corpus.info()["segments"] <= 6
        assert len(segment_files(corpus)) == corpus.info()["segments"]
        corpus.compact()
        assert corpus.info()["segments"] == 1
        corpus.sync([])
        assert corpus.info()["segments"] == 0
        assert segment_files(corpus) == []
        assert results(corpus, "text") == []


def test_no_merge_makes_a_segment_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FLUSH_PASSAGES", 2)
    monkeypatch.setattr(writer, "MOST_MERGED", 7)
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc(f"d{n}", "text") for n in range(21)])
        assert segment_sizes(corpus) == [6, 6, 6, 3]
        corpus.remove(["d0", "d20"])
        corpus.compact()
        assert segment_sizes(corpus) == [5, 6, 6, 2]


def test_merging_keeps_to_its_budget() -> None:
    assert writer.find_merge_start([100, 20, 5], budget=1000) == 0
    assert writer.find_merge_start([100, 20, 5], budget=30) == 1
    assert writer.find_merge_start([100, 20, 4], budget=1000) == 2
    assert writer.find_merge_start([1000, 100, 1, 1, 1, 1], budget=1000) == 2
    assert writer.find_merge_start([1000, 100, 1, 1, 1], budget=1000) == 4
    assert writer.find_merge_start([1000, 16, 1, 1, 1, 1], budget=1000) == 1
    assert writer.find_merge_start([], budget=10) == 0


# What a corpus was built with


def test_a_corpus_remembers_how_it_was_made(tmp_path: Path) -> None:
    scoring = Scoring("bm25+", k1=1.2)
    options: dict[str, Any] = {"analyzer": "words-1", "scoring": scoring, "chunk_size": 300, "chunk_overlap": 50}
    shortlist.create_corpus(path=tmp_path / "c", embedder="light", **options).close()
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        config = corpus.config
        assert {name: getattr(config, name) for name in options} == options
        assert corpus.embedder is not None
        assert corpus.embedder.name == config.embedder_name
    with pytest.raises(CorpusMismatch, match="rebuild=True"):
        shortlist.create_corpus(path=tmp_path / "c", analyzer="english-1")
    with pytest.raises(CorpusMismatch, match="'none'"):
        shortlist.create_corpus(path=tmp_path / "c", embedder="none")


def test_a_rebuild_changes_embedder_and_options_and_keeps_the_documents(tmp_path: Path) -> None:
    document = doc("a", "running dogs " * 100, kind="file")
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([document])
        corpus.set_threshold("lexical", 0.5)
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light", chunk_size=200, rebuild=True) as corpus:
        assert corpus.get("a") == document
        assert corpus.info()["passages"] > 5
        assert corpus.info()["floors"] == {}
        assert results(corpus, "running dogs", "dense")[0][0] == "a"
        assert len(segment_files(corpus)) == 1


def test_an_embedder_of_the_program_must_be_given_again(tmp_path: Path) -> None:
    def lengths(texts: list[str]) -> Any:
        return [[len(text), 1.0] for text in texts]

    with shortlist.create_corpus(path=tmp_path / "c", embedder=lengths) as corpus:
        corpus.sync([doc("a", "x"), doc("b", "xxxx")])
        before = results(corpus, "xxxx", "dense")
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert results(corpus, "xxxx") == results(corpus, "xxxx", "lexical")
        with pytest.raises(EmbedderError, match="embedder="):
            results(corpus, "xxxx", "dense")
    with shortlist.open_corpus(tmp_path / "c", embedder=lengths) as corpus:
        assert results(corpus, "xxxx", "dense") == before


def test_the_old_names_of_thresholds_still_work() -> None:
    corpus = memory()
    with pytest.deprecated_call(match="set_threshold"):
        corpus.set_floor("lexical", 0.4)
    with pytest.deprecated_call(match="threshold"):
        assert corpus.floor("lexical") == corpus.threshold("lexical") == (0.4, "")


def test_thresholds_are_stored_and_deleted(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.set_threshold("lexical", 0.4)
        corpus.set_threshold("dense", 0.2)
        corpus.set_threshold("dense", None)
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert corpus.info()["floors"] == {"lexical": 0.4}


def test_a_lexical_corpus_says_that_it_has_no_vectors() -> None:
    corpus = memory()
    corpus.sync([doc("a", "x")])
    with pytest.raises(InputError, match="mode='lexical'"):
        results(corpus, "x", "dense")
    assert results(corpus, "x", "auto") == results(corpus, "x", "lexical")


# Names and places


def test_corpora_lie_in_the_data_directory_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    for name in ("tools", "my tools", "größe", "a:b", ".."):
        with shortlist.create_corpus(name, embedder="none") as corpus:
            corpus.sync([doc("a", name)])
        with shortlist.open_corpus(name) as corpus:
            assert corpus.name == name
            assert corpus.path is not None
            assert corpus.path.parent == tmp_path / "corpora"
    assert len(os.listdir(tmp_path / "corpora")) == 5
    with pytest.raises(CorpusNotFound, match="build"):
        shortlist.open_corpus("nothing")
    with pytest.raises(InputError, match="characters"):
        shortlist.open_corpus("")


def test_an_open_corpus_follows_another_one_on_the_same_folder(tmp_path: Path) -> None:
    with (
        shortlist.create_corpus(path=tmp_path / "c", embedder="none") as writer,
        shortlist.open_corpus(tmp_path / "c") as reader,
    ):
        assert results(reader, "cat") == []
        writer.add([doc("a", "a cat")])
        assert [id for id, _ in results(reader, "cat")] == ["a"]
        with reader.snapshot() as snapshot:
            writer.add([doc("a", "a dog"), doc("b", "a cat")])
            ranking = snapshot.lexical.rank("cat", 10)
            assert [passage.text for passage in snapshot.passages(ranking.positions)] == ["a cat"]
            assert snapshot.match("kind", "$eq", "text", lambda kind: kind == "text").tolist() == [True]
        assert [id for id, _ in results(reader, "cat")] == ["b"]


def test_an_older_snapshot_filters_by_what_it_saw(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([doc("a", "x", metadata={"n": 1}), doc("b", "x", metadata={"n": 1})])
        with corpus.snapshot() as older:
            corpus.remove("a")
            with corpus.snapshot() as newer:
                alive = ~inside(newer).view.loaded[0].part.dead  # type: ignore[operator]
                assert (newer.match("n", "$eq", 1, lambda n: n == 1) & alive).tolist() == [False, True]
            assert older.match("n", "$eq", 1, lambda n: n == 1).tolist() == [True, True]


def test_vectors_are_unit_and_in_step_with_the_passages(tmp_path: Path) -> None:
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync([doc(str(number), f"text {WORDS[number]}") for number in range(5)])
        with corpus.snapshot() as snapshot:
            vectors = inside(snapshot).view.loaded[0].segment.vectors
            assert vectors is not None
            assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5))


def test_a_floor_is_doubted_once_a_fifth_of_the_corpus_has_changed(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path, embedder="none") as corpus:
        corpus.add(Document(str(number), f"tea {number}", "green") for number in range(10))
        corpus.set_threshold("lexical", 0.4, cases=12)
        corpus.add([Document("0", "tea 0", "black")])
        assert corpus.threshold("lexical") == (0.4, "")
        assert corpus.config.calibrations["lexical"]["cases"] == 12
        assert corpus.info()["doubts"] == {}
        corpus.remove("1")
        value, doubt = corpus.threshold("lexical")
        assert value == 0.4
        assert "10 documents, and 20% of it has changed" in doubt
        corpus.compact()
        assert corpus.info()["doubts"] == {"lexical": doubt}
        corpus.set_threshold("lexical", 0.5)
        assert corpus.threshold("lexical") == (0.5, "")
        corpus.set_threshold("lexical", None)
        assert corpus.threshold("lexical") == (None, "")
        assert corpus.config.calibrations == {}


def test_a_configuration_written_before_floors_had_an_origin_is_read(tmp_path: Path) -> None:
    with shortlist.create_corpus("tea", path=tmp_path, embedder="none") as corpus:
        corpus.add([Document("0", "tea", "green")])
        corpus.set_threshold("lexical", 0.4)
    with sqlite3.connect(tmp_path / "corpus.db") as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        old = {key: value for key, value in json.loads(text).items() if key != "calibrations"}
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (json.dumps(old),))
    connection.close()
    with shortlist.open_corpus(tmp_path) as corpus:
        assert corpus.threshold("lexical") == (0.4, "")


@pytest.mark.parametrize("paragraphs", [1, 2, 40])
def test_the_siblings_of_a_document_are_its_own_passages(paragraphs: int) -> None:
    corpus = memory()
    for name in ("first", "second", "third"):  # each in a segment of its own, or merged
        corpus.add([doc(name, "\n\n".join(f"{name} word{at} " * 120 for at in range(paragraphs)), name, kind="file")])
    with corpus.snapshot() as state:
        for name in ("first", "second", "third"):
            (own,) = state.siblings(state.lexical.named(name))
            assert state.passages(own) == [passage for passage in state.walk() if passage.document_id == name]
            assert len(own) >= paragraphs


def test_a_corpus_in_memory_needs_no_close() -> None:
    """From Python 3.13 on, a database that was not closed is reported."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        corpus = memory()
        corpus.add([Document("0", "tea", "green")])
        corpus.learn("tea", "0")
        del corpus
        gc.collect()
    assert caught == []
