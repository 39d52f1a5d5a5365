"""The log of use: private, bounded, without secrets; what is forgotten is gone from the file as well."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest

from shortlist import Corpus, CorpusDamaged, CorpusError, CorpusNotFound, Document, InputError, create_corpus
from shortlist.index.location import delete_corpus
from shortlist.index.storage import usage_log
from shortlist.index.storage.usage_log import FILE, LONGEST_QUERY, MOST_SHOWN, Outcome, UsageLog, Use

USE = Use("send_email", b"hash", "called")


@pytest.fixture
def log(tmp_path: Path) -> UsageLog:
    return UsageLog(tmp_path / FILE)


def queries(log: UsageLog) -> list[str]:
    return [search.query for search in log]


def test_reading_creates_no_log(log: UsageLog) -> None:
    assert list(log) == []
    assert log.version() == 0
    assert log.forget() == 0
    assert log.facts() == {"searches": 0, "since": None, "uses": 0, "documents": 0, "bytes": 0}
    assert log.path is not None
    assert not log.path.exists()


def test_a_search_and_its_uses_are_stored_for_the_owner_only(log: UsageLog) -> None:
    number = log.add("write  to\nmy boss", [("send_email", 0.51239), ("sms", None)], session="one", at=5.0)
    assert log.version() == 1  # a search alone teaches nothing
    log.add_use(number, USE)
    assert log.version() == 2
    (search,) = UsageLog(log.path)
    assert (search.at, search.session, search.query) == (5.0, "one", "write to my boss")
    assert search.shown == {"send_email": 0.512, "sms": None}
    assert search.uses == [USE]
    assert log.path is not None
    assert {stat.S_IMODE(path.stat().st_mode) for path in log.path.parent.iterdir()} == {0o600}


def test_secrets_and_long_texts_are_not_stored(log: UsageLog) -> None:
    token = "ghp_" + "a1B2" * 9
    log.add(f"clone with {token} please", [(str(at), 0.5) for at in range(50)])
    log.add("word " * 500)
    first, second = log
    assert first.query == "clone with *** please"
    assert len(first.shown) == MOST_SHOWN
    assert len(second.query) == LONGEST_QUERY
    assert log.forget(query=f"clone with {token} please") == 1  # as it was asked


def test_texts_that_cannot_be_encoded_are_stored(log: UsageLog) -> None:
    log.add("half a pair \ud83d here")
    assert len(queries(log)) == 1


def test_what_is_forgotten_is_gone_from_the_file(log: UsageLog) -> None:
    log.add("a very peculiar wording", [], [USE])
    log.add("another wording", [], [Use("sms", b"", "called")])
    log.vectors(["a very peculiar wording"], "model", lambda text: np.ones(4, np.float32), 60.0)
    version = log.version()
    assert log.forget(id="send_email") == 1
    assert usage_log.was_forgotten(version, log.version())
    assert queries(log) == ["another wording"]
    assert log.path is not None
    assert all(b"peculiar" not in path.read_bytes() for path in log.path.parent.iterdir())
    assert log.forget(query="nothing") == 0
    assert log.forget() == 1
    assert queries(log) == []


def test_a_session_takes_back_its_reports_and_no_session_only_the_latest(log: UsageLog) -> None:
    reports: list[tuple[str, Outcome]] = [("", "called"), ("", "wrong"), ("s", "called"), ("s", "wrong")]
    for at, (session, outcome) in enumerate(reports):
        log.add("money", uses=[Use("refund", b"", outcome)], session=session, at=float(at))
    log.add("money", uses=[Use("pay", b"", "called")])
    for session, count, left in (("s", 2, [0.0, 1.0]), ("", 1, [0.0]), ("", 1, []), ("", 0, [])):
        assert log.withdraw("money", "refund", session) == count
        assert [search.at for search in log if search.uses[0].id == "refund"] == left
    assert queries(log) == ["money"]


def test_a_use_of_a_forgotten_search_is_not_stored(log: UsageLog) -> None:
    number = log.add("a")
    log.forget()
    log.add_use(number, USE)
    assert log.facts()["uses"] == 0


def test_the_oldest_searches_are_deleted(log: UsageLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_log, "MOST_SEARCHES", 10)
    for at in range(200):
        log.add(str(at), [], [USE])
    assert queries(log) == [str(at) for at in range(190, 200)]
    assert log.facts()["uses"] == 10


def test_vectors_are_encoded_once_and_only_while_there_is_time(log: UsageLog) -> None:
    asked: list[str] = []

    def encode(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        asked.append(text)
        return np.full(3, len(text), np.float32)

    for query in ("one", "three"):
        log.add(query)
    assert log.vectors(["one", "three"], "model", encode, -1.0) == {}
    assert set(log.vectors(["one", "three"], "model", encode, 60.0)) == {"one", "three"}
    assert UsageLog(log.path).vectors(["one"], "model", encode, 60.0)["one"].tolist() == [3.0, 3.0, 3.0]
    assert asked == ["one", "three"]
    log.vectors(["one"], "another model", encode, 60.0)
    assert asked == ["one", "three", "one"]


def test_a_damaged_log_is_reported_and_a_newer_one_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(CorpusDamaged, match=r"usage\.db is damaged"):
        UsageLog(path).add("a")
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 7")
    with pytest.raises(CorpusError, match="has the format 7"):
        UsageLog(path).add("a")


def write(path: Path, name: str) -> None:
    log = UsageLog(path)
    for at in range(30):
        log.add(f"{name} {at}", [], [USE])


def test_several_processes_write_one_log(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write, args=(tmp_path / FILE, name)) for name in ("a", "b")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(queries(UsageLog(tmp_path / FILE))) == sorted(f"{name} {at}" for name in "ab" for at in range(30))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_the_log_itself(log: UsageLog) -> None:
    log.add("parent")
    worker = multiprocessing.get_context("fork").Process(target=log.add, args=("child",))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert queries(log) == ["parent", "child"]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = create_corpus("mail", path=tmp_path / "mail", embedder="none")
    corpus.add([Document("send_email", "send_email", "Send a message.", kind="tool")])
    return corpus


def test_a_corpus_learns_what_it_has(corpus: Corpus) -> None:
    assert corpus.learn("write to my boss", "send_email", shown=["send_email"])
    assert corpus.info()["usage"]["uses"] == 1
    with pytest.raises(CorpusNotFound, match="Did you mean 'send_email'"):
        corpus.learn("write to my boss", "send_emails")
    with pytest.raises(InputError, match=r"must be one of called, .*wrong.*, not 'clicked'"):
        corpus.learn("write to my boss", "send_email", "clicked")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="non-empty string"):
        corpus.learn(" ", "send_email")
    corpus.learning = "off"
    assert not corpus.learn("write to my boss", "send_email")
    assert corpus.usage.facts()["searches"] == 1


def test_the_log_is_deleted_with_its_corpus_and_survives_everything_else(corpus: Corpus) -> None:
    corpus.learn("write to my boss", "send_email")
    corpus.reindex(embedder="light")
    corpus.sync([])
    corpus.compact()
    assert corpus.usage.facts()["uses"] == 1
    corpus.close()
    assert corpus.path is not None
    delete_corpus(corpus.path)
    assert not corpus.path.exists()


def test_a_corpus_with_a_damaged_log_works(corpus: Corpus) -> None:
    assert corpus.path is not None
    (corpus.path / FILE).write_bytes(b"this is not a database" * 100)
    assert "damaged" in corpus.info()["usage"]["problem"]


def test_a_log_that_is_deleted_while_it_is_open_is_created_again(log: UsageLog) -> None:
    assert log.path is not None
    log.add("old", [("a", 0.5)], [Use("a", b"h", "called")])
    for file in log.path.parent.glob("usage.db*"):
        file.unlink()
    assert (log.facts()["searches"], log.version(), list(log)) == (0, 0, [])
    log.add("new", session="\ud800")
    assert [search.query for search in UsageLog(log.path)] == ["new"]


def test_a_log_that_cannot_be_created_is_an_error_of_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = UsageLog(tmp_path / "file" / FILE)
    with pytest.raises(CorpusError, match=FILE):
        log.add("query")
