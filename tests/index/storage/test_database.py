"""The database of a corpus: its write-ahead log stays small, and no reader loses what it reads."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Document
from shortlist.errors import CorpusBusy
from shortlist.index.storage import database
from shortlist.index.storage.stored_text import TextConnection
from tests.index.storage.test_stored_text import many_documents, old_documents


def test_a_large_log_is_truncated_after_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LARGEST_LOG", 100_000)
    log = tmp_path / "corpus.db-wal"
    with shortlist.create_corpus(path=tmp_path, embedder="none") as corpus:
        corpus.add(many_documents())
        assert log.stat().st_size == 0
        corpus.add([Document("one", "", "word1")])
        assert 0 < log.stat().st_size < 100_000


def test_a_reader_keeps_the_log_that_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LARGEST_LOG", 100_000)
    log = tmp_path / "corpus.db-wal"
    with shortlist.build(old_documents(), path=tmp_path, embedder="none") as corpus:
        with corpus.snapshot() as before:
            corpus.add(many_documents())
            assert log.stat().st_size > 100_000
            assert before.count() == len(old_documents())
            assert {passage.document_id for passage in before.walk()} == {document.id for document in old_documents()}
        corpus.add([Document("one", "", "word1")])
        assert log.stat().st_size == 0
        assert len(corpus) == len(old_documents()) + len(many_documents()) + 1


@pytest.mark.parametrize("lost", [1, 2])
def test_a_connection_tries_again_when_it_lost_every_race_for_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    shortlist.build([Document("one", "", "word")], path=tmp_path, embedder="none").close()
    failures = iter(range(lost))

    class Losing(TextConnection):
        def execute(self, statement: str, given: Any = ()) -> sqlite3.Cursor:
            if next(failures, None) is not None:
                error = sqlite3.OperationalError("locking protocol")
                error.sqlite_errorcode = sqlite3.SQLITE_PROTOCOL
                raise error
            return super().execute(statement, given)

    monkeypatch.setattr(database, "TextConnection", Losing)
    if lost == 1:
        assert len(shortlist.open_corpus(tmp_path)) == 1
    else:
        with pytest.raises(CorpusBusy, match="Try again later"):
            shortlist.open_corpus(tmp_path)
