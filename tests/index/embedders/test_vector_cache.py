"""The cache of vectors: no text is encoded twice, and a damaged cache is replaced."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Document, ShortlistError
from shortlist.index.storage import writer
from tests.index import soak
from tests.index.damages import (
    DATABASE_DAMAGES,
    PAGE,
    Answers,
    CountingEmbedder,
    each,
    flip_a_byte,
    foreign_database,
    garbage,
)
from tests.index.soak import expected, found, rebuilt, version


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)


def test_nothing_is_encoded_twice(tmp_path: Path) -> None:
    count = CountingEmbedder()
    documents = version("A")
    passages = rebuilt(documents).info()["passages"]
    with shortlist.build(documents, path=tmp_path, embedder=count) as corpus:
        first = count.encoded()
        assert len(first) == passages
        assert set(first.values()) == {1}
        before = Answers(corpus)

        corpus.sync(documents)
        marked = [Document(d.id, d.title, d.content, d.keywords, {"new": True}, kind=d.kind) for d in documents]
        assert corpus.sync(marked).changed == 60
        assert Answers(corpus) == before
        corpus.remove(corpus.ids())
        corpus.sync(documents)
        corpus.compact()
        corpus.reindex()
        each(flip_a_byte)(tmp_path)
        assert Answers(corpus) == before
        assert count.encoded() == {}
    with shortlist.open_corpus(tmp_path, embedder=count) as corpus:
        assert Answers(corpus) == before
        assert count.encoded() == {}
        corpus.add([Document("new", "title", "new")])
        assert count.encoded() == {"title\nnew": 1}


CACHE_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    **{name: DATABASE_DAMAGES[name] for name in ("garbage for a header", "cut to half", "empty", "a text")},
    "garbage in the middle": lambda data: data[:PAGE] + garbage(len(data) - PAGE),
    "another program's database": lambda data: foreign_database(),
}


@pytest.mark.parametrize("damage", CACHE_DAMAGES.values(), ids=CACHE_DAMAGES)
def test_a_damaged_cache_of_vectors_is_replaced_and_nothing_is_lost(
    damage: Callable[[bytes], bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = CountingEmbedder()
    shortlist.build(version("A"), path=tmp_path, embedder=count).close()
    file = tmp_path / "vectors.db"
    file.write_bytes(damage(file.read_bytes()))
    each(Path.unlink)(tmp_path)
    with shortlist.open_corpus(tmp_path, embedder=count) as corpus:
        again = rebuilt(version("A"), CountingEmbedder())
        assert Answers(corpus) == Answers(again)
        count.encoded()
        corpus.sync(version("B"))
        assert Answers(corpus) == Answers(rebuilt(version("B"), CountingEmbedder()))
        corpus.sync(version("A"))
        corpus.reindex()
        assert Answers(corpus) == Answers(again)
        assert set(count.encoded().values()) == {1}
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_damage_is_repaired_from_the_cache_where_the_embedder_is_not_given(tmp_path: Path) -> None:
    """It says itself that such a corpus can be searched with mode="lexical"."""
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder()).close()
    each(flip_a_byte)(tmp_path)
    with shortlist.open_corpus(tmp_path) as corpus:
        assert found(corpus) == expected("A")
    with shortlist.open_corpus(tmp_path, embedder=CountingEmbedder()) as corpus:
        assert Answers(corpus) == Answers(rebuilt(version("A"), CountingEmbedder()))


def test_cached_vectors_of_another_length_are_not_used(tmp_path: Path) -> None:
    """A function of the same name whose model was changed."""
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder(64)).close()
    with shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder(32), rebuild=True) as corpus:
        assert Answers(corpus) == Answers(rebuilt(version("A"), CountingEmbedder(32)))


def test_a_cache_that_another_process_writes_to_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def connect_without_patience(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if str(path).endswith("vectors.db"):
            options["timeout"] = 0.1
        connection: sqlite3.Connection = connect(path, *arguments, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_without_patience)
    count = CountingEmbedder()
    with shortlist.build(version("A"), path=tmp_path, embedder=count) as corpus:
        count.encoded()
        with contextlib.closing(connect(tmp_path / "vectors.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with contextlib.suppress(ShortlistError):  # to be refused is fine
                corpus.add([Document("new", "title", "new")])
            other.execute("ROLLBACK")
        corpus.add([Document("new", "title", "new")])
        corpus.reindex()
        assert count.encoded().keys() == {"title\nnew"}
